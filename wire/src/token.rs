//! The security token of a connection leg.
//!
//! Law: a token is four opaque bytes, which are compared and copied but never interpreted as a number. DDNet before
//! 18.3 wrote tokens in the byte order of the host, and all other releases write them in big-endian order, so the
//! numeric value would depend on the sender.

use std::fmt;

/// Four opaque bytes that prove a datagram comes from the peer of a handshake.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Token(pub [u8; 4]);

impl Token {
    /// Returns the token with its bytes in reverse order.
    #[must_use]
    pub const fn reversed(self) -> Self {
        let Self([a, b, c, d]) = self;
        Self([d, c, b, a])
    }

    /// The length of a token in bytes.
    pub(crate) const LEN: usize = 4;
    /// The token that means "none yet" or "unknown" in all variants.
    pub const NONE: Self = Self([0xff; 4]);
    /// The word with which DDNet negotiates tokens.
    ///
    /// As a *token* it appears in the repeated CONNECT of DDNet's 0.7 client (18.5 and later), which does not carry
    /// the client's own token.
    pub const TKEN: Self = Self(*b"TKEN");
}

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shows_its_bytes_in_wire_order() {
        assert_eq!(Token([0x05, 0x24, 0xab, 0xff]).to_string(), "0524abff");
        assert_eq!(
            format!("{:?} {:?}", Token::NONE, Token::TKEN),
            "ffffffff 544b454e"
        );
    }
}
