//! The server leg's handshake, where the proxy is the client. A state is a type, a transition consumes it.
//!
//! The proxy sends the client's kind of CONNECT; the form of the answer decides what the session speaks
//! (0.6 servers of all kinds answer a CONNECT of the newer kinds in their own way).

use teetap_wire::{Control, Flags, Header, Packet, Proto, Scratch, Seq, Token, control, write};

/// How far the server leg has come.
#[derive(Debug)]
pub(crate) enum Handshake {
    /// 0.6 of any kind: CONNECT is repeated until the server answers.
    Connect6(Connect6),
    /// 0.7: the server's token is requested.
    AskToken(AskToken),
    /// 0.7: CONNECT with that token is repeated until the server accepts.
    Connect7(Connect7),
}

/// The server has accepted.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Accepted {
    /// The protocol of both legs.
    pub(crate) proto: Proto,
    /// The token that the server sends.
    pub(crate) token_in: Option<Token>,
    /// The token that the proxy sends to the server.
    pub(crate) token_out: Option<Token>,
    /// The datagram is traffic of the session already (a lost ACCEPT of DDNet's 0.7): it has to be relayed.
    pub(crate) is_traffic: bool,
}

/// The effect of a datagram on a handshake.
#[derive(Debug)]
pub(crate) enum Step {
    /// Nothing.
    Stay(Handshake),
    /// One step further: its request goes out at once.
    Next(Handshake),
    Accepted(Accepted),
    /// CLOSE, with the server's reason.
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
    /// The start for a client that requested `proto`; `own` is the proxy's token on this leg.
    pub(crate) fn new(proto: Proto, own: Token) -> Self {
        match proto {
            Proto::V7 => Self::AskToken(AskToken { own }),
            Proto::V6 | Proto::V65 | Proto::Ddnet => Self::Connect6(Connect6 {
                requested: proto,
                own,
            }),
        }
    }

    /// Appends the datagram that has to be sent now, and again every 500 ms.
    pub(crate) fn request(&self, out: &mut Vec<u8>) {
        let mut payload = Vec::new();
        let (proto, token) = match self {
            Self::Connect6(state) => {
                control::connect(state.requested, state.own, &mut payload);
                // A DDNet client that knows no token yet shows ffffffff; 0.6.5 sets no token flag.
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

    /// Returns the slot that the server may have made before its answer arrives, for a CLOSE: its protocol, and the
    /// token to send. 0.6 servers that make one at CONNECT know no tokens, those with tokens ignore such a CLOSE.
    pub(crate) fn slot(&self) -> Option<(Proto, Option<Token>)> {
        match self {
            Self::Connect6(_) => Some((Proto::V6, None)),
            Self::AskToken(_) => None,
            Self::Connect7(state) => Some((Proto::V7, Some(state.server))),
        }
    }

    /// Expects answers to a CONNECT that names this token.
    pub(crate) fn expect(&mut self, name: Token) {
        match self {
            Self::Connect6(state) => state.own = name,
            Self::Connect7(state) => state.own = name,
            Self::AskToken(_) => {}
        }
    }

    /// Returns the server's token, once it is known before the server has accepted (0.7).
    pub(crate) fn server_token(&self) -> Option<Token> {
        match self {
            Self::Connect7(state) => Some(state.server),
            Self::Connect6(_) | Self::AskToken(_) => None,
        }
    }

    /// Handles a server's datagram.
    pub(crate) fn handle(self, datagram: &[u8], scratch: &mut Scratch) -> Step {
        match self {
            Self::Connect6(state) => state.handle(datagram, scratch),
            Self::AskToken(state) => state.handle(datagram, scratch),
            Self::Connect7(state) => state.handle(datagram, scratch),
        }
    }
}

impl Connect6 {
    /// The three answers: with the token flag in the header (0.6.5), with `TKEN` and a token (DDNet), bare.
    fn handle(self, datagram: &[u8], scratch: &mut Scratch) -> Step {
        let own = self.own;
        let requested = self.requested;
        let stay = Step::Stay(Handshake::Connect6(self));
        let Ok(packet) = Packet::parse(Proto::V65, datagram, scratch) else {
            return stay;
        };
        // DDNet gives an old client a slot at CONNECT and says so once: traffic says the same. It cannot ack anything
        // yet.
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
    fn handle(self, datagram: &[u8], scratch: &mut Scratch) -> Step {
        let own = self.own;
        match seven(datagram, own, scratch) {
            Some(Seven::Token(server)) => Step::Next(Handshake::Connect7(Connect7 { own, server })),
            Some(Seven::Close(reason)) => Step::Refused(reason),
            _ => Step::Stay(Handshake::AskToken(self)),
        }
    }
}

impl Connect7 {
    /// DDNet sends its ACCEPT once: when it got lost, any valid packet says the same.
    fn handle(self, datagram: &[u8], scratch: &mut Scratch) -> Step {
        let own = self.own;
        let accept = |is_traffic| {
            Step::Accepted(Accepted {
                proto: Proto::V7,
                token_in: Some(own),
                token_out: Some(self.server),
                is_traffic,
            })
        };
        match seven(datagram, own, scratch) {
            Some(Seven::Accept) => accept(false),
            Some(Seven::Traffic) => accept(true),
            Some(Seven::Close(reason)) => Step::Refused(reason),
            // A repeated answer to a repeated request; a renewed seed gives a newer token.
            Some(Seven::Token(server)) => Step::Stay(Handshake::Connect7(Self { own, server })),
            None => Step::Stay(Handshake::Connect7(self)),
        }
    }
}

/// The answers of a 0.7 server.
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

fn accepted(proto: Proto, token: Token) -> Step {
    Step::Accepted(Accepted {
        proto,
        token_in: Some(token),
        token_out: Some(token),
        is_traffic: false,
    })
}

fn tokenless(is_traffic: bool) -> Step {
    Step::Accepted(Accepted {
        proto: Proto::V6,
        token_in: None,
        token_out: None,
        is_traffic,
    })
}

fn refused(reason: Option<&[u8]>) -> Step {
    Step::Refused(reason.unwrap_or_default().into())
}
