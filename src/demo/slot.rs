//! One client of the demo server: its state, the messages of its join, its inputs and its snapshots.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;

use teetap_wire::{Proto, Token};

use super::endpoint::{Endpoint, Message};
use super::message::{Fields, Kind, Packed, VERSION_6, VERSION_7};
use super::report::PlayerReport;
use super::snap::Snap;
use super::world::{self, Tee};

/// Ticks a snapshot is kept as a base for deltas.
const KEPT: i32 = 150;
/// The most letters of a name in both versions.
const NAME: usize = 15;

/// The state of a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    Auth,
    Connecting,
    Ready,
    Entering,
    InGame,
}

/// A request of a message to the server.
#[derive(Debug)]
pub(super) enum Action {
    Nothing,
    Enter,
    Say(String),
}

/// A client.
#[derive(Debug)]
pub(super) struct Slot {
    pub(super) address: SocketAddr,
    pub(super) proto: Proto,
    given: Token,
    pub(super) endpoint: Endpoint,
    pub(super) state: State,
    /// When to repeat 0.7's ACCEPT.
    pub(super) accept_at: Option<Duration>,
    pub(super) tee: Tee,
    snaps: BTreeMap<i32, Snap>,
    /// Tick of the snapshot that the client has; -1: none.
    acked: i32,
    intended: i32,
    inputs: u64,
    /// Why the server must drop it.
    pub(super) failed: Option<&'static str>,
}

impl Slot {
    /// A client after its handshake, standing at `x`.
    pub(super) fn new(address: SocketAddr, proto: Proto, given: Token, endpoint: Endpoint, x: i32) -> Self {
        Self {
            address,
            proto,
            given,
            endpoint,
            state: State::Auth,
            accept_at: None,
            tee: Tee {
                name: String::new(),
                x,
                direction: 0,
                angle: 0,
            },
            snaps: BTreeMap::new(),
            acked: -1,
            intended: 0,
            inputs: 0,
            failed: None,
        }
    }

    /// Queues a message.
    pub(super) fn send(&mut self, now: Duration, packed: &Packed) {
        if self
            .endpoint
            .send(now, packed.vital, &packed.data, packed.flush)
            .is_err()
        {
            self.failed = Some("too weak connection (out of buffer)");
        }
    }

    /// Takes a message. What does not fit the state is ignored, as the reference servers do.
    pub(super) fn message(&mut self, now: Duration, tick: i32, message: &Message) -> Action {
        let proto = self.proto;
        let Some((kind, mut fields)) = Fields::open(proto, message.vital, &message.data) else {
            return Action::Nothing;
        };
        match (kind, self.state) {
            (Kind::Info, State::Auth) => self.info(now, &fields.str().unwrap_or_default()),
            (Kind::Ready, State::Connecting) => {
                self.send(now, &Packed::new(proto, Kind::SvMotd).str("Welcome to the demo."));
                self.send(now, &Packed::new(proto, Kind::ConReady));
                self.state = State::Ready;
            }
            (Kind::ClStartInfo, State::Ready) => {
                let name = fields.str().unwrap_or_default();
                self.tee.name = name
                    .chars()
                    .filter(|letter| !letter.is_control())
                    .take(NAME)
                    .collect();
                self.send(now, &Packed::new(proto, Kind::SvVoteClearOptions));
                self.send(now, &world::tune_params(proto));
                self.send(now, &Packed::new(proto, Kind::SvReadyToEnter));
                self.state = State::Entering;
            }
            (Kind::EnterGame, State::Entering) => return Action::Enter,
            (Kind::Input, State::InGame) => self.input(now, tick, &mut fields),
            (Kind::ClSay, State::InGame) => {
                // 0.6: team, text. 0.7: mode, target, text.
                let whom = if proto == Proto::V7 { 2 } else { 1 };
                let text = fields.ints(whom).and_then(|_| fields.str());
                return text.map_or(Action::Nothing, Action::Say);
            }
            (Kind::Ping, _) => self.send(now, &Packed::new(proto, Kind::PingReply)),
            _ => {}
        }
        Action::Nothing
    }

    fn info(&mut self, now: Duration, version: &str) {
        if version
            != if self.proto == Proto::V7 {
                VERSION_7
            } else {
                VERSION_6
            }
        {
            self.failed = Some("Wrong version.");
            return;
        }
        if self.proto == Proto::Ddnet {
            self.send(now, &Packed::new(self.proto, Kind::Capabilities).ints(&[5, 0]));
        }
        self.send(now, &world::map_change(self.proto));
        self.state = State::Connecting;
    }

    fn input(&mut self, now: Duration, tick: i32, fields: &mut Fields<'_>) {
        let (Some(head), Some(input)) = (fields.ints(3), fields.ints(10)) else {
            return;
        };
        let ([acked, intended, 40], [direction, target_x, ..]) = (head.as_slice(), input.as_slice()) else {
            return;
        };
        self.inputs += 1;
        if *acked == -1 || self.snaps.contains_key(acked) {
            self.acked = *acked;
        }
        if *intended > self.intended {
            self.intended = *intended;
            self.tee.direction = (*direction).clamp(-1, 1);
            self.tee.angle = (*target_x).clamp(-800, 800);
            // Milliseconds between the arrival of the input and the tick it is meant for.
            let left = intended.saturating_sub(tick).clamp(-1000, 1000) * 20;
            self.send(
                now,
                &Packed::new(self.proto, Kind::InputTiming).ints(&[*intended, left]),
            );
        }
    }

    /// Returns true if the client is due a snapshot: until it has acked one, five a second; then 25, as the reference.
    pub(super) fn is_due(&self, tick: i32) -> bool {
        let every = if self.acked > 0 { 2 } else { 10 };
        self.snaps
            .last_key_value()
            .is_none_or(|(last, _)| tick - last >= every)
    }

    /// Sends a snapshot as a delta to the one the client has acked, or to the empty one.
    pub(super) fn snapshot(&mut self, now: Duration, tick: i32, snap: Snap) {
        self.snaps = self.snaps.split_off(&self.acked.max(tick - KEPT));
        let empty = Snap::default();
        let known = self.snaps.get(&self.acked);
        let base = if known.is_some() { self.acked } else { -1 };
        let packed = match snap.delta(self.proto, known.unwrap_or(&empty)) {
            None => Packed::new(self.proto, Kind::SnapEmpty).ints(&[tick, tick - base]),
            Some(delta) => {
                let size = i32::try_from(delta.len()).unwrap_or(i32::MAX);
                let head = [tick, tick - base, snap.crc(), size];
                Packed::new(self.proto, Kind::SnapSingle).ints(&head).raw(&delta)
            }
        };
        self.snaps.insert(tick, snap);
        self.send(now, &packed);
    }

    /// Returns what the server saw of it; `left` is the reason of its end.
    pub(super) fn report(&self, left: Option<String>) -> PlayerReport {
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
