//! Tests of the table: each row with a datagram to which it applies and a datagram to which it does not, joins, and
//! properties.

mod course;
mod joins;
mod page;
mod properties;
mod rows;
mod same;

use super::{Admission, Finding, Leg, Phase, Receiver, Release};
use crate::{Proto, Seq, Side, Token, Trailing, compress};

const TOKEN: Token = Token([1, 2, 3, 4]);
const OTHER: Token = Token([9, 9, 9, 9]);

const PHASES: [Phase; 6] = [
    Phase::NoSlot,
    Phase::WantsToken,
    Phase::Connecting,
    Phase::Pending,
    Phase::Online,
    Phase::Ended,
];
const ADMISSIONS: [Admission; 6] = [
    Admission::Open,
    Admission::Banned,
    Admission::Full,
    Admission::PerAddress,
    Admission::TooFast,
    Admission::NoSeven,
];

/// Returns the protocol that a release speaks by default.
fn proto(release: Release) -> Proto {
    match release {
        Release::Teeworlds064 => Proto::V6,
        Release::Teeworlds065 => Proto::V65,
        Release::Teeworlds075 => Proto::V7,
        Release::Ddnet16 | Release::Ddnet20 => Proto::Ddnet,
    }
}

/// Returns a leg in the game: the last chunk in order was 10, acks 5 to 8 are valid.
fn online_with(proto: Proto) -> Leg {
    let token = (proto != Proto::V6).then_some(TOKEN);
    let mut leg = Leg::new(proto, Phase::Online, token);
    (leg.ack, leg.peer_ack, leg.sequence) = (Seq::new(10), 5, Seq::new(8));
    leg
}

fn online(release: Release) -> Leg {
    online_with(proto(release))
}

/// A leg of an address without a slot, to which the server gives the token.
fn fresh(release: Release) -> Leg {
    Leg::new(proto(release), Phase::NoSlot, Some(TOKEN))
}

fn at(release: Release, phase: Phase) -> Leg {
    Leg {
        phase,
        ..Leg::new(proto(release), phase, online(release).token_in)
    }
}

fn admitting(release: Release, admission: Admission) -> Leg {
    Leg {
        admission,
        ..fresh(release)
    }
}

/// The parts of a packet in any framing.
#[derive(Clone, Copy)]
struct Parts<'a> {
    control: bool,
    resend: bool,
    compressed: bool,
    ack: u8,
    count: u8,
    token: Token,
    payload: &'a [u8],
}

const DATA: Parts<'static> = Parts {
    control: false,
    resend: false,
    compressed: false,
    ack: 6,
    count: 1,
    token: TOKEN,
    payload: &[0, 1, 0x2d],
};

const fn control(payload: &[u8]) -> Parts<'_> {
    Parts {
        control: true,
        count: 0,
        payload,
        ..DATA
    }
}

/// Writes a packet in the framing of the protocol.
fn write(proto: Proto, parts: Parts<'_>) -> Vec<u8> {
    let bit = |set: bool, six: u8, seven: u8| match (set, proto) {
        (false, _) => 0,
        (true, Proto::V7) => seven,
        (true, _) => six,
    };
    let mut first = bit(parts.control, 0x10, 0x04) | bit(parts.resend, 0x40, 0x08);
    first |= bit(parts.compressed, 0x80, 0x10) | if proto == Proto::V65 { 0x08 } else { 0 };
    let mut out = vec![first, parts.ack, parts.count];
    if matches!(proto, Proto::V65 | Proto::V7) {
        out.extend(parts.token.0);
    }
    let mut payload = parts.payload.to_vec();
    if proto == Proto::Ddnet {
        payload.extend(parts.token.0);
    }
    if parts.compressed {
        compress(&payload, Trailing::Always, &mut out);
    } else {
        out.extend(payload);
    }
    out
}

fn packet(release: Release, parts: Parts<'_>) -> Vec<u8> {
    write(proto(release), parts)
}

fn keepalive(release: Release) -> Vec<u8> {
    packet(release, control(&[0]))
}

/// Returns the findings, and the leg afterwards.
fn judge(receiver: Receiver, leg: &Leg, datagram: &[u8]) -> (Vec<Finding>, Leg) {
    let mut found = Vec::new();
    let after = receiver.judge(leg, datagram, |finding| found.push(finding));
    (found, after)
}

fn names(receiver: Receiver, leg: &Leg, datagram: &[u8]) -> Vec<&'static str> {
    let (found, _) = judge(receiver, leg, datagram);
    found.iter().map(|finding| finding.row.name).collect()
}

fn receivers() -> impl Iterator<Item = Receiver> {
    let sides = [Side::Client, Side::Server];
    Release::ALL
        .iter()
        .flat_map(move |release| sides.map(|side| Receiver::new(*release, side)))
}
