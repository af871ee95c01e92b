//! Silence and unreachable servers: the notices, and which sessions survive or are removed.

use teetap_kit::{
    codec::{Variant, control},
    link::{Conditions, MS, SECOND},
    peer::{Peer, Server, State as PeerState},
    world::{Place, client_addr},
};
use teetap_proxy::session::{Command, Input, Notice, UpstreamId};
use teetap_wire::Side;

use crate::stage::{Pair, Stage, closed};

/// All datagrams are lost.
const DEAD: Conditions = Conditions {
    delay: 10 * MS,
    jitter: 0,
    loss: 1.0,
    duplicate: 0.0,
};

fn server_away(stage: &mut Stage, away: bool) {
    let conditions = if away { DEAD } else { Conditions::GOOD };
    (stage.world.up.conditions, stage.world.down.conditions) = (conditions, conditions);
}

/// Reports an error of the operating system: no program listens at the server's address.
fn unreachable(stage: &mut Stage) {
    for upstream in stage.world.sockets.clone() {
        let error = "connection refused";
        stage.world.input(Input::Unreachable { upstream, error });
    }
}

fn unreachables(stage: &Stage) -> usize {
    let is_one = |notice: &&Notice| matches!(notice, Notice::UpstreamUnreachable { .. });
    stage.notices().iter().filter(is_one).count()
}

fn silences(stage: &Stage) -> Vec<u64> {
    let notices = stage.notices().into_iter();
    let silences = notices.filter_map(|notice| match notice {
        Notice::UpstreamSilent { time } => Some(time.as_secs()),
        _ => None,
    });
    silences.collect()
}

#[test]
fn a_client_may_wait_for_a_server_that_is_not_there_yet() {
    for pair in Pair::ALL {
        let mut stage = Stage::new(pair, 1);
        stage.client().options.limits = false;
        server_away(&mut stage, true);
        for _ in 0..17 {
            stage.run(SECOND);
            unreachable(&mut stage);
        }
        assert_eq!(silences(&stage), [2, 4, 8, 16], "{pair:?}");
        assert_eq!(unreachables(&stage), 4, "{pair:?}: once in 5 s");
        server_away(&mut stage, false);
        stage.run(3 * SECOND);
        stage.assert_plays();
        assert_eq!(stage.ever_online, 1);
    }
}

#[test]
fn a_client_that_gives_up_leaves_nothing_behind() {
    for pair in Pair::ALL {
        let mut stage = Stage::new(pair, 1);
        server_away(&mut stage, true);
        stage.run(4 * SECOND);
        // The proxy does not know a 0.7 client whose TOKEN request was never answered; here it always
        // answers.
        assert!(!stage.is_clear());
        stage.vanish();
        stage.run(4 * SECOND);
        assert!(!stage.is_clear(), "{pair:?}");
        stage.run(4 * SECOND);
        stage.assert_clear("is not clear");
        stage.equal(stage.count(Place::ToServer, control::CLOSE), 0, "closes");
        server_away(&mut stage, false);
        stage.restart();
        stage.run(2 * SECOND);
        stage.assert_plays();
    }
}

/// The client's own limit ends the session: 10 s of CONNECT in 0.7.
#[test]
fn a_client_of_teeworlds_0_7_gives_up_by_itself() {
    let mut stage = Stage::new(Pair::ALL[0], 1);
    server_away(&mut stage, true);
    stage.run(25 * SECOND);
    assert!(
        matches!(stage.client().state(), PeerState::Dead(_)),
        "{:?}",
        stage.client().state()
    );
    stage.assert_clear("is not clear");
}

