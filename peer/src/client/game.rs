//! The client's part of the game: the snapshots that it acks and the inputs that it sends.

use std::time::Duration;

use teetap_wire::def::{Class, Datum, Id};
use teetap_wire::snap::{Fate, Store};
use teetap_wire::{Dir, Proto};

use crate::message::{Message, Reading, definition, registry};

/// Number of snapshots after which the client is in the game (0.6.5 client.cpp, `m_RecivedSnapshots`).
const ENOUGH: u32 = 2;
/// Number of ticks by which the client's prediction is ahead of its last snapshot.
const AHEAD: i32 = 3;
/// Length of a tick in milliseconds.
const TICK: u128 = 20;

/// The controls of a player. The client sends them in every input until they change.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Input {
    /// Direction of walking: -1, 0 or 1.
    pub direction: i32,
    /// Position of the cursor, relative to the tee.
    pub target: (i32, i32),
    /// True to jump.
    pub jump: bool,
    /// Count of presses and releases of the trigger.
    pub fire: i32,
    /// True to hook.
    pub hook: bool,
}

/// The snapshots of a client, and the progress of its inputs.
#[derive(Debug)]
pub(crate) struct Game {
    proto: Proto,
    store: Store<'static>,
    /// Snapshots since the client entered, repeated ones included.
    snapshots: u32,
    acked: i32,
    acked_at: Duration,
    /// Tick that the last input was meant for.
    intended: i32,
    inputs: u64,
}

impl Game {
    pub(crate) fn new(proto: Proto) -> Self {
        Self {
            proto,
            store: Store::new(registry(), proto),
            snapshots: 0,
            acked: -1,
            acked_at: Duration::ZERO,
            intended: 0,
            inputs: 0,
        }
    }

    /// Forgets all snapshots, as clients do when they enter the game or change the map.
    pub(crate) fn reset(&mut self) {
        *self = Self {
            inputs: self.inputs,
            ..Self::new(self.proto)
        };
    }

    /// Returns true if the client has received enough snapshots to play.
    pub(crate) fn is_running(&self) -> bool {
        self.snapshots >= ENOUGH
    }

    pub(crate) fn inputs(&self) -> u64 {
        self.inputs
    }

    /// Returns the tick that the next input acks; -1 if none.
    pub(crate) fn acked(&self) -> i32 {
        self.acked
    }

    /// Returns the number of players in the newest snapshot.
    pub(crate) fn players(&self) -> usize {
        let kind = match definition(self.proto, Class::Object, "player_info").id {
            Id::Number(number) => u16::try_from(number).ok(),
            _ => None,
        };
        let newest = self.store.newest().zip(kind);
        newest.map_or(0, |((_, snapshot), kind)| snapshot.items_of(kind).count())
    }

    /// Reads a message with a snapshot. Returns the tick and the fate of the snapshot if it is complete, otherwise
    /// `None`. A message with a whole snapshot that cannot be read gives [`Fate::Broken`].
    pub(crate) fn snapshot(&mut self, now: Duration, message: &Reading<'_>) -> Option<(i32, Fate)> {
        let Reading { def, decoded, data } = message;
        let is_part = message.name() == "snap";
        let Some(snapshot) = self.store.on_message(Dir::S2c, def, decoded, data) else {
            let tick = message.int("tick").unwrap_or(0);
            return (!is_part).then_some((tick, Fate::Broken));
        };
        let (tick, fate) = (snapshot.tick, snapshot.fate);
        match fate {
            Fate::Kept => {
                self.acked = tick;
                self.acked_at = now;
                self.snapshots = self.snapshots.saturating_add(1);
            }
            // The games process a repeated snapshot once more.
            Fate::Again => self.snapshots = self.snapshots.saturating_add(1),
            Fate::NoBase => self.acked = -1,
            Fate::Late | Fate::Broken | Fate::BadCrc => {}
        }
        Some((tick, fate))
    }

    /// Returns the next input.
    pub(crate) fn input(&mut self, now: Duration, input: Input) -> Message {
        self.inputs += 1;
        // The input is intended for a few ticks ahead of the server, as in the prediction of the games.
        let since = i32::try_from(now.saturating_sub(self.acked_at).as_millis() / TICK).unwrap_or(0);
        let newest = self.acked.saturating_add(AHEAD).saturating_add(since);
        self.intended = self.intended.saturating_add(1).max(newest);
        let (target_x, target_y) = input.target;
        let mut controls = vec![
            ("direction", input.direction.into()),
            ("target_x", target_x.into()),
            ("target_y", target_y.into()),
            ("jump", i32::from(input.jump).into()),
            ("fire", input.fire.into()),
            ("hook", i32::from(input.hook).into()),
        ];
        // 0.6 has a flag for a playing client. 0.7 has no such flag and adds a ping correction.
        let mut correction = None;
        if self.proto == Proto::V7 {
            correction = Some(("ping_correction", 0.into()));
        } else {
            controls.push(("player_flags", 1.into()));
        }
        let fields = [
            ("ack_snapshot", self.acked.into()),
            ("intended_tick", self.intended.into()),
            ("input", Datum::group(controls)),
        ];
        Message::known(self.proto, "input", fields.into_iter().chain(correction))
    }
}
