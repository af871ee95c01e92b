//! Hostile bytes: nine targets that take any input and fail by panicking.
//!
//! Law: a target is a plain function of its input, the same every time, and asserts more than "no panic": what the wire
//! code reads is what the second codec of the test kit reads, what it writes is read back, and the session core keeps
//! its promises whatever peers send (see [`watch`]).
//!
//! | target | input |
//! |---|---|
//! | [`packet()`] | a variant, what to rewrite, a datagram |
//! | [`chunks()`] | a variant, a number of chunks, a payload |
//! | [`connless()`] | a datagram |
//! | [`message()`] | a variant, a direction, a class, a message |
//! | [`snapshot()`] | the messages of one session that have to do with snapshots |
//! | [`recording()`] | a file of recorded datagrams |
//! | [`handshake()`] | a joining client and what a server (or a stranger in its place) answers |
//! | [`rules()`] | a text of rules |
//! | [`hub()`] | clients and a server of all kinds, strangers, rules, commands and time around one session core |
//!
//! Every input starts from [`seeds`], which are generated, or from a file of [`corpus`], each of which made a target fail
//! once. The test `tests/replay.rs` runs them all and mutates them for a fixed number of rounds, or for ten minutes a
//! target when `TEETAP_LONG` is set (`tests/run --long`). `libfuzzer/` runs the same functions guided by coverage.

#![expect(
    clippy::indexing_slicing,
    reason = "a test harness: what may not happen fails the target"
)]

pub mod corpus;
pub mod mutate;
pub mod seeds;
pub mod watch;

mod chunks;
mod connless;
mod handshake;
mod hub;
mod input;
mod message;
mod packet;
mod recording;
mod rules;
mod snapshot;

pub use chunks::chunks;
pub use connless::connless;
pub use handshake::handshake;
pub use hub::hub;
pub use message::message;
pub use packet::packet;
pub use recording::recording;
pub use rules::rules;
pub use snapshot::snapshot;

/// A target: fails by panicking.
pub type Target = fn(&[u8]);

/// All targets by name, which is also the name of their folder in `corpus/`.
pub const TARGETS: [(&str, Target); 9] = [
    ("packet", packet),
    ("chunks", chunks),
    ("connless", connless),
    ("message", message),
    ("snapshot", snapshot),
    ("recording", recording),
    ("handshake", handshake),
    ("rules", rules),
    ("hub", hub),
];

/// Returns the target of this name.
pub fn target(name: &str) -> Option<Target> {
    let found = TARGETS.into_iter().find(|(known, _)| *known == name);
    found.map(|(_, target)| target)
}
