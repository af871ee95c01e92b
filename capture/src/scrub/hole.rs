//! Ranges of a message that are replaced.

use std::ops::Range;

/// A range of a message that is replaced.
#[derive(Debug)]
pub(super) struct Hole {
    pub(super) range: Range<usize>,
    pub(super) form: HoleKind,
}

impl Hole {
    /// Returns true if this range includes all bytes of `other`.
    pub(super) fn covers(&self, other: &Self) -> bool {
        self.range.start <= other.range.start && other.range.end <= self.range.end
    }
}

/// Kind of bytes in a hole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HoleKind {
    /// Bytes of any meaning.
    Bytes,
    /// Text after a part that stays unchanged. Spaces between them stay, too.
    Rest,
    /// Ints of the protocol, each of which keeps its length.
    Ints,
    /// A decimal number, terminated by NUL.
    Decimal,
    /// Text of a peer, as bytes or as ints.
    Text,
    TextInts,
    /// An IPv6 address.
    Six,
    /// An IPv4 address.
    Four,
    /// Bytes without a definition.
    Unknown,
    /// Ints without a definition.
    UnknownInts,
}
