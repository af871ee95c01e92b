//! The handshake of the server leg, in which the proxy is the client. Each state is a type, and a transition
//! consumes it.
//!
//! The proxy sends the client's kind of CONNECT. The form of the answer decides the protocol of the session
//! (0.6 servers of all kinds answer a CONNECT of the newer kinds in their own way).

use teetap_wire::{Control, Flags, Header, Packet, Proto, Scratch, Seq, Token, control, write};

/// Progress of the handshake on the server leg.
#[derive(Debug)]
pub(crate) enum Handshake {
    /// 0.6 of any kind: sends CONNECT until the server answers.
    Connect6(Connect6),
    /// 0.7: requests the server's token.
    AskToken(AskToken),
    /// 0.7: sends CONNECT with the server's token until the server accepts.
    Connect7(Connect7),
}

/// The result of a handshake that the server accepted.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Accepted {
    /// The protocol of both legs.
    pub(crate) proto: Proto,
    /// The token that the server sends.
    pub(crate) token_in: Option<Token>,
    /// The token that the proxy sends to the server.
    pub(crate) token_out: Option<Token>,
    /// True if the datagram is already traffic of the session, because the server's answer to CONNECT was
    /// lost. The datagram has to be relayed.
    pub(crate) is_traffic: bool,
}

/// The effect of a datagram on a handshake.
#[derive(Debug)]
pub(crate) enum HandshakeStep {
    /// The state stays the same.
    Stay(Handshake),
    /// The handshake advances. The request of the new state has to be sent immediately.
    Next(Handshake),
    Accepted(Accepted),
    /// The server sent a CLOSE with this reason.
    Refused(Box<[u8]>),
}

#[derive(Debug)]
pub(crate) struct Connect6 {
    requested: Proto,
    own: Token,
}

#[derive(Debug)]
pub(crate) struct AskToken {
    own: Token,
}

#[derive(Debug)]
pub(crate) struct Connect7 {
    own: Token,
    server: Token,
}

impl Handshake {
    /// Returns the initial state for a client that requested `proto`. `own` is the proxy's token on this leg.
    pub(crate) fn new(proto: Proto, own: Token) -> Self {
        match proto {
            Proto::V7 => Self::AskToken(AskToken { own }),
            Proto::V6 | Proto::V65 | Proto::Ddnet => Self::Connect6(Connect6 {
                requested: proto,
                own,
            }),
        }
    }

    /// Appends the request of this state. It has to be sent immediately and again every 500 ms.
    pub(crate) fn request(&self, out: &mut Vec<u8>) {
        let mut payload = Vec::new();
        let (proto, token) = match self {
            Self::Connect6(state) => {
                control::connect(state.requested, state.own, &mut payload);
                // A DDNet client that has no token yet sends ffffffff; 0.6.5 sets no token flag.
                (
                    state.requested,
                    (state.requested == Proto::Ddnet).then_some(Token::NONE),
                )
            }
            Self::AskToken(state) => {
                control::token_request(state.own, &mut payload);
                (Proto::V7, Some(Token::NONE))
            }
            Self::Connect7(state) => {
                control::connect(Proto::V7, state.own, &mut payload);
                (Proto::V7, Some(state.server))
            }
        };
        let header = Header {
            flags: Flags::CONTROL,
            ack: Seq::ZERO,
            num_chunks: 0,
            token,
        };
        write(proto, &header, &payload, None, out);
    }

    /// Returns the protocol and the token of a CLOSE to a server that may have a slot although its answer has
    /// not arrived; `None` if the server cannot have one. 0.6 servers that create a slot at CONNECT use no
    /// tokens, and servers with tokens ignore a CLOSE without one.
    pub(crate) fn slot(&self) -> Option<(Proto, Option<Token>)> {
        match self {
            Self::Connect6(_) => Some((Proto::V6, None)),
            Self::AskToken(_) => None,
            Self::Connect7(state) => Some((Proto::V7, Some(state.server))),
        }
    }

    /// Expects answers to a CONNECT that names `name`.
    pub(crate) fn expect(&mut self, name: Token) {
        match self {
            Self::Connect6(state) => state.own = name,
            Self::Connect7(state) => state.own = name,
            Self::AskToken(_) => {}
        }
    }

    /// Returns the server's token if it is known before the server has accepted (0.7).
    pub(crate) fn server_token(&self) -> Option<Token> {
        match self {
            Self::Connect7(state) => Some(state.server),
            Self::Connect6(_) | Self::AskToken(_) => None,
        }
    }

