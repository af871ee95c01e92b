//! Checks the tokens and sizes of handshake packets against each other, in recordings of both directions.
//!
//! Law: a peer is accused only if both packets are known. In a run the proxy terminates the handshake, so the packets of
//! the two legs have different tokens; only datagrams that passed from one peer to the other are compared.
//!
//! Sources: `CNetConnection::Feed` and `SendConnect` in `network_conn.cpp`, `CNetServer::Recv` in `network_server.cpp`
//! of Teeworlds 0.6.5; `CNetTokenManager::ProcessMessage` in `network_token.cpp` and `CNetConnection::Feed` of 0.7.5.
//!
//! Memory is bounded: [`MOST`] tokens of each kind. Once a token is forgotten, as in a flood, any reply may be to it, and
//! no more replies are checked.

use std::{collections::VecDeque, fmt};

use teetap_proxy::session::Datagram;
use teetap_wire::{Code, Control, Dir, Flags, Packet, Proto, Token};

use crate::Values;

/// Maximum number of token requests, of replies and of tokens in CONNECT that are kept.
const MOST: usize = 64;

/// Minimum length of a 0.6.5 CONNECT, in bytes, and the offset of the client's token in it.
const PADDED: usize = 516;
const TOKEN_AT: usize = 8;

/// Offset of the token in an ACCEPT of DDNet: it follows the header and the number of the message.
const ACCEPT_TOKEN_AT: usize = 4;

/// A handshake packet that does not match the one before it, or that its receiver reads differently.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HandshakeMistake {
    /// The CONNECT of 0.7 has another token than the token request.
    ConnectToken {
        /// The token in CONNECT.
        got: Token,
        /// The token in the request.
        expected: Token,
        /// True if an earlier CONNECT of the session has the token of the request.
        is_later: bool,
    },
    /// The CONNECT of 0.7 has another token in its header than the server gave to the client.
    ConnectHeader {
        /// The token in the header.
        got: Token,
        /// The token in the server's reply to the token request.
        expected: Token,
    },
    /// The reply to a token request or a CONNECT has another token in its header than the request.
    ReplyToken {
        /// The token in the reply.
        got: Token,
        /// The token of the client.
        expected: Token,
        /// The request that gave the token: `connect` or `token request`.
        request: &'static str,
    },
    /// The CONNECT of 0.6.5 has its token at the wrong place.
    TokenPlace {
        /// The bytes before the place of the token.
        there: Token,
    },
    /// The ACCEPT of DDNet has other bytes before its token.
    AcceptToken {
        /// The bytes that the server reads as the token.
        got: Token,
        /// The token in the server's reply.
        expected: Token,
    },
    /// The CONNECT of 0.6.5 is too short for a token.
    Short {
        /// Its length, in bytes.
        len: usize,
    },
}

impl HandshakeMistake {
    pub(super) const fn code(self) -> Code {
        match self {
            Self::ReplyToken { .. } => Code::WrongToken,
            Self::ConnectToken { .. }
            | Self::ConnectHeader { .. }
            | Self::AcceptToken { .. }
            | Self::TokenPlace { .. }
            | Self::Short { .. } => Code::BadHandshake,
        }
    }

