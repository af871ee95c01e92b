//! Refusals, kicks and leaves: both sides read the other's reason unchanged, as without the proxy, and a
//! CLOSE that its receiver would ignore ends nothing.

use teetap_kit::{
    codec::{NO_TOKEN, Variant, control},
    link::{MS, SECOND},
    peer::{Policy, Refusal, State as PeerState},
    rules::pass_all,
    world::{Loss, Middle, Place, hub, upstream_addr},
};
use teetap_proxy::session::{Input, State, UpstreamId, What};

use crate::stage::{Pair, Stage, closed};

const VERSION: &str =
    "Wrong version. Server is running '0.6 626fce9a778df4d4' and client '0.7 802f1be60a05665f'";

/// How the client's attempt ends.
fn refused(pair: Pair, policy: &Policy, middle: Middle) -> (PeerState, Stage) {
    let mut stage = Stage::with(pair, 31, policy.clone(), middle);
    stage.run(3 * SECOND);
    (stage.client().state().clone(), stage)
}

#[test]
fn the_client_reads_the_servers_refusal() {
    let text = "You have been banned for 5 minutes (Stressing network)";
    let cases = [
        (
            Policy {
                refusal: Some(Refusal::Full),
                ..Policy::default()
            },
            "This server is full",
        ),
        (
            Policy {
                max_clients: 0,
                ..Policy::default()
            },
            "This server is full",
        ),
        (
            Policy {
                max_clients_per_ip: 0,
                ..Policy::default()
            },
            "Only 0 players with the same IP are allowed",
        ),
        (
            Policy {
                refusal: Some(Refusal::Banned(text.into())),
                ..Policy::default()
            },
            text,
        ),
        (
            Policy {
                refusal: Some(Refusal::WrongPassword),
                ..Policy::default()
            },
            "Wrong password",
        ),
    ];
    for pair in Pair::ALL {
        for (policy, reason) in &cases {
            let (direct, _) = refused(pair, policy, Middle::Wire);
            let (proxied, mut stage) = refused(pair, policy, hub(1, None, true));
            if reason == &text && pair.client.is_seven() && pair.server.is_ddnet() {
                // DDNet sends a ban in the form of 0.6 only, which no 0.7 client reads.
                assert_eq!(
                    [&direct, &proxied],
                    [&PeerState::WantToken, &PeerState::Connecting],
                    "{pair:?}"
                );
                continue;
            }
            assert_eq!(
                proxied,
                closed(reason),
                "{pair:?} {reason}\n{}",
                stage.transcript()
            );
            // 0.6.5 reads no CLOSE without token while it connects; the proxy says it with one.
            let improved =
                direct == PeerState::Connecting && pair.client == Variant::V65 && pair.is_tokenless();
            assert!(improved || direct == proxied, "{pair:?} {reason}: {direct:?}");
            stage.run(3 * SECOND);
            assert_eq!(stage.world.hub().unwrap().sessions(), 0, "{pair:?} {reason}");
            assert!(stage.world.sockets.is_empty(), "{pair:?} {reason}");
        }
    }
}

#[test]
fn a_refused_client_may_try_again() {
    for pair in Pair::ALL {
        let policy = Policy {
            refusal: Some(Refusal::Full),
            ..Policy::default()
        };
        let (end, mut stage) = refused(pair, &policy, hub(2, None, true));
        assert_eq!(end, closed("This server is full"), "{pair:?}");
        stage.world.server.policy.refusal = None;
        stage.restart();
        stage.run(2 * SECOND);
        stage.assert_plays();
    }
}

#[test]
fn the_reason_of_a_kick_reaches_the_client() {
    let long = "x".repeat(127);
    for pair in Pair::ALL {
        for reason in [VERSION, "Kicked (flüstern \u{1f600})", "", &long] {
            let mut stage = Stage::joined(pair, 3);
            let now = stage.world.now;
            stage.slot().close(reason, now);
            stage.run(SECOND);
            assert_eq!(*stage.client().state(), closed(reason), "{pair:?}");
            assert!(stage.online.is_empty());
            stage.run(3 * SECOND);
            assert!(stage.world.sockets.is_empty());
        }
    }
}

#[test]
fn the_reason_of_a_quit_reaches_the_server() {
    for pair in Pair::ALL {
        for reason in ["Client shutdown", "flüstern", ""] {
            let mut stage = Stage::joined(pair, 3);
            let now = stage.world.now;
            stage.client().close(reason, now);
            stage.run(SECOND);
            let ends: Vec<PeerState> = stage.ended_slots().into_iter().map(|(_, end)| end).collect();
            assert_eq!(ends, [closed(reason)], "{pair:?}");
            stage.run(3 * SECOND);
            assert!(stage.world.sockets.is_empty());
            assert_eq!(stage.world.hub().unwrap().sessions(), 0);
            let told = stage.world.events.iter().filter_map(|event| match &event.what {
                What::Session(change) if change.state == State::Closing => change.reason.clone(),
                _ => None,
            });
            let told: Vec<Box<[u8]>> = told.collect();
            assert_eq!(told, [reason.as_bytes().into()], "{pair:?}");
        }
    }
}

