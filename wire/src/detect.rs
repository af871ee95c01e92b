//! Detects the protocol from the first datagram of an unknown address.
//!
//! Law: the detection uses only unmistakable bytes. Since the flags of 0.6 and 0.7 collide, it identifies the version
//! of handshake packets and datagrams outside a connection, but not of datagrams in the middle of a session.

use crate::{Connless, Proto, Token, is_connless};

/// Minimum length in bytes of a 0.7 token request that servers answer (512 of payload and the header).
const PADDED_LEN: usize = 519;
/// Minimum length in bytes of a 0.6.5 CONNECT, and the offset of the client's token in it.
const V65_CONNECT_LEN: usize = 516;
const V65_TOKEN_AT: usize = 8;

/// The first datagram of an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum First<'a> {
    /// A datagram outside a connection.
    Connless(Connless<'a>),
    /// 0.7: a client requests a token.
    TokenRequest {
        /// The client's own token; [`Token::NONE`] if there is no room for it.
        token: Token,
        /// The token in the header; [`Token::NONE`] in real requests.
        header_token: Token,
        /// True if the request is long enough (519 bytes) to be answered: a reply is never larger than its request.
        padded: bool,
    },
    /// 0.7: CONNECT with a token from another server, or from this process before a restart.
    Connect7 {
        /// The server token that the client uses.
        header_token: Token,
        /// The client's own token; [`Token::NONE`] if there is no room for it.
        token: Token,
    },
    /// 0.6: CONNECT.
    Connect {
        /// The variant: V6, V65 or Ddnet.
        proto: Proto,
        /// The client's token (0.6.5), or the last bytes of DDNet's CONNECT, `ffffffff`.
        token: Option<Token>,
    },
    /// A CLOSE of an unknown connection.
    Close,
    /// Any other packet of an unknown connection.
    MidSession,
    /// A datagram shorter than any header.
    Noise,
}

/// Detects the kind of the first `datagram` from an unknown address.
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
            // 0.6.5 sets its token flag in everything but CONNECT, and then this byte is the token's first.
            Some(1) if first & 0x0c == 0 => connect6(datagram),
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SERVER: Token = Token([0x92, 0x3a, 0xf3, 0x6c]);
    const CLIENT: Token = Token([0x24, 0x05, 0xcd, 0xfd]);

    fn padded(start: &[u8], len: usize) -> Vec<u8> {
        let mut datagram = start.to_vec();
        datagram.resize(len, 0);
        datagram
    }

    #[test]
    fn requests_of_0_7() {
        let request = b"\x04\0\0\xff\xff\xff\xff\x05\x24\x05\xcd\xfd";
        for (len, padded_enough) in [(520, true), (519, true), (518, false), (12, false)] {
            let expected = First::TokenRequest {
                token: CLIENT,
                header_token: Token::NONE,
                padded: padded_enough,
            };
            assert_eq!(detect(&padded(request, len)), expected, "{len} bytes");
        }
        let expected = First::TokenRequest {
            token: Token::NONE,
            header_token: Token::NONE,
            padded: false,
        };
        assert_eq!(detect(&request[..11]), expected);
        let connect = b"\x04\0\0\x92\x3a\xf3\x6c\x01\x24\x05\xcd\xfd";
        assert_eq!(
            detect(&padded(connect, 520)),
            First::Connect7 {
                header_token: SERVER,
                token: CLIENT
            }
        );
        assert_eq!(detect(b"\x04\0\0\x92\x3a\xf3\x6c\x04bye\0"), First::Close);
        assert_eq!(detect(b"\x04\0\0\x92\x3a\xf3\x6c\x00"), First::MidSession);
        assert_eq!(detect(&connect[..7]), First::MidSession);
    }

    #[test]
    fn connects_of_0_6() {
        // 0.6.5 in session, with a token that begins with 01.
        assert_eq!(detect(b"\x18\x02\0\x01\x02\x03\x04\x04bye\0"), First::MidSession);
        let connect = |proto, token| First::Connect { proto, token };
        assert_eq!(detect(b"\x10\0\0\x01"), connect(Proto::V6, None));
        let tken = b"\x10\0\0\x01TKEN\xff\xff\xff\xff";
        assert_eq!(detect(tken), connect(Proto::Ddnet, Some(Token::NONE)));
        assert_eq!(detect(&tken[..11]), connect(Proto::V6, None));
        let v65 = b"\x10\0\0\x01\0\0\0\0\x24\x05\xcd\xfd";
        assert_eq!(detect(&padded(v65, 516)), connect(Proto::V65, Some(CLIENT)));
        assert_eq!(detect(&padded(v65, 515)), connect(Proto::V6, None));
        assert_eq!(detect(b"\x10\0\0\x04"), First::Close);
        assert_eq!(detect(b"\x10\0\0\x03\x01\x02\x03\x04"), First::MidSession);
        assert_eq!(detect(b"\x10\0\0"), First::MidSession);
    }

    #[test]
    fn the_rest() {
        assert_eq!(detect(b""), First::Noise);
        assert_eq!(detect(b"\xff\xff"), First::Noise);
        assert_eq!(detect(b"\xff\xff\xff\xff\xff"), First::Noise);
        assert_eq!(detect(b"\x00\x01\x01\x40\x01\x01\x03"), First::MidSession);
        assert_eq!(
            detect(b"\xff\xff\xff\xff\xff\xffa"),
            First::Connless(Connless::Plain { data: b"a" })
        );
    }

    proptest! {
        #[test]
        fn any_bytes_are_something(datagram in prop::collection::vec(any::<u8>(), 0..1500), first in 0u8..0x30) {
            let odd = [&[first], &datagram[..]].concat();
            for bytes in [&datagram, &odd] {
                prop_assert_eq!(detect(bytes) == First::Noise, bytes.len() < 3 || is_connless(bytes) && bytes.len() < 6);
            }
        }
    }
}
