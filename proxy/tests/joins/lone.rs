//! Messages of DDNet's handshakes that are sent once, and the effect on a session if one of them is lost.

use teetap_kit::{
    codec::{Variant, control},
    link::{MS, SECOND},
    peer::Policy,
    world::{Loss, Middle, Place, hub, upstream_addr},
};
use teetap_proxy::session::{Notice, UpstreamId};

use crate::stage::{Pair, Stage, pair};

const DDNET: Pair = pair(Variant::Ddnet, Variant::Ddnet);

fn losing(pair: Pair, place: Place, message: u8, times: u32) -> Stage {
    losing_in(Stage::new(pair, 21), place, message, times)
}

fn losing_in(mut stage: Stage, place: Place, message: u8, times: u32) -> Stage {
    let loss = Loss {
        place,
        message,
        times,
    };
    stage.world.network.losses.push(loss);
    stage
}

/// Returns a stage of DDNet peers that loses datagrams, with a hub that repairs the loss of ACCEPT.
fn healing(place: Place, message: u8, times: u32) -> Stage {
    repaired(DDNET, place, message, times)
}

fn repaired(pair: Pair, place: Place, message: u8, times: u32) -> Stage {
    losing_in(Stage::healing(pair, 21), place, message, times)
}

fn repeats(stage: &Stage) -> usize {
    stage.times(&Notice::AcceptRepeated)
}

#[test]
fn accept_goes_to_the_server_once() {
    for pair in Pair::ALL {
        let mut stage = Stage::joined(pair, 2);
        stage.run(20 * SECOND);
        stage.assert_plays();
        let tokened = usize::from(pair.has_lone_accept());
        let lone = stage.world.network.sent.as_deref().unwrap().iter();
        let lone =
            lone.filter(|sent| sent.place == Place::ToServer && sent.bytes.starts_with(&[0x10, 0, 0, 3]));
        // The ACCEPT of a tokenless client has no token and is ignored.
        assert_eq!(
            lone.filter(|sent| sent.bytes.len() == 8).count(),
            tokened,
            "{pair:?}"
        );
        assert_eq!(repeats(&stage), 0);
        assert_eq!(stage.world.server.counters.rejoins, 0);
    }
}

#[test]
fn the_clients_accept_may_get_lost_where_that_is_repaired() {
    let mut stage = healing(Place::FromClient, control::ACCEPT, 1);
    stage.run(SECOND);
    stage.assert_plays();
    assert_eq!(stage.count(Place::FromClient, control::ACCEPT), 1);
    assert_eq!(stage.count(Place::ToServer, control::ACCEPT), 1);
    assert_eq!(stage.world.server.counters.rejoins, 0);
}

/// As without the proxy: the client believes that it plays, and the server has no slot.
#[test]
fn a_lost_accept_of_the_client_stays_lost() {
    for place in [Place::FromClient, Place::ToServer] {
        let mut stage = losing(DDNET, place, control::ACCEPT, 1);
        stage.run(9 * SECOND);
        stage.equal(stage.world.server.counters.opened, 0, "slots");
        stage.equal(
            stage.count(Place::ToServer, control::ACCEPT),
            usize::from(place == Place::ToServer),
            "ACCEPT",
        );
    }
}

/// DDNet's server restarts its numbers with each ACCEPT in a session, with or without a proxy.
#[test]
fn each_accept_of_the_client_reaches_the_server() {
    for is_direct in [true, false] {
        let middle = if is_direct {
            Middle::Wire
        } else {
            hub(4, None, true)
        };
        let mut stage = Stage::with(DDNET, 4, Policy::default(), middle);
        stage.run(2 * SECOND);
        let sent = stage.world.network.sent.clone().unwrap();
        let accept = sent
            .iter()
            .find(|sent| control::message(&sent.bytes) == Some(control::ACCEPT));
        let accept = accept.unwrap().bytes.clone();
        for _ in 0..5 {
            stage.world.client_sends(0, &accept);
            stage.run(700 * MS);
        }
        assert_eq!(stage.world.server.counters.rejoins, 5, "{is_direct}");
        assert!(!stage.talks(SECOND), "{is_direct}");
    }
}