    /// Writes the received and the expected value, and what follows from it.
    pub(super) fn write(self, f: &mut Values) -> fmt::Result {
        use fmt::Write;
        match self {
            Self::ConnectToken {
                got,
                expected,
                is_later,
            } => {
                f.add_got(format_args!("the token {got}"))?;
                f.add_expected(format_args!("{expected} as in the token request"))?;
                if is_later {
                    return f.write_str(
                        ": a server that has received the first connect keeps the token of that one",
                    );
                }
                write!(
                    f,
                    ": the server answers to {got}, and the client ignores the answer"
                )
            }
            Self::ConnectHeader { got, expected } => {
                let is_reversed = got.reversed() == expected;
                let order = if is_reversed {
                    ", with its bytes in reverse order"
                } else {
                    ""
                };
                f.add_got(format_args!("{got} in the header of connect"))?;
                f.add_expected(format_args!("{expected}, the token that the server gave{order}"))?;
                f.write_str(": a server of Teeworlds ignores it, one of DDNet accepts it without a slot")
            }
            Self::ReplyToken {
                got,
                expected,
                request,
            } => {
                f.add_got(got)?;
                f.add_expected(format_args!(
                    "{expected}, the token of the client in its {request}"
                ))
            }
            Self::AcceptToken { got, expected } => {
                f.add_got(format_args!("{got} after the accept"))?;
                f.add_expected(format_args!("the token {expected} there"))?;
                f.write_str(": a server of DDNet reads the token there, and gives the client no slot")
            }
            Self::TokenPlace { there } => {
                f.add_got(format_args!("00000000 at byte {TOKEN_AT} and {there} at byte 4"))?;
                f.add_expected(format_args!("the token at byte {TOKEN_AT}"))?;
                f.write_str(": the server answers to 00000000, and the client ignores the answer")
            }
            Self::Short { len } => {
                f.add_got(format_args!("{len} bytes with a token"))?;
                f.add_expected(format_args!("at least {PADDED} bytes"))?;
                f.write_str(": a server of 0.6.5 takes the client for one without a token")
            }
        }
    }
}

/// The tokens in recent handshakes. Those in token requests of 0.7 precede the session.
#[derive(Debug, Default)]
pub(super) struct TokenExchanges {
    /// The tokens in the token requests of clients.
    requests: VecDeque<Token>,
    /// The tokens in the replies of servers, each with the token of the client that the reply is sent to.
    replies: VecDeque<(Token, Token)>,
    /// The tokens in CONNECT, of all sessions: a late reply may belong to an earlier one.
    connects: VecDeque<Token>,
    /// True once a token of a client was forgotten.
    is_partial: bool,
}

impl TokenExchanges {
    /// Records a token request or a reply. Returns the mistake in a reply that no client accepts.
    fn record(&mut self, dir: Dir, header: Token, given: Token) -> Option<HandshakeMistake> {
        if dir == Dir::C2s {
            self.is_partial |= push(&mut self.requests, given);
            return None;
        }
        push(&mut self.replies, (given, header));
        let expected = *self.requests.back()?;
        let is_known = self.is_partial || self.requests.contains(&header);
        (!is_known).then_some(HandshakeMistake::ReplyToken {
            got: header,
            expected,
            request: "token request",
        })
    }

    /// Returns the token of the client to which a server gave the token `given`.
    fn client_of(&self, given: Token) -> Option<Token> {
        let mut replies = self.replies.iter().rev();
        let (_, client) = replies.find(|(token, _)| *token == given)?;
        self.requests.contains(client).then_some(*client)
    }

    /// Returns true if a server may have given this token to any client.
    fn has_given(&self, given: Token) -> bool {
        self.replies.len() >= MOST || self.replies.iter().any(|(token, _)| *token == given)
    }

    /// Returns the last token that a server gave to the client with the token `client`.
    pub(super) fn given_to(&self, client: Token) -> Option<Token> {
        let mut replies = self.replies.iter().rev();
        let (given, _) = replies.find(|(_, to)| *to == client)?;
        self.requests.contains(&client).then_some(*given)
    }