    /// Handles a datagram of the server.
    pub(crate) fn handle(self, datagram: &[u8], scratch: &mut Scratch) -> HandshakeStep {
        match self {
            Self::Connect6(state) => state.handle(datagram, scratch),
            Self::AskToken(state) => state.handle(datagram, scratch),
            Self::Connect7(state) => state.handle(datagram, scratch),
        }
    }
}

impl Connect6 {
    /// Handles the three forms of answer: with the token flag in the header (0.6.5), with `TKEN` and a token
    /// (DDNet), without a token.
    fn handle(self, datagram: &[u8], scratch: &mut Scratch) -> HandshakeStep {
        let own = self.own;
        let requested = self.requested;
        let stay = HandshakeStep::Stay(Handshake::Connect6(self));
        let Ok(packet) = Packet::parse(Proto::V65, datagram, scratch) else {
            return stay;
        };
        // DDNet gives an old client a slot at CONNECT and says so only once. If that answer is lost, traffic
        // shows the slot too. Its ack is 0, since the server has received nothing yet.
        let may_have_slot = requested != Proto::Ddnet && packet.header.ack == Seq::ZERO;
        if !packet.header.flags.contains(Flags::CONTROL) {
            let has_slot = may_have_slot && packet.header.token.is_none();
            return if has_slot { tokenless(true) } else { stay };
        }
        if let Some(shown) = packet.header.token {
            if requested != Proto::V65 || shown != own {
                return stay;
            }
            return match Control::parse(Proto::V65, packet.payload) {
                Some(Control::ConnectAccept {
                    token: Some(token), ..
                }) => accepted(Proto::V65, token),
                Some(Control::Close { reason }) => refused(reason),
                _ => stay,
            };
        }
        match Control::parse(Proto::V6, packet.payload) {
            Some(Control::ConnectAccept { .. }) => match packet.payload {
                [_, b'T', b'K', b'E', b'N', a, b, c, d, ..] if requested == Proto::Ddnet => {
                    accepted(Proto::Ddnet, Token([*a, *b, *c, *d]))
                }
                _ => tokenless(false),
            },
            Some(Control::KeepAlive) if may_have_slot => tokenless(true),
            Some(Control::Close { reason }) => refused(reason),
            _ => stay,
        }
    }
}

impl AskToken {
    fn handle(self, datagram: &[u8], scratch: &mut Scratch) -> HandshakeStep {
        let own = self.own;
        match seven(datagram, own, scratch) {
            Some(Seven::Token(server)) => HandshakeStep::Next(Handshake::Connect7(Connect7 { own, server })),
            Some(Seven::Close(reason)) => HandshakeStep::Refused(reason),
            _ => HandshakeStep::Stay(Handshake::AskToken(self)),
        }
    }
}

impl Connect7 {
    /// Handles the answer of the server. DDNet sends its ACCEPT once: if it is lost, any valid packet shows
    /// that the server accepted.
    fn handle(self, datagram: &[u8], scratch: &mut Scratch) -> HandshakeStep {
        let own = self.own;
        let accept = |is_traffic| {
            HandshakeStep::Accepted(Accepted {
                proto: Proto::V7,
                token_in: Some(own),
                token_out: Some(self.server),
                is_traffic,
            })
        };
        match seven(datagram, own, scratch) {
            Some(Seven::Accept) => accept(false),
            Some(Seven::Traffic) => accept(true),
            Some(Seven::Close(reason)) => HandshakeStep::Refused(reason),
            // The server answers a repeated request again. After it has renewed its seed, the token is a
            // newer one.
            Some(Seven::Token(server)) => HandshakeStep::Stay(Handshake::Connect7(Self { own, server })),
            None => HandshakeStep::Stay(Handshake::Connect7(self)),
        }
    }
}

/// The datagrams of a 0.7 server that matter to a handshake.
enum Seven {
    Token(Token),
    Accept,
    Close(Box<[u8]>),
    Traffic,
}

fn seven(datagram: &[u8], own: Token, scratch: &mut Scratch) -> Option<Seven> {
    let packet = Packet::parse(Proto::V7, datagram, scratch).ok()?;
    if packet.header.token != Some(own) {
        return None;
    }
    if !packet.header.flags.contains(Flags::CONTROL) {
        return Some(Seven::Traffic);
    }
    match Control::parse(Proto::V7, packet.payload)? {
        Control::Token {
            token: Some(token), ..
        } => Some(Seven::Token(token)),
        Control::ConnectAccept { .. } => Some(Seven::Accept),
        Control::Close { reason } => Some(Seven::Close(reason.unwrap_or_default().into())),
        Control::KeepAlive => Some(Seven::Traffic),
        _ => None,
    }
}

