//! One recorded flow: its client, and its server behind the hub's sockets.
//!
//! Law: every token that a peer would have received from the hub is replaced by the token that the hub gave.
//! All other bytes are as recorded.

use teetap_kit::{
    capture::{Flow, Packet},
    codec::{Token, Variant, control},
    huffman::Ending,
    world::upstream_addr,
};
use teetap_proxy::session::UpstreamId;
use teetap_wire::Side;

use crate::datagram::{Kind, credentials, four, habit, spliced, variant_of, with_token};

/// A flow that is being replayed.
pub(crate) struct Actor {
    pub(crate) flow: Flow,
    pub(crate) variant: Variant,
    /// Shift of all recorded times in microseconds.
    pub(crate) shift: i64,
    /// Changes the tokens that the client chooses, because a restarted program chooses others.
    salt: u8,
    /// How the server and the client end compressed data, in this order.
    endings: [Ending; 2],
    /// The client's TOKEN requests: its own token, and the token that the hub gave for it.
    handed: Vec<(Token, Token)>,
    /// The client's own token, as it named it last.
    pub(crate) named: Option<Token>,
    /// The token of a 0.6 session on the client's leg.
    pub(crate) ours: Option<Token>,
    /// The hub's socket for the session, or for the server browser.
    pub(crate) upstream: Option<UpstreamId>,
    /// The hub's own token on that socket.
    pub(crate) own: Option<Token>,
    /// The server's last reply to a TOKEN request, once it is due.
    pub(crate) token_reply: Option<Vec<u8>>,
    /// True while the hub waits for this reply.
    pub(crate) is_requested: bool,
    pub(crate) is_accepted: bool,
    pub(crate) is_closed: bool,
    /// Highest vital numbers that were forwarded, from the client and from the server.
    pub(crate) newest: [u16; 2],
    /// The last datagrams that were forwarded, from the client and from the server.
    pub(crate) last: [Vec<u8>; 2],
}

impl Actor {
    pub(crate) fn new(flow: Flow, shift: i64, salt: u8) -> Self {
        let variant = variant_of(&flow);
        Self {
            endings: [false, true].map(|of_client| habit(&flow, variant, of_client)),
            flow,
            variant,
            shift,
            salt,
            handed: Vec::new(),
            named: None,
            ours: None,
            upstream: None,
            own: None,
            token_reply: None,
            is_requested: false,
            is_accepted: false,
            is_closed: false,
            newest: [0; 2],
            last: [Vec::new(), Vec::new()],
        }
    }

    /// Returns the datagram that the client sends.
    pub(crate) fn as_client_sends(&mut self, kind: Kind, recorded: &[u8]) -> Vec<u8> {
        let is_seven = recorded[0] & 0xfc == 0x04;
        match kind {
            Kind::TokenRequest => {
                self.named = Some(self.salted(four(recorded, 8)));
                spliced(recorded, 8, self.named.unwrap())
            }
            Kind::Connect if is_seven => {
                self.named = Some(self.salted(four(recorded, 8)));
                let shown = spliced(recorded, 3, self.shown(four(recorded, 3)));
                spliced(&shown, 8, self.named.unwrap())
            }
            Kind::Connect if recorded.len() >= 516 => {
                self.named = Some(self.salted(four(recorded, 8)));
                spliced(recorded, 8, self.named.unwrap())
            }
            Kind::Connect => recorded.to_vec(),
            Kind::Connless if recorded[0] == 0x21 => spliced(recorded, 1, self.shown(four(recorded, 1))),
            Kind::Connless => recorded.to_vec(),
            _ => match self.variant {
                Variant::V6 => recorded.to_vec(),
                Variant::V7 | Variant::D7 => spliced(recorded, 3, self.shown(four(recorded, 3))),
                Variant::V65 | Variant::Ddnet => {
                    with_token(self.variant, recorded, self.ours.unwrap(), self.endings[1])
                }
            },
        }
    }

    /// Returns the datagram that the server sends: in 0.7 with the hub's own token, otherwise with the token
    /// that the server gave.
    pub(crate) fn as_server_sends(&self, kind: Kind, recorded: &[u8]) -> Vec<u8> {
        match (kind, self.variant) {
            (Kind::Connless, _) if recorded[0] == 0x21 => spliced(recorded, 1, self.own.unwrap()),
            (Kind::Connless, _) => recorded.to_vec(),
            (_, Variant::V7) | (Kind::TokenReply, _) | (Kind::ConnectAccept, Variant::V65) => {
                spliced(recorded, 3, self.own.unwrap())
            }
            _ => recorded.to_vec(),
        }
    }

