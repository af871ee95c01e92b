//! The kinds of datagrams that belong to no session and open none.

use std::fmt;

use teetap_wire::{First, Token, detect};

use crate::words::Words;

/// The kind of a datagram from an address without a session, as far as its bytes show it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Stranger {
    /// Any other packet.
    #[default]
    Other,
    /// A TOKEN request of 0.7 that is shorter than those that servers answer.
    ShortTokenRequest,
    /// A TOKEN request of 0.7, where `--proto` refuses it.
    RefusedTokenRequest,
    /// A TOKEN request or a CONNECT of 0.7 with a token that was not given to its sender.
    ForeignToken,
    /// A CLOSE.
    Close,
}

impl Stranger {
    /// Returns the kind of a datagram that opened no session.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        match detect(bytes) {
            First::TokenRequest { header_token, .. } if header_token != Token::NONE => Self::ForeignToken,
            First::TokenRequest { padded: false, .. } => Self::ShortTokenRequest,
            First::TokenRequest { .. } => Self::RefusedTokenRequest,
            First::Connect7 { .. } => Self::ForeignToken,
            First::Close => Self::Close,
            First::Connect { .. } | First::MidSession | First::Noise | First::Connless(_) => Self::Other,
        }
    }

    /// Returns the end of the sentence "127.0.0.1:5000 sent 13 bytes ...".
    #[must_use]
    pub const fn sentence(self) -> &'static str {
        match self {
            Self::Other => {
                "that belong to no session and open none (a session from before the proxy started?)"
            }
            Self::ShortTokenRequest => {
                "that request a token of 0.7: servers answer only requests of 519 bytes or more"
            }
            Self::RefusedTokenRequest => "that request a token of 0.7, which --proto refuses",
            Self::ForeignToken => {
                "that request a session of 0.7 with a token that was not given to this address, or too long ago"
            }
            Self::Close => "that close a session: there is none",
        }
    }
}

impl fmt::Display for Stranger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Other => "other",
            Self::ShortTokenRequest => "short_token_request",
            Self::RefusedTokenRequest => "refused_token_request",
            Self::ForeignToken => "foreign_token",
            Self::Close => "close",
        })
    }
}

impl Words for Stranger {
    const ALL: &'static [Self] = &[
        Self::Other,
        Self::ShortTokenRequest,
        Self::RefusedTokenRequest,
        Self::ForeignToken,
        Self::Close,
    ];
}

#[cfg(test)]
mod tests {
    use super::*;

    fn padded(start: &[u8], len: usize) -> Vec<u8> {
        let mut datagram = start.to_vec();
        datagram.resize(len, 0);
        datagram
    }

    #[test]
    fn the_bytes_show_what_a_stranger_wants() {
        let request = b"\x04\0\0\xff\xff\xff\xff\x05\x24\x05\xcd\xfd";
        let with_token = b"\x04\0\0\x01\x02\x03\x04\x05\x24\x05\xcd\xfd";
        let connect = b"\x04\0\0\x01\x02\x03\x04\x01\x24\x05\xcd\xfd";
        for (bytes, expected) in [
            (padded(request, 518), Stranger::ShortTokenRequest),
            (padded(request, 519), Stranger::RefusedTokenRequest),
            (padded(with_token, 519), Stranger::ForeignToken),
            (padded(connect, 519), Stranger::ForeignToken),
            (b"\x10\0\0\x04bye\0".to_vec(), Stranger::Close),
            (b"\x04\0\0\x01\x02\x03\x04\x04bye\0".to_vec(), Stranger::Close),
            (b"\x00\x01\x01\x40\x01\x01\x03".to_vec(), Stranger::Other),
        ] {
            assert_eq!(Stranger::of(&bytes), expected, "{bytes:02x?}");
        }
        // Only where nothing better is known, the sentence is a guess.
        let guesses = Stranger::ALL.iter().filter(|kind| kind.sentence().contains('?'));
        assert_eq!(guesses.collect::<Vec<_>>(), [&Stranger::Other]);
    }
}
