//! The actions of an input.

use std::net::SocketAddr;

use teetap_kit::codec::{NO_TOKEN, control, extended};
use teetap_kit::link::MS;
use teetap_proxy::session::{Command, CommandId, HeldId, Input as To, ListenerId, SessionId, UpstreamId};
use teetap_rules::RuleId;
use teetap_wire::{Dir, Side};

use super::{Arena, CLIENTS, address, rules::Dice};
use crate::input::Input;

impl Arena {
    pub(super) fn act(&mut self, input: &mut Input<'_>) {
        match input.byte() % 24 {
            0..=3 => self.run(1 + input.below(32)),
            4 => {
                let (addr, variant) = (address(input.below(CLIENTS)), input.variant());
                self.start(addr, variant);
            }
            5..=7 => self.talk(input),
            8 => self.farewell(input),
            9 => self.stranger(input),
            10 => self.raw_server(input),
            11 | 12 => self.changed(input),
            13 => self.crossed(input),
            14 => self.flood(input),
            15 | 16 => self.command(input),
            17 => self.program(input),
            18 => {
                self.losses = u32::from(input.byte() % 16);
                self.touched_server = true;
            }
            19 => self.trouble(input),
            20 => self.connless(input),
            21 => {
                // The clock goes backwards.
                let at = self.now.saturating_sub(u64::from(input.word()) * MS);
                self.input_at(at, To::Timeout);
            }
            22 => {
                self.touched_server = true;
                self.now += u64::from(input.byte()) * 500 * MS;
                self.input(To::Timeout);
            }
            _ => {
                if let Some((upstream, bytes)) = self.last_reply.clone() {
                    self.touched_server = true;
                    self.server_sends(upstream, &bytes);
                }
            }
        }
    }

    fn talk(&mut self, input: &mut Input<'_>) {
        let (who, kind) = (input.byte(), input.byte());
        let mut message = vec![kind; 1 + usize::from(kind) * 3 % 700];
        if kind >= 0xe0 {
            message = extended::redirect(8303 + u16::from(kind & 0x17));
        }
        let now = self.now;
        let client = self.clients.get_mut(&address(usize::from(who) % CLIENTS));
        let slot = self.server.peers_mut().next();
        let peer = match (who & 0x80 != 0, client, slot) {
            (true, _, Some((_, slot))) => slot,
            (_, Some(client), _) => client,
            _ => return,
        };
        for _ in 0..1 + kind % 4 {
            if kind & 8 == 0 {
                peer.send_nonvital(&message, now);
            } else if peer.has_room(message.len()) {
                peer.send_vital(&message, now);
            }
        }
        peer.flush(now);
    }

    fn farewell(&mut self, input: &mut Input<'_>) {
        let (who, now) = (input.byte(), self.now);
        if who & 0x80 != 0 {
            if let Some((_, slot)) = self.server.peers_mut().next() {
                slot.close("Kicked", now);
            }
            return;
        }
        let addr = address(usize::from(who) % CLIENTS);
        let Some(peer) = self.clients.get_mut(&addr) else {
            return;
        };
        let was_online = peer.is_online();
        peer.close("bye", now);
        if !was_online {
            // The client does not know the server's protocol yet, so that the server may not recognize its CLOSE: not
            // an error of the core.
            self.touch(addr);
        }
    }

    /// Sends arbitrary bytes from any address.
    fn stranger(&mut self, input: &mut Input<'_>) {
        let addr = address(input.below(8));
        let bytes = self.some_bytes(input);
        self.touch(addr);
        self.client_sends(addr, &bytes);
    }

    fn raw_server(&mut self, input: &mut Input<'_>) {
        let upstream = self.some_upstream(input);
        let bytes = self.some_bytes(input);
        self.touched_server = true;
        self.server_sends(upstream, &bytes);
    }

    fn some_bytes(&self, input: &mut Input<'_>) -> Vec<u8> {
        let kind = input.byte();
        if kind & 0xf0 == 0xf0 {
            // Possibly longer than any receiver reads.
            return vec![kind, 1, 2, 3]
                .into_iter()
                .cycle()
                .take(usize::from(input.word()))
                .collect();
        }
        match kind % 8 {
            0 => control::connect(input.variant(), input.token(), NO_TOKEN),
            1 => control::token_request(input.token()),
            2 => control::close(input.variant(), 0, Some(input.token()), "spoofed"),
            3 => control::control(
                input.variant(),
                u16::from(input.byte()),
                Some(input.token()),
                input.byte(),
                &[],
            ),
            _ => input.bytes().to_vec(),
        }
    }

    /// Sends the last datagram again with some bytes changed. Its token and ack may still be valid.
    fn changed(&mut self, input: &mut Input<'_>) {
        let from_server = input.byte() & 1 != 0;
        let known = if from_server {
            self.last_reply.clone()
        } else {
            self.last_sent.clone()
        };
        let Some((upstream, mut bytes)) = known else {
            return;
        };
        for _ in 0..1 + input.below(3) {
            let at = usize::from(input.byte()).min(bytes.len().saturating_sub(1));
            if let Some(byte) = bytes.get_mut(at) {
                *byte = input.byte();
            }
        }
        bytes.truncate(bytes.len().saturating_sub(input.below(4)));
        self.touched_server = true;
        if from_server {
            self.server_sends(upstream, &bytes);
        } else {
            // The core's datagrams to the server differ from a client's only by the token.
            let addr = address(input.below(CLIENTS));
            self.borrow_token(addr, &mut bytes);
            self.touch(addr);
            self.client_sends(addr, &bytes);
        }
    }

