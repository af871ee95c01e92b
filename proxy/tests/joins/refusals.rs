//! Refusals, kicks and leaves: each side reads the other's reason unchanged, as without the proxy. A CLOSE
//! that its receiver would ignore does not end the session.

use teetap_kit::{
    codec::{NO_TOKEN, Variant, control},
    link::{MS, SECOND},
    peer::{Policy, Refusal, State as PeerState},
    rules::pass_all,
    world::{Loss, Middle, Place, hub, upstream_addr},
};
use teetap_proxy::session::{EventKind, Input, State, UpstreamId};

use teetap_wire::{Code, Control, Scratch};

use crate::stage::{Pair, Stage, closed};

const VERSION: &str =
    "Wrong version. Server is running '0.6 626fce9a778df4d4' and client '0.7 802f1be60a05665f'";

/// Returns the final state of a client that is refused.
fn refused(pair: Pair, policy: &Policy, middle: Middle) -> (PeerState, Stage) {
    let mut stage = Stage::with(pair, 31, policy.clone(), middle);
    stage.run(3 * SECOND);
    (stage.client().state().clone(), stage)
}

#[test]
fn the_client_reads_the_servers_refusal() {
    let text = "You have been banned for 5 minutes (Stressing network)";
    let slots = |max_clients, max_clients_per_ip| Policy {
        max_clients,
        max_clients_per_ip,
        ..Policy::default()
    };
    let cases = [
        (Policy::refuses(Refusal::Full), "This server is full"),
        (slots(0, 64), "This server is full"),
        (slots(64, 0), "Only 0 players with the same IP are allowed"),
        // With its NUL this reason is as long as a token.
        (Policy::refuses(Refusal::Banned("bye".into())), "bye"),
        (Policy::refuses(Refusal::Banned(text.into())), text),
        (Policy::refuses(Refusal::WrongPassword), "Wrong password"),
    ];
    for pair in Pair::ALL {
        for (policy, reason) in &cases {
            let (direct, _) = refused(pair, policy, Middle::Wire);
            let (proxied, mut stage) = refused(pair, policy, hub(1, None, true));
            if [text, "bye"].contains(reason) && pair.client.is_seven() && pair.server.is_ddnet() {
                // DDNet sends a ban only in the form of 0.6, which no 0.7 client reads.
                assert_eq!(
                    [&direct, &proxied],
                    [&PeerState::WantToken, &PeerState::Connecting],
                    "{pair:?}"
                );
                continue;
            }
            stage.equal(&proxied, &direct, reason);
            // 0.6.5 ignores a CLOSE without a token while it connects.
            let is_unread = pair.client == Variant::V65 && proxied == PeerState::Connecting;
            stage.check(is_unread || proxied == closed(reason), reason);
            if is_unread {
                stage.vanish();
                stage.run(5 * SECOND);
            }
            stage.run(3 * SECOND);
            stage.assert_clear(reason);
        }
    }
}

/// Returns the reasons of all CLOSE packets that the proxy has received, as watchers read them, with their
/// notes.
fn reasons(stage: &Stage) -> Vec<(String, Vec<Code>)> {
    let mut scratch = Scratch::new();
    let mut reasons = Vec::new();
    for event in &stage.world.events {
        let EventKind::Datagram(datagram) = &event.what else {
            continue;
        };
        let Some(Ok(packet)) = datagram.packet(&mut scratch) else {
            continue;
        };
        if let Some(Control::Close { reason }) = packet.control() {
            let reason = String::from_utf8_lossy(reason.unwrap_or_default()).into_owned();
            reasons.push((reason, datagram.notes.iter().map(|note| note.code).collect()));
        }
    }
    reasons
}

