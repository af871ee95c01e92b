//! Collects the parts of the newest snapshot, and of older snapshots whose parts are received late.

use std::collections::VecDeque;

use crate::snap::parts::{Parts, Receiving};

/// Maximum bytes for the parts of older snapshots.
const EARLIER: usize = 256 << 10;

#[derive(Debug, Clone, Default)]
pub(super) struct Collector {
    parts: Parts,
    /// Older snapshots with missing parts. A client still collects their parts if it received no part of a newer
    /// snapshot.
    earlier: VecDeque<Parts>,
    /// The newest tick of which any part was received.
    newest: i32,
}

impl Collector {
    pub(super) const fn newest(&self) -> i32 {
        self.newest
    }

    /// Returns the newest snapshot, if parts of it are missing.
    pub(super) const fn receiving(&self) -> Option<Receiving> {
        self.parts.now()
    }

    /// Returns the joined data of the newest snapshot, once its parts are complete.
    pub(super) fn joined(&self) -> &[u8] {
        self.parts.joined()
    }

    /// Makes `tick` the newest. Returns true if parts of the newest snapshot so far are missing.
    pub(super) fn advance(&mut self, tick: i32) -> bool {
        let is_incomplete = self.newest != tick && self.parts.now().is_some();
        if is_incomplete {
            let parts = std::mem::take(&mut self.parts);
            self.put_earlier(parts);
        }
        self.newest = tick;
        is_incomplete
    }

    /// Discards the parts of the newest snapshot. Returns true if there were any.
    pub(super) fn give_up(&mut self) -> bool {
        self.parts.give_up()
    }

    /// Removes and returns the parts of the newest snapshot.
    pub(super) fn take_newest(&mut self) -> Parts {
        std::mem::take(&mut self.parts)
    }

    pub(super) fn put_newest(&mut self, parts: Parts) {
        self.parts = parts;
    }

    /// Removes and returns the parts of an older snapshot; empty if none were received.
    pub(super) fn take_earlier(&mut self, tick: i32) -> Parts {
        let of_tick = |parts: &Parts| parts.now().is_some_and(|now| now.tick == tick);
        let place = self.earlier.iter().position(of_tick);
        let parts = place.and_then(|place| self.earlier.remove(place));
        parts.unwrap_or_default()
    }

    pub(super) fn put_earlier(&mut self, parts: Parts) {
        self.earlier.push_back(parts);
        while self.earlier.iter().map(Parts::memory).sum::<usize>() > EARLIER {
            self.earlier.pop_front();
        }
    }

    /// Discards all parts.
    pub(super) fn clear(&mut self) {
        self.parts.give_up();
        self.earlier.clear();
    }

    /// Discards all parts and the newest tick.
    pub(super) fn forget(&mut self) {
        self.clear();
        self.newest = 0;
    }

    /// Returns the number of bytes of memory held.
    pub(super) fn memory(&self) -> usize {
        self.earlier.iter().chain([&self.parts]).map(Parts::memory).sum()
    }
}
