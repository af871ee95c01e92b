//! Control messages: the handshake, keepalive and close packets.
//!
//! Law: a control message consists of an id of one byte, followed by bytes that depend on the id. The variant's
//! [`Layout`](crate::Layout) defines the position of a token in these bytes. Payloads here exclude DDNet's token at the
//! end of the payload, which belongs to the packet.
//!
//! Out of scope: the order of packets in a handshake.

use std::fmt;

use crate::{Proto, Token};

const KEEPALIVE: u8 = 0;
const CONNECT: u8 = 1;
const CONNECT_ACCEPT: u8 = 2;
const ACCEPT: u8 = 3;
pub(crate) const CLOSE: u8 = 4;
const TOKEN: u8 = 5;

/// The length in bytes of the control payload of a 0.7 token request. Servers require 512 so that no reply is larger
/// than its request (Teeworlds 0.7.5 network_token.cpp); clients send one more.
const TOKEN_REQUEST_LEN: usize = 513;

/// A control message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Control<'a> {
    /// Sent when there was nothing else to send for a second.
    KeepAlive,
    /// The client requests a connection.
    Connect {
        /// The client's own token, in the variants that carry it here (0.6.5, 0.7).
        token: Option<Token>,
        /// True if the four bytes after the id are `TKEN`: in 0.6 a DDNet client, in 0.7 DDNet's repeated CONNECT,
        /// whose `token` then has no meaning.
        tken: bool,
    },
    /// The server answers CONNECT. 0.7 calls it ACCEPT.
    ConnectAccept {
        /// The server's token; `None` if the variant does not send it here.
        token: Option<Token>,
        /// True if the four bytes after the id are `TKEN`.
        tken: bool,
    },
    /// The client answers CONNECTACCEPT. DDNet servers create the player's slot on it, others ignore it.
    Accept,
    /// The end of the connection.
    Close {
        /// The bytes of the reason before a NUL; `None` if nothing follows the id.
        reason: Option<&'a [u8]>,
    },
    /// 0.7: a request for a token, or a reply with one.
    Token {
        /// The sender's own token; `None` if the packet is too short to contain it.
        token: Option<Token>,
        /// The length of the control payload in bytes; a request needs 512 to be answered.
        payload_len: usize,
    },
    /// An id that the variant does not have.
    Unknown {
        /// The id.
        id: u8,
        /// The bytes after it.
        rest: &'a [u8],
    },
}

impl<'a> Control<'a> {
    /// Reads the clear payload of a control packet. `None` if it is empty.
    #[must_use]
    pub fn parse(proto: Proto, payload: &'a [u8]) -> Option<Self> {
        let layout = proto.layout();
        let (&id, rest) = payload.split_first()?;
        if !layout.control_ids.contains(&id) {
            return Some(Self::Unknown { id, rest });
        }
        let tken = rest.starts_with(&Token::TKEN.0);
        let token = |at: Option<usize>| at.and_then(|at| token_at(payload, at));
        Some(match id {
            KEEPALIVE => Self::KeepAlive,
            CONNECT => {
                let form = layout.connect;
                Self::Connect {
                    token: token(form.token_at.filter(|_| payload.len() >= form.token_from_len)),
                    tken,
                }
            }
            CONNECT_ACCEPT => Self::ConnectAccept {
                token: token(layout.accept_token_at),
                tken,
            },
            ACCEPT => Self::Accept,
            CLOSE if rest.is_empty() => Self::Close { reason: None },
            CLOSE => Self::Close {
                reason: rest.split(|&byte| byte == 0).next(),
            },
            TOKEN => Self::Token {
                token: token_at(payload, 1),
                payload_len: payload.len(),
            },
            _ => Self::Unknown { id, rest },
        })
    }

    /// Returns true if a clear DDNet payload is a CLOSE without a token after it: it has no reason, or a text and its
    /// NUL. Servers send such a CLOSE to clients without a slot and to banned clients. Returns false for a text of
    /// three letters and its NUL, since these bytes may be a token: see [`written_form`](crate::written_form).
    #[must_use]
    pub fn is_close_without_token(clear: &[u8]) -> bool {
        let [CLOSE, rest @ ..] = clear else { return false };
        let Some((0, text)) = rest.split_last() else {
            return rest.is_empty();
        };
        let is_text = || std::str::from_utf8(text).is_ok_and(|text| !text.contains(char::is_control));
        rest.len() != Token::LEN && is_text()
    }

    /// Returns the id byte.
    #[must_use]
    pub const fn id(&self) -> u8 {
        match self {
            Self::KeepAlive => KEEPALIVE,
            Self::Connect { .. } => CONNECT,
            Self::ConnectAccept { .. } => CONNECT_ACCEPT,
            Self::Accept => ACCEPT,
            Self::Close { .. } => CLOSE,
            Self::Token { .. } => TOKEN,
            Self::Unknown { id, .. } => *id,
        }
    }

