//! Link lines with `connless`: their effects on messages of the server browser.

use std::net::SocketAddr;

use teetap_kit::{
    codec::{Variant, control},
    link::{MS, SECOND},
    rules::compiled,
    world::{Place, client_addr},
};
use teetap_proxy::session::{Command, Connless, EventKind, Input, Notice, OpensNothing, UpstreamId};
use teetap_rules::impair::Lost;

use crate::examples::sample;
use crate::stage::{Pair, Stage, has, pair};

/// A pair for each kind of framing.
const PAIRS: [Pair; 4] = [
    pair(Variant::V7, Variant::V7),
    pair(Variant::V65, Variant::V65),
    pair(Variant::Ddnet, Variant::Ddnet),
    pair(Variant::V6, Variant::V6),
];

fn ask(number: u8) -> Vec<u8> {
    [
        b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xffgie3".as_slice(),
        &[number],
    ]
    .concat()
}

fn answer(number: u8) -> Vec<u8> {
    let text = format!("inf3{number}\x000.6\0name\0map\0type\0000\x000\x008\x000\x008\0");
    [
        b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff".as_slice(),
        text.as_bytes(),
    ]
    .concat()
}

fn stranger(number: u8) -> SocketAddr {
    SocketAddr::from(([10, 7, 0, number], 9000))
}

/// Runs a test on a session of each kind with these rules.
fn on_each_pair(source: &str, test: impl Fn(&mut Stage)) {
    for pair in PAIRS {
        let mut stage = Stage::joined(pair, 7);
        set(&mut stage, source);
        test(&mut stage);
        // The game is not affected.
        stage.world.input(Input::Program(None));
        stage.run(SECOND);
        stage.assert_plays();
    }
}

fn set(stage: &mut Stage, source: &str) {
    stage.world.input(Input::Program(Some(compiled(source).unwrap())));
    stage.world.network.sent = Some(Vec::new());
}

/// Returns the messages outside a connection that were sent at a place since the last call, in their order.
fn left(stage: &mut Stage, place: Place) -> Vec<Vec<u8>> {
    let sent = stage.world.network.sent.as_deref().unwrap_or_default().iter();
    let found = sent.filter(|sent| sent.place == place && sent.bytes.starts_with(&[0xff; 6]));
    let found = found.map(|sent| sent.bytes.clone()).collect();
    stage.world.network.sent = Some(Vec::new());
    found
}

#[test]
fn a_server_is_far_away_in_the_browser_too() {
    on_each_pair(&sample("far-server"), |stage| {
        stage.world.stranger_sends(stranger(1), &ask(1));
        stage.run(100 * MS);
        assert_eq!(left(stage, Place::ToServer), [[0u8; 0]; 0]);
        stage.run(40 * MS);
        assert_eq!(left(stage, Place::ToServer), [ask(1)]);
        let upstream = relay(stage);
        stage.world.server_sends(upstream, &answer(1));
        assert_eq!(left(stage, Place::ToClient), [[0u8; 0]; 0]);
        stage.run(140 * MS);
        assert_eq!(left(stage, Place::ToClient), [answer(1)]);
        let [up, down] = stage.say();
        stage.run(90 * MS);
        let early = [has(stage.slot(), &up), has(stage.client(), &down)];
        assert_eq!(early, [false; 2], "messages up and down before their delay");
    });
}

/// The socket of the last relay.
fn relay(stage: &Stage) -> UpstreamId {
    *stage.world.sockets.last().unwrap()
}

fn last_event(stage: &Stage) -> &Connless {
    let mut events = stage.world.events.iter().rev();
    let event = events.find_map(|event| match &event.what {
        EventKind::Connless(connless) => Some(connless),
        _ => None,
    });
    event.unwrap()
}

#[test]
fn a_line_without_the_word_lets_the_browser_alone() {
    on_each_pair("link both blackhole", |stage| {
        stage.world.stranger_sends(stranger(1), &ask(1));
        assert_eq!(left(stage, Place::ToServer), [ask(1)]);
        let upstream = relay(stage);
        stage.world.server_sends(upstream, &answer(1));
        assert_eq!(left(stage, Place::ToClient), [answer(1)]);
        let link = &last_event(stage).link;
        assert!(link.is_empty(), "{link:?}");
    });
}