    /// Records a packet. Returns the mistake if it does not match the packets before it. `connect` is the token in the
    /// last CONNECT of the session.
    pub(super) fn look(
        &mut self,
        (datagram, packet): (&Datagram, &Packet<'_>),
        connect: &mut Option<Token>,
    ) -> Option<HandshakeMistake> {
        let (Some(control), None, Some(bytes)) = (packet.control(), datagram.leg, datagram.received()) else {
            return None;
        };
        let header = packet.header.token.unwrap_or(Token::NONE);
        match (datagram.dir, control) {
            (dir, Control::Token { token, .. }) => token.and_then(|given| self.record(dir, header, given)),
            // DDNet clients repeat CONNECT to a 0.7 server without their token. The server reads `TKEN` as the token.
            (Dir::C2s, Control::Connect { tken: true, .. }) => {
                self.is_partial |= push(&mut self.connects, Token::TKEN);
                None
            }
            (Dir::C2s, Control::Connect { token, .. }) => {
                let before = *connect;
                *connect = before.or(token);
                if let Some(token) = token {
                    self.is_partial |= push(&mut self.connects, token);
                }
                self.of_connect(packet.proto, bytes, header, (token, before))
            }
            (Dir::C2s, Control::Accept) => of_accept_of_client(packet, bytes),
            // A server without tokens writes none.
            (Dir::S2c, Control::ConnectAccept { .. }) => {
                let is_known = |token: &Token| self.is_partial || self.connects.contains(token);
                let unknown = packet.header.token.filter(|token| !is_known(token))?;
                of_accept(packet.proto, unknown, *connect)
            }
            _ => None,
        }
    }

    fn of_connect(
        &self,
        proto: Proto,
        bytes: &[u8],
        header: Token,
        (token, before): (Option<Token>, Option<Token>),
    ) -> Option<HandshakeMistake> {
        let at = |start: usize| bytes.get(start..)?.first_chunk().copied().map(Token);
        let zero = Token([0; 4]);
        match proto {
            Proto::V7 => {
                let client = token?;
                let Some(expected) = self.client_of(header) else {
                    // A server has given more than one token to the client if its seed has changed.
                    let expected = self.given_to(client).filter(|_| !self.has_given(header))?;
                    return Some(HandshakeMistake::ConnectHeader {
                        got: header,
                        expected,
                    });
                };
                let (got, is_later) = (client, before == Some(expected));
                (got != expected).then_some(HandshakeMistake::ConnectToken {
                    got,
                    expected,
                    is_later,
                })
            }
            Proto::V65 => {
                let there = at(4).filter(|there| *there != zero)?;
                (token == Some(zero)).then_some(HandshakeMistake::TokenPlace { there })
            }
            Proto::V6 => {
                let is_zero = at(4) == Some(zero);
                let has_token = at(TOKEN_AT).is_some_and(|token| token != zero && token != Token::NONE);
                let len = bytes.len();
                (is_zero && has_token).then_some(HandshakeMistake::Short { len })
            }
            Proto::Ddnet => None,
        }
    }
}

/// Returns the mistake in an ACCEPT of DDNet with other bytes before its token. The server reads the token from the four
/// bytes after the message (`CNetServer::OnTokenCtrlMsg` in `network_server.cpp` of DDNet).
fn of_accept_of_client(packet: &Packet<'_>, bytes: &[u8]) -> Option<HandshakeMistake> {
    let expected = packet.header.token.filter(|_| packet.proto == Proto::Ddnet)?;
    let is_plain = !packet.header.flags.contains(Flags::COMPRESSION);
    let got = bytes.get(ACCEPT_TOKEN_AT..)?.first_chunk().copied().map(Token)?;
    let is_longer = bytes.len() > ACCEPT_TOKEN_AT + got.0.len();
    (is_plain && is_longer && got != expected).then_some(HandshakeMistake::AcceptToken { got, expected })
}

/// Returns the mistake in the server's reply to a CONNECT with the token `connect`.
fn of_accept(proto: Proto, got: Token, connect: Option<Token>) -> Option<HandshakeMistake> {
    let is_checked = matches!(proto, Proto::V65 | Proto::V7);
    let expected = connect.filter(|expected| is_checked && *expected != got)?;
    Some(HandshakeMistake::ReplyToken {
        got,
        expected,
        request: "connect",
    })
}

/// Appends a value. Returns true if the oldest one was removed, because there were too many.
fn push<T>(list: &mut VecDeque<T>, value: T) -> bool {
    let is_full = list.len() >= MOST;
    if is_full {
        list.pop_front();
    }
    list.push_back(value);
    is_full
}
