//! The received and expected values of notes about acks and ticks.

use std::fmt::{self, Write};

use crate::Values;

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
    /// Inputs are all for the same tick.
    InputStuck {
        /// The tick of the inputs.
        got: i32,
        /// The tick of the newest snapshot.
        newest: i32,
        /// Number of such inputs in a row.
        inputs: u16,
    },
    /// Inputs ack no snapshot anymore, although the client can read newer ones.
    AckNone {
        /// The newest snapshot that the client has acked.
        acked: i32,
        /// The tick of the newest complete snapshot.
        newest: i32,
        /// Number of complete snapshots since the client acks none.
        snapshots: u16,
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

impl ContentFact {
    /// Adds the received and the expected value, and what proves the fault.
    pub(crate) fn write(&self, f: &mut Values) -> fmt::Result {
        match self {
            Self::AckAhead { got, newest, inputs } => {
                f.add_got(format_args!("an ack of tick {got}"))?;
                f.add_expected(format_args!("at most {newest}"))?;
                write!(f, ", the newest snapshot: {inputs} such inputs in a row")
            }
            Self::AckOld {
                got,
                newest,
                snapshots,
            } => {
                f.add_got(format_args!("an ack of tick {got}"))?;
                f.add_expected(format_args!("one near {newest}"))?;
                write!(
                    f,
                    ": it can read {snapshots} newer snapshots, and has acked messages sent after them"
                )
            }
            Self::InputAhead { got, newest, inputs } => {
                f.add_got(format_args!("tick {got}"))?;
                f.add_expected(format_args!("little more than {newest}"))?;
                write!(f, ", the newest snapshot: {inputs} such inputs in a row")
            }
            Self::InputStuck { got, newest, inputs } => {
                f.add_got(format_args!("tick {got} in {inputs} inputs in a row"))?;
                f.add_expected(format_args!("one after {newest}, the newest snapshot"))
            }
            Self::AckNone {
                acked,
                newest,
                snapshots,
                inputs,
            } => {
                f.add_got(format_args!("an ack of -1 (none) in {inputs} inputs in a row"))?;
                f.add_expected(format_args!("one near {newest}"))?;
                write!(
                    f,
                    ": it has acked {acked} before, and {snapshots} complete snapshots followed, which every client can read"
                )
            }
            Self::AcksIgnored { acked, snapshots } => {
                f.add_got(format_args!("{snapshots} complete snapshots in a row"))?;
                f.add_expected("differences")?;
                write!(f, ": the client has acked tick {acked}")
            }
            Self::TickBack {
                got,
                newest,
                snapshots,
            } => {
                f.add_got(format_args!("tick {got}"))?;
                f.add_expected(format_args!("more than {newest}"))?;
                write!(f, ": {snapshots} older snapshots in a row")
            }
            Self::PartNever {
                part,
                parts,
                snapshots,
            } => {
                f.add_got(format_args!(
                    "{snapshots} snapshots in a row without part {part} of {parts}"
                ))?;
                f.add_expected("all parts")
            }
        }
    }
}