#[test]
fn a_line_with_the_word_acts_on_requests_and_on_answers() {
    on_each_pair("link c2s blackhole connless", |stage| {
        stage.world.stranger_sends(stranger(1), &ask(1));
        stage.run(SECOND);
        assert_eq!(left(stage, Place::ToServer), [[0u8; 0]; 0]);
        let event = last_event(stage);
        assert_eq!(event.link[0].lost, Some(Lost::Blackhole));
        // The event has the datagram as it was before the link.
        assert!(
            event.forwarded && event.sent.as_deref() == Some(&ask(1)),
            "{event:?}"
        );
        let upstream = relay(stage);
        stage.world.server_sends(upstream, &answer(1));
        assert_eq!(left(stage, Place::ToClient), [answer(1)]);
        set(stage, "link s2c loss 100% connless");
        stage.world.stranger_sends(stranger(1), &ask(2));
        stage.world.server_sends(upstream, &answer(2));
        stage.run(100 * MS);
        assert_eq!(
            stage.world.network.sent.as_ref().map(|sent| !sent.is_empty()),
            Some(true)
        );
        assert_eq!(left(stage, Place::ToClient), [[0u8; 0]; 0]);
    });
}

#[test]
fn all_browsers_share_one_link_in_each_direction() {
    on_each_pair("link both delay 300ms rate 16kbit connless", |stage| {
        for number in 1..=3 {
            stage.world.stranger_sends(stranger(number), &ask(number));
        }
        stage.run(299 * MS);
        assert_eq!(left(stage, Place::ToServer), [[0u8; 0]; 0]);
        // Sending 15 bytes takes 7.5 ms, and each message waits for the earlier messages.
        stage.run(30 * MS);
        assert_eq!(left(stage, Place::ToServer), [ask(1), ask(2), ask(3)]);
        let delay = last_event(stage).link[0].delay.as_micros();
        assert_eq!(delay, 322_500);
        let upstream = relay(stage);
        stage.world.server_sends(upstream, &answer(1));
        stage.run(200 * MS);
        assert_eq!(left(stage, Place::ToClient), [[0u8; 0]; 0]);
        stage.run(300 * MS);
        assert_eq!(left(stage, Place::ToClient), [answer(1)]);
    });
}

#[test]
fn a_socket_stays_until_what_waits_for_it_has_left() {
    let mut stage = Stage::joined(PAIRS[2], 7);
    set(&mut stage, "link c2s delay 25s connless");
    stage.world.stranger_sends(stranger(1), &ask(1));
    let upstream = relay(&stage);
    stage.run(24 * SECOND);
    assert_eq!(left(&mut stage, Place::ToServer), [[0u8; 0]; 0]);
    stage.run(2 * SECOND);
    assert_eq!(left(&mut stage, Place::ToServer), [ask(1)]);
    stage.world.server_sends(upstream, &answer(1));
    assert_eq!(left(&mut stage, Place::ToClient), [answer(1)]);
    let is_open = |stage: &Stage| stage.world.sockets.contains(&upstream);
    let before = is_open(&stage);
    stage.run(11 * SECOND);
    assert_eq!(
        (before, is_open(&stage)),
        (true, false),
        "the relay after 2 s and 11 s more"
    );
}

/// The 65th browser displaces the first relay. The request that waits for its closed socket is not sent.
#[test]
fn a_request_is_not_sent_on_a_socket_that_was_closed_for_another_browser() {
    let mut stage = Stage::joined(PAIRS[2], 7);
    set(&mut stage, "link c2s delay 100ms connless");
    for number in 0..65 {
        stage.world.stranger_sends(stranger(number), &ask(number));
    }
    stage.run(SECOND);
    let others: Vec<_> = (1..65).map(ask).collect();
    assert_eq!(left(&mut stage, Place::ToServer), others);
}

#[test]
fn messages_on_the_socket_of_a_session_have_the_link_of_the_session() {
    for pair in PAIRS.into_iter().filter(|pair| pair.client != Variant::V7) {
        let mut stage = Stage::joined(pair, 7);
        set(
            &mut stage,
            "link s2c delay 200ms connless from 5s\nlink s2c delay 30s from 60s",
        );
        let upstream = stage.world.sockets[0];
        stage.world.server_sends(upstream, &answer(1));
        assert_eq!(left(&mut stage, Place::ToClient), [answer(1)]);
        // Windows are relative to the age of the session.
        let age = stage.world.now;
        stage.run(5100 * MS - age);
        left(&mut stage, Place::ToClient);
        stage.world.server_sends(upstream, &answer(2));
        assert_eq!(left(&mut stage, Place::ToClient), [[0u8; 0]; 0]);
        // A message that is sent while the line is disabled still waits for the one before it.
        stage.world.command(Command::ToggleLine {
            line: 0,
            enabled: false,
        });
        stage.run(100 * MS);
        stage.world.input(Input::Program(None));
        stage.world.server_sends(upstream, &answer(3));
        assert_eq!(left(&mut stage, Place::ToClient), [[0u8; 0]; 0]);
        stage.run(110 * MS);
        assert_eq!(left(&mut stage, Place::ToClient), [answer(2), answer(3)]);
        stage.world.server_sends(upstream, &answer(4));
        assert_eq!(left(&mut stage, Place::ToClient), [answer(4)]);
        let sent = stage.world.network.sent.as_deref().unwrap_or_default();
        assert!(sent.iter().all(|sent| sent.addr == client_addr(0)));
    }
}

