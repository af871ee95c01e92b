//! The empty snapshots of a session, and a client that acks none of them.
//!
//! A client acks the tick of each snapshot that it has read, an empty one as well. Losses do not look like a client that takes
//! them for invalid: that one acks none of many, and those that are not empty all the same.
//!
//! Law: bounded, and nothing is kept of a session in which an empty snapshot was acked.

use std::collections::VecDeque;

/// The empty snapshots of which the client has to ack one.
const MANY: u16 = 25;
/// The others that it has acked since the first of them.
const OTHERS: u8 = 3;
/// The ticks of empty snapshots that are known. An ack is one round trip old.
const MOST: usize = 128;

/// The empty snapshots that were not acked.
#[derive(Debug, Clone, Default)]
pub(super) struct Unacked {
    /// The ticks of the last ones.
    ticks: VecDeque<i32>,
    /// The number of all.
    count: u16,
    /// The snapshots with items that were acked since the first empty one.
    others: u8,
    /// The last tick that was acked.
    acked: Option<i32>,
    /// True once an empty one was acked.
    is_fine: bool,
}

impl Unacked {
    /// Takes an empty snapshot that the client can read.
    pub(super) fn came(&mut self, tick: i32) {
        if self.is_fine {
            return;
        }
        if self.ticks.len() >= MOST {
            self.ticks.pop_front();
        }
        self.ticks.push_back(tick);
        self.count = self.count.saturating_add(1);
    }

    /// Takes an ack. Returns true if it shows that the client acks no empty snapshot.
    pub(super) fn acked(&mut self, tick: i32) -> bool {
        if self.is_fine || self.count == 0 || tick < 0 || self.acked.replace(tick) == Some(tick) {
            return false;
        }
        if self.ticks.contains(&tick) {
            *self = Self {
                is_fine: true,
                ..Self::default()
            };
            return false;
        }
        let is_since = self.ticks.front().is_some_and(|first| *first < tick);
        self.others = self.others.saturating_add(u8::from(is_since));
        self.count >= MANY && self.others >= OTHERS
    }

    /// Returns the bytes of memory.
    pub(super) fn memory(&self) -> usize {
        self.ticks.capacity() * size_of::<i32>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rounds of empty snapshots, each with one that is not empty at its end. The client acks some of the empty ones.
    fn notes(rounds: i32, round: i32, acks: impl Fn(i32) -> bool) -> usize {
        let mut unacked = Unacked::default();
        let (mut acked, mut notes) = (0, 0);
        for tick in 1..=rounds * round {
            let is_empty = tick % round != 0;
            if is_empty {
                unacked.came(tick);
            }
            if !is_empty || acks(tick) {
                acked = tick;
            }
            notes += usize::from(unacked.acked(acked));
            assert!(unacked.memory() <= 4096);
        }
        notes
    }

    #[test]
    fn a_client_that_acks_no_empty_snapshot_is_noted() {
        // From the third on, of which 27 empty ones came before.
        assert_eq!(notes(6, 10, |_| false), 4);
    }

    #[test]
    fn losses_are_not() {
        assert_eq!(notes(60, 10, |tick| tick % 53 == 2), 0);
        // A pause of the network: none of those that are not empty is acked either.
        let mut unacked = Unacked::default();
        (1..200).for_each(|tick| unacked.came(tick));
        assert!(!unacked.acked(0) && !unacked.acked(-1) && !unacked.acked(200));
    }
}
