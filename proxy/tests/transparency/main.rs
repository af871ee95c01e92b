//! Real sessions through the session core: recorded datagrams are forwarded unchanged, except for the tokens.
//!
//! These packets belong to one leg and are never forwarded as they are: TOKEN request and reply, CONNECT,
//! CONNECTACCEPT (ACCEPT in 0.7) and DDNet's ACCEPT. All other datagrams are forwarded, each immediately and
//! alone: data, keepalives, CLOSE, the ACCEPT of 0.6 without tokens, and all datagrams of the server browser.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "all of this crate is tests, and a helper may fail one"
)]
#![expect(clippy::disallowed_methods, reason = "tests choose the built-in definitions")]

mod actor;
mod datagram;
mod edit;
mod replay;
mod tally;

use std::collections::BTreeMap;

use datagram::{Kind, variant_of};
use edit::{is_session, mangled};
use replay::Replay;
use tally::Tally;
use teetap_kit::{
    capture::{self, Flow, flows},
    rules::pass_all,
};
use teetap_wire::Side;

/// The expected counts of the replay of a capture.
#[derive(Debug, PartialEq, Eq)]
struct Expected {
    name: &'static str,
    received: usize,
    /// Number of datagrams that were forwarded: of sessions, and outside of them.
    forwarded: [usize; 2],
    /// Number of datagrams after a CLOSE.
    late: usize,
    /// Number of datagrams that stayed on their leg: TOKEN requests, CONNECTs, ACCEPTs; TOKEN replies,
    /// CONNECTACCEPTs.
    kept: [usize; 5],
    /// Number of datagrams that the hub sent on its own, in the same order.
    made: [usize; 5],
    /// See [`Tally::ddnet`].
    ddnet: [usize; 3],
}

#[rustfmt::skip]
const EXPECTED: [Expected; 14] = [
    Expected { name: "dd-session", received: 430, forwarded: [425, 2], late: 0, kept: [0, 1, 1, 0, 1], made: [0, 1, 1, 0, 1], ddnet: [402, 0, 0] },
    Expected { name: "dd16-to-tw06", received: 203, forwarded: [195, 6], late: 0, kept: [0, 1, 0, 0, 1], made: [0, 1, 0, 0, 1], ddnet: [0, 0, 0] },
    // Until a DDNet 20 sender has shown that it omits the padding byte, the hub writes it.
    Expected { name: "ddh20-to-dd20", received: 196, forwarded: [191, 2], late: 0, kept: [0, 1, 1, 0, 1], made: [0, 1, 1, 0, 1], ddnet: [100, 6, 0] },
    Expected { name: "info-requests", received: 20, forwarded: [0, 15], late: 0, kept: [3, 0, 0, 2, 0], made: [2, 0, 0, 3, 0], ddnet: [0, 0, 0] },
    // The server repeats its ACCEPT until the client's first message arrives.
    Expected { name: "loss-tw07", received: 88, forwarded: [76, 3], late: 0, kept: [3, 1, 0, 2, 3], made: [2, 1, 0, 3, 3], ddnet: [0, 0, 0] },
    Expected { name: "map-dd", received: 66, forwarded: [61, 2], late: 0, kept: [0, 1, 1, 0, 1], made: [0, 1, 1, 0, 1], ddnet: [32, 0, 0] },
    Expected { name: "map-tw07", received: 53, forwarded: [49, 0], late: 0, kept: [1, 1, 0, 1, 1], made: [1, 1, 0, 1, 1], ddnet: [0, 0, 0] },
    // Compression with the other token does not make one of the datagrams shorter.
    Expected { name: "npm-to-dd16", received: 177, forwarded: [174, 0], late: 0, kept: [0, 1, 1, 0, 1], made: [0, 1, 1, 0, 1], ddnet: [87, 0, 1] },
    Expected { name: "rich-dd16", received: 2860, forwarded: [2833, 18], late: 0, kept: [0, 3, 3, 0, 3], made: [0, 3, 3, 0, 3], ddnet: [2569, 0, 0] },
    // A kicked client sends one more datagram. The server browser sends its request again after its first
    // socket was closed.
    Expected { name: "rich-tw07", received: 2890, forwarded: [2867, 6], late: 1, kept: [5, 3, 0, 5, 3], made: [6, 3, 0, 5, 3], ddnet: [0, 0, 0] },
    Expected { name: "sixup-session", received: 397, forwarded: [393, 0], late: 0, kept: [1, 1, 0, 1, 1], made: [1, 1, 0, 1, 1], ddnet: [0, 0, 0] },
    Expected { name: "tw06-session", received: 371, forwarded: [367, 2], late: 0, kept: [0, 1, 0, 0, 1], made: [0, 1, 0, 0, 1], ddnet: [0, 0, 0] },
    Expected { name: "tw06c-to-dd20-antispoof", received: 157, forwarded: [152, 3], late: 0, kept: [0, 1, 0, 0, 1], made: [0, 1, 0, 0, 1], ddnet: [0, 0, 0] },
    Expected { name: "tw07-session", received: 488, forwarded: [484, 0], late: 0, kept: [1, 1, 0, 1, 1], made: [1, 1, 0, 1, 1], ddnet: [0, 0, 0] },
];

/// Kinds that are never forwarded, by the side that sends them.
const CLIENTS: [Kind; 3] = [Kind::TokenRequest, Kind::Connect, Kind::Accept];
const SERVERS: [Kind; 2] = [Kind::TokenReply, Kind::ConnectAccept];

fn recorded(name: &str) -> Vec<Flow> {
    flows(capture::recorded(name).unwrap())
}

fn play(name: &str, flows: impl IntoIterator<Item = Flow>) -> Tally {
    let mut replay = Replay::new(name, None);
    flows.into_iter().for_each(|flow| replay.add(flow, 0, 0));
    replay.run()
}