    /// Replaces the token of a datagram of the server leg with the token that the client at this address received.
    fn borrow_token(&self, addr: SocketAddr, bytes: &mut [u8]) {
        let Some(peer) = self.clients.get(&addr) else {
            return;
        };
        let (_, token) = peer.tokens();
        let len = bytes.len();
        let at = match peer.format() {
            teetap_kit::codec::Variant::V6 => return,
            teetap_kit::codec::Variant::Ddnet => len.saturating_sub(4),
            _ => 3,
        };
        if let Some(place) = bytes.get_mut(at..).and_then(<[u8]>::first_chunk_mut) {
            *place = token;
        }
    }

    /// Sends to the core the last datagram that a client received, from another address or from the same one.
    fn crossed(&mut self, input: &mut Input<'_>) {
        let (from, to) = (address(input.below(8)), address(input.below(CLIENTS)));
        let Some(bytes) = self.received.get(&to).cloned() else {
            return;
        };
        self.touch(from);
        self.client_sends(from, &bytes);
    }

    fn flood(&mut self, input: &mut Input<'_>) {
        let (count, variant) = (2 * usize::from(input.byte()), input.variant());
        let bytes = control::connect(variant, [7, 7, 7, 7], NO_TOKEN);
        let leave = control::close(variant, 0, Some([7, 7, 7, 7]), "");
        let leaves = input.byte() & 1 != 0;
        for number in 0..count {
            let addr = address(CLIENTS + 8 + number);
            let listener = ListenerId::FIRST;
            for bytes in [&bytes, &leave].into_iter().take(1 + usize::from(leaves)) {
                self.input(To::FromClient {
                    listener,
                    addr,
                    bytes,
                });
            }
        }
        // The new clients occupy slots of the server.
        self.touched_server = true;
        self.lines = teetap_kit::link::Queue::default();
    }

    fn command(&mut self, input: &mut Input<'_>) {
        let session = SessionId(1 + u32::from(input.byte() % 8));
        let reason: Box<[u8]> = input.bytes().into();
        let side = [None, Some(Side::Client), Some(Side::Server)][input.below(3)];
        let command = match input.below(16) {
            0 => Command::Close {
                session: Some(session),
                side,
                reason,
            },
            1 => Command::Close {
                session: None,
                side,
                reason,
            },
            2 => return self.input(To::Shutdown { reason: &reason }),
            3..=5 => Command::Release {
                session,
                key: u64::from(input.byte() % 4),
            },
            6 => Command::List {
                session: (!reason.is_empty()).then_some(session),
            },
            kind @ 7..=8 => {
                let held = HeldId(std::num::NonZeroU32::MIN.saturating_add(u32::from(input.byte() % 32)));
                let dir = if input.byte() & 1 == 0 { Dir::C2s } else { Dir::S2c };
                let data = reason;
                match kind {
                    7 => Command::Drop { session, dir, held },
                    _ => Command::Edit {
                        session,
                        dir,
                        held,
                        data,
                    },
                }
            }
            9 => {
                let enabled = side.is_some();
                match input.byte() {
                    byte @ ..128 => Command::Toggle {
                        rule: RuleId(u16::from(byte % 8)),
                        enabled,
                    },
                    byte => Command::ToggleLine {
                        line: u16::from(byte % 4),
                        enabled,
                    },
                }
            }
            kind => Command::Inject {
                session,
                dir: if kind & 1 == 0 { Dir::C2s } else { Dir::S2c },
                vital: kind & 2 == 0,
                data: reason,
            },
        };
        let id = CommandId(0);
        self.input(To::Command { id, command });
    }

    fn program(&mut self, input: &mut Input<'_>) {
        let kind = input.byte();
        let program = Dice::program(kind, u64::from(input.byte()));
        self.input(To::Program(program.filter(|_| kind != 0)));
    }

    /// Reports an error of the operating system.
    fn trouble(&mut self, input: &mut Input<'_>) {
        let upstream = self.some_upstream(input);
        let error = "no route";
        self.input(match input.below(2) {
            0 => To::Unreachable { upstream, error },
            _ => To::UpstreamFailed {
                upstream,
                error,
                exhausted: input.below(2) == 1,
            },
        });
    }

    /// Sends a request or a reply of the server browser.
    fn connless(&mut self, input: &mut Input<'_>) {
        let header: &[u8] = [
            &[0xff; 6][..],
            b"xe\x12\x34\0\0",
            &[0x21; 9],
            &[0x21; 6],
            &[0xfd; 6],
        ][input.below(5)];
        let bytes = [header, &[0xff; 4], b"inf3", input.bytes()].concat();
        if input.byte() & 1 == 0 {
            let addr = address(input.word().into());
            self.client_sends(addr, &bytes);
        } else {
            let upstream = self.some_upstream(input);
            self.server_sends(upstream, &bytes);
        }
    }

    /// Returns an open socket, or any number if no socket is open.
    fn some_upstream(&self, input: &mut Input<'_>) -> UpstreamId {
        let count = self.watch.sockets.len();
        let open = self.watch.sockets.iter().nth(input.below(count));
        open.copied().unwrap_or(UpstreamId(u32::from(input.byte())))
    }

    fn touch(&mut self, addr: SocketAddr) {
        self.touched.insert(addr);
    }
}
