//! A network in virtual time: lossy hops, an event queue, and the seeded randomness of both.
//!
//! Law: no clock and no hidden randomness; the same seed and the same calls give the same arrivals. Times are
//! microseconds from an arbitrary start.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

pub use teetap_repeatable::Random;

#[cfg(test)]
mod tests;

/// One millisecond in the kit's unit of time.
pub const MS: u64 = 1_000;
/// One second in the kit's unit of time.
pub const SECOND: u64 = 1_000_000;

/// The effects of a hop on datagrams.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Conditions {
    /// Delay of every datagram in microseconds.
    pub delay: u64,
    /// Upper bound of a random extra delay in microseconds. If it exceeds the gap between two datagrams, it reorders
    /// them.
    pub jitter: u64,
    /// Probability that a datagram is lost.
    pub loss: f64,
    /// Probability that a second copy arrives, with its own jitter.
    pub duplicate: f64,
}

impl Conditions {
    /// No loss, no jitter, 10 ms.
    pub const GOOD: Self = Self {
        delay: 10 * MS,
        jitter: 0,
        loss: 0.0,
        duplicate: 0.0,
    };

    /// Returns the conditions of a bad line: this loss, 20 ms and up to 150 ms more (heavy reordering), 3 %
    /// duplicates.
    pub fn bad(loss: f64) -> Self {
        Self {
            delay: 20 * MS,
            jitter: 150 * MS,
            loss,
            duplicate: 0.03,
        }
    }
}

/// Pending items, the soonest first; items of the same time in the order in which they were pushed.
#[derive(Clone, Debug)]
pub struct Queue<T> {
    heap: BinaryHeap<Reverse<Entry<T>>>,
    pushed: u64,
}

impl<T> Default for Queue<T> {
    fn default() -> Self {
        Self {
            heap: BinaryHeap::new(),
            pushed: 0,
        }
    }
}

impl<T> Queue<T> {
    /// Adds an item for a time.
    pub fn push(&mut self, time: u64, item: T) {
        self.heap.push(Reverse(Entry {
            time,
            number: self.pushed,
            item,
        }));
        self.pushed += 1;
    }

    /// Removes and returns the soonest item if its time is not after `now`.
    pub fn pop(&mut self, now: u64) -> Option<T> {
        if self.next_time()? > now {
            return None;
        }
        self.heap.pop().map(|Reverse(entry)| entry.item)
    }

    /// Returns the time of the soonest item.
    pub fn next_time(&self) -> Option<u64> {
        self.heap.peek().map(|Reverse(entry)| entry.time)
    }

    /// Returns the number of pending items.
    pub fn len(&self) -> usize {
        self.heap.len()
    }

    /// Returns true if no item is pending.
    pub fn is_empty(&self) -> bool {
        self.heap.is_empty()
    }
}

/// One direction of one hop, carrying items of any kind (bytes, or bytes with an address).
#[derive(Clone, Debug)]
pub struct Hop<T> {
    /// The conditions for items sent from now on. May be changed at any time.
    pub conditions: Conditions,
    /// Number of items sent into the hop.
    pub sent: u64,
    /// Number of items that the hop lost.
    pub lost: u64,
    random: Random,
    queue: Queue<T>,
}

impl<T: Clone> Hop<T> {
    /// Creates an empty hop.
    pub fn new(conditions: Conditions, seed: u64) -> Self {
        Self {
            conditions,
            sent: 0,
            lost: 0,
            random: Random::new(seed),
            queue: Queue::default(),
        }
    }

    /// Sends an item, which the conditions may lose, duplicate or delay.
    pub fn send(&mut self, item: T, now: u64) {
        self.sent += 1;
        if self.random.chance(self.conditions.loss) {
            self.lost += 1;
            return;
        }
        if self.random.chance(self.conditions.duplicate) {
            let time = self.arrival(now);
            self.queue.push(time, item.clone());
        }
        let time = self.arrival(now);
        self.queue.push(time, item);
    }

    /// Sends an item that the network neither duplicates nor loses.
    pub fn send_once(&mut self, item: T, now: u64) {
        self.sent += 1;
        let time = self.arrival(now);
        self.queue.push(time, item);
    }

    /// Sends an item that arrives at `time`, whatever the conditions.
    pub fn send_at(&mut self, item: T, time: u64) {
        self.sent += 1;
        self.queue.push(time, item);
    }

    /// Returns the next item that has arrived by `now`.
    pub fn receive(&mut self, now: u64) -> Option<T> {
        self.queue.pop(now)
    }

    /// Returns the time at which the next item arrives.
    pub fn next_time(&self) -> Option<u64> {
        self.queue.next_time()
    }

    fn arrival(&mut self, now: u64) -> u64 {
        now + self.conditions.delay + self.random.below(self.conditions.jitter)
    }
}

#[derive(Clone, Debug)]
struct Entry<T> {
    time: u64,
    number: u64,
    item: T,
}

impl<T> Ord for Entry<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.time, self.number).cmp(&(other.time, other.number))
    }
}

impl<T> PartialOrd for Entry<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> PartialEq for Entry<T> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl<T> Eq for Entry<T> {}