#[test]
fn messages_of_browsers_move_windows_of_their_own() {
    on_each_pair(
        "link c2s blackhole connless after connless until n == 3",
        |stage| {
            for number in 1..=2 {
                stage.world.stranger_sends(stranger(number), &ask(number));
            }
            assert_eq!(left(stage, Place::ToServer), [ask(1)]);
            // The session has its own windows, and has seen no such message.
            assert!(stage.talks(SECOND));
        },
    );
}

#[test]
fn decisions_about_browsers_are_repeated() {
    let source = "link c2s loss 50% dup 20% connless";
    let run = |seed: u64, program| {
        let mut stage = Stage::joined(PAIRS[2], seed);
        stage.world.hub().unwrap().record_decisions();
        stage.world.input(Input::Program(Some(program)));
        stage.world.network.sent = Some(Vec::new());
        for number in 0..100 {
            stage.world.stranger_sends(stranger(number % 5), &ask(number));
        }
        let decisions = stage.world.hub().unwrap().decisions();
        (left(&mut stage, Place::ToServer), decisions)
    };
    let program = compiled(source).unwrap();
    let (asks, decisions) = run(7, program.clone());
    assert!((40..80).contains(&asks.len()), "{}", asks.len());
    assert_ne!(run(8, program.clone()).0, asks);
    let repeating = program.repeating(&decisions).unwrap();
    assert_eq!(run(8, repeating.into()), (asks, decisions));
}

#[test]
fn what_waits_for_browsers_is_bounded() {
    let mut stage = Stage::joined(PAIRS[2], 7);
    set(&mut stage, "link c2s delay 60s connless");
    let large = [ask(1), vec![0; 1300]].concat();
    for number in 0..3000u32 {
        let low = number.to_be_bytes()[3];
        stage.world.stranger_sends(stranger(low), &large);
    }
    let full = Notice::LinkFull {
        dir: teetap_wire::Dir::C2s,
    };
    assert_eq!(stage.times(&full), 1);
    let of_session = stage.world.events.iter().any(|event| {
        matches!(&event.what, EventKind::Notice(notice) if *notice == full) && event.session.is_some()
    });
    assert!(!of_session, "{full:?} is reported of a session");
    assert_eq!(last_event(&stage).link[0].lost, Some(Lost::Full));
}

/// The 65th address displaces the oldest relay, whose answer may be under way. No notice is emitted if that
/// relay was last used long ago.
#[test]
fn a_relay_that_gives_way_too_early_is_reported() {
    let asks = |stage: &mut Stage, number: u8| {
        let bytes = ask(number);
        stage.world.stranger_sends(stranger(number), &bytes);
    };
    for (pause, reported) in [(MS, 1), (2 * SECOND, 0)] {
        let mut stage = Stage::joined(PAIRS[2], 7);
        (0..64).for_each(|number| asks(&mut stage, number));
        stage.run(pause);
        asks(&mut stage, 64);
        let limit = Notice::RelayLimit { client: stranger(0) };
        assert_eq!(stage.times(&limit), reported, "after {pause} us");
    }
}

/// A 0.7 message is reported if its token was not given to its sender, and not reported if the token is
/// right.
#[test]
fn a_message_of_the_browser_with_a_foreign_token_is_reported() {
    let mut stage = Stage::joined(PAIRS[0], 7);
    let request = |token: [u8; 4]| [b"\x21", &token[..], b"mine", b"\xff\xff\xff\xffgie3\x05"].concat();
    stage.world.network.sent = Some(Vec::new());
    stage
        .world
        .stranger_sends(stranger(1), &control::token_request(*b"mine"));
    let sent = stage.world.network.sent.as_deref().unwrap();
    let given = *sent.last().unwrap().bytes.last_chunk::<4>().unwrap();
    let reported = |stage: &Stage| {
        let what = |notice: &Notice| match notice {
            Notice::UnknownSender { what, .. } => Some(*what),
            _ => None,
        };
        stage.notices().iter().filter_map(what).collect::<Vec<_>>()
    };
    stage.world.stranger_sends(stranger(1), &request(given));
    assert_eq!(reported(&stage), []);
    stage.world.stranger_sends(stranger(1), &request(*b"else"));
    assert_eq!(reported(&stage), [OpensNothing::BrowserToken]);
}
