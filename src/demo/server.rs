//! The demo server: 0.7 and DDNet's 0.6 ("TKEN") on one socket, enough of a game for a client to join and play.
//!
//! Law: no socket and no clock. Tokens are stateless (a secret and the address); a slot is made by the first datagram
//! that has the right one (0.7: CONNECT, DDNet: ACCEPT), and bound to an address and port.

use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;
use std::time::Duration;

use teetap_wire::{Control, First, Packet, Proto, Scratch, Seq, Token, control, detect};

use super::report::PlayerReport;
use super::slot::{Action, Slot, State};
use teetap_peer::endpoint::{Endpoint, Message, Received, control_datagram};
use teetap_peer::message::{Packed, token};
use teetap_peer::world;

/// The most players.
const SLOTS: i32 = 16;
/// Length of a tick; 50 a second.
const TICK: Duration = Duration::from_millis(20);
/// 0.7 repeats its ACCEPT until the client has sent data.
const REPEAT: Duration = Duration::from_millis(500);
/// Players that left and are still in the report.
const REMEMBERED: usize = 64;

/// The demo server.
#[derive(Debug)]
pub(super) struct Server {
    secret: u64,
    slots: BTreeMap<i32, Slot>,
    left: VecDeque<PlayerReport>,
    tick: i32,
    out: VecDeque<(SocketAddr, Vec<u8>)>,
}

impl Server {
    /// An empty server. Its tokens are made of the secret.
    pub(super) fn new(secret: u64) -> Self {
        Self {
            secret,
            slots: BTreeMap::new(),
            left: VecDeque::new(),
            tick: 0,
            out: VecDeque::new(),
        }
    }

    /// Handles a datagram.
    pub(super) fn handle(&mut self, now: Duration, from: SocketAddr, datagram: &[u8]) {
        let known = self.slots.iter_mut().find(|(_, slot)| slot.address == from);
        let Some((&id, slot)) = known else {
            return self.greet(now, from, datagram);
        };
        match slot.endpoint.feed(now, datagram) {
            Received::Dropped | Received::Control => {}
            Received::Closed(reason) => self.remove(now, id, &reason),
            Received::Messages(messages) => {
                slot.accept_at = None;
                for message in messages {
                    self.message(now, id, &message);
                }
            }
        }
    }

    /// Runs timers, the world and snapshots.
    pub(super) fn tick(&mut self, now: Duration) {
        for id in self.slots.keys().copied().collect::<Vec<_>>() {
            let Some(slot) = self.slots.get_mut(&id) else {
                continue;
            };
            if slot.accept_at.is_some_and(|at| now >= at) {
                slot.endpoint.control(now, &accept_payload());
                slot.accept_at = Some(now + REPEAT);
            }
            if let Some(reason) = slot.failed {
                slot.endpoint.close(now, reason);
                self.remove(now, id, reason);
            } else if let Err(reason) = slot.endpoint.tick(now) {
                self.remove(now, id, reason);
            }
        }
        let due = i32::try_from(now.as_millis() / TICK.as_millis()).unwrap_or(i32::MAX);
        if due > self.tick {
            self.tick = due;
            self.play(now);
        }
    }

    /// Returns the next datagram to send, with its receiver.
    pub(super) fn take(&mut self) -> Option<(SocketAddr, Vec<u8>)> {
        self.out.pop_front().or_else(|| {
            self.slots
                .values_mut()
                .find_map(|slot| Some((slot.address, slot.endpoint.take()?)))
        })
    }

    /// Returns true if no client is connected.
    pub(super) fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// Closes every connection.
    pub(super) fn shut_down(&mut self, now: Duration) {
        for slot in self.slots.values_mut() {
            slot.endpoint.close(now, "Server shutdown");
        }
    }

    /// Returns all players that were or are here.
    pub(super) fn players(&self) -> Vec<PlayerReport> {
        let present = self.slots.values().map(|slot| slot.report(None));
        self.left.iter().cloned().chain(present).collect()
    }

    /// Handles a datagram of a client without a slot.
    fn greet(&mut self, now: Duration, from: SocketAddr, datagram: &[u8]) {
        let given = token(self.secret, from);
        match detect(datagram) {
            First::TokenRequest {
                token,
                header_token: Token::NONE,
                padded: true,
            } => {
                let mut payload = Vec::new();
                control::token_reply(given, &mut payload);
                self.out
                    .push_back((from, control_datagram(Proto::V7, token, Seq::ZERO, &payload)));
            }
            First::Connect7 { header_token, token } if header_token == given && token != Token::NONE => {
                self.welcome(now, from, Proto::V7, token);
            }
            First::Connect {
                proto: Proto::Ddnet, ..
            } => {
                let mut payload = Vec::new();
                control::connect_accept(Proto::Ddnet, given, &mut payload);
                self.out
                    .push_back((from, control_datagram(Proto::Ddnet, given, Seq::ZERO, &payload)));
            }
            _ if is_accept(datagram, given) => self.welcome(now, from, Proto::Ddnet, given),
            _ => {}
        }
    }

