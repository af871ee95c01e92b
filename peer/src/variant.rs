//! The variants of the protocol that a peer can speak.

use std::fmt;

use teetap_wire::Proto;

/// A variant of the protocol, including the behaviour of the programs that use it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Variant {
    /// 0.6 without tokens, as in Teeworlds 0.6.4.
    V6,
    /// 0.6 with a token in the header, as in Teeworlds 0.6.5.
    V65,
    /// 0.6 with a token after the payload, as in DDNet.
    Ddnet,
    /// 0.7, as in Teeworlds 0.7.5.
    V7,
    /// 0.7, as in DDNet: the client requests its token only once, and the server accepts only once.
    Ddnet7,
}

impl Variant {
    /// All variants, oldest first.
    pub const ALL: [Self; 5] = [Self::V6, Self::V65, Self::Ddnet, Self::V7, Self::Ddnet7];

    /// Returns the packet format and the message set of the variant.
    #[must_use]
    pub const fn proto(self) -> Proto {
        match self {
            Self::V6 => Proto::V6,
            Self::V65 => Proto::V65,
            Self::Ddnet => Proto::Ddnet,
            Self::V7 | Self::Ddnet7 => Proto::V7,
        }
    }

    /// Returns true for the variants that DDNet's programs speak.
    #[must_use]
    pub(crate) const fn is_ddnet(self) -> bool {
        matches!(self, Self::Ddnet | Self::Ddnet7)
    }
}

impl fmt::Display for Variant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ddnet7 => f.pad("ddnet 0.7"),
            _ => fmt::Display::fmt(&self.proto(), f),
        }
    }
}
