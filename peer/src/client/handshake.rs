//! The client's handshake, until both tokens are known.
//!
//! Law: the handshake sends and accepts the same datagrams as the games' client of the variant (network_conn.cpp,
//! network_token.cpp). A client of 0.6 with tokens continues without them if the server answers without one.

use std::time::Duration;

use teetap_wire::{Control, Packet, Proto, Scratch, Seq, Token, control};

use crate::Variant;
use crate::connection::{Tokens, control_datagram};
use crate::script::Step;

/// Interval of token requests and CONNECTs.
const RETRY: Duration = Duration::from_millis(500);

/// The handshake of a client.
#[derive(Debug)]
pub(crate) struct Handshake {
    variant: Variant,
    /// The client's own token, if its variant has one.
    own: Token,
    /// 0.7: the token of the server, once it is known.
    server: Option<Token>,
    /// Time of the next attempt; `None` if the client does not try again.
    retry_at: Option<Duration>,
    /// True once CONNECT was sent.
    has_connected: bool,
}

/// The effect of a datagram on the handshake.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// The datagram has no effect.
    Nothing,
    /// The next step is due.
    Step(Step),
    /// The connection begins. True if the client sends an ACCEPT first.
    Online(Tokens, bool),
    /// The server refused the handshake, for this reason.
    Refused(String),
}

impl Handshake {
    /// Creates a handshake whose first step is due at once.
    pub(crate) fn new(variant: Variant, own: Token) -> Self {
        Self {
            variant,
            own,
            server: None,
            retry_at: Some(Duration::ZERO),
            has_connected: false,
        }
    }

    /// Returns the time of the next attempt; `None` if the client does not try again.
    pub(crate) fn deadline(&self) -> Option<Duration> {
        self.retry_at
    }

    /// Returns the step that is due; `None` if no step is due.
    pub(crate) fn due(&mut self, now: Duration) -> Option<Step> {
        let is_due = self.retry_at.is_some_and(|at| now >= at);
        is_due.then(|| self.begin(now))
    }

    fn begin(&mut self, now: Duration) -> Step {
        let step = if self.variant.proto() == Proto::V7 && self.server.is_none() {
            Step::TokenRequest
        } else {
            Step::Connect
        };
        // DDNet requests a token of 0.7 only once (DDNet 18.5 network_conn.cpp, `Connect7`).
        let is_once = step == Step::TokenRequest && self.variant == Variant::Ddnet7;
        self.retry_at = Some(now + RETRY).filter(|_| !is_once);
        step
    }

    /// Returns the datagram for a step of the handshake.
    pub(crate) fn datagram(&mut self, step: Step) -> Vec<u8> {
        let proto = self.variant.proto();
        let mut payload = Vec::new();
        let mut token = None;
        if step == Step::TokenRequest {
            control::token_request(self.own, &mut payload);
            token = Some(Token::NONE);
        } else {
            // DDNet repeats the CONNECT of 0.7 in the form of its 0.6, which omits its own token.
            let is_repeated = self.variant == Variant::Ddnet7 && self.has_connected;
            let form = if is_repeated { Proto::Ddnet } else { proto };
            control::connect(form, self.own, &mut payload);
            token = match proto {
                Proto::V7 => self.server,
                Proto::Ddnet => Some(Token::NONE),
                _ => token,
            };
            self.has_connected = true;
        }
        control_datagram(proto, token, Seq::ZERO, &payload)
    }

    /// Handles a datagram of the server.
    pub(crate) fn handle(&mut self, now: Duration, datagram: &[u8]) -> Answer {
        // A client of DDNet learns from the answer to CONNECT whether there are tokens.
        let proto = match self.variant.proto() {
            Proto::Ddnet => Proto::V6,
            proto => proto,
        };
        let mut scratch = Scratch::default();
        let Ok(packet) = Packet::parse(proto, datagram, &mut scratch) else {
            return Answer::Nothing;
        };
        let header = packet.header.token;
        let is_ours = match proto {
            Proto::V7 => header == Some(self.own),
            Proto::V65 => header.is_none_or(|token| token == self.own),
            _ => true,
        };
        match packet.control().filter(|_| is_ours) {
            Some(Control::Close { reason }) => {
                Answer::Refused(reason.map(teetap_wire::printable).unwrap_or_default())
            }
            Some(Control::Token { token, .. }) if self.server.is_none() => {
                self.server = token;
                token.map_or(Answer::Nothing, |_| Answer::Step(self.begin(now)))
            }
            Some(Control::ConnectAccept { token, .. }) => self.accepted(&packet, token),
            _ => Answer::Nothing,
        }
    }

    fn accepted(&self, packet: &Packet<'_>, token: Option<Token>) -> Answer {
        let both = |token| Tokens {
            proto: self.variant.proto(),
            expected: Some(token),
            sent: Some(token),
        };
        let none = Tokens {
            proto: Proto::V6,
            expected: None,
            sent: None,
        };
        match self.variant {
            Variant::V6 => Answer::Online(none, true),
            Variant::V65 if packet.header.token.is_none() => Answer::Online(none, false),
            Variant::V65 => token.map_or(Answer::Nothing, |token| Answer::Online(both(token), false)),
            Variant::Ddnet => {
                let tail = packet
                    .payload
                    .strip_prefix(&[2])
                    .and_then(|rest| rest.strip_prefix(&Token::TKEN.0));
                let token = tail.and_then(|tail| tail.first_chunk().copied().map(Token));
                Answer::Online(token.map_or(none, both), true)
            }
            Variant::V7 | Variant::Ddnet7 => match self.server {
                Some(server) if self.has_connected => {
                    let tokens = Tokens {
                        proto: Proto::V7,
                        expected: Some(self.own),
                        sent: Some(server),
                    };
                    Answer::Online(tokens, false)
                }
                _ => Answer::Nothing,
            },
        }
    }
}
