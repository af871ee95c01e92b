//! Tests each row with a datagram to which it applies and a datagram to which it does not.

mod framing;
mod session;
mod slot;

use std::collections::BTreeSet;

use super::*;
use Release::{Ddnet16, Ddnet20, Teeworlds064, Teeworlds065, Teeworlds075};
use Side::{Client, Server};

/// A row with a leg and a datagram that trip it, and others that do not.
struct Example {
    row: &'static str,
    releases: &'static [Release],
    sides: &'static [Side],
    trips: Input,
    passes: Input,
}

/// A leg and a datagram, made for a release.
type Input = (fn(Release) -> Leg, fn(Release) -> Vec<u8>);

fn example(row: &'static str, releases: &'static [Release], sides: &'static [Side]) -> Example {
    Example {
        row,
        releases,
        sides,
        trips: (online, keepalive),
        passes: (online, keepalive),
    }
}

impl Example {
    fn trips(mut self, leg: fn(Release) -> Leg, datagram: fn(Release) -> Vec<u8>) -> Self {
        self.trips = (leg, datagram);
        self
    }

    fn passes(mut self, leg: fn(Release) -> Leg, datagram: fn(Release) -> Vec<u8>) -> Self {
        self.passes = (leg, datagram);
        self
    }
}

const ALL: &[Release] = Release::ALL;
const SIXES: &[Release] = &[Teeworlds064, Teeworlds065, Ddnet16, Ddnet20];
const OLD: &[Release] = &[Teeworlds064, Teeworlds065];
const TEEWORLDS: &[Release] = &[Teeworlds064, Teeworlds065, Teeworlds075];
const DDNET: &[Release] = &[Ddnet16, Ddnet20];
const SEVEN: &[Release] = &[Teeworlds075];
const BOTH: &[Side] = &[Client, Server];
const SERVER: &[Side] = &[Server];
const CLIENT: &[Side] = &[Client];

fn data(release: Release) -> Vec<u8> {
    packet(release, DATA)
}

fn with_token(release: Release, token: Token) -> Vec<u8> {
    packet(release, Parts { token, ..DATA })
}

fn foreign(release: Release) -> Vec<u8> {
    with_token(release, OTHER)
}

/// Returns the leg of a client or server of 0.7 for which ack 0 is valid.
fn seven_from_zero(_: Release) -> Leg {
    Leg {
        peer_ack: 0,
        ..online_with(Proto::V7)
    }
}

fn waiting(release: Release) -> Leg {
    at(release, Phase::Connecting)
}

fn wanting(_: Release) -> Leg {
    Leg::new(Proto::V7, Phase::WantsToken, Some(TOKEN))
}

fn challenging(release: Release) -> Leg {
    Leg {
        challenges: true,
        ..fresh(release)
    }
}

fn seven(_: Release) -> Leg {
    online_with(Proto::V7)
}

fn connless(release: Release) -> Vec<u8> {
    if release == Teeworlds075 {
        [&[0x21], &TOKEN.0[..], &OTHER.0, b"data"].concat()
    } else {
        b"\xff\xff\xff\xff\xff\xffdata".to_vec()
    }
}

fn connless_seven(token: Token) -> Vec<u8> {
    [&[0x21], &token.0[..], &OTHER.0, b"data"].concat()
}

/// Returns a CONNECT as clients of the release send it, padded to `len` bytes.
fn connect(release: Release, token: Token, len: usize) -> Vec<u8> {
    let parts = Parts {
        token,
        ack: 0,
        ..control(&[])
    };
    let mut payload = vec![1];
    match release {
        Ddnet16 | Ddnet20 => payload.extend(b"TKEN"),
        Teeworlds075 => payload.extend(OTHER.0),
        _ => {}
    }
    payload.resize(len.max(payload.len()), 0);
    if release == Teeworlds065 {
        return write(
            Proto::V6,
            Parts {
                payload: &payload,
                ..parts
            },
        );
    }
    packet(
        release,
        Parts {
            payload: &payload,
            ..parts
        },
    )
}

fn plain_connect(_: Release) -> Vec<u8> {
    vec![0x10, 0, 0, 1]
}

/// Returns the datagram for which the release opens a slot.
fn opening(release: Release) -> Vec<u8> {
    match release {
        Teeworlds065 => packet(release, Parts { ack: 0, ..DATA }),
        Ddnet16 | Ddnet20 => packet(
            release,
            Parts {
                ack: 0,
                ..control(&[3])
            },
        ),
        _ => connect(release, TOKEN, 5),
    }
}

fn seven_control(token: Token, payload: &[u8]) -> Vec<u8> {
    write(
        Proto::V7,
        Parts {
            token,
            ack: 0,
            ..control(payload)
        },
    )
}

fn request(len: usize) -> Vec<u8> {
    let mut payload = [&[5], &OTHER.0[..]].concat();
    payload.resize(len, 0);
    seven_control(Token::NONE, &payload)
}

fn vital(seq: u8, release: Release) -> Vec<u8> {
    packet(
        release,
        Parts {
            payload: &[0x40, 1, seq, 0x2d],
            ..DATA
        },
    )
}

fn examples() -> Vec<Example> {
    [framing::examples(), slot::examples(), session::examples()]
        .into_iter()
        .flatten()
        .collect()
}

#[test]
fn each_row_applies_to_its_datagram_and_not_to_the_other() {
    let mut wrong = Vec::new();
    for example in examples() {
        for (&release, &side) in example
            .releases
            .iter()
            .flat_map(|release| example.sides.iter().map(move |side| (release, side)))
        {
            let receiver = Receiver::new(release, side);
            let row = example.row;
            let found = |(leg, bytes): Input, receiver| names(receiver, &leg(release), &bytes(release));
            let trips = found(example.trips, receiver);
            let passes = found(example.passes, receiver);
            let without = found(example.trips, receiver.without(row));
            if !trips.contains(&row) || passes.contains(&row) || trips == without {
                wrong.push(format!(
                    "{release} {side} {row}: trips {trips:?}, passes {passes:?}, without {without:?}"
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn every_row_of_every_receiver_has_an_example() {
    let examples = examples();
    let mut missing = BTreeSet::new();
    for receiver in receivers() {
        for row in receiver.rows() {
            let has = examples.iter().any(|example| {
                example.row == row.name
                    && example.releases.contains(&receiver.release)
                    && example.sides.contains(&receiver.side)
            });
            if !has {
                missing.insert(format!("{} {}: {}", receiver.release, receiver.side, row.name));
            }
        }
    }
    assert!(missing.is_empty(), "{missing:#?}");
}
