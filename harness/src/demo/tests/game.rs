//! The server and the bots: whole games.

use std::time::Duration;

use teetap_kit::link::{Conditions, MS, Random};
use teetap_wire::{Packet, Proto, Scratch, Trailing, packet};

use super::super::player::{PLAYERS, Player};
use super::super::report::Report;
use super::super::run::run;
use super::super::server::DemoHost;
use super::{FINE, To, World, address};

/// Damages a good report.
type Wrong = fn(&mut Report);

const SHORT: Duration = Duration::from_secs(4);
const SEVENS: [Player; 2] = [
    PLAYERS[0],
    Player {
        name: "eight",
        ..PLAYERS[0]
    },
];

fn untouched(_: To, datagram: Vec<u8>) -> Vec<u8> {
    datagram
}

/// Returns the protocol of the bot that sends or receives the datagram.
fn spoken(to: To) -> Proto {
    let (To::Server(bot) | To::Bot(bot)) = to;
    PLAYERS[bot].variant.proto()
}

#[test]
fn both_bots_play_to_the_end() {
    let mut compressed = [0; 2];
    let report = World::new(&PLAYERS, SHORT, FINE, 1, |to, datagram: Vec<u8>| {
        let (To::Server(bot) | To::Bot(bot)) = to;
        let mut scratch = Scratch::default();
        let packet = Packet::parse(spoken(to), &datagram, &mut scratch).unwrap();
        assert!(packet.notes.is_empty(), "{to:?} {:?}", packet.notes);
        compressed[bot] += u32::from(packet.inflated.is_some());
        datagram
    });
    let report = report.run();
    assert_eq!(report.failures(false), Vec::<String>::new(), "{report}");
    assert!(compressed.iter().all(|count| *count > 50), "{compressed:?}");
    for bot in &report.bots {
        assert!(
            bot.snapshots >= 90 && bot.inputs >= 90 && bot.chat_sent.len() >= 7,
            "{report}"
        );
        assert_eq!(bot.counters.resent, 0, "{report}");
    }
}

#[test]
fn two_bots_of_0_7_play_over_a_bad_link() {
    // Not for DDNet: a lost ACCEPT is never repeated, so that the reference client does not join either.
    for seed in 0..25 {
        let conditions = Conditions {
            loss: 0.1,
            jitter: 60 * MS,
            duplicate: 0.03,
            ..FINE
        };
        let report = World::new(&SEVENS, Duration::from_secs(24), conditions, seed, untouched).run();
        let mut failures = report.failures(false);
        // A CLOSE is sent once. If it is lost, the server sees silence, or no acks.
        let is_lost = |failure: &str| failure.contains("Timeout") || failure.contains("Too weak");
        failures.retain(|failure| !(failure.contains("recorded the quit") && is_lost(failure)));
        assert_eq!(failures, Vec::<String>::new(), "seed {seed}\n{report}");
        assert!(
            report.bots.iter().any(|bot| bot.counters.resent > 0),
            "seed {seed}\n{report}"
        );
    }
}

#[test]
fn the_report_finds_every_failure() {
    let good = World::new(&PLAYERS, SHORT, FINE, 2, untouched).run();
    assert_eq!(
        good.failures(true).len(),
        2,
        "equal tokens must fail behind a proxy: {:?}",
        good.failures(true)
    );
    let wrongs: [(&str, Wrong); 9] = [
        ("did not join", |report| report.bots[0].joined = false),
        ("ended early", |report| report.bots[1].finished = false),
        ("damaged", |report| report.bots[1].damaged = 1),
        ("no input", |report| report.bots[0].timings = 0),
        ("no ping", |report| report.bots[0].pongs = 0),
        ("did not receive the chat of ddnet", |report| {
            report.bots[0]
                .chat_received
                .retain(|line| line != "line 2 of ddnet")
        }),
        ("did not receive the chat of seven", |report| {
            let mut received = report.bots[1].chat_received.iter();
            let twice = received.find(|line| line.ends_with("seven")).unwrap().clone();
            report.bots[1].chat_received.push(twice);
        }),
        ("the server recorded the quit", |report| {
            report.players[0].left = Some("Timeout".to_owned())
        }),
        ("exactly one player", |report| report.players.clear()),
    ];
    for (text, wrong) in wrongs {
        let mut report = good.clone();
        wrong(&mut report);
        let failures = report.failures(false);
        assert!(
            failures.iter().any(|failure| failure.contains(text)),
            "{text}: {failures:?}"
        );
    }
}

#[test]
fn a_changed_snapshot_is_noticed() {
    let mut changed = false;
    let report = World::new(&PLAYERS, SHORT, FINE, 3, |to, datagram: Vec<u8>| {
        let mut scratch = Scratch::default();
        let packet = Packet::parse(spoken(to), &datagram, &mut scratch).unwrap();
        // A full snapshot for the bot of 0.7, in one big chunk that is not vital.
        let chunk = packet
            .chunks()
            .find(|chunk| chunk.header.vital.is_none() && chunk.data.len() > 100);
        let (To::Bot(0), Some(chunk), false) = (to, chunk, changed) else {
            return datagram;
        };
        changed = true;
        let mut payload = packet.payload.to_vec();
        payload[chunk.at + 2 + chunk.data.len() - 1] ^= 1;
        let mut out = Vec::new();
        packet::write(
            packet.proto,
            &packet.header,
            &payload,
            Some(Trailing::Always),
            &mut out,
        );
        out
    });
    let report = report.run();
    assert_eq!(report.bots[0].damaged, 1, "{report}");
    assert_eq!(report.failures(false), ["seven: 1 damaged snapshots"]);
}

#[test]
fn a_bot_without_answers_reports_it() {
    let report = World::new(&PLAYERS, SHORT, Conditions { loss: 1.0, ..FINE }, 4, untouched).run();
    for (bot, failure) in report.bots.iter().zip(report.failures(false)) {
        assert_eq!(
            failure,
            format!("{}: did not join (no answer from the server)", bot.name)
        );
    }
    assert!(report.players.is_empty());
}

#[test]
fn a_full_server_refuses() {
    let players = vec![PLAYERS[0]; 17];
    let report = World::new(&players, SHORT, FINE, 5, untouched).run();
    let refused: Vec<_> = report
        .bots
        .iter()
        .filter(|bot| !bot.joined)
        .map(|bot| bot.ended.as_str())
        .collect();
    assert_eq!(refused, ["refused by the server: This server is full"]);
}

#[test]
fn noise_makes_no_slot() {
    let mut server = DemoHost::new(6);
    let mut random = Random::new(6);
    for round in 0..20_000 {
        let len = usize::try_from(random.below(40)).unwrap();
        let mut noise: Vec<u8> = (0..len)
            .map(|_| u8::try_from(random.below(256)).unwrap())
            .collect();
        if let (Some(first), true) = (noise.first_mut(), round % 2 == 0) {
            *first = [0x04, 0x10][round / 2 % 2];
        }
        server.handle(Duration::from_millis(round as u64), address(round % 7), &noise);
        while server.poll_transmit().is_some() {}
    }
    assert!(server.players().is_empty());
}

#[test]
fn the_demo_runs_over_real_sockets() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let report = runtime
        .block_on(run(Duration::from_secs(2), 7, async |server| Ok(server)))
        .unwrap();
    assert_eq!(report.failures(false), Vec::<String>::new(), "{report}");
    assert_eq!(report.failures(true).len(), 2, "{report}");
}
