//! The first datagrams of a client, which are answered without state until the client has proved its address.
//!
//! Law: the server keeps no state about an address until it sends a datagram with the right token. The exception is
//! 0.6 without tokens and challenges, whose servers assign a slot for each CONNECT (0.6.4 network_server.cpp,
//! `Recv`).

use std::time::Duration;

use teetap_wire::{Control, First, Packet, Proto, Scratch, Seq, Token, control, detect};

use super::{ServerConfig, challenge};
use crate::Variant;
use crate::connection::{Connection, Tokens, control_datagram};
use crate::script::Step;

/// The effect of the first datagram of a client.
#[derive(Debug)]
pub(super) enum FirstReply {
    /// The datagram has no effect.
    Nothing,
    /// The server answers with these datagrams, at this step of the join.
    Answers(Step, Vec<Vec<u8>>),
    /// The client gets a slot.
    Welcome(Welcome),
}

/// A client that gets a slot.
#[derive(Debug)]
pub(super) struct Welcome {
    pub(super) variant: Variant,
    pub(super) tokens: Tokens,
    pub(super) kind: Kind,
}

/// The way in which a client's session begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// The server accepts the client, and repeats this until the client sends data.
    Pending,
    /// The server accepts the client once.
    Accepted,
    /// The client was accepted before. The value is true if its datagram is the first of the session.
    Online(bool),
    /// The client has passed a challenge.
    Challenged,
}

impl Welcome {
    pub(super) fn connection(&self, now: Duration) -> Connection {
        if self.kind == Kind::Challenged {
            Connection::resume(self.tokens, Seq::new(challenge::LAST), now)
        } else {
            Connection::new(self.tokens, now)
        }
    }

    /// Returns the payload with which the server accepts the client.
    pub(super) fn accept(&self) -> Vec<u8> {
        let mut payload = Vec::new();
        // 0.7.5 sends no token here. DDNet appends its own, which no client reads.
        control::connect_accept(self.tokens.proto, Token::NONE, &mut payload);
        if let (Variant::Ddnet7, Some(token)) = (self.variant, self.tokens.expected) {
            payload.extend_from_slice(&token.0);
        }
        payload
    }
}

/// Returns the answer to the first datagram of a client whose address has the token `given`.
pub(super) fn greet(config: &ServerConfig, given: Token, datagram: &[u8]) -> FirstReply {
    let serves = |variant| config.variants.contains(&variant);
    let seven = [Variant::Ddnet7, Variant::V7]
        .into_iter()
        .find(|variant| serves(*variant));
    match (detect(datagram), seven) {
        (
            First::TokenRequest {
                token,
                header_token: Token::NONE,
                padded: true,
            },
            Some(_),
        ) => {
            let mut payload = Vec::new();
            control::token_reply(given, &mut payload);
            let reply = control_datagram(Proto::V7, Some(token), Seq::ZERO, &payload);
            FirstReply::Answers(Step::TokenReply, vec![reply])
        }
        (First::Connect7 { header_token, token }, Some(variant))
            if header_token == given && token != Token::NONE =>
        {
            let kind = if variant == Variant::V7 {
                Kind::Pending
            } else {
                Kind::Accepted
            };
            welcome(variant, Some(given), Some(token), kind)
        }
        (First::Connect { proto, token }, _) => connect(config, given, proto, token),
        _ => established(config, given, datagram),
    }
}

fn welcome(variant: Variant, expected: Option<Token>, sent: Option<Token>, kind: Kind) -> FirstReply {
    let proto = variant.proto();
    FirstReply::Welcome(Welcome {
        variant,
        tokens: Tokens {
            proto,
            expected,
            sent,
        },
        kind,
    })
}

/// Returns the answer to a CONNECT of 0.6.
fn connect(config: &ServerConfig, given: Token, proto: Proto, client: Option<Token>) -> FirstReply {
    let serves = |variant| config.variants.contains(&variant);
    let accepted = |proto, token, in_payload| {
        let mut payload = Vec::new();
        control::connect_accept(proto, in_payload, &mut payload);
        control_datagram(proto, token, Seq::ZERO, &payload)
    };
    match proto {
        Proto::V65 if serves(Variant::V65) => {
            FirstReply::Answers(Step::ConnectAccept, vec![accepted(Proto::V65, client, given)])
        }
        Proto::Ddnet if serves(Variant::Ddnet) => FirstReply::Answers(
            Step::ConnectAccept,
            vec![accepted(Proto::Ddnet, Some(given), given)],
        ),
        _ if config.challenges => {
            let accept = accepted(Proto::V6, None, Token::NONE);
            FirstReply::Answers(Step::ConnectAccept, vec![accept, challenge::challenge(given)])
        }
        _ if serves(Variant::V6) => welcome(Variant::V6, None, None, Kind::Pending),
        _ => FirstReply::Nothing,
    }
}

/// Returns the effect of any other datagram: it may be the first datagram with the right token, or the proof of a
/// challenge.
fn established(config: &ServerConfig, given: Token, datagram: &[u8]) -> FirstReply {
    let serves = |variant| config.variants.contains(&variant);
    let mut scratch = Scratch::default();
    if serves(Variant::V65)
        && Packet::parse(Proto::V65, datagram, &mut scratch)
            .is_ok_and(|packet| packet.header.token == Some(given))
    {
        return welcome(Variant::V65, Some(given), Some(given), Kind::Online(true));
    }
    if serves(Variant::Ddnet)
        && Packet::parse(Proto::Ddnet, datagram, &mut scratch).is_ok_and(|packet| {
            packet.header.token == Some(given) && matches!(packet.control(), Some(Control::Accept))
        })
    {
        return welcome(Variant::Ddnet, Some(given), Some(given), Kind::Online(false));
    }
    if config.challenges && challenge::is_proof(datagram, given) {
        return welcome(Variant::V6, None, None, Kind::Challenged);
    }
    FirstReply::Nothing
}
