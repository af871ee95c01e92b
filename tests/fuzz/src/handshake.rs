//! One joining client: the fuzzer controls every byte on both legs.

use std::net::SocketAddr;

use teetap_kit::codec::{NO_TOKEN, Token, Variant, control};
use teetap_proxy::session::{EventKind, Input as To, ListenerId, State};
use teetap_wire::Proto;

use crate::{
    input::Input,
    watch::{Sent, Watch},
};

/// Maximum steps per input.
const MAX_STEPS: usize = 200;

/// A joining client and its server, with the tokens learned from the core's datagrams.
#[derive(Debug)]
struct Door {
    watch: Watch,
    variant: Variant,
    client: SocketAddr,
    own: Token,
    /// Token that the core gave to the client.
    shown: Token,
    /// Token that the core gave to the server.
    upstream_own: Token,
    /// True once the client has sent the core's token, or compressed bytes that may contain it.
    has_shown: bool,
}

/// Runs a join: datagrams of the client and the server, and the passing of time.
pub fn handshake(data: &[u8]) {
    let mut input = Input::new(data);
    let variant = input.variant();
    let mut door = Door {
        watch: Watch::default(),
        variant,
        client: SocketAddr::from(([10, 1, 0, 1], 4000)),
        own: [0x0c, 1, 2, 3],
        shown: NO_TOKEN,
        upstream_own: NO_TOKEN,
        has_shown: false,
    };
    for _ in 0..MAX_STEPS {
        if input.is_empty() {
            break;
        }
        door.step(&mut input);
    }
    // All sessions and sockets are removed once all peers have been silent for long enough.
    for _ in 0..40 {
        let at = door.watch.now + 5_000_000;
        door.send(at, To::Timeout);
    }
    assert_eq!(door.watch.hub().sessions(), 0, "a session for ever");
    assert!(door.watch.sockets.is_empty(), "a socket for ever");
}

impl Door {
    fn step(&mut self, input: &mut Input<'_>) {
        let now = self.watch.now;
        match input.below(8) {
            0 => self.send(now + u64::from(input.byte()) * 20_000, To::Timeout),
            1 => {
                let bytes = self.request();
                self.client_sends(&bytes);
            }
            2 => {
                let bytes = self.words(input, self.shown);
                self.client_sends(&bytes);
            }
            3 => {
                let bytes = input.bytes().to_vec();
                self.client_sends(&bytes);
            }
            4 => {
                let bytes = self.answer(input);
                self.server_sends(&bytes);
            }
            5 => {
                let token = if self.variant.is_seven() {
                    self.upstream_own
                } else {
                    [0x5e, 1, 2, 3]
                };
                let bytes = self.words(input, token);
                self.server_sends(&bytes);
            }
            6 => {
                let bytes = input.bytes().to_vec();
                self.server_sends(&bytes);
            }
            _ => {
                // A request or a reply with one changed byte.
                let mut bytes = if input.byte() & 1 == 0 {
                    self.request()
                } else {
                    self.answer(input)
                };
                let at = input.below(bytes.len().min(16));
                bytes[at] ^= input.byte();
                if input.byte() & 1 == 0 {
                    self.client_sends(&bytes);
                } else {
                    self.server_sends(&bytes);
                }
            }
        }
    }

    /// Returns the client's next request: for a token (0.7), or to connect.
    fn request(&self) -> Vec<u8> {
        if self.variant.is_seven() && self.shown == NO_TOKEN {
            control::token_request(self.own)
        } else {
            control::connect(self.variant, self.own, self.shown)
        }
    }

