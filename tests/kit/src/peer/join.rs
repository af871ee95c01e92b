//! The messages of a 0.6 client while it joins: it is ready, its name, and, from its third snapshot on, inputs that
//! ack the newest snapshot. A server without tokens accepts such an ack as the proof of the client's address.

use super::{Peer, Role, game};
use crate::link::MS;

/// Interval between two inputs in microseconds.
const INPUT_EVERY: u64 = 40 * MS;
/// Number of snapshots before the first input.
const SNAPSHOTS: u32 = 3;

/// The progress of a client's join.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Join {
    snapshots: u32,
    tick: i32,
    next_input: u64,
}

impl Peer {
    /// Answers a message like a client that loads its map instantly: immediately, before it reads the next message.
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

    /// Sends an input if one is due.
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