    /// Returns the datagram that has to be sent on the other leg. The server knows the hub by the token that
    /// it once gave to the recorded client.
    pub(crate) fn expected(&self, from: Side, kind: Kind, recorded: &[u8]) -> Vec<u8> {
        let is_seven = recorded[0] == 0x21;
        match (from, kind) {
            (Side::Client, Kind::Connless) if is_seven => spliced(recorded, 5, self.own.unwrap()),
            (Side::Server, Kind::Connless) if is_seven => spliced(recorded, 5, self.shown(four(recorded, 5))),
            (Side::Client, _) | (_, Kind::Connless) => recorded.to_vec(),
            (Side::Server, _) => match self.variant {
                Variant::V6 => recorded.to_vec(),
                Variant::V7 | Variant::D7 => spliced(recorded, 3, self.named.unwrap()),
                Variant::V65 | Variant::Ddnet => {
                    with_token(self.variant, recorded, self.ours.unwrap(), self.endings[0])
                }
            },
        }
    }

    /// Checks the hub's answer to a TOKEN request: equal to the server's, except that the token is the hub's.
    pub(crate) fn is_given_token(&mut self, bytes: &[u8]) {
        let (named, ours) = (self.named.unwrap(), four(bytes, 8));
        assert_eq!(bytes, control::token_reply(Variant::V7, named, ours));
        self.handed.push((named, ours));
    }

    /// Checks the hub's answer to a CONNECT: equal to the server's, except that the token is the hub's.
    pub(crate) fn is_let_in(&mut self, bytes: &[u8]) {
        if let Variant::V65 | Variant::Ddnet = self.variant {
            self.ours = Some(four(bytes, 8));
        }
        let (named, ours) = (self.named.unwrap_or_default(), self.ours.unwrap_or_default());
        let mut bytes = bytes.to_vec();
        if self.variant.is_seven() && bytes.len() == 12 {
            // DDNet's server appends its token, in some releases with the bytes reversed.
            let mut told = four(&bytes, 8);
            let is_given = |told: Token| self.handed.iter().any(|(_, ours)| *ours == told);
            assert!(
                is_given(told) || {
                    told.reverse();
                    is_given(told)
                },
                "{bytes:02x?}"
            );
            bytes.truncate(8);
        }
        assert_eq!(bytes, control::connect_accept(self.variant, named, ours));
        self.is_accepted = true;
    }

    /// Checks the hub's TOKEN request, CONNECT or ACCEPT: equal to the client's, except for its own token.
    pub(crate) fn is_knocked_at(&mut self, kind: Kind, bytes: &[u8]) {
        let like = |packet: &&Packet| {
            self.flow.is_from_client(packet)
                && packet.payload.len() == bytes.len()
                && Kind::of(self.variant, &packet.payload) == kind
        };
        let recorded = &self.flow.packets.iter().find(like).unwrap().payload;
        if kind == Kind::Accept || bytes.len() < 516 {
            assert_eq!(bytes, recorded);
            return;
        }
        let own = four(bytes, 8);
        assert_ne!(Some(own), self.named, "the client's own token");
        assert_eq!(bytes, spliced(recorded, 8, own));
        self.own = Some(own);
        self.is_requested = kind == Kind::TokenRequest;
    }

    /// Returns the server's recorded reply, if the hub has sent the request and the reply is due.
    pub(crate) fn answer(&mut self) -> Option<Vec<u8>> {
        let reply = self.token_reply.as_deref().filter(|_| self.is_requested)?;
        let bytes = self.as_server_sends(Kind::TokenReply, reply);
        self.is_requested = false;
        Some(bytes)
    }

    /// Returns the hub's token that the client sends in place of this token of the server.
    fn shown(&self, recorded: Token) -> Token {
        let gives = |packet: &&Packet| {
            Kind::of(self.variant, &packet.payload) == Kind::TokenReply
                && four(&packet.payload, 8) == recorded
        };
        let reply = self.flow.packets.iter().find(gives).unwrap();
        let named = self.salted(four(&reply.payload, 3));
        let handed = self.handed.iter().find(|(client, _)| *client == named);
        let (_, ours) = handed.unwrap_or_else(|| panic!("no token given for {named:02x?}"));
        assert_ne!(*ours, recorded, "the server's token on the client's leg");
        *ours
    }

    fn salted(&self, token: Token) -> Token {
        token.map(|byte| byte ^ self.salt)
    }

    /// Checks that the hub closes the session that the client abandoned, with the CLOSE that the client would
    /// have sent.
    pub(crate) fn is_left(&mut self, bytes: &[u8]) {
        assert_eq!(Kind::of(self.variant, bytes), Kind::Close);
        assert_eq!(
            credentials(self.variant, bytes),
            credentials(self.variant, &self.last[0])
        );
        assert!(!self.is_closed);
        self.is_closed = true;
    }

    /// Returns the name of this actor for a failure.
    pub(crate) fn name(&self) -> String {
        let upstream = self.upstream.map(upstream_addr);
        format!("{:?} {} via {upstream:?}", self.variant, self.flow.client)
    }
}
