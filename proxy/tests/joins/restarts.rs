//! A client program that ended silently and starts again on the same port can play again whenever it could
//! without the proxy. The server sees one address and decides.

use teetap_kit::{
    codec::{Variant, control},
    link::{Conditions, MS, SECOND},
    peer::{Policy, Server, State},
    world::{Middle, config, hub},
};
use teetap_proxy::session::{EventKind, Notice};
use teetap_rules::Fate;
use teetap_wire::Code;

use crate::bench::{Bench, fate};
use crate::stage::{PAUSE, Pair, Stage};

/// Time after which every server has dropped a silent client.
const LONGEST: u64 = 130 * SECOND;
/// Maximum additional duration of the handshake on the server leg, which has one more exchange in 0.7.
const SLOWER: u64 = 200 * MS;

/// Lets a client play, restart at a moment and play again. Returns the stage and the duration of the
/// restart; `None` if the restart failed.
fn restart_at(pair: Pair, moment: u64, seed: u64, middle: Middle) -> (Stage, Option<u64>) {
    let mut stage = Stage::with(pair, seed, Policy::default(), middle);
    while stage.world.now < moment {
        if stage.world.now.is_multiple_of(PAUSE) {
            stage.say();
        }
        stage.step();
    }
    let took = restart(&mut stage);
    (stage, took)
}

fn restart(stage: &mut Stage) -> Option<u64> {
    stage.restart();
    // The client itself would give up before its server does.
    stage.client().options.limits = false;
    let begun = stage.world.now;
    while stage.world.now - begun < LONGEST {
        stage.step();
        if stage.plays() && stage.talks(SECOND) {
            return Some(stage.world.now - begun);
        }
    }
    None
}

#[test]
fn a_restart_at_any_moment_takes_as_long_as_directly() {
    let (mut again, mut never, mut took_over) = (0, 0, 0);
    for pair in Pair::ALL {
        // The handshakes of both legs take up to 100 ms here.
        let early = (0..15).map(|tick| tick * 20 * MS);
        for moment in early.chain([SECOND / 2, 4 * SECOND]) {
            let seed = moment ^ 77;
            let [direct, through] =
                [Middle::Wire, hub(seed, None, true)].map(|middle| restart_at(pair, moment, seed, middle));
            let (stage, through) = through;
            let what = format_args!("restarted after {} ms: {:?} {through:?}", moment / MS, direct.1);
            match (direct.1, through) {
                (None, None) => never += 1,
                (Some(direct), Some(through)) => {
                    stage.check(through <= direct + SLOWER, what);
                    again += 1;
                }
                // During a handshake one leg may be a step behind the other.
                (None, Some(_)) if moment < 200 * MS => {}
                _ => stage.check(false, what),
            }
            took_over += stage.times(&Notice::Restart);
        }
    }
    assert!(again > 100 && took_over > 50, "{again} {never} {took_over}");
}

#[test]
fn restart_after_restart_plays_again() {
    for pair in Pair::ALL.into_iter().filter(|pair| pair.has_lone_accept()) {
        let mut stage = Stage::joined(pair, 9);
        for round in 0..5 {
            let took = restart(&mut stage);
            stage.check(took.is_some(), format_args!("round {round}"));
            stage.run(3 * SECOND);
        }
        // The server resets the only slot of this address each time.
        assert_eq!(stage.world.server.counters.rejoins, 5, "{pair:?}");
        assert_eq!(stage.ended_slots().len(), 0, "{pair:?}");
        assert_eq!(stage.world.hub().unwrap().sessions(), 1, "{pair:?}");
        assert_eq!(stage.world.sockets.len(), 1, "{pair:?}");
    }
}

/// Lost requests of a restart are repeated like the requests of a first join.
#[test]
fn a_restart_on_a_bad_line_plays_again() {
    for pair in Pair::ALL
        .into_iter()
        .filter(|pair| pair.is_tokenless() || pair.has_lone_accept())
    {
        for seed in 0..5 {
            let mut stage = Stage::joined(pair, seed);
            stage.client().options.limits = false;
            stage.restart();
            stage.client().options.limits = false;
            stage.world.set_conditions(Conditions::bad(0.1));
            stage.world.spares_accept = true;
            let begun = stage.world.now;
            while !stage.client().is_online() || stage.client().delivered.is_empty() {
                stage.step();
                stage.check(stage.world.now - begun < LONGEST, format_args!("seed {seed}"));
            }
            stage.world.set_conditions(Conditions::GOOD);
            stage.run(5 * SECOND);
            let talks = stage.talks(SECOND);
            stage.check(talks, format_args!("seed {seed}"));
            assert_eq!(stage.online.len(), 1, "{pair:?} seed {seed}");
        }
    }
}

/// The last requests of the old program arrive after the new program has begun.
#[test]
fn a_late_connect_of_the_old_program_does_not_disturb_the_new_one() {
    for pair in Pair::ALL {
        let mut stage = Stage::joined(pair, 3);
        let sent = stage.world.network.sent.clone().unwrap();
        let is_knock =
            |bytes: &Vec<u8>| matches!(control::message(bytes), Some(control::CONNECT | control::TOKEN));
        let by_client = sent
            .into_iter()
            .filter(|sent| sent.place == teetap_kit::world::Place::FromClient);
        let knocks: Vec<_> = by_client.map(|sent| sent.bytes).filter(is_knock).collect();
        if restart(&mut stage).is_none() {
            continue;
        }
        let session = stage.session();
        for bytes in &knocks {
            stage.world.client_sends(0, bytes);
            stage.run(100 * MS);
            stage.say();
        }
        stage.run(15 * SECOND);
        stage.assert_plays();
        assert_eq!(stage.session(), session, "{pair:?}\n{}", stage.transcript());
        assert_eq!(stage.world.sockets.len(), 1, "{pair:?}");
        assert!(
            !matches!(stage.client().state(), State::Dead(_)),
            "{pair:?}: {:?}",
            stage.client().state()
        );
    }
}

