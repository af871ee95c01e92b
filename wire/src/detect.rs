//! What the first datagram of an unknown address is.
//!
//! Law: decide by what is unmistakable only. Flags of 0.6 and 0.7 collide, so in mid-session nothing can be told from
//! one datagram: only handshake packets and datagrams outside a connection name their version.

use crate::{Connless, Proto, Token, is_connless};

/// Bytes of a 0.7 token request from which on servers answer it (512 of payload and the header).
const PADDED_LEN: usize = 519;
/// Bytes of a 0.6.5 CONNECT from which on it is one, and the place of the client's token in it.
const V65_CONNECT_LEN: usize = 516;
const V65_TOKEN_AT: usize = 8;

/// A first datagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum First<'a> {
    /// Outside a connection.
    Connless(Connless<'a>),
    /// 0.7: a client asks for a token.
    TokenRequest {
        /// The client's own; [`Token::NONE`] if there is no room for it.
        token: Token,
        /// The one in the header; [`Token::NONE`] in real requests.
        header_token: Token,
        /// Long enough (519 bytes) to be answered: a reply is never larger than its request.
        padded: bool,
    },
    /// 0.7: CONNECT with a token that somebody else gave out, or we before a restart.
    Connect7 {
        /// The server token that the client believes in.
        header_token: Token,
        /// The client's own; [`Token::NONE`] if there is no room for it.
        token: Token,
    },
    /// 0.6: CONNECT.
    Connect {
        /// V6, V65 or Ddnet.
        proto: Proto,
        /// The client's token (0.6.5), or the last bytes of DDNet's CONNECT, `ffffffff`.
        token: Option<Token>,
    },
    /// A CLOSE of a connection that nobody knows.
    Close,
    /// Something of a connection that nobody knows.
    MidSession,
    /// Shorter than any header.
    Noise,
}

/// Tells what the first `datagram` of an unknown address is.
#[must_use]
pub fn detect(datagram: &[u8]) -> First<'_> {
    let &[first, _, _, ref rest @ ..] = datagram else {
        return First::Noise;
    };
    if is_connless(datagram) {
        return Connless::parse(datagram).map_or(First::Noise, First::Connless);
    }
    if first & 0xfc == 0x04
        && let Some((header_token, payload)) = rest.split_first_chunk::<4>()
        && let Some((&id, extra)) = payload.split_first()
    {
        return control7(id, Token(*header_token), extra, datagram.len() >= PADDED_LEN);
    }
    if first & 0xf0 == 0x10 {
        return match rest.first() {
            Some(1) => connect6(datagram),
            Some(4) => First::Close,
            _ => First::MidSession,
        };
    }
    First::MidSession
}

fn control7(id: u8, header_token: Token, extra: &[u8], padded: bool) -> First<'_> {
    let token = extra.first_chunk().map_or(Token::NONE, |bytes| Token(*bytes));
    match id {
        1 => First::Connect7 { header_token, token },
        4 => First::Close,
        5 => First::TokenRequest {
            token,
            header_token,
            padded,
        },
        _ => First::MidSession,
    }
}

fn connect6(datagram: &[u8]) -> First<'_> {
    let token_at = |at: usize| datagram.get(at..)?.first_chunk().copied().map(Token);
    let (proto, token) = if token_at(4) == Some(Token::TKEN) && datagram.len() >= 12 {
        (Proto::Ddnet, token_at(8))
    } else if datagram.len() >= V65_CONNECT_LEN {
        (Proto::V65, token_at(V65_TOKEN_AT))
    } else {
        (Proto::V6, None)
    };
    First::Connect { proto, token }
}
