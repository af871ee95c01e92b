//! The demo server: 0.7 and DDNet's 0.6 ("TKEN") on one socket, enough of a game for a client to join and play.
//!
//! Law: no socket and no clock. Tokens are stateless (a secret and the address); a slot is made by the first datagram
//! that has the right one (0.7: CONNECT, DDNet: ACCEPT), and bound to an address and port.

use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;
use std::time::Duration;

use teetap_wire::{Control, First, Packet, Proto, Scratch, Seq, Token, control, detect};

use super::endpoint::{Endpoint, Message, Received, control_datagram};
use super::message::{Fields, Kind, Packed, VERSION_6, VERSION_7, token};
use super::report::PlayerReport;
use super::snap::Snap;
use super::world::{self, Tee};

/// Players at most.
const SLOTS: i32 = 16;
/// Length of a tick; 50 a second.
const TICK: Duration = Duration::from_millis(20);
/// 0.7 repeats its ACCEPT until the client has sent data.
const REPEAT: Duration = Duration::from_millis(500);
/// Ticks a snapshot is kept as a base for deltas.
const KEPT: i32 = 150;
/// Players that left and are still in the report.
const REMEMBERED: usize = 64;

/// How far a client is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Auth,
    Connecting,
    Ready,
    Entering,
    InGame,
}

#[derive(Debug)]
struct Slot {
    address: SocketAddr,
    proto: Proto,
    given: Token,
    endpoint: Endpoint,
    state: State,
    /// When to repeat 0.7's ACCEPT.
    accept_at: Option<Duration>,
    tee: Tee,
    snaps: BTreeMap<i32, Snap>,
    /// Tick of the snapshot that the client has; -1: none.
    acked: i32,
    intended: i32,
    inputs: u64,
    failed: Option<&'static str>,
}

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

    /// Takes a datagram.
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

    /// The next datagram to send and where to.
    pub(super) fn take(&mut self) -> Option<(SocketAddr, Vec<u8>)> {
        self.out.pop_front().or_else(|| {
            self.slots
                .values_mut()
                .find_map(|slot| Some((slot.address, slot.endpoint.take()?)))
        })
    }

    /// Closes every connection.
    pub(super) fn shut_down(&mut self, now: Duration) {
        for slot in self.slots.values_mut() {
            slot.endpoint.close(now, "Server shutdown");
        }
    }

    /// Everybody who was or is here.
    pub(super) fn players(&self) -> Vec<PlayerReport> {
        let present = self.slots.values().map(|slot| slot.report(None));
        self.left.iter().cloned().chain(present).collect()
    }

    /// A datagram of somebody without a slot.
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
        let mut endpoint = Endpoint::new(proto, given, peer, now);
        if proto == Proto::V7 {
            endpoint.control(now, &accept_payload());
        }
        let slot = Slot {
            address: from,
            proto,
            given,
            endpoint,
            state: State::Auth,
            accept_at: (proto == Proto::V7).then_some(now + REPEAT),
            tee: Tee {
                name: String::new(),
                x: 400 + 100 * id,
                direction: 0,
                angle: 0,
            },
            snaps: BTreeMap::new(),
            acked: -1,
            intended: 0,
            inputs: 0,
            failed: None,
        };
        self.slots.insert(id, slot);
    }

    fn message(&mut self, now: Duration, id: i32, message: &Message) {
        let Some(slot) = self.slots.get_mut(&id) else {
            return;
        };
        let proto = slot.proto;
        let Some((kind, mut fields)) = Fields::open(proto, message.vital, &message.data) else {
            return;
        };
        match (kind, slot.state) {
            (Kind::Info, State::Auth) => {
                let version = fields.str().unwrap_or_default();
                if version != if proto == Proto::V7 { VERSION_7 } else { VERSION_6 } {
                    slot.endpoint.close(now, "Wrong version.");
                    return self.remove(now, id, "Wrong version.");
                }
                if proto == Proto::Ddnet {
                    slot.send(
                        now,
                        Packed::new(proto, Kind::Capabilities).map(|packed| packed.int(5).int(0)),
                    );
                }
                slot.send(now, world::map_change(proto));
                slot.state = State::Connecting;
            }
            (Kind::Ready, State::Connecting) => {
                let motd = Packed::new(proto, Kind::SvMotd).map(|packed| packed.str("Welcome to the demo."));
                slot.send(now, motd);
                slot.send(now, Packed::new(proto, Kind::ConReady));
                slot.state = State::Ready;
            }
            (Kind::ClStartInfo, State::Ready) => {
                slot.tee.name = fields.str().unwrap_or_default().chars().take(15).collect();
                slot.send(now, Packed::new(proto, Kind::SvVoteClearOptions));
                slot.send(now, world::tune_params(proto));
                slot.send(now, Packed::new(proto, Kind::SvReadyToEnter));
                slot.state = State::Entering;
            }
            (Kind::EnterGame, State::Entering) => self.enter(now, id),
            (Kind::Input, State::InGame) => slot.input(now, self.tick, &mut fields),
            (Kind::ClSay, State::InGame) => {
                // 0.6: team, text. 0.7: mode, target, text.
                let skipped = if proto == Proto::V7 { 2 } else { 1 };
                let text = (0..skipped)
                    .try_for_each(|_| fields.int().map(drop))
                    .and_then(|()| fields.str());
                if let Some(text) = text {
                    self.broadcast(now, |proto| world::chat(proto, id, &text));
                }
            }
            (Kind::Ping, _) => slot.send(now, Packed::new(proto, Kind::PingReply)),
            _ => {}
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
                world::server_info(i32::try_from(others.len() + 1).unwrap_or(SLOTS)),
            );
            slot.send(
                now,
                Packed::new(Proto::V7, Kind::SvGameInfo).map(|packed| packed.ints(&[0, 20, 0, 0, 1])),
            );
            for (other, name) in &others {
                slot.send(now, world::client_info(*other, false, name));
            }
            slot.send(now, world::client_info(id, true, &name));
        }
        for (other, _) in others {
            let Some(other) = self
                .slots
                .get_mut(&other)
                .filter(|other| other.proto == Proto::V7)
            else {
                continue;
            };
            other.send(now, world::client_info(id, false, &name));
        }
        let line = format!("'{name}' entered and joined the game");
        self.broadcast(now, |proto| world::chat(proto, -1, &line));
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
                Proto::V7 => Some(Packed::new(proto, Kind::SvClientDrop)?.int(id).str(reason).int(0)),
                _ => world::chat(proto, -1, &line),
            });
        }
        self.left.push_back(slot.report(Some(reason.to_owned())));
        if self.left.len() > REMEMBERED {
            self.left.pop_front();
        }
    }

    fn broadcast(&mut self, now: Duration, pack: impl Fn(Proto) -> Option<Packed>) {
        for slot in self.slots.values_mut().filter(|slot| slot.state == State::InGame) {
            slot.send(now, pack(slot.proto));
        }
    }

    /// One tick of the world, and its snapshots.
    fn play(&mut self, now: Duration) {
        let in_game = self
            .slots
            .iter_mut()
            .filter(|(_, slot)| slot.state == State::InGame);
        let tees = in_game.map(|(id, slot)| {
            slot.tee.walk();
            (*id, slot.tee.clone())
        });
        let tees: BTreeMap<i32, Tee> = tees.collect();
        for (id, slot) in self
            .slots
            .iter_mut()
            .filter(|(_, slot)| slot.state == State::InGame)
        {
            // Until the client has acked one, five a second; then every second tick, as the reference.
            let every = if slot.acked > 0 { 2 } else { 10 };
            if slot
                .snaps
                .last_key_value()
                .is_none_or(|(last, _)| self.tick - last >= every)
            {
                let snap = world::snapshot(slot.proto, self.tick, &tees, *id);
                slot.snapshot(now, self.tick, snap);
            }
        }
    }
}

