//! Control messages: the handshake, keepalive and close packets.
//!
//! Law: one plain byte of id, then bytes that depend on the id; where a token stands in them is told by the variant's
//! [`Layout`](crate::Layout). Payloads here are without DDNet's payload-tail token, which belongs to the packet.
//!
//! What it is not: the handshake itself.

use std::fmt;

use crate::{Proto, Token};

const KEEPALIVE: u8 = 0;
const CONNECT: u8 = 1;
const CONNECT_ACCEPT: u8 = 2;
const ACCEPT: u8 = 3;
const CLOSE: u8 = 4;
const TOKEN: u8 = 5;

/// Bytes of control payload in a 0.7 token request: what servers demand so that no reply is larger than its request
/// is 512 (Teeworlds 0.7.5 network_token.cpp); clients send one more.
const TOKEN_REQUEST_LEN: usize = 513;

/// A control message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Control<'a> {
    /// Nothing to say for a second.
    KeepAlive,
    /// The client asks for a connection.
    Connect {
        /// The client's own token, in the variants that have one here (0.6.5, 0.7).
        token: Option<Token>,
        /// The four bytes after the id are `TKEN`: in 0.6 a DDNet client, in 0.7 DDNet's repeated CONNECT, whose
        /// `token` then means nothing.
        tken: bool,
    },
    /// The server answers CONNECT. 0.7 calls it ACCEPT.
    ConnectAccept {
        /// The server's token, where the variant has one here.
        token: Option<Token>,
        /// The four bytes after the id are `TKEN`.
        tken: bool,
    },
    /// The client answers CONNECTACCEPT. DDNet servers create the player's slot on it, others ignore it.
    Accept,
    /// The end.
    Close {
        /// The bytes of the reason before a NUL, if anything follows the id.
        reason: Option<&'a [u8]>,
    },
    /// 0.7: request for, or reply with, a token.
    Token {
        /// The sender's own token; `None` if there is no room for it.
        token: Option<Token>,
        /// Bytes of control payload; a request needs 512 to be answered.
        payload_len: usize,
    },
    /// An id that the variant does not have.
    Unknown {
        /// The id.
        id: u8,
        /// What follows it.
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

    /// The id byte.
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

    /// Its name: `keepalive`, `connect`, `connect_accept`, `accept`, `close`, `token`, or `control.N`.
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

/// Whether `id` is one of the variant's control ids.
pub(crate) fn is_known(proto: Proto, id: u8) -> bool {
    proto.layout().control_ids.contains(&id)
}

fn token_at(payload: &[u8], at: usize) -> Option<Token> {
    payload.get(at..)?.first_chunk().copied().map(Token)
}

/// Appends the payload of a CONNECT with the client's `own` token, padded as the variant's clients pad it.
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

/// Appends the payload of a CONNECTACCEPT. `token` is written where the variant's own servers write it: in 0.6.5 here,
/// with DDNet at the end of the packet, in 0.7 nowhere.
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

/// Appends the payload of a CLOSE. An empty `reason` is left out; otherwise it is written up to its first NUL, and
/// terminated.
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

/// Appends the payload of a 0.7 token request with the sender's `own` token, padded so that it is answered.
pub fn token_request(own: Token, out: &mut Vec<u8>) {
    let start = out.len();
    token_reply(own, out);
    out.resize(start + TOKEN_REQUEST_LEN, 0);
}

/// Text of a peer, for people: invalid UTF-8, control characters and those that change the direction of the text around
/// them are replaced, so that it can neither move a terminal's cursor nor disguise a line.
#[must_use]
pub fn printable(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes)
        .chars()
        .map(printable_char)
        .collect()
}

/// The same for one character.
pub(crate) fn printable_char(c: char) -> char {
    let hidden = c.is_control()
        || matches!(c, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200e}' | '\u{200f}' | '\u{061c}' | '\u{feff}');
    if hidden { char::REPLACEMENT_CHARACTER } else { c }
}

#[cfg(test)]
mod tests;
