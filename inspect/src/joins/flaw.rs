//! Mistakes in the messages of a map download.

use std::fmt;

/// The reason why a message of the map download has no effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Flaw {
    /// A request for a part that the map does not have.
    NoSuchPart { got: i64, parts: i64 },
    /// A part that the client neither awaits nor has requested.
    OtherPart { got: i64, expected: i64 },
    /// A part of another map.
    OtherMap { got: i64, expected: i64 },
    /// A part without data.
    Empty { got: i64 },
    /// The last part, which is not marked as the last.
    NotLast { got: i64 },
    /// A part that is marked as the last although more parts follow.
    EarlyLast { got: i64, parts: i64 },
    /// A part that is shorter than the part size in `map_change`.
    Short { got: i64, expected: i64 },
}

impl fmt::Display for Flaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoSuchPart { got, parts } => write!(
                f,
                "asked for part {got}, but the map has only {parts}, counted from 0"
            ),
            Self::OtherPart { got, expected } => {
                write!(f, "has part {got}, expected part {expected}")
            }
            Self::OtherMap { got, expected } => {
                write!(
                    f,
                    "has the map crc {got:08x}, expected {expected:08x} as in map_change"
                )
            }
            Self::Empty { got } => write!(f, "has no data of part {got}"),
            Self::NotLast { got } => write!(f, "has the last part, {got}, but is not marked as the last"),
            Self::EarlyLast { got, parts } => write!(
                f,
                "has part {got} of {parts}, counted from 0, but is marked as the last"
            ),
            Self::Short { got, expected } => write!(f, "has {got} bytes, expected {expected}"),
        }
    }
}
