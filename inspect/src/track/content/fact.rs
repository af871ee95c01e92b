//! The received and expected values of notes about acks and ticks.

use std::fmt;

/// The values behind a note about a series of inputs or snapshots. All ticks are those of the last message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContentFact {
    /// Inputs ack snapshots that were not sent yet.
    AckAhead {
        /// The acked tick.
        got: i32,
        /// The tick of the newest snapshot.
        newest: i32,
        /// Number of such inputs in a row.
        inputs: u16,
    },
    /// Inputs ack an old snapshot, although the client can read newer ones.
    AckOld {
        /// The acked tick.
        got: i32,
        /// The tick of the newest snapshot that the client can have read.
        newest: i32,
        /// Number of newer snapshots.
        snapshots: usize,
    },
    /// Inputs are for ticks that are far ahead.
    InputAhead {
        /// The tick of the input.
        got: i32,
        /// The tick of the newest snapshot.
        newest: i32,
        /// Number of such inputs in a row.
        inputs: u16,
    },
    /// All snapshots are complete, although the client acks them.
    AcksIgnored {
        /// The tick that the client has acked.
        acked: i32,
        /// Number of complete snapshots in a row.
        snapshots: u16,
    },
    /// Snapshots are older than the newest one.
    TickBack {
        /// The tick of the snapshot.
        got: i32,
        /// The tick of the newest snapshot.
        newest: i32,
        /// Number of older snapshots in a row.
        snapshots: u16,
    },
    /// A part of the snapshots is never sent.
    PartNever {
        /// The part, counted from 1.
        part: i32,
        /// Number of parts.
        parts: i32,
        /// Number of such snapshots in a row.
        snapshots: u16,
    },
}

impl fmt::Display for ContentFact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AckAhead { got, newest, inputs } => write!(
                f,
                "got an ack of tick {got}, expected at most {newest}, the newest snapshot: {inputs} such inputs in a row"
            ),
            Self::AckOld {
                got,
                newest,
                snapshots,
            } => write!(
                f,
                "got an ack of tick {got}, expected one near {newest}: it can read {snapshots} newer snapshots, and has acked messages sent after them"
            ),
            Self::InputAhead { got, newest, inputs } => write!(
                f,
                "got tick {got}, expected little more than {newest}, the newest snapshot: {inputs} such inputs in a row"
            ),
            Self::AcksIgnored { acked, snapshots } => write!(
                f,
                "got {snapshots} complete snapshots in a row, expected differences: the client has acked tick {acked}"
            ),
            Self::TickBack {
                got,
                newest,
                snapshots,
            } => write!(
                f,
                "got tick {got}, expected more than {newest}: {snapshots} older snapshots in a row"
            ),
            Self::PartNever {
                part,
                parts,
                snapshots,
            } => write!(
                f,
                "got {snapshots} snapshots in a row without part {part} of {parts}, expected all parts"
            ),
        }
    }
}