/// The server has answered, but the client has left. The server drops the client after its own timeout, as
/// without the proxy.
#[test]
fn a_client_that_never_comes_is_left_to_the_server() {
    for pair in Pair::ALL {
        let mut stage = Stage::new(pair, 1);
        stage.run(20 * MS);
        while !stage.client().is_online()
            && stage.world.server.counters.opened + stage.world.server.counters.answers < 1
        {
            stage.step();
        }
        stage.vanish();
        stage.world.clients[0].up.conditions = DEAD;
        // DDNet's server drops the client after 100 s, and the session ends 120 s later.
        stage.run(225 * SECOND);
        stage.assert_clear("is not clear");
        stage.equal(stage.count(Place::ToServer, control::CLOSE), 0, "closes");
        stage.equal(stage.world.server.peers().count(), 0, "slots");
        for end in stage.ends() {
            assert!(matches!(end, PeerState::Dead(_)), "{pair:?} {end:?}");
        }
    }
}

#[test]
fn a_session_survives_the_silence_of_its_server() {
    for pair in Pair::ALL {
        let mut stage = Stage::joined(pair, 1);
        stage.client().options.limits = false;
        stage.slot().options.limits = false;
        let session = stage.session();
        server_away(&mut stage, true);
        stage.say();
        for _ in 0..60 {
            unreachable(&mut stage);
            stage.run(SECOND);
        }
        assert_eq!(silences(&stage), [5], "{pair:?}");
        assert_eq!(unreachables(&stage), 12, "{pair:?}");
        server_away(&mut stage, false);
        stage.run(3 * SECOND);
        stage.assert_plays();
        assert_eq!(stage.session(), session);
        // A second silence is reported again.
        server_away(&mut stage, true);
        stage.run(7 * SECOND);
        assert_eq!(silences(&stage), [5, 5], "{pair:?}");
    }
}

/// The proxy keeps a silent client as long as its server does: DDNet's timeout is up to 1000 s. When both
/// have been silent for two minutes, neither gets a CLOSE, because a DDNet server may keep the player for
/// longer.
#[test]
fn a_silent_client_is_kept_by_its_server() {
    for pair in Pair::ALL {
        let mut stage = Stage::joined(pair, 1);
        stage.slot().options.limits = false;
        stage.client().options.limits = false;
        let session = stage.session();
        let is_up = stage.world.clients[0].up.conditions;
        stage.world.clients[0].up.conditions = DEAD;
        stage.run(995 * SECOND);
        stage.world.clients[0].up.conditions = is_up;
        stage.run(2 * SECOND);
        stage.assert_plays();
        assert_eq!(stage.session(), session, "{pair:?}");
        stage.vanish();
        server_away(&mut stage, true);
        stage.run(115 * SECOND);
        assert!(!stage.is_clear(), "{pair:?}");
        stage.run(10 * SECOND);
        stage.assert_clear("is not clear");
        stage.equal(stage.count(Place::ToServer, control::CLOSE), 0, "closes");
        stage.equal(stage.count(Place::ToClient, control::CLOSE), 0, "closes");
        assert!(stage.slot().is_online(), "{pair:?}");
    }
}

/// The peers' own limits end a session earlier, with their reason.
#[test]
fn a_servers_own_limit_reaches_the_client() {
    let mut stage = Stage::joined(Pair::ALL[0], 1);
    stage.run(2 * SECOND);
    stage.world.clients[0].up.conditions = DEAD;
    stage.client().options.limits = false;
    stage.run(12 * SECOND);
    assert_eq!(*stage.client().state(), closed("Timeout"));
    stage.run(3 * SECOND);
    stage.assert_clear("is not clear");
}

#[test]
fn a_socket_that_cannot_be_opened_is_reported() {
    let mut stage = Stage::new(Pair::ALL[4], 1);
    stage.run(20 * MS);
    stage.world.input(Input::UpstreamFailed {
        exhausted: false,
        upstream: UpstreamId(1),
        error: "too many open files",
    });
    assert!(stage.notices().contains(&Notice::UpstreamFailed {
        error: "too many open files".into()
    }));
}

