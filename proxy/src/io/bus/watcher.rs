//! The end of a watcher.

use std::sync::{Arc, atomic::Ordering};

use tokio::sync::broadcast::{self, error::TryRecvError};

use super::{Bus, Counts, Item};

/// Something that a watcher sees.
#[derive(Debug)]
pub enum Seen<T> {
    /// An event.
    Event(Arc<T>),
    /// This many events were not seen: they were overwritten before this watcher came to them, or there was no room for them
    /// at all.
    Gap(u64),
}

/// Sees everything that is published, or knows how much it missed.
#[derive(Debug)]
pub struct Watcher<T> {
    counts: Arc<Counts>,
    receiver: broadcast::Receiver<Item<T>>,
    /// Of the last event.
    ordinal: u64,
    lost: u64,
    /// The event after a gap.
    next: Option<Item<T>>,
}

impl<T> Watcher<T> {
    pub(super) fn new(bus: &Bus<T>) -> Self {
        bus.counts.watchers.fetch_add(1, Ordering::Relaxed);
        // In this order: what comes in between is seen.
        let ordinal = bus.counts.published.load(Ordering::Acquire);
        Self {
            receiver: bus.ring.subscribe(),
            counts: Arc::clone(&bus.counts),
            ordinal,
            lost: 0,
            next: None,
        }
    }

    /// The next thing seen; `None` when there is nothing more right now or ever. Never waits.
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

    /// Number of events this watcher has missed.
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

    /// What was published at the end and had no room.
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