#[test]
fn the_accept_to_the_server_is_repeated_only_when_nothing_came_back() {
    for times in 1..4 {
        let mut stage = healing(Place::ToServer, control::ACCEPT, times);
        let wait = 2 * SECOND * u64::from(times);
        stage.run(wait);
        assert!(!stage.plays());
        stage.run(1500 * MS);
        stage.assert_plays();
        stage.run(20 * SECOND);
        let sent = usize::try_from(times).unwrap() + 1;
        assert_eq!(stage.count(Place::ToServer, control::ACCEPT), sent);
        assert_eq!(repeats(&stage), sent - 1);
        assert_eq!(stage.world.server.counters.rejoins, 0);
        assert_eq!(stage.world.server.counters.opened, 1);
    }
}

/// A server without a slot also answers CONNECT, and every copy of it that the network made. Such an
/// answer does not show that the ACCEPT was received.
#[test]
fn a_late_answer_to_connect_does_not_stand_for_the_slot() {
    let mut stage = healing(Place::ToServer, control::ACCEPT, 1);
    stage.run(SECOND / 2);
    let sent = stage.world.network.sent.clone().unwrap();
    let answer = sent.iter().find(|sent| sent.place == Place::FromServer).unwrap();
    assert_eq!(control::message(&answer.bytes), Some(control::CONNECT_ACCEPT));
    let item = (upstream_addr(UpstreamId(1)), answer.bytes.clone());
    let now = stage.world.now;
    stage.world.down.send_at(item, now);
    stage.run(3 * SECOND);
    stage.assert_plays();
    assert_eq!(repeats(&stage), 1);
}

/// On a slow line nothing can have arrived from the server yet.
#[test]
fn a_slow_line_does_not_repeat_the_accept() {
    for delay in [400 * MS, 900 * MS, 1500 * MS] {
        let mut stage = Stage::new(DDNET, 6);
        stage.world.up.conditions.delay = delay;
        stage.world.down.conditions.delay = delay;
        stage.run(20 * SECOND);
        assert_eq!(repeats(&stage), 0, "{} ms", delay / MS);
        assert_eq!(stage.world.server.counters.rejoins, 0, "{} ms", delay / MS);
        assert!(stage.plays() && stage.talks(5 * SECOND));
    }
}

#[test]
fn answers_to_the_client_may_get_lost() {
    for pair in Pair::ALL {
        for times in [1, 3] {
            let mut stage = repaired(pair, Place::ToClient, control::CONNECT_ACCEPT, times);
            stage.run(3 * SECOND);
            stage.assert_plays();
            assert_eq!(stage.world.server.counters.opened, 1, "{pair:?}");
        }
    }
}

#[test]
fn the_only_answer_of_ddnets_server_may_get_lost() {
    for pair in Pair::ALL {
        let mut stage = repaired(pair, Place::FromServer, control::CONNECT_ACCEPT, 1);
        stage.run(3 * SECOND);
        stage.assert_plays();
        assert_eq!(stage.world.server.counters.opened, 1, "{pair:?}");
    }
}

#[test]
fn requests_and_tokens_may_get_lost() {
    for pair in Pair::ALL {
        for (place, message) in [
            (Place::FromClient, control::CONNECT),
            (Place::ToServer, control::CONNECT),
            (Place::ToServer, control::TOKEN),
            (Place::FromServer, control::TOKEN),
        ] {
            let mut stage = repaired(pair, place, message, 2);
            stage.run(4 * SECOND);
            stage.assert_plays();
            assert_eq!(stage.world.server.counters.opened, 1, "{pair:?}");
            assert_eq!(stage.world.server.counters.rejoins, 0, "{pair:?}");
        }
    }
}