    /// Returns a packet of an established connection with this token, in any variant.
    fn words(&self, input: &mut Input<'_>, token: Token) -> Vec<u8> {
        let variant = if input.byte() & 7 == 0 {
            input.variant()
        } else {
            self.variant
        };
        let token = (variant != Variant::V6).then_some(token);
        let ack = u16::from(input.byte()) * u16::from(input.byte() & 1);
        match input.below(5) {
            0 => control::control(variant, ack, token, control::KEEPALIVE, &[]),
            1 => control::close(variant, ack, token, "bye"),
            2 => control::control(variant, ack, token, control::ACCEPT, &[]),
            3 => control::control(variant, ack, token, input.byte(), &[input.bytes()]),
            _ => {
                let chunk =
                    teetap_kit::codec::Chunk::new(Some(u16::from(input.byte()) % 8), vec![input.byte(); 5]);
                teetap_kit::codec::Datagram::of_chunks(variant, ack, token, vec![chunk]).build()
            }
        }
    }

    /// Returns a server's reply to the core's CONNECT, not always in the variant of the client.
    fn answer(&self, input: &mut Input<'_>) -> Vec<u8> {
        let server = [0x5e, 1, 2, 3];
        let seven = self.variant.is_seven();
        match input.below(6) {
            0 if seven => control::token_reply(Variant::V7, self.upstream_own, server),
            0 | 1 => control::connect_accept(self.variant, self.upstream_own, server),
            2 => control::connect_accept(Variant::V6, NO_TOKEN, server),
            3 => control::close(
                self.variant,
                0,
                (self.variant != Variant::V6).then_some(self.upstream_own),
                "full",
            ),
            4 => control::close(Variant::V6, 0, None, "This server is full"),
            _ => control::connect_accept(input.variant(), self.upstream_own, server),
        }
    }

    fn client_sends(&mut self, bytes: &[u8]) {
        let (now, addr, listener) = (self.watch.now, self.client, ListenerId::FIRST);
        let is_compressed = bytes.first().is_some_and(|first| first & 0x90 != 0);
        self.has_shown |= is_compressed || bytes.windows(4).any(|window| window == self.shown);
        self.send(
            now,
            To::FromClient {
                listener,
                addr,
                bytes,
            },
        );
        self.check_online();
    }

    fn server_sends(&mut self, bytes: &[u8]) {
        let now = self.watch.now;
        let Some(upstream) = self.watch.sockets.first().copied() else {
            return;
        };
        self.send(now, To::FromServer { upstream, bytes });
        self.check_online();
    }

    fn send(&mut self, at: u64, input: To<'_>) {
        for sent in self.watch.input(at, input) {
            match sent {
                Sent::Client(_, bytes) => self.learn_shown(&bytes),
                Sent::Server(_, bytes) => self.learn_own(&bytes),
            }
        }
    }

    /// Records the core's token from its reply to the client.
    fn learn_shown(&mut self, bytes: &[u8]) {
        let at = match (control::message(bytes), bytes.first().map(|first| first & 0xfc)) {
            (Some(control::TOKEN), Some(0x04)) => 8,
            (Some(control::CONNECT_ACCEPT), first) => {
                // In 0.7 the server's own token may follow. No client reads it.
                if first == Some(0x04) {
                    return;
                }
                8
            }
            _ => return,
        };
        if let Some(token) = bytes.get(at..).and_then(|rest| rest.first_chunk()) {
            self.shown = *token;
        }
    }

    /// Records the core's own token from its request to the server.
    fn learn_own(&mut self, bytes: &[u8]) {
        let at = match (control::message(bytes), bytes.first()) {
            (Some(control::TOKEN | control::CONNECT), Some(0x04)) => 8,
            (Some(control::CONNECT), _) if bytes.len() > 500 => 8,
            _ => return,
        };
        if let Some(token) = bytes.get(at..).and_then(|rest| rest.first_chunk()) {
            self.upstream_own = *token;
        }
    }

    /// Checks that a session with tokens goes online only after its client has returned the core's token. Without
    /// tokens the server alone decides.
    fn check_online(&self) {
        for event in &self.watch.events {
            let EventKind::Session(change) = &event.what else {
                continue;
            };
            if change.state == State::Online && change.proto != Proto::V6 {
                assert!(self.has_shown, "online without the token");
            }
        }
    }
}
