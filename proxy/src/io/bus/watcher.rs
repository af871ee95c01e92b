//! The receiving half of the bus, one for each watcher.

use std::sync::{Arc, atomic::Ordering};

use tokio::sync::broadcast::{self, error::TryRecvError};

use super::ring::{Counts, Item, Ring};

/// An event, or a gap.
#[derive(Debug)]
pub enum Seen<T> {
    /// An event.
    Event(Arc<T>),
    /// The number of events missed here: they were overwritten before this watcher came to them, or there was no room for
    /// them.
    Gap(u64),
}

/// A reader of all published events, with an exact count of those it missed.
#[derive(Debug)]
pub struct Watcher<T> {
    counts: Arc<Counts>,
    receiver: broadcast::Receiver<Item<T>>,
    /// The number of the last event.
    ordinal: u64,
    lost: u64,
    /// The event after a gap.
    next: Option<Item<T>>,
}

impl<T> Watcher<T> {
    pub(super) fn new(ring: &Ring<T>) -> Self {
        ring.counts.watchers.fetch_add(1, Ordering::Relaxed);
        // In this order: what comes in between is seen.
        let ordinal = ring.counts.published.load(Ordering::Acquire);
        Self {
            receiver: ring.sender.subscribe(),
            counts: Arc::clone(&ring.counts),
            ordinal,
            lost: 0,
            next: None,
        }
    }

    /// Returns the next event or gap; `None` when there is none now. Never waits.
    pub fn poll(&mut self) -> Option<Seen<T>> {
        // Before the look, so that nothing is left after it.
        let is_over = self.counts.finished.load(Ordering::Acquire);
        let Some(item) = self.next.take().or_else(|| self.receive()) else {
            return if is_over { self.last_gap() } else { None };
        };
        let missed = item.ordinal.saturating_sub(self.ordinal + 1);
        if missed > 0 {
            self.next = Some(item);
            return Some(self.gap(missed));
        }
        self.ordinal = item.ordinal;
        Some(Seen::Event(item.made))
    }

    /// Returns the number of events this watcher has missed.
    #[must_use]
    pub const fn lost(&self) -> u64 {
        self.lost
    }

    fn receive(&mut self) -> Option<Item<T>> {
        loop {
            match self.receiver.try_recv() {
                // What was published before is on its way.
                Ok(item) if item.ordinal <= self.ordinal => {}
                Ok(item) => return Some(item),
                // The ordinal of the next one says how many.
                Err(TryRecvError::Lagged(_)) => {}
                Err(TryRecvError::Empty | TryRecvError::Closed) => return None,
            }
        }
    }

    /// Returns the events published at the end that had no room.
    fn last_gap(&mut self) -> Option<Seen<T>> {
        let published = self.counts.published.load(Ordering::Acquire);
        let missed = published.saturating_sub(self.ordinal);
        (missed > 0).then(|| self.gap(missed))
    }

    const fn gap(&mut self, missed: u64) -> Seen<T> {
        self.ordinal += missed;
        self.lost += missed;
        Seen::Gap(missed)
    }
}

impl<T> Drop for Watcher<T> {
    fn drop(&mut self) {
        self.counts.watchers.fetch_sub(1, Ordering::Relaxed);
    }
}

impl<T> Clone for Seen<T> {
    fn clone(&self) -> Self {
        match self {
            Self::Event(made) => Self::Event(Arc::clone(made)),
            Self::Gap(lost) => Self::Gap(*lost),
        }
    }
}