impl Slot {
    fn send(&mut self, now: Duration, packed: Option<Packed>) {
        let Some(packed) = packed else { return };
        if self
            .endpoint
            .send(now, packed.vital, &packed.data, packed.flush)
            .is_err()
        {
            self.failed = Some("too weak connection (out of buffer)");
        }
    }

    fn input(&mut self, now: Duration, tick: i32, fields: &mut Fields<'_>) {
        let (Some(acked), Some(intended), Some(40)) = (fields.int(), fields.int(), fields.int()) else {
            return;
        };
        let ints: Vec<i32> = (0..10).map_while(|_| fields.int()).collect();
        let [direction, target_x, ..] = ints.as_slice() else {
            return;
        };
        self.inputs += 1;
        if acked == -1 || self.snaps.contains_key(&acked) {
            self.acked = acked;
        }
        if intended > self.intended {
            self.intended = intended;
            self.tee.direction = (*direction).clamp(-1, 1);
            self.tee.angle = (*target_x).clamp(-800, 800);
            // Milliseconds between the arrival of the input and the tick it is meant for.
            let left = intended.saturating_sub(tick).clamp(-1000, 1000) * 20;
            let timing = Packed::new(self.proto, Kind::InputTiming);
            self.send(now, timing.map(|packed| packed.int(intended).int(left)));
        }
    }

    /// Sends a snapshot as a delta to the one the client has acked, or to the empty one.
    fn snapshot(&mut self, now: Duration, tick: i32, snap: Snap) {
        self.snaps = self.snaps.split_off(&self.acked.max(tick - KEPT));
        let empty = Snap::default();
        let (base, old) = self
            .snaps
            .get(&self.acked)
            .map_or((-1, &empty), |snap| (self.acked, snap));
        let packed = match snap.delta(self.proto, old) {
            None => Packed::new(self.proto, Kind::SnapEmpty).map(|packed| packed.int(tick).int(tick - base)),
            Some(delta) => Packed::new(self.proto, Kind::SnapSingle).map(|packed| {
                let size = i32::try_from(delta.len()).unwrap_or(i32::MAX);
                packed
                    .int(tick)
                    .int(tick - base)
                    .int(snap.crc())
                    .int(size)
                    .raw(&delta)
            }),
        };
        self.snaps.insert(tick, snap);
        self.send(now, packed);
    }

    fn report(&self, left: Option<String>) -> PlayerReport {
        PlayerReport {
            name: self.tee.name.clone(),
            proto: self.proto,
            address: self.address,
            given: self.given,
            inputs: self.inputs,
            counters: self.endpoint.counters(),
            left,
        }
    }
}

/// 0.7's ACCEPT in the vanilla server's form, without a token.
fn accept_payload() -> Vec<u8> {
    let mut payload = Vec::new();
    control::connect_accept(Proto::V7, Token::NONE, &mut payload);
    payload
}

/// Whether a datagram is DDNet's ACCEPT with the token that was given.
fn is_accept(datagram: &[u8], given: Token) -> bool {
    let mut scratch = Scratch::default();
    Packet::parse(Proto::Ddnet, datagram, &mut scratch).is_ok_and(|packet| {
        packet.header.token == Some(given) && matches!(packet.control(), Some(Control::Accept))
    })
}