/// A client that leaves before the server has answered ends its session; the server's slot, where it has one, is closed.
#[test]
fn a_client_may_leave_while_joining() {
    // 0.6.5 leaves with a token flag that no tokenless server reads, with or without the proxy.
    let understood = |pair: &Pair| pair.client != Variant::V65 || !pair.is_tokenless();
    for pair in Pair::ALL.into_iter().filter(understood) {
        for moment in (0..14).map(|tick| tick * 10 * MS) {
            let mut stage = Stage::new(pair, 8);
            stage.run(moment);
            let now = stage.world.now;
            stage.client().close("changed my mind", now);
            // Without a slot nothing is requested from a server for longer than the client could repeat its CONNECT.
            stage.run(15 * SECOND);
            assert_eq!(
                stage.world.hub().unwrap().sessions(),
                0,
                "{pair:?} at {moment}\n{}",
                stage.transcript()
            );
            assert!(stage.world.sockets.is_empty(), "{pair:?} at {moment}");
            assert_eq!(
                stage.world.server.peers().count(),
                0,
                "{pair:?} at {moment}\n{}",
                stage.transcript()
            );
        }
    }
}

/// Untouched and renumbered sessions alike.
fn on_both_kinds(test: impl Fn(&mut Stage)) {
    for pair in Pair::ALL {
        for renumbered in [false, true] {
            let mut stage = Stage::joined(pair, 12);
            if renumbered {
                stage.world.input(Input::Program(pass_all()));
                stage.run(SECOND);
                stage.assert_plays();
            }
            test(&mut stage);
            stage.run(3 * SECOND);
            assert!(
                stage.online.len() == 1 && stage.plays(),
                "{pair:?} {renumbered}\n{}",
                stage.transcript()
            );
            assert!(
                stage.talks(SECOND),
                "{pair:?} {renumbered}\n{}",
                stage.transcript()
            );
        }
    }
}

#[test]
fn a_close_with_a_wrong_ack_ends_nothing() {
    on_both_kinds(|stage| {
        for wrong in [5, 300, 511, 512, 1000] {
            let (sent_up, sent_down) = (stage.client().numbers().0, stage.slot().numbers().0);
            let format = stage.client().format();
            let (_, token) = stage.client().tokens();
            let token = (format != Variant::V6).then_some(token);
            let bytes = control::close(format, (sent_down + wrong) % 1024, token, "bye");
            stage.world.client_sends(0, &bytes);
            let (_, token) = stage.slot().tokens();
            let token = (format != Variant::V6).then_some(token);
            let bytes = control::close(stage.slot().format(), (sent_up + wrong) % 1024, token, "bye");
            server_sends(stage, &bytes);
            stage.run(100 * MS);
        }
    });
}

#[test]
fn a_close_with_a_wrong_token_ends_nothing() {
    on_both_kinds(|stage| {
        let format = stage.client().format();
        if format == Variant::V6 {
            return;
        }
        let (own, peer) = (stage.client().tokens(), stage.slot().tokens());
        // Those of the other leg and of the other direction are wrong here, too.
        let foreign = [
            Some(peer.0),
            Some(peer.1),
            Some([1, 2, 3, 4]),
            Some(NO_TOKEN),
            None,
        ];
        let ack = stage.client().numbers().1;
        for token in foreign.into_iter().filter(|token| *token != Some(own.1)) {
            let shape = if token.is_none() { Variant::V6 } else { format };
            stage
                .world
                .client_sends(0, &control::close(shape, ack, token, "bye"));
        }
        let ack = stage.slot().numbers().1;
        let foreign = [Some(own.0), Some(own.1), Some([1, 2, 3, 4]), Some(NO_TOKEN), None];
        for token in foreign.into_iter().filter(|token| *token != Some(peer.1)) {
            let shape = if token.is_none() { Variant::V6 } else { format };
            server_sends(stage, &control::close(shape, ack, token, "bye"));
        }
    });
}

fn server_sends(stage: &mut Stage, bytes: &[u8]) {
    let upstream = *stage.world.sockets.last().unwrap_or(&UpstreamId(1));
    assert!(
        stage.world.server.peer(upstream_addr(upstream)).is_some(),
        "{:?}\n{}",
        stage.pair,
        stage.transcript()
    );
    stage.world.input(Input::FromServer { upstream, bytes });
}

/// The single CLOSE gets lost: the other side finds out by itself, and the proxy gives up its session.
#[test]
fn a_lost_close_leaves_nothing_behind() {
    for pair in Pair::ALL {
        let mut stage = Stage::joined(pair, 3);
        stage.world.network.losses.push(Loss {
            place: Place::FromClient,
            message: control::CLOSE,
            times: 1,
        });
        let now = stage.world.now;
        stage.client().close("bye", now);
        stage.run(130 * SECOND);
        assert_eq!(stage.world.hub().unwrap().sessions(), 0, "{pair:?}");
        assert!(stage.world.sockets.is_empty(), "{pair:?}");
        assert_eq!(stage.world.server.peers().count(), 0, "{pair:?}");
    }
}