#[test]
fn a_command_closes_both_legs_and_tells_one_or_both() {
    for pair in Pair::ALL {
        for side in [None, Some(Side::Client), Some(Side::Server)] {
            let mut stage = Stage::joined(pair, 1);
            let session = stage.session();
            let command = Command::Close {
                session,
                side,
                reason: b"enough"[..].into(),
            };
            stage.world.command(command);
            stage.run(5 * SECOND);
            stage.assert_clear("is not clear");
            // Both peers get a CLOSE, so that neither waits for the other. Only the peer that the command
            // names gets the reason.
            let told = |leg| {
                closed(if side.is_none_or(|side| side == leg) {
                    "enough"
                } else {
                    ""
                })
            };
            assert_eq!(*stage.client().state(), told(Side::Client), "{pair:?} {side:?}");
            assert_eq!(stage.ends(), vec![told(Side::Server)], "{pair:?} {side:?}");
        }
    }
}

#[test]
fn early_ends_of_servers_that_ban_for_them_are_reported() {
    for pair in Pair::ALL {
        for (after, early) in [(300 * MS, true), (1300 * MS, false)] {
            let mut stage = Stage::new(pair, 1);
            stage.run(after);
            assert!(stage.plays(), "{pair:?}");
            stage.leave("");
            stage.run(SECOND);
            let bans = pair.is_tokenless() || pair.client.is_seven();
            let reported = stage.notices().contains(&Notice::EarlyClose);
            assert_eq!(reported, early && bans, "{pair:?} after {after}");
        }
    }
}

/// Datagrams after the CLOSE of a peer are forwarded, so that the other peer decides what to do with them, as
/// without the proxy. The proxy itself answers none of them, not even after the session is forgotten.
#[test]
fn what_comes_after_the_close_of_a_peer_goes_on() {
    for pair in Pair::ALL {
        for by in [Side::Client, Side::Server] {
            let mut stage = Stage::joined(pair, 1);
            let (_, token) = stage.client().tokens();
            let format = stage.client().format();
            let now = stage.world.now;
            match by {
                Side::Client => stage.client().close("", now),
                Side::Server => stage.slot().close("", now),
            }
            stage.run(100 * MS);
            let token = (format != Variant::V6).then_some(token);
            let keepalive = control::control(format, 0, token, control::KEEPALIVE, &[]);
            let goes_on = |stage: &mut Stage| {
                stage.world.network.sent = Some(Vec::new());
                stage.world.client_sends(0, &keepalive);
                let sent = stage.world.network.sent.clone().unwrap();
                assert!(sent.iter().all(|sent| sent.addr != client_addr(0)), "{pair:?}");
                sent.len()
            };
            // The loop takes longer than a session lingers, but the session exists as long as its client
            // keeps sending.
            for _ in 0..5 {
                assert_eq!(goes_on(&mut stage), 1, "{pair:?}: after the CLOSE of the {by:?}");
                stage.run(SECOND);
            }
            stage.run(5 * SECOND);
            assert_eq!(goes_on(&mut stage), 0, "{pair:?}: the session is forgotten");
            stage.assert_clear("is not clear");
        }
    }
}

/// Peers of all kinds use one hub without disturbing one another.
#[test]
fn many_clients_of_all_kinds_play_at_once() {
    let mut stage = Stage::new(Pair::ALL[4], 1);
    stage.world.server = Server::new(Variant::Ddnet, stage.world.server.policy.clone(), 1);
    for (seed, variant) in (2..).zip(Variant::ALL.into_iter().cycle().take(20)) {
        let mut peer = Peer::client(variant, stage.client().options.clone(), seed);
        peer.connect(0);
        stage.world.add(peer, Conditions::GOOD, seed);
    }
    stage.world.run(3 * SECOND);
    assert!(stage.world.clients.iter().all(|client| client.peer.is_online()));
    assert_eq!(stage.world.server.peers().count(), 21);
    assert_eq!(stage.world.hub().unwrap().stats().sessions, 21);
    // The clients leave one after the other. The remaining clients keep playing.
    for index in 0..21 {
        let now = stage.world.now;
        stage.world.clients[index].peer.close("bye", now);
        stage.world.run(SECOND);
        assert_eq!(stage.world.server.peers().count(), 20 - index);
        let online = stage
            .world
            .clients
            .iter()
            .filter(|client| client.peer.is_online());
        assert_eq!(online.count(), 20 - index);
    }
}
