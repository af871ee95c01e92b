//! The end of a watcher.

use std::sync::{Arc, atomic::Ordering};

use teetap_rules::context::Contexts;
use tokio::sync::broadcast::{self, error::TryRecvError};

use super::{Item, Shared};
use crate::session::Event;

/// An item that a watcher receives.
#[derive(Clone, Debug)]
pub enum Seen {
    /// An event.
    Event(Arc<Event>),
    /// So many events were not seen: they were overwritten before this watcher came to them, or there was no room for
    /// them at all.
    Gap(u64),
    /// After a gap, and some events later: the snapshots as they are here, known by a follower that missed nothing.
    Snapshots(Arc<Contexts>),
}

/// Sees everything that is published, or knows what it missed.
#[derive(Debug)]
pub struct Watcher {
    shared: Arc<Shared>,
    receiver: broadcast::Receiver<Item>,
    /// Of the last event.
    ordinal: u64,
    lost: u64,
    /// The snapshots are not known.
    behind: bool,
    /// The item after a gap or after snapshots.
    next: Option<Item>,
}

impl Watcher {
    pub(super) fn new(shared: Arc<Shared>) -> Self {
        shared.watchers.fetch_add(1, Ordering::Relaxed);
        // In this order: what comes in between is seen.
        let ordinal = shared.published.load(Ordering::Acquire);
        let mut watcher = Self {
            receiver: shared.ring.subscribe(),
            shared,
            ordinal,
            lost: 0,
            behind: false,
            next: None,
        };
        if ordinal > 0 {
            watcher.ask();
        }
        watcher
    }

    /// The next thing seen; `None` when there is nothing more right now or ever. Never waits.
    pub fn poll(&mut self) -> Option<Seen> {
        // Before the look, so that nothing is left behind it.
        let is_over = self.shared.finished.load(Ordering::Acquire);
        let Some(item) = self.next.take().or_else(|| self.receive()) else {
            return if is_over { self.last_gap() } else { None };
        };
        let missed = item.ordinal.saturating_sub(self.ordinal + 1);
        if missed > 0 {
            self.next = Some(item);
            return Some(self.gap(missed));
        }
        if let Some(snapshots) = self.checkpoint(item.ordinal) {
            self.next = Some(item);
            return Some(Seen::Snapshots(snapshots));
        }
        self.ordinal = item.ordinal;
        Some(Seen::Event(item.event))
    }

    /// How many events this watcher has missed.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.lost
    }

    fn receive(&mut self) -> Option<Item> {
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

    /// Events published at the end that had no room.
    fn last_gap(&mut self) -> Option<Seen> {
        let missed = self
            .shared
            .published
            .load(Ordering::Acquire)
            .saturating_sub(self.ordinal);
        (missed > 0).then(|| self.gap(missed))
    }

    fn gap(&mut self, missed: u64) -> Seen {
        self.ordinal += missed;
        self.lost += missed;
        self.ask();
        Seen::Gap(missed)
    }

    fn ask(&mut self) {
        // With the slot in hand, like a watcher that catches up.
        let _slot = self.shared.slot();
        if !self.behind {
            self.behind = true;
            self.shared.behind.fetch_add(1, Ordering::AcqRel);
        }
        self.shared.wanted.store(true, Ordering::Release);
    }

    /// The snapshots before the event of this ordinal, if they are wanted and there.
    fn checkpoint(&mut self, ordinal: u64) -> Option<Arc<Contexts>> {
        if !self.behind {
            return None;
        }
        let slot = self.shared.slot();
        let contexts = Arc::clone(&slot.as_ref().filter(|found| found.ordinal == ordinal)?.contexts);
        drop(slot);
        self.catch_up();
        Some(contexts)
    }

    fn catch_up(&mut self) {
        if std::mem::take(&mut self.behind) {
            let mut slot = self.shared.slot();
            // Requested with the slot in hand: a watcher that lags from now on gets a newer one.
            if self.shared.behind.fetch_sub(1, Ordering::AcqRel) == 1 {
                *slot = None;
                self.shared.wanted.store(false, Ordering::Release);
            }
        }
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        self.catch_up();
        self.shared.watchers.fetch_sub(1, Ordering::Relaxed);
    }
}
