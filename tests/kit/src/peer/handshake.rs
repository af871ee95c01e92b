//! The client's side of the handshakes.

use super::receive::first_token;
use super::{Peer, State};
use crate::codec::{Head, TKEN, Variant, control};

impl Peer {
    /// Starts a client's handshake: CONNECT, or the token request of 0.7. [`Peer::update`] repeats it.
    pub fn connect(&mut self, now: u64) {
        if self.state != State::Idle {
            return;
        }
        self.last_receive = now;
        self.own_token = self.random.token();
        if self.variant.is_seven() {
            self.state = State::WantToken;
            self.ask_token(now);
        } else {
            self.state = State::Connecting;
            self.ask_connect(now);
        }
    }

    pub(super) fn ask_token(&mut self, now: u64) {
        self.emit(control::token_request(self.own_token), now);
    }

    pub(super) fn ask_connect(&mut self, now: u64) {
        self.emit(
            control::connect(self.variant, self.own_token, self.peer_token),
            now,
        );
    }

    /// The client of DDNet 18.5 and later repeats the CONNECT of 0.7 in a form that loses its own token.
    pub(super) fn ask_connect_again(&mut self, now: u64) {
        if self.variant == Variant::D7 {
            self.emit(control::connect_repeated_by_ddnet(self.peer_token), now);
        } else {
            self.ask_connect(now);
        }
    }

    pub(super) fn got_token(&mut self, extra: &[u8], now: u64) {
        let Some(token) = first_token(extra) else { return };
        self.peer_token = token;
        self.last_receive = now;
        self.state = State::Connecting;
        self.ask_connect(now);
    }

    /// Returns true if the session is now online.
    pub(super) fn got_connect_accept(&mut self, head: &Head, extra: &[u8], now: u64) -> bool {
        match self.variant {
            Variant::V6 => self.emit(control::accept(None), now),
            Variant::V65 if head.token.is_none() => self.format = Variant::V6,
            Variant::V65 => {
                let Some(token) = first_token(extra) else {
                    return false;
                };
                (self.own_token, self.peer_token) = (token, token);
            }
            Variant::Ddnet => {
                let token = extra.strip_prefix(&TKEN).and_then(first_token);
                match token {
                    Some(token) => (self.own_token, self.peer_token) = (token, token),
                    None => self.format = Variant::V6,
                }
                self.emit(control::accept(token), now);
            }
            Variant::V7 | Variant::D7 => {}
        }
        self.state = State::Online;
        self.last_receive = now;
        if let Some(hello) = self.options.hello.take() {
            self.send_vital(&hello, now);
            self.flush(now);
            self.options.hello = Some(hello);
        }
        true
    }
}
