//! One client of the demo server: its state, the messages of its join, its inputs and its snapshots.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;

use teetap_wire::def::Datum;
use teetap_wire::snap::{Sizes, Snapshot};
use teetap_wire::{Dir, Proto, Token};

use super::report::PlayerReport;
use teetap_peer::endpoint::{Endpoint, Message};
use teetap_peer::message::{Opened, Packed, registry, version};
use teetap_peer::world::{self, Tee};

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
    /// The time to repeat 0.7's ACCEPT.
    pub(super) accept_at: Option<Duration>,
    pub(super) tee: Tee,
    sizes: Sizes,
    snaps: BTreeMap<i32, Snapshot>,
    /// Tick of the snapshot that the client has; -1: none.
    acked: i32,
    intended: i32,
    inputs: u64,
    /// The reason why the server must drop it.
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
            sizes: Sizes::new(registry(), proto),
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
        let Some(opened) = Opened::new(proto, Dir::C2s, message.vital, &message.data) else {
            return Action::Nothing;
        };
        match (&*opened.def.name, self.state) {
            ("info", State::Auth) => self.info(now, &opened.text("version").unwrap_or_default()),
            ("ready", State::Connecting) => {
                let motd = [("message", "Welcome to the demo.".into())];
                self.send(now, &Packed::new(proto, "sv_motd", motd));
                self.send(now, &Packed::new(proto, "con_ready", []));
                self.state = State::Ready;
            }
            ("cl_start_info", State::Ready) => {
                let name = opened.text("name").unwrap_or_default();
                self.tee.name = name
                    .chars()
                    .filter(|letter| !letter.is_control())
                    .take(NAME)
                    .collect();
                self.send(now, &Packed::new(proto, "sv_vote_clear_options", []));
                self.send(now, &world::tune_params(proto));
                self.send(now, &Packed::new(proto, "sv_ready_to_enter", []));
                self.state = State::Entering;
            }
            ("enter_game", State::Entering) => return Action::Enter,
            ("input", State::InGame) => {
                self.input(now, tick, &opened);
            }
            ("cl_say", State::InGame) => {
                return opened.text("message").map_or(Action::Nothing, Action::Say);
            }
            ("ping", _) => self.send(now, &Packed::new(proto, "ping_reply", [])),
            _ => {}
        }
        Action::Nothing
    }

    fn info(&mut self, now: Duration, spoken: &str) {
        if spoken != version(self.proto) {
            self.failed = Some("Wrong version.");
            return;
        }
        if self.proto == Proto::Ddnet {
            let capabilities = [("version", 5.into())];
            self.send(now, &Packed::new(self.proto, "capabilities", capabilities));
        }
        self.send(now, &world::map_change(self.proto));
        self.state = State::Connecting;
    }

    /// Takes an input; `None` if a field is missing.
    fn input(&mut self, now: Duration, tick: i32, input: &Opened<'_>) -> Option<()> {
        let (acked, intended) = (input.int("ack_snapshot")?, input.int("intended_tick")?);
        let (direction, target_x) = (input.int("input.direction")?, input.int("input.target_x")?);
        self.inputs += 1;
        if acked == -1 || self.snaps.contains_key(&acked) {
            self.acked = acked;
        }
        if intended > self.intended {
            self.intended = intended;
            self.tee.direction = direction.clamp(-1, 1);
            self.tee.angle = target_x.clamp(-800, 800);
            // Milliseconds between the arrival of the input and the tick it is meant for.
            let left = intended.saturating_sub(tick).clamp(-1000, 1000) * 20;
            let timing = [("input_pred_tick", intended.into()), ("time_left", left.into())];
            self.send(now, &Packed::new(self.proto, "input_timing", timing));
        }
        Some(())
    }

    /// Returns true if the client is due a snapshot: until it has acked one, five a second; then 25, as the reference.
    pub(super) fn is_due(&self, tick: i32) -> bool {
        let every = if self.acked > 0 { 2 } else { 10 };
        self.snaps
            .last_key_value()
            .is_none_or(|(last, _)| tick - last >= every)
    }

    /// Sends a snapshot as a delta to the one the client has acked, or to the empty one.
    #[expect(
        clippy::expect_used,
        reason = "both snapshots are made of the built-in definitions"
    )]
    pub(super) fn snapshot(&mut self, now: Duration, tick: i32, snap: Snapshot) {
        self.snaps = self.snaps.split_off(&self.acked.max(tick - KEPT));
        let empty = Snapshot::new();
        let known = self.snaps.get(&self.acked);
        let base = if known.is_some() { self.acked } else { -1 };
        let mut delta = Vec::new();
        snap.delta(known.unwrap_or(&empty), &self.sizes, &mut delta)
            .expect("items keep their sizes");
        let head = [("tick", tick.into()), ("delta_tick", (tick - base).into())];
        let packed = if delta.is_empty() {
            Packed::new(self.proto, "snap_empty", head)
        } else {
            let size = i32::try_from(delta.len()).unwrap_or(i32::MAX);
            let body = [
                ("crc", snap.crc().into()),
                ("part_size", size.into()),
                ("data", Datum::Bytes(delta)),
            ];
            Packed::new(self.proto, "snap_single", head.into_iter().chain(body))
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
