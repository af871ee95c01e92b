//! The messages of a 0.6 client while it joins: that it has the map, who it is, and, from its third snapshot on,
//! inputs that ack the newest one. A server without tokens takes such an ack for the proof of the client's address.

use super::{Peer, Role, game};
use crate::link::MS;

/// Inputs are sent this often, microseconds.
const INPUT_EVERY: u64 = 40 * MS;
/// Snapshots before the first input.
const SNAPSHOTS: u32 = 3;

/// The progress of a client's join.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Join {
    snapshots: u32,
    tick: i32,
    next_input: u64,
}

impl Peer {
    /// Answers a message as a client does that loads its map in no time: at once, before it reads the next one.
    pub(super) fn answer_join(&mut self, message: &[u8], now: u64) {
        if !self.options.joins || self.role != Role::Client {
            return;
        }
        let answer = match game::system(message) {
            Some((game::MAP_CHANGE, _)) => game::ready(),
            Some((game::CON_READY, _)) => game::start_info("scripted"),
            Some((game::SNAP_EMPTY, rest)) => {
                self.join.snapshots += 1;
                self.join.tick = game::int(rest).map_or(0, |(tick, _)| tick);
                return;
            }
            _ => return,
        };
        self.send_vital(&answer, now);
        self.flush(now);
    }

    /// Sends the input that is due.
    pub(super) fn send_input(&mut self, now: u64) {
        if self.next_input().is_some_and(|at| at <= now) && self.is_online() {
            self.join.next_input = now + INPUT_EVERY;
            self.send_nonvital(&game::input(self.join.tick), now);
            self.flush(now);
        }
    }

    pub(super) fn next_input(&self) -> Option<u64> {
        (self.join.snapshots >= SNAPSHOTS).then_some(self.join.next_input)
    }
}
