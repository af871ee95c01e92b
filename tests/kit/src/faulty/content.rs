//! Faults in the contents of messages that are well-formed and arrive: acks, ticks and snapshots. They show only in a
//! series of messages.

use super::{
    Act, Fault, Sent,
    game::{self, Step},
};
use crate::{codec::Variant, peer::game::put_int};

/// A fault of a server.
#[derive(Clone, Copy, Debug)]
pub struct ServerFault {
    /// The name.
    pub name: &'static str,
    /// The number of items in its snapshots besides the player.
    pub items: i32,
    /// The effect on what the server sends.
    pub act: ServerAct,
}

/// The effect of a fault on what a server sends.
#[derive(Clone, Copy, Debug)]
pub enum ServerAct {
    /// Changes the tick of a snapshot, which is the n-th of the session, counted from 1.
    Tick(fn(tick: i32, n: i32) -> i32),
    /// Sends complete snapshots only.
    NoBase,
    /// Omits the parts of a snapshot for which this returns true, by number and count.
    Omit(fn(part: usize, parts: usize) -> bool),
}

const ALL: &[Variant] = &[Variant::V6, Variant::V65, Variant::Ddnet, Variant::V7];

const fn input(name: &'static str, change: fn(Variant, Vec<u8>) -> Vec<Sent>) -> Fault {
    Fault {
        name,
        variants: ALL,
        act: Act::Message(Step::Input, change),
    }
}

/// The faults of clients.
pub const CONTENT_FAULTS: &[Fault] = &[
    input("acks a later tick", |variant, message| {
        changed(variant, &message, |[ack, tick, size]| [ack + 20, tick, size])
    }),
    input("acks below none", |variant, message| {
        changed(variant, &message, |[_, tick, size]| [-2, tick, size])
    }),
    input("acks none", |variant, message| {
        changed(variant, &message, |[_, tick, size]| [-1, tick, size])
    }),
    input("acks the first snapshot only", |variant, message| {
        changed(variant, &message, |[ack, tick, size]| [ack.min(120), tick, size])
    }),
    input("acks old snapshots", |variant, message| {
        changed(variant, &message, |[ack, tick, size]| {
            [if ack > 300 { ack - 190 } else { ack.min(110) }, tick, size]
        })
    }),
    input("inputs far ahead", |variant, message| {
        changed(variant, &message, |[ack, tick, size]| [ack, tick + 5000, size])
    }),
    input("inputs in the unit of milliseconds", |variant, message| {
        changed(variant, &message, |[ack, tick, size]| [ack, tick * 20, size])
    }),
    input("inputs for one tick", |variant, message| {
        changed(variant, &message, |[ack, _, size]| [ack, 130, size])
    }),
    input("acks none after a while", |variant, message| {
        changed(variant, &message, |[ack, tick, size]| {
            [if ack > 300 { -1 } else { ack }, tick, size]
        })
    }),
    input("input size in ints", |variant, message| {
        changed(variant, &message, |[ack, tick, size]| [ack, tick, size / 4])
    }),
    input("input size with the header", |variant, message| {
        changed(variant, &message, |[ack, tick, size]| [ack, tick, size + 12])
    }),
    input("input size of 0", |variant, message| {
        changed(variant, &message, |[ack, tick, _]| [ack, tick, 0])
    }),
];

/// The faults of servers.
pub const SERVER_FAULTS: &[ServerFault] = &[
    ServerFault {
        name: "complete snapshots for ever",
        items: 4,
        act: ServerAct::NoBase,
    },
    ServerFault {
        name: "ticks go back once",
        items: 4,
        act: ServerAct::Tick(|tick, n| if n > 40 { tick - 80 } else { tick + 1000 }),
    },
    ServerFault {
        name: "ticks count down",
        items: 4,
        act: ServerAct::Tick(|tick, n| 5000 + tick - 4 * n),
    },
    ServerFault {
        name: "without the last part",
        items: 150,
        act: ServerAct::Omit(|part, parts| part + 1 == parts && parts > 1),
    },
    ServerFault {
        name: "without the middle part",
        items: 250,
        act: ServerAct::Omit(|part, parts| part == 1 && parts > 2),
    },
];

/// Returns an input with other first fields: the ack, the tick and the size.
fn changed(variant: Variant, message: &[u8], change: fn([i32; 3]) -> [i32; 3]) -> Vec<Sent> {
    let mut out = Vec::new();
    put_int(&mut out, game::id_of(variant, Step::Input));
    let rest = message.get(out.len()..).unwrap_or_default();
    if let Some((fields, rest)) = game::ints(rest) {
        change(fields).iter().for_each(|value| put_int(&mut out, *value));
        out.extend(rest);
    }
    vec![(false, out)]
}
