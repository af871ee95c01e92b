//! A client's program that ended silently and starts again on the same port plays again, and the server's old
//! slot is closed, not left to time out.

use teetap_kit::{
    codec::{control, open},
    link::{Conditions, MS, SECOND},
    peer::State,
    world::Place,
};
use teetap_proxy::session::Notice;

use crate::stage::{PAUSE, Pair, Stage};

/// Restarts after `moment` and plays again.
fn restart_at(pair: Pair, moment: u64, seed: u64) -> Stage {
    let mut stage = Stage::new(pair, seed);
    while stage.world.now < moment {
        if stage.world.now.is_multiple_of(PAUSE) {
            stage.say();
        }
        stage.step();
    }
    restart(&mut stage, moment);
    stage
}

fn restart(stage: &mut Stage, moment: u64) {
    stage.restart();
    let begun = stage.world.now;
    while !stage.plays() {
        stage.step();
        let took = stage.world.now - begun;
        let state = stage.client().state().clone();
        stage.check(
            took <= stage.pair.restart_time(),
            format_args!("restarted after {} ms: {state:?}", moment / MS),
        );
    }
    stage.assert_plays();
    for (addr, end) in stage.ended_slots() {
        let what = format_args!("restarted after {} ms: slot of {addr} ended {end:?}", moment / MS);
        // Without tokens the server may give its client up before the proxy does.
        let gave_up = stage.pair.is_tokenless() && matches!(end, State::Dead(_));
        stage.check(
            gave_up || matches!(end, State::Closed { by_peer: true, .. }),
            what,
        );
    }
}

#[test]
fn a_restart_at_any_moment_plays_again() {
    let mut took_over = 0;
    for pair in Pair::ALL {
        // The handshakes of both legs take up to 100 ms here.
        let early = (0..30).map(|tick| tick * 10 * MS);
        let late = [SECOND / 2, SECOND, 3 * SECOND / 2, 4 * SECOND, 20 * SECOND];
        for moment in early.chain(late) {
            let stage = restart_at(pair, moment, moment ^ 77);
            took_over += stage.times(&Notice::Restart);
        }
    }
    assert!(took_over > 50, "{took_over}");
}

/// Numbers that have wrapped are in the CLOSE's ack.
#[test]
fn a_restart_long_after_the_join_closes_the_old_slot() {
    for pair in Pair::ALL {
        let mut stage = Stage::joined(pair, 5);
        for _ in 0..1500 {
            stage.say();
            stage.run(20 * MS);
        }
        let (_, ack, _) = stage.slot().numbers();
        assert!(ack < 1024 && stage.slot().delivered.len() > 1400);
        stage.world.network.sent = Some(Vec::new());
        restart(&mut stage, 40 * SECOND);
        if matches!(stage.ends()[..], [State::Dead(_)]) {
            continue;
        }
        assert_eq!(stage.count(Place::ToServer, control::CLOSE), 1, "{pair:?}");
        let [(_, ended)] = &stage.world.server.finished[..] else {
            panic!("{pair:?}: one slot ended");
        };
        // Exactly what the old slot expected: its token, and the ack that the old client gave last.
        let sent = stage.world.network.sent.as_deref().unwrap();
        let close = sent
            .iter()
            .find(|sent| control::message(&sent.bytes) == Some(control::CLOSE))
            .unwrap();
        let opened = open(ended.format(), &close.bytes).unwrap();
        let (own_token, _) = ended.tokens();
        let (_, _, peer_ack) = ended.numbers();
        assert_eq!(opened.head.ack, peer_ack, "{pair:?}");
        assert!(
            opened.head.token.is_none_or(|token| token == own_token),
            "{pair:?}"
        );
        assert_eq!(opened.head.token.is_none(), pair.is_tokenless(), "{pair:?}");
    }
}

#[test]
fn restart_after_restart_plays_again() {
    for pair in Pair::ALL {
        let mut stage = Stage::joined(pair, 9);
        for round in 0..5 {
            restart(&mut stage, (2 + round * 3) * SECOND);
            stage.run(3 * SECOND);
        }
        assert_eq!(stage.ended_slots().len(), 5, "{pair:?}");
        assert_eq!(stage.world.hub().unwrap().sessions(), 1, "{pair:?}");
        assert_eq!(stage.world.sockets.len(), 1, "{pair:?}");
    }
}

/// The network repeats the lost requests of a restart as it does those of a first join.
#[test]
fn a_restart_on_a_bad_line_plays_again() {
    for pair in Pair::ALL {
        for seed in 0..20 {
            let mut stage = Stage::joined(pair, seed);
            stage.client().options.limits = false;
            stage.world.server.policy.options.limits = false;
            stage.restart();
            while *stage.client().state() == State::WantToken {
                stage.step();
            }
            stage.world.set_conditions(Conditions::bad(0.1));
            let begun = stage.world.now;
            // The CLOSE for the old slot may get lost, as it may without a proxy. Nothing else is sent meanwhile: a 0.7
            // client looks at acks before tokens, so late datagrams of the old slot can move its window.
            while !stage.client().is_online() || stage.client().delivered.is_empty() {
                stage.step();
                stage.check(stage.world.now - begun < 20 * SECOND, format_args!("seed {seed}"));
            }
            stage.world.set_conditions(Conditions::GOOD);
            stage.run(5 * SECOND);
            let talks = stage.talks(SECOND);
            stage.check(talks, format_args!("seed {seed}"));
            assert_eq!(stage.online.len(), 1, "{pair:?} seed {seed}");
            assert_eq!(stage.world.server.counters.rejoins, 0, "{pair:?} seed {seed}");
        }
    }
}

/// The old program's last datagrams arrive after the new one has begun.
#[test]
fn a_late_connect_of_the_old_program_does_not_disturb_the_new_one() {
    for pair in Pair::ALL {
        let mut stage = Stage::joined(pair, 3);
        let sent = stage.world.network.sent.clone().unwrap();
        let by_client = sent.into_iter().filter(|sent| sent.place == Place::FromClient);
        let is_knock =
            |bytes: &Vec<u8>| matches!(control::message(bytes), Some(control::CONNECT | control::TOKEN));
        let (knocks, rest): (Vec<_>, Vec<_>) = by_client.map(|sent| sent.bytes).partition(is_knock);
        // Without tokens the old program's datagrams look like the new one's, and only numbers distinguish them.
        let old = if pair.is_tokenless() {
            knocks
        } else {
            [rest, knocks].concat()
        };
        restart(&mut stage, 2 * SECOND);
        let session = stage.session();
        for bytes in &old {
            stage.world.client_sends(0, bytes);
            stage.run(100 * MS);
            stage.say();
        }
        stage.run(15 * SECOND);
        stage.assert_plays();
        assert_eq!(stage.session(), session, "{pair:?}\n{}", stage.transcript());
        assert_eq!(stage.world.sockets.len(), 1, "{pair:?}");
    }
}
