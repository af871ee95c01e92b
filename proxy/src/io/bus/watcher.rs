//! The receiving end of the bus, one for each watcher.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
    mpsc,
};

use tokio::sync::broadcast::{self, error::TryRecvError};

use super::ring::{Counts, Item, Ring};

/// An event or a gap, as a watcher receives it.
#[derive(Debug)]
pub enum Seen<T> {
    /// An event.
    Event(Arc<T>),
    /// Number of events missed here: they were overwritten before this watcher read them, or there was no
    /// room for them.
    Gap(u64),
}

/// A reader of all published events, with an exact count of the missed ones.
#[derive(Debug)]
pub struct Watcher<T> {
    counts: Arc<Counts>,
    source: Source<T>,
    /// Number of the last event.
    ordinal: u64,
    lost: u64,
    /// The event after a gap that was just reported.
    next: Option<Item<T>>,
}

/// The source of a watcher's events.
#[derive(Debug)]
enum Source<T> {
    /// The ring, which drops the oldest events of slow watchers.
    Ring(broadcast::Receiver<Item<T>>),
    /// The watcher's own queue, and the number of bytes in it.
    Queue(mpsc::Receiver<Item<T>>, Arc<AtomicUsize>),
}

impl<T> Watcher<T> {
    pub(super) fn new(ring: &Ring<T>) -> Self {
        Self::with(ring, |ring| Source::Ring(ring.sender.subscribe()))
    }

    /// Returns a watcher with its own queue.
    pub(super) fn with_queue(ring: &Ring<T>, most: usize) -> Self {
        Self::with(ring, |ring| {
            let (receiver, queued) = ring.queue(most);
            Source::Queue(receiver, queued)
        })
    }

    fn with(ring: &Ring<T>, source: impl FnOnce(&Ring<T>) -> Source<T>) -> Self {
        ring.counts.watchers.fetch_add(1, Ordering::Relaxed);
        // In this order, so that events published in between are received.
        let ordinal = ring.counts.published.load(Ordering::Acquire);
        Self {
            source: source(ring),
            counts: Arc::clone(&ring.counts),
            ordinal,
            lost: 0,
            next: None,
        }
    }

    /// Returns the next event or gap; `None` if there is none now. Does not block.
    pub fn poll(&mut self) -> Option<Seen<T>> {
        // Read before polling, so that no event is left unread after it.
        let is_over = self.counts.finished.load(Ordering::Acquire);
        let Some(item) = self.next.take().or_else(|| self.receive()) else {
            return if is_over { self.last_gap() } else { None };
        };
        let before = item.ordinal.saturating_sub(u64::from(!item.is_made));
        let missed = before.saturating_sub(self.ordinal);
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
            let item = match &mut self.source {
                Source::Ring(receiver) => match receiver.try_recv() {
                    Ok(item) => item,
                    // The number of the next event shows how many are missing.
                    Err(TryRecvError::Lagged(_)) => continue,
                    Err(TryRecvError::Empty | TryRecvError::Closed) => return None,
                },
                Source::Queue(receiver, queued) => {
                    let item = receiver.try_recv().ok()?;
                    queued.fetch_sub(item.size, Ordering::Relaxed);
                    item
                }
            };
            // Skips events that were published before the watcher subscribed.
            if item.ordinal > self.ordinal || item.is_made && item.ordinal == self.ordinal {
                return Some(item);
            }
        }
    }

    /// Returns the gap of events for which there was no room at the end; `None` if there were none.
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