fn accepted(proto: Proto, token: Token) -> HandshakeStep {
    HandshakeStep::Accepted(Accepted {
        proto,
        token_in: Some(token),
        token_out: Some(token),
        is_traffic: false,
    })
}

fn tokenless(is_traffic: bool) -> HandshakeStep {
    HandshakeStep::Accepted(Accepted {
        proto: Proto::V6,
        token_in: None,
        token_out: None,
        is_traffic,
    })
}

fn refused(reason: Option<&[u8]>) -> HandshakeStep {
    HandshakeStep::Refused(reason.unwrap_or_default().into())
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWN: [u8; 4] = *b"mine";
    const GIVEN: [u8; 4] = *b"srv!";
    const ANSWERS: [(&str, &[u8]); 16] = [
        ("accept", b"\x10\0\0\x02"),
        ("accept TKEN", b"\x10\0\0\x02TKENsrv!"),
        ("accept TKEM", b"\x10\0\0\x02TKEMsrv!"),
        ("accept TKEN cut", b"\x10\0\0\x02TKENsrv"),
        ("close", b"\x10\0\0\x04no\0"),
        ("keepalive", b"\x10\0\0\0"),
        ("keepalive a1", b"\x10\x01\0\0"),
        ("data", b"\0\0\x01\x40\x01\x01\x38"),
        ("data a1", b"\0\x01\x01\x40\x01\x01\x38"),
        ("accept own", b"\x18\0\0mine\x02srv!"),
        ("accept own cut", b"\x18\0\0mine\x02srv"),
        ("accept other", b"\x18\0\0nope\x02srv!"),
        ("close own", b"\x18\0\0mine\x04no\0"),
        ("close other", b"\x18\0\0nope\x04no\0"),
        ("keepalive own", b"\x18\0\0mine\0"),
        ("data own", b"\x08\0\x01mine\x40\x01\x01\x38"),
    ];

    /// Returns the answers that have an effect, and the effect.
    fn effects(requested: Proto) -> Vec<(&'static str, String)> {
        let effect = |bytes: &[u8]| {
            let handshake = Handshake::new(requested, Token(OWN));
            match handshake.handle(bytes, &mut Scratch::new()) {
                HandshakeStep::Stay(_) => None,
                HandshakeStep::Next(_) => Some("next".to_owned()),
                HandshakeStep::Accepted(accepted) => {
                    assert_eq!(accepted.token_in, accepted.token_out);
                    assert!(accepted.token_out.is_none_or(|token| token == Token(GIVEN)));
                    let has_token = if accepted.token_out.is_some() {
                        " with a token"
                    } else {
                        ""
                    };
                    let by = if accepted.is_traffic { " by traffic" } else { "" };
                    Some(format!("{}{has_token}{by}", accepted.proto))
                }
                HandshakeStep::Refused(reason) => {
                    Some(format!("refused: {}", String::from_utf8_lossy(&reason)))
                }
            }
        };
        let effects = ANSWERS
            .into_iter()
            .filter_map(|(name, bytes)| Some((name, effect(bytes)?)));
        effects.collect()
    }

    /// A server answers a CONNECT in its own protocol. The token of the client must be in the header of 0.6.5.
    #[test]
    fn an_answer_to_a_connect_of_0_6_counts_in_the_form_that_the_client_reads() {
        let of = |list: &[(&'static str, &str)]| -> Vec<_> {
            list.iter()
                .map(|(name, effect)| (*name, (*effect).to_owned()))
                .collect()
        };
        let plain = [
            ("accept", "0.6"),
            ("accept TKEN", "0.6"),
            ("accept TKEM", "0.6"),
            ("accept TKEN cut", "0.6"),
            ("close", "refused: no"),
            ("keepalive", "0.6 by traffic"),
            ("data", "0.6 by traffic"),
        ];
        assert_eq!(effects(Proto::V6), of(&plain));
        let own = [("accept own", "0.6.5 with a token"), ("close own", "refused: no")];
        assert_eq!(effects(Proto::V65), of(&[&plain[..], &own].concat()));
        let ddnet = [
            ("accept", "0.6"),
            ("accept TKEN", "ddnet with a token"),
            ("accept TKEM", "0.6"),
            ("accept TKEN cut", "0.6"),
            ("close", "refused: no"),
        ];
        assert_eq!(effects(Proto::Ddnet), of(&ddnet));
    }
}