    /// Makes a slot. `peer` is the token of what is sent to the client.
    fn welcome(&mut self, now: Duration, from: SocketAddr, proto: Proto, peer: Token) {
        let Some(id) = (0..SLOTS).find(|id| !self.slots.contains_key(id)) else {
            let mut payload = Vec::new();
            control::close(b"This server is full", &mut payload);
            self.out
                .push_back((from, control_datagram(proto, peer, Seq::ZERO, &payload)));
            return;
        };
        let given = token(self.secret, from);
        let mut slot = Slot::new(
            from,
            proto,
            given,
            Endpoint::new(proto, given, peer, now),
            400 + 100 * id,
        );
        if proto == Proto::V7 {
            slot.endpoint.control(now, &accept_payload());
            slot.accept_at = Some(now + REPEAT);
        }
        self.slots.insert(id, slot);
    }

    fn message(&mut self, now: Duration, id: i32, message: &Message) {
        let Some(slot) = self.slots.get_mut(&id) else {
            return;
        };
        match slot.message(now, self.tick, message) {
            Action::Nothing => {}
            Action::Enter => self.enter(now, id),
            Action::Say(text) => self.broadcast(now, |proto| world::chat(proto, id, &text)),
        }
    }

    fn enter(&mut self, now: Duration, id: i32) {
        let others: Vec<(i32, String)> = self
            .slots
            .iter()
            .filter(|(_, slot)| slot.state == State::InGame)
            .map(|(id, slot)| (*id, slot.tee.name.clone()))
            .collect();
        let Some(slot) = self.slots.get_mut(&id) else {
            return;
        };
        let name = slot.tee.name.clone();
        slot.state = State::InGame;
        if slot.proto == Proto::V7 {
            slot.send(
                now,
                &world::server_info(i32::try_from(others.len() + 1).unwrap_or(SLOTS)),
            );
            let rules = [("score_limit", 20.into()), ("match_current", 1.into())];
            slot.send(now, &Packed::new(Proto::V7, "sv_game_info", rules));
            for (other, name) in &others {
                slot.send(now, &world::client_info(*other, false, name));
            }
            slot.send(now, &world::client_info(id, true, &name));
        }
        // A 0.6 client learns the name from a snapshot, a 0.7 client prints the entry by itself.
        let line = format!("'{name}' entered and joined the game");
        for (other, slot) in playing(&mut self.slots) {
            if slot.proto != Proto::V7 {
                slot.send(now, &world::chat(slot.proto, -1, &line));
            } else if *other != id {
                slot.send(now, &world::client_info(id, false, &name));
            }
        }
    }

    fn remove(&mut self, now: Duration, id: i32, reason: &str) {
        let Some(mut slot) = self.slots.remove(&id) else {
            return;
        };
        while let Some(datagram) = slot.endpoint.take() {
            self.out.push_back((slot.address, datagram));
        }
        if slot.state == State::InGame {
            let line = format!("'{}' has left the game ({reason})", slot.tee.name);
            self.broadcast(now, |proto| match proto {
                Proto::V7 => {
                    let left = [("client_id", id.into()), ("reason", reason.into())];
                    Packed::new(proto, "sv_client_drop", left)
                }
                _ => world::chat(proto, -1, &line),
            });
        }
        self.left.push_back(slot.report(Some(reason.to_owned())));
        if self.left.len() > REMEMBERED {
            self.left.pop_front();
        }
    }

    fn broadcast(&mut self, now: Duration, pack: impl Fn(Proto) -> Packed) {
        for (_, slot) in playing(&mut self.slots) {
            slot.send(now, &pack(slot.proto));
        }
    }

    /// One tick of the world, and its snapshots.
    fn play(&mut self, now: Duration) {
        let mut tees = BTreeMap::new();
        for (id, slot) in playing(&mut self.slots) {
            slot.tee.walk();
            tees.insert(*id, slot.tee.clone());
        }
        for (id, slot) in playing(&mut self.slots) {
            if slot.is_due(self.tick) {
                slot.snapshot(now, self.tick, world::snapshot(slot.proto, self.tick, &tees, *id));
            }
        }
    }
}

/// Returns the clients that are in the game.
fn playing(slots: &mut BTreeMap<i32, Slot>) -> impl Iterator<Item = (&i32, &mut Slot)> {
    slots.iter_mut().filter(|(_, slot)| slot.state == State::InGame)
}

/// 0.7's ACCEPT in the vanilla server's form, without a token.
fn accept_payload() -> Vec<u8> {
    let mut payload = Vec::new();
    control::connect_accept(Proto::V7, Token::NONE, &mut payload);
    payload
}

/// Returns true if a datagram is DDNet's ACCEPT with the given token.
fn is_accept(datagram: &[u8], given: Token) -> bool {
    let mut scratch = Scratch::default();
    Packet::parse(Proto::Ddnet, datagram, &mut scratch).is_ok_and(|packet| {
        packet.header.token == Some(given) && matches!(packet.control(), Some(Control::Accept))
    })
}
