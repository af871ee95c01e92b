//! Bytes of a message that are replaced.

use std::ops::Range;

/// A range that is replaced in a message.
#[derive(Debug)]
pub(super) struct Hole {
    pub(super) range: Range<usize>,
    pub(super) form: Form,
}

/// How the bytes of a hole are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// Bytes, whatever they mean.
    Bytes,
    /// Text behind what may be shown of it: the spaces between stay.
    Rest,
    /// Ints of the protocol: each keeps its length.
    Ints,
    /// A decimal number before its NUL.
    Decimal,
    /// Text of a peer, in bytes or in ints.
    Text,
    TextInts,
    /// An IPv6 address.
    Six,
    /// An IPv4 address.
    Four,
    /// Bytes that no definition explains.
    Unknown,
    /// Ints that no definition explains.
    UnknownInts,
}
