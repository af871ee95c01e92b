//! Link lines and sessions: events report exactly the datagrams that are sent, ACCEPT is never duplicated or
//! reordered, and no queued datagram outlives its session.

use teetap_kit::{
    codec::{Variant, control},
    link::{MS, SECOND},
    rules::compiled,
    world::{Place, TICK},
};
use teetap_proxy::session::{Datagram, EventKind, Input, Transit};
use teetap_wire::{Dir, Side};

use crate::stage::{Pair, Stage, pair};

fn stage(pair: Pair, source: &str) -> Stage {
    let mut stage = Stage::new(pair, 21);
    stage.world.input(Input::Program(Some(compiled(source).unwrap())));
    stage
}

/// Returns the datagrams that were sent to the server according to the events, with their times.
fn to_server(stage: &Stage) -> Vec<(u64, Vec<u8>)> {
    let mut all = Vec::new();
    for event in &stage.world.events {
        match &event.what {
            EventKind::Datagram(datagram)
                if datagram.dir == Dir::C2s && datagram.leg != Some(Side::Client) =>
            {
                all.extend(left(event.at.0, datagram));
            }
            _ => {}
        }
    }
    all.sort();
    all
}

/// Returns the datagrams that were sent according to one event, from its effects of the link.
fn left(at: u64, datagram: &Datagram) -> Vec<(u64, Vec<u8>)> {
    let mut all = Vec::new();
    for (index, bytes) in datagram.sent().enumerate() {
        let of_it = |transit: &&Transit| usize::from(transit.datagram) == index;
        let mut transits: Vec<Transit> = datagram.link.iter().filter(of_it).cloned().collect();
        if transits.iter().all(|transit| transit.duplicate) {
            transits.push(Transit::default());
        }
        for transit in transits.iter().filter(|transit| transit.lost.is_none()) {
            let mut bytes = bytes.to_vec();
            for bit in &transit.corrupted {
                bytes[usize::try_from(bit / 8).unwrap()] ^= 1 << (bit % 8);
            }
            all.push((at + u64::try_from(transit.delay.as_micros()).unwrap(), bytes));
        }
    }
    all
}

#[test]
fn events_report_exactly_what_leaves_and_when() {
    for source in [
        "link c2s delay 40ms jitter 20ms normal loss 20% dup 20% reorder 10%",
        "link c2s corrupt 20% loss 10%",
        "link c2s rate 16kbit queue 1kB dup 50%",
    ] {
        for pair in [
            pair(Variant::V7, Variant::V7),
            pair(Variant::Ddnet, Variant::Ddnet),
        ] {
            let mut stage = stage(pair, source);
            for _ in 0..20 {
                stage.say();
                stage.run(500 * MS);
            }
            stage.world.input(Input::Program(None));
            stage.run(2 * SECOND);
            let reported = to_server(&stage);
            let sent = stage.world.network.sent.as_deref().unwrap().iter();
            let sent: Vec<_> = sent.filter(|sent| sent.place == Place::ToServer).collect();
            assert!(sent.len() > 20, "{source}: {}", sent.len());
            assert_eq!(reported.len(), sent.len(), "{source}");
            // The hub runs once per tick, so due datagrams are sent at the end of a tick.
            for ((at, _), sent) in reported.iter().zip(&sent) {
                assert!(
                    (*at..=at + TICK).contains(&sent.at),
                    "{source}: {at}, {}",
                    sent.at
                );
            }
            let mut bytes = [
                reported.into_iter().map(|(_, bytes)| bytes).collect::<Vec<_>>(),
                sent.iter().map(|sent| sent.bytes.clone()).collect(),
            ];
            bytes.iter_mut().for_each(|bytes| bytes.sort());
            assert_eq!(bytes[0], bytes[1], "{source}");
        }
    }
}

#[test]
fn accept_leaves_once_and_nothing_overtakes_it() {
    let mut stage = stage(
        pair(Variant::Ddnet, Variant::Ddnet),
        "link c2s delay 50ms dup 100% reorder 60%",
    );
    stage.run(5 * SECOND);
    stage.assert_plays();
    assert_eq!(stage.count(Place::ToServer, control::ACCEPT), 1);
    assert_eq!(stage.world.server.counters.rejoins, 0);
    // Other datagrams are sent twice.
    assert!(stage.count(Place::ToServer, control::CONNECT) >= 2);
}

#[test]
fn every_pair_joins_and_plays_over_a_slow_and_lossy_link() {
    for pair in Pair::ALL {
        let mut stage = stage(
            pair,
            "link both delay 60ms jitter 20ms normal loss 2% dup 1% reorder 2%",
        );
        stage.run(12 * SECOND);
        stage.assert_plays();
    }
}

#[test]
fn what_waits_when_a_session_closes_still_leaves_and_then_nothing_is_kept() {
    let mut stage = stage(pair(Variant::V7, Variant::V7), "link both delay 3s from 8s");
    stage.run(10 * SECOND);
    stage.leave("bye");
    stage.run(2_900 * MS);
    assert_eq!(stage.count(Place::ToServer, control::CLOSE), 0);
    stage.run(SECOND);
    assert_eq!(stage.count(Place::ToServer, control::CLOSE), 1);
    stage.run(10 * SECOND);
    let hub = stage.world.hub().unwrap();
    assert_eq!((hub.sessions(), hub.deadline()), (0, None));
}

#[test]
fn the_end_of_the_run_reaches_both_peers_over_any_link() {
    let mut stage = stage(
        pair(Variant::V7, Variant::V7),
        "link both blackhole from 4s\nlink both delay 1s from 4s",
    );
    stage.run(6 * SECOND);
    stage.world.input(Input::Shutdown { reason: b"the end" });
    assert_eq!(stage.count(Place::ToServer, control::CLOSE), 1);
    assert_eq!(stage.count(Place::ToClient, control::CLOSE), 1);
    assert_eq!(stage.world.hub().unwrap().sessions(), 0);
}

#[test]
fn lines_that_are_switched_off_lose_nothing_that_waits() {
    let mut stage = stage(pair(Variant::V7, Variant::V7), "link c2s delay 2s from 5s");
    stage.run(6 * SECOND);
    let said = stage.say();
    stage.run(100 * MS);
    stage.world.input(Input::Program(None));
    stage.run(1_700 * MS);
    assert!(!crate::stage::has(stage.slot(), &said[0]));
    stage.run(500 * MS);
    assert!(crate::stage::has(stage.slot(), &said[0]));
    stage.assert_plays();
}