/// Returns the counts by kind, for the side that sends the kind in the game.
fn by_kind(counts: &BTreeMap<(Side, Kind), usize>, [of_client, of_server]: [Side; 2]) -> [usize; 5] {
    let keys = CLIENTS.map(|kind| (of_client, kind)).into_iter();
    let keys: Vec<_> = keys.chain(SERVERS.map(|kind| (of_server, kind))).collect();
    assert!(counts.keys().all(|key| keys.contains(key)), "{counts:?}");
    std::array::from_fn(|index| counts.get(&keys[index]).copied().unwrap_or(0))
}

#[test]
fn every_recorded_session_passes_untouched() {
    assert_eq!(capture::names().unwrap(), EXPECTED.map(|expected| expected.name));
    for expected in EXPECTED {
        let name = expected.name;
        let tally = play(name, recorded(name));
        let seen = Expected {
            name,
            received: tally.received,
            forwarded: [tally.forwarded, tally.connless],
            late: tally.late,
            kept: by_kind(&tally.kept, [Side::Client, Side::Server]),
            made: by_kind(&tally.made, [Side::Server, Side::Client]),
            ddnet: tally.ddnet,
        };
        assert_eq!(seen, expected);
        let crossed = seen.forwarded.iter().sum::<usize>();
        assert_eq!(
            seen.received,
            crossed + seen.late + seen.kept.iter().sum::<usize>(),
            "{name}"
        );
        // The npm client sends an empty data packet.
        let notes: Vec<_> = tally.notes.into_iter().collect();
        let odd: &[_] = if name == "npm-to-dd16" {
            &[("empty-without-resend", 1)]
        } else {
            &[]
        };
        assert_eq!(notes, odd, "{name}");
    }
}

#[test]
fn resend_requests_and_repetitions_pass() {
    let tally = play("loss-tw07", recorded("loss-tw07"));
    assert_eq!(
        (tally.resend_flags, tally.resent_chunks, tally.repeats),
        (3, 17, 17)
    );
}

#[test]
fn gaps_repetitions_and_other_orders_pass() {
    for name in EXPECTED.map(|expected| expected.name) {
        let flows: Vec<Flow> = recorded(name).iter().map(mangled).collect();
        let received: usize = flows.iter().map(|flow| flow.packets.len()).sum();
        let sessions = flows.iter().filter(|flow| is_session(flow)).count();
        let tally = play(name, flows);
        assert_eq!(tally.received, received);
        let is_bad = tally.gaps > 1 && tally.repeats > 0;
        assert!(is_bad || sessions == 0, "{name}: {tally:?}");
        // The peers ack messages that the hub has never received.
        let odd = tally
            .notes
            .keys()
            .all(|name| ["ack-ahead", "ack-behind", "empty-without-resend"].contains(name));
        assert!(odd, "{name}: {:?}", tally.notes);
    }
}

/// Sessions of all kinds through one hub at the same time.
#[test]
fn all_sessions_at_once() {
    let mut replay = Replay::new("all", None);
    for name in EXPECTED.map(|expected| expected.name) {
        let flows = recorded(name);
        let start = flows.iter().map(|flow| flow.packets[0].time).min().unwrap();
        for flow in flows {
            replay.add(flow, -start.cast_signed(), 0);
        }
    }
    let tally = replay.run();
    let sum = |count: fn(&Expected) -> usize| EXPECTED.iter().map(count).sum::<usize>();
    assert_eq!(tally.received, sum(|expected| expected.received));
    assert_eq!(tally.forwarded, sum(|expected| expected.forwarded[0]));
    assert_eq!(tally.connless, sum(|expected| expected.forwarded[1]));
    assert_eq!(tally.late, sum(|expected| expected.late));
}

/// The same client address connects again as soon as the previous session was closed.
#[test]
fn a_client_reconnects_from_its_port() {
    for name in EXPECTED.map(|expected| expected.name) {
        let mut replay = Replay::new(name, None);
        for flow in recorded(name).into_iter().filter(is_session) {
            let variant = variant_of(&flow);
            let ends = flow
                .packets
                .iter()
                .rev()
                .map(|packet| Kind::of(variant, &packet.payload));
            if !ends.take(2).any(|kind| kind == Kind::Close) {
                // The reaction of a server to a client with a slot is not recorded.
                continue;
            }
            let (first, last) = (
                flow.packets.first().unwrap().time,
                flow.packets.last().unwrap().time,
            );
            replay.add(flow.clone(), 0, 0);
            replay.add(flow, (last - first + 100_000).cast_signed(), 0x5a);
        }
        let tally = replay.run();
        assert_eq!(tally.made.get(&(Side::Server, Kind::Close)), None, "{name}");
    }
}

/// A direction that is renumbered but loses no message looks unchanged, whenever the renumbering starts.
/// Retransmissions of messages that a receiver has acked are left out; only one capture has any.
#[test]
fn rules_that_change_nothing_change_nothing() {
    for expected in EXPECTED {
        let name = expected.name;
        let starts = if name == "loss-tw07" { 1 } else { 8 };
        for start in 0..starts {
            let from = expected.received * start / starts;
            let mut replay = Replay::new(name, Some((from, pass_all())));
            recorded(name).into_iter().for_each(|flow| replay.add(flow, 0, 0));
            let tally = replay.run();
            assert_eq!(
                [tally.forwarded, tally.connless],
                expected.forwarded,
                "{name} from {from}"
            );
            let repeats = if name == "loss-tw07" { 10 } else { 0 };
            assert_eq!(
                (tally.repeats, tally.resent_chunks),
                (repeats, repeats),
                "{name} from {from}"
            );
        }
    }
}