/// Before a DDNet server has given a token, its CLOSE has none; later a CLOSE without a token does not end
/// the session. A reason of three letters with its NUL is as long as a token.
#[test]
fn a_short_reason_is_no_token() {
    let pair = Pair::ALL[4];
    for reason in ["a", "no", "bye", "full"] {
        let policy = Policy::refuses(Refusal::Banned(reason.into()));
        let (_, stage) = refused(pair, &policy, hub(1, None, true));
        stage.equal(reasons(&stage), vec![(reason.to_owned(), vec![])], reason);
        let mut stage = Stage::joined(pair, 3);
        let close = control::close(Variant::V6, 1, None, reason);
        server_sends(&mut stage, &close);
        stage.world.client_sends(0, &close);
        let expected = (reason.to_owned(), vec![Code::MissingToken]);
        stage.equal(reasons(&stage), vec![expected.clone(), expected], reason);
        stage.assert_plays();
    }
}

#[test]
fn a_refused_client_may_try_again() {
    for pair in Pair::ALL {
        let policy = Policy::refuses(Refusal::Full);
        let (end, mut stage) = refused(pair, &policy, hub(2, None, true));
        // 0.6.5 ignores a CLOSE without a token while it connects.
        let is_unread = pair.client == Variant::V65 && pair.is_tokenless() && end == PeerState::Connecting;
        assert!(
            is_unread || end == closed("This server is full"),
            "{pair:?}: {end:?}"
        );
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
            assert_eq!(stage.online.len(), 0, "{pair:?}: {:?}", stage.online);
            stage.run(3 * SECOND);
            assert_eq!(stage.world.sockets.len(), 0, "{pair:?}: sockets that are left");
        }
    }
}

#[test]
fn the_reason_of_a_quit_reaches_the_server() {
    for pair in Pair::ALL {
        for reason in ["Client shutdown", "flüstern", ""] {
            let mut stage = Stage::joined(pair, 3);
            stage.leave(reason);
            stage.run(SECOND);
            assert_eq!(stage.ends(), [closed(reason)], "{pair:?}");
            stage.run(3 * SECOND);
            stage.assert_clear(reason);
            let reasons = stage.world.events.iter().filter_map(|event| match &event.what {
                EventKind::Session(change) if change.state == State::Closing => change.reason.clone(),
                _ => None,
            });
            let reasons: Vec<Box<[u8]>> = reasons.collect();
            assert_eq!(reasons, [reason.as_bytes().into()], "{pair:?}");
        }
    }
}

/// A client that leaves before the server has answered ends its session. If the server has a slot for it, the
/// slot is closed.
#[test]
fn a_client_may_leave_while_joining() {
    // The CLOSE of a 0.6.5 client has a token flag, so no tokenless server can read it, with or without the
    // proxy.
    let understood = |pair: &Pair| pair.client != Variant::V65 || !pair.is_tokenless();
    for pair in Pair::ALL.into_iter().filter(understood) {
        for moment in (0..14).map(|tick| tick * 10 * MS) {
            let mut stage = Stage::new(pair, 8);
            stage.run(moment);
            stage.leave("changed my mind");
            // Without a slot, the proxy sends no requests to a server for longer than the client would repeat
            // its CONNECT.
            stage.run(15 * SECOND);
            stage.assert_clear(moment);
            stage.equal(stage.world.server.peers().count(), 0, moment);
        }
    }
}

/// Runs a test on sessions in identity mode and on renumbered ones.
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
            let talks = stage.plays() && stage.talks(SECOND);
            stage.check(
                stage.online.len() == 1 && talks,
                format_args!("renumbered {renumbered}"),
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
        // The tokens of the other leg and of the other direction are wrong here, too.
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
    let slot = stage.world.server.peer(upstream_addr(upstream));
    stage.check(slot.is_some(), "no slot");
    stage.world.server_sends(upstream, bytes);
}

/// The only CLOSE is lost. The other side times out, and the proxy ends the session.
#[test]
fn a_lost_close_leaves_nothing_behind() {
    for pair in Pair::ALL {
        let mut stage = Stage::joined(pair, 3);
        let (place, message, times) = (Place::FromClient, control::CLOSE, 1);
        stage.world.network.losses.push(Loss {
            place,
            message,
            times,
        });
        stage.leave("bye");
        stage.run(235 * SECOND);
        stage.assert_clear("after the CLOSE");
        assert_eq!(stage.world.server.peers().count(), 0, "{pair:?}");
    }
}
