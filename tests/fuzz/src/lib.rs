//! Fuzzing: nine targets that accept any bytes and fail by panicking.
//!
//! Law: a target is a deterministic function of its input and asserts more than "no panic". The wire code parses every
//! input in the same way as the test kit's second codec, its output parses to the same values, and the session core
//! keeps its guarantees whatever peers send (see [`watch`]).
//!
//! | target | input |
//! |---|---|
//! | [`packet()`] | a variant, the changes of a rewrite, a datagram |
//! | [`chunks()`] | a variant, a number of chunks, a payload |
//! | [`connless()`] | a datagram |
//! | [`message()`] | a variant, a direction, a class, a message |
//! | [`snapshot()`] | the messages of one session that affect its snapshots |
//! | [`recording()`] | a file of recorded datagrams |
//! | [`handshake()`] | a joining client, and the replies of a server or of a stranger in its place |
//! | [`rules()`] | a text of rules |
//! | [`hub()`] | the actions of clients, a server, strangers, rules, commands and the clock around one session core |
//!
//! Every input is derived from a generated seed (see [`seeds`]), or from a file in [`corpus`] that once made a target
//! fail. The test `tests/replay.rs` runs all of them and mutates them for a fixed number of rounds, or for ten minutes
//! per target if `TEETAP_LONG` is set (`tests/run --long`). `libfuzzer/` runs the same functions guided by coverage.

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

/// A fuzz target, which fails by panicking.
pub type Target = fn(&[u8]);

/// All targets by name. The folder of a target in `corpus/` has the same name.
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

/// Returns the target called `name`; `None` if unknown.
pub fn target(name: &str) -> Option<Target> {
    let found = TARGETS.into_iter().find(|(known, _)| *known == name);
    found.map(|(_, target)| target)
}
