//! Detects clients that ack no empty snapshots.
//!
//! A correct client acks the newest snapshot that it has decoded, even if the snapshot is empty. If a client acks only
//! other snapshots, this alone does not prove that it skips empty snapshots, since each of its inputs may be sent while
//! a snapshot with items is the newest. The evidence is an input that acks an older snapshot although empty snapshots
//! have been the newest for longer than the client usually takes to ack. [`PROOFS`] such inputs are needed, since the
//! network may lose several consecutive snapshots.
//!
//! Law: memory is bounded, and is freed once the client acks an empty snapshot.

use std::collections::VecDeque;

/// Number of empty snapshots of which the client must ack at least one.
const MANY: u16 = 25;
/// Number of series of empty snapshots during which the client acked an older snapshot.
const PROOFS: u8 = 3;
/// Number of ticks by which an ack may be later than the slowest ack so far: one and a half intervals of a slow server.
const LATE: i32 = 10;
/// Maximum number of empty snapshots whose ticks are kept. An ack is one round trip old.
const MOST: usize = 128;

/// The empty snapshots that were not acked.
#[derive(Debug, Clone, Default)]
pub(super) struct Unacked {
    /// The ticks of the newest empty snapshots.
    ticks: VecDeque<i32>,
    /// The number of all empty snapshots.
    count: u16,
    /// The tick of the newest snapshot.
    newest: i32,
    /// The tick of the first empty snapshot since the last snapshot with items; `None` if the newest has items.
    row: Option<i32>,
    /// The maximum number of ticks between an acked snapshot and the newest snapshot at the time of the ack.
    lag: Option<i32>,
    /// The number of series of empty snapshots during which an older snapshot was acked.
    proofs: u8,
    /// True if the current series of empty snapshots was counted.
    is_proof: bool,
    /// The last tick that was acked.
    acked: Option<i32>,
    /// True once an empty snapshot was acked.
    is_fine: bool,
}

impl Unacked {
    /// Records an empty snapshot. The client can decode it.
    pub(super) fn came(&mut self, tick: i32) {
        if self.is_fine {
            return;
        }
        if self.ticks.len() >= MOST {
            self.ticks.pop_front();
        }
        self.ticks.push_back(tick);
        self.count = self.count.saturating_add(1);
        self.newest = tick;
        self.row.get_or_insert(tick);
    }

    /// Records a snapshot that has items. The client can decode it.
    pub(super) const fn came_full(&mut self, tick: i32) {
        self.newest = tick;
        self.row = None;
        self.is_proof = false;
    }

    /// Records an ack. Returns true if it proves that the client acks no empty snapshot.
    pub(super) fn acked(&mut self, tick: i32) -> bool {
        if self.is_fine || tick < 0 {
            return false;
        }
        if self.ticks.contains(&tick) {
            *self = Self {
                is_fine: true,
                ..Self::default()
            };
            return false;
        }
        let lag = self.newest.saturating_sub(tick);
        let is_new = self.acked.replace(tick).is_none_or(|acked| acked < tick);
        if is_new {
            self.lag = self.lag.max(Some(lag));
        }
        let is_older = |first: i32, most: i32| {
            let wait = self.newest.saturating_sub(first);
            tick < first && wait > most.saturating_mul(2).saturating_add(LATE)
        };
        let is_proof = self
            .row
            .zip(self.lag)
            .is_some_and(|(first, most)| is_older(first, most));
        if !is_proof || std::mem::replace(&mut self.is_proof, true) {
            return false;
        }
        self.proofs = self.proofs.saturating_add(1);
        self.count >= MANY && self.proofs >= PROOFS
    }

    /// Returns the number of bytes of memory held.
    pub(super) fn memory(&self) -> usize {
        self.ticks.capacity() * size_of::<i32>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A connection with snapshots every second tick. Each series of empty snapshots ends with a snapshot with items.
    struct Play {
        row: i32,
        /// Ticks from a snapshot to its ack.
        trip: i32,
        /// Ticks between two inputs.
        interval: i32,
    }

    impl Play {
        /// Returns the number of notes about a client that acks the newest snapshot for which `reads` is true.
        fn notes(&self, ticks: i32, reads: impl Fn(i32, bool) -> bool) -> usize {
            let mut unacked = Unacked::default();
            let (mut notes, mut known) = (0, Vec::new());
            for tick in (2..=ticks).step_by(2) {
                let is_empty = tick / 2 % self.row != 0;
                if is_empty {
                    unacked.came(tick);
                } else {
                    unacked.came_full(tick);
                }
                if reads(tick, is_empty) {
                    known.push(tick);
                }
                let newest = known.iter().rev().find(|known| **known <= tick - self.trip);
                if let Some(acked) = newest.filter(|_| tick % self.interval == 0) {
                    notes += usize::from(unacked.acked(*acked));
                }
                assert!(unacked.memory() <= 4096);
            }
            notes
        }
    }

    #[test]
    fn a_client_that_acks_no_empty_snapshot_is_noted() {
        let play = |row, trip| Play {
            row,
            trip,
            interval: 2,
        };
        // Once in each series from the third on, if 25 empty snapshots were sent by then.
        assert_eq!(play(10, 0).notes(140, |_, is_empty| !is_empty), 4);
        assert!(play(10, 2).notes(400, |_, is_empty| !is_empty) > 0);
        assert!(play(40, 10).notes(800, |_, is_empty| !is_empty) > 0);
    }

    /// An input may be sent each time while a snapshot with items is the newest.
    #[test]
    fn a_client_that_acks_the_newest_snapshot_is_not() {
        for row in 2..30 {
            for trip in (0..60).step_by(2) {
                let play = Play {
                    row,
                    trip,
                    interval: 2 * row,
                };
                assert_eq!(play.notes(4000, |_, _| true), 0, "{row} {trip}");
                // Snapshots with items are acked later.
                assert_eq!(play.notes(4000, |tick, _| tick % 7 != 0), 0, "{row} {trip}");
            }
        }
    }

    #[test]
    fn losses_are_not() {
        let play = Play {
            row: 10,
            trip: 4,
            interval: 2,
        };
        assert_eq!(play.notes(6000, |tick, is_empty| !is_empty || tick % 106 == 2), 0);
        // A pause of the network: no further snapshot is acked.
        assert_eq!(play.notes(600, |tick, _| tick < 100), 0);
    }
}