/// Returns a session of DDNet whose client has sent message 1, and its server messages 1 to 4.
fn ddnet() -> Bench {
    let mut bench = Bench::with(Variant::Ddnet, config(3, None, true));
    bench.send("S a1 1:a 2:b 3:c 4:d");
    bench
}

fn restarts(bench: &Bench) -> usize {
    let mut notices = bench.notices.iter();
    notices
        .by_ref()
        .filter(|notice| **notice == Notice::Restart)
        .count()
}

/// The server restarts its numbers after an ACCEPT, although the client continues its own numbers. Acks of
/// numbers from before the ACCEPT are then no mistake of either peer, and neither are acks of messages
/// that were sent before the server's numbers showed the restart.
#[test]
fn acks_after_an_accept_in_the_session_are_right() {
    for is_late in [false, true] {
        let mut bench = Bench::with(Variant::Ddnet, config(3, None, true));
        // If the server receives the ACCEPT later, it has sent these messages before.
        let [first, second] = if is_late {
            ["C a0 accept", "S a1 1:a 2:b 3:c 4:d"]
        } else {
            ["S a1 1:a 2:b 3:c 4:d", "C a0 accept"]
        };
        for line in [
            first,
            second,
            "S a0 1:e 2:f",
            "C a0 2:b 3:c",
            "C a4 4:d",
            "C a2 5:e",
            "S R a0",
            "C a2 1*:hello 2*:b 3*:c 4*:d 5*:e",
        ] {
            bench.send(line);
            assert_eq!(bench.odd_acks, [], "{line}");
        }
        assert_eq!(restarts(&bench), 0);
        for line in ["S a4 3:g 4:h", "S a5 5:i", "C a5 6:f", "S a6 6:j", "C a6 7:g"] {
            bench.send(line);
            assert_eq!(bench.odd_acks, [], "{line}");
        }
        // In that case the new numbers equal the old ones, and prove nothing.
        assert_eq!(restarts(&bench), usize::from(!is_late));
        bench.send("S a8 7:k");
        bench.send("C a9 8:h");
        assert_eq!(bench.odd_acks, [Code::AckAhead, Code::AckAhead]);
        if !is_late {
            // The ack window belongs to the new numbers.
            bench.send("S a5 8:l");
            assert_eq!(bench.odd_acks.last(), Some(&Code::AckBehind));
        }
    }
}

/// The first answer of a server acks the messages that a restarted client has sent before it.
#[test]
fn the_first_ack_after_a_restart_is_right() {
    for rules in [false, true] {
        let mut bench = ddnet();
        if rules {
            bench.program(vec![fate("unused", Fate::Drop)]);
        }
        bench.send("C a4 2:b");
        bench.send("C a0 accept");
        bench.send("C a0 1:hi");
        assert_eq!(bench.odd_acks, [], "{rules}");
        if rules {
            // The numbers of the old program hide the message until then.
            bench.send("S a0 1:e");
            bench.is("C a1 1*:hi", &["S a1 1*:hi"]);
            bench.is("S a1 2:f", &["C a1 2:f"]);
        } else {
            bench.is("S a1 1:e", &["C a1 1:e"]);
            bench.is("C a1 2:b", &["S a1 2:b"]);
        }
        assert_eq!(bench.odd_acks, [], "{rules}");
        assert_eq!(restarts(&bench), 1, "{rules}");
    }
}

/// Without an ACCEPT no server restarts its numbers, so its acks are checked.
#[test]
fn numbers_that_begin_anew_without_an_accept_are_wrong() {
    let mut bench = ddnet();
    bench.send("C a4 2:b");
    bench.send("S a0 1:e");
    assert_eq!(bench.odd_acks, [Code::AckBehind]);
    assert_eq!(restarts(&bench), 0);
}

/// Datagrams of the server for a session that its client has replaced on the same port may still be under
/// way. The client drops them because of their token, and so does the proxy, but neither peer is wrong.
#[test]
fn late_datagrams_of_a_replaced_session_are_not_odd() {
    for pair in Pair::ALL.into_iter().filter(|pair| !pair.is_tokenless()) {
        let mut stage = Stage::joined(pair, 1);
        let (session, upstream) = (stage.session(), stage.world.sockets[0]);
        let (format, (_, shown)) = (stage.client().format(), stage.slot().tokens());
        let late = control::control(format, 0, Some(shown), control::KEEPALIVE, &[]);
        // The new server uses other tokens, and has no slot that would have to time out first.
        stage.world.server = Server::new(pair.server, stage.world.server.policy.clone(), 99);
        stage.restart();
        stage.run(SECOND);
        stage.assert_plays();
        let is_other = stage.session() != session;
        stage.check(is_other, "the session is another one");
        assert_eq!(stage.world.sockets, [upstream], "{pair:?}: the same socket");
        let codes = |stage: &mut Stage| {
            let before = stage.world.events.len();
            stage.world.server_sends(upstream, &late);
            let events = stage.world.events.iter().skip(before);
            let of_datagrams = events.filter_map(|event| match &event.what {
                EventKind::Datagram(datagram) => {
                    Some(datagram.notes.iter().map(|note| note.code).collect::<Vec<_>>())
                }
                _ => None,
            });
            of_datagrams.collect::<Vec<_>>()
        };
        let at_once = codes(&mut stage);
        stage.equal(at_once, vec![vec![]], "at once");
        stage.run(3 * SECOND);
        let later = codes(&mut stage);
        stage.equal(later, vec![vec![Code::WrongToken]], "later");
        stage.assert_plays();
    }
}