    /// Returns the name: `keepalive`, `connect`, `connect_accept`, `accept`, `close`, `token`, or `control.N`.
    #[must_use]
    pub fn name(&self) -> std::borrow::Cow<'static, str> {
        match self {
            Self::KeepAlive => "keepalive".into(),
            Self::Connect { .. } => "connect".into(),
            Self::ConnectAccept { .. } => "connect_accept".into(),
            Self::Accept => "accept".into(),
            Self::Close { .. } => "close".into(),
            Self::Token { .. } => "token".into(),
            Self::Unknown { id, .. } => format!("control.{id}").into(),
        }
    }
}

impl fmt::Display for Control<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.name())
    }
}

/// Returns true if `bytes` begin with a misspelled `TKEN`: one byte is wrong, missing or extra, two neighbours are
/// swapped, or the case differs.
#[must_use]
pub fn is_almost_tken(bytes: &[u8]) -> bool {
    let magic = Token::TKEN.0;
    if bytes.starts_with(&magic) {
        return false;
    }
    let first = |len| bytes.get(..len).unwrap_or_default();
    let without = |word: &[u8], at: usize| -> Vec<u8> {
        let others = word.iter().enumerate().filter(|(place, _)| *place != at);
        others.map(|(_, byte)| *byte).collect()
    };
    let is_swapped = (1..magic.len()).any(|at| {
        let mut swapped = magic;
        swapped.swap(at - 1, at);
        first(4) == swapped
    });
    let is_replaced =
        (0..magic.len()).any(|at| bytes.len() >= 4 && without(first(4), at) == without(&magic, at));
    let is_short = (0..magic.len()).any(|at| first(3) == without(&magic, at));
    let is_long = (0..=magic.len()).any(|at| bytes.len() > 4 && without(first(5), at) == magic);
    is_swapped || is_replaced || is_short || is_long || first(4).eq_ignore_ascii_case(&magic)
}

/// Returns true if `id` is one of the variant's control ids.
pub(crate) fn is_known(proto: Proto, id: u8) -> bool {
    proto.layout().control_ids.contains(&id)
}

fn token_at(payload: &[u8], at: usize) -> Option<Token> {
    payload.get(at..)?.first_chunk().copied().map(Token)
}

/// Appends the payload of a CONNECT with the client's `own` token, padded to the length that clients of the variant
/// send.
pub fn connect(proto: Proto, own: Token, out: &mut Vec<u8>) {
    let layout = proto.layout();
    let start = out.len();
    out.push(CONNECT);
    if layout.tken {
        out.extend_from_slice(&Token::TKEN.0);
    }
    if let Some(at) = layout.connect.token_at {
        out.resize(start + at, 0);
        out.extend_from_slice(&own.0);
    }
    out.resize(start + layout.connect.len, 0);
}

/// Appends the payload of a CONNECTACCEPT. `token` is written only in 0.6.5: DDNet has it at the end of the packet,
/// 0.7 does not send it.
pub fn connect_accept(proto: Proto, token: Token, out: &mut Vec<u8>) {
    let layout = proto.layout();
    out.push(CONNECT_ACCEPT);
    if layout.tken {
        out.extend_from_slice(&Token::TKEN.0);
    }
    if layout.accept_writes_token {
        out.extend_from_slice(&token.0);
    }
}

/// Appends the payload of an ACCEPT.
pub fn accept(out: &mut Vec<u8>) {
    out.push(ACCEPT);
}

/// Appends the payload of a keepalive.
pub fn keepalive(out: &mut Vec<u8>) {
    out.push(KEEPALIVE);
}

/// Appends the payload of a CLOSE. An empty `reason` is omitted; any other reason is written up to its first NUL, and
/// terminated with a NUL.
pub fn close(reason: &[u8], out: &mut Vec<u8>) {
    out.push(CLOSE);
    if !reason.is_empty() {
        out.extend(reason.iter().take_while(|&&byte| byte != 0));
        out.push(0);
    }
}

/// Appends the payload of a 0.7 token reply with the sender's `own` token.
pub fn token_reply(own: Token, out: &mut Vec<u8>) {
    out.push(TOKEN);
    out.extend_from_slice(&own.0);
}

/// Appends the payload of a 0.7 token request with the sender's `own` token, padded so that servers answer it.
pub fn token_request(own: Token, out: &mut Vec<u8>) {
    let start = out.len();
    token_reply(own, out);
    out.resize(start + TOKEN_REQUEST_LEN, 0);
}

#[cfg(test)]
mod tests;
