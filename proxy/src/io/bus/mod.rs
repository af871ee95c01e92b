//! The bus from the data thread to the watchers.
//!
//! ```text
//! data thread ── Publisher ──> queue ──> Worker, with its Stage (aux thread) ──> ring ──> Watcher, Watcher ...
//! ```
//!
//! Law: publishing never blocks. It wakes the worker only for a message that is held until a watcher answers,
//! and the worker then rings the bells of the watchers. The worker receives all other events within
//! milliseconds. Its [`Stage`] decodes each event once for all watchers. The ring after the worker is bounded
//! and drops the oldest events; each watcher has an exact count of the events it missed. A watcher may have its
//! own queue, bounded by bytes. Only the stage keeps state about sessions, so missed events have no effect on
//! how a watcher sees later events.

mod publisher;
mod ring;
mod watcher;
mod worker;

use std::sync::{Arc, mpsc};

pub use publisher::Publisher;
use ring::Ring;
pub use watcher::{Seen, Watcher};
pub use worker::{Raw, Stage, Worker};

/// Number of events kept for slow watchers.
///
/// A watcher that polls every 20 ms misses nothing below 800 000 events per second. Each event owns its
/// bytes, so a ring full of ordinary traffic uses about 16 MiB, and twice that with the decoded form of each
/// event.
const CAPACITY: usize = 16_384;

/// The bus to which watchers subscribe; cheap to clone.
#[derive(Debug)]
pub struct Bus<T>(Ring<T>);

impl<T> Bus<T> {
    /// Returns a bus without watchers.
    #[must_use]
    pub fn new() -> Self {
        Self::with_capacity(CAPACITY)
    }

    /// Returns a bus that keeps at least `capacity` events (rounded up to a power of two).
    #[must_use]
    pub fn with_capacity(capacity: usize) -> Self {
        Self(Ring::new(capacity))
    }

    /// Returns the two ends before the ring: the publisher for the data thread, and the worker for a thread
    /// of its own.
    #[must_use]
    pub fn open<S: Stage<Made = T>>(&self, stage: S) -> (Publisher, Worker<S>) {
        let (sender, queue) = mpsc::channel();
        (
            Publisher::new(Arc::clone(&self.0.counts), sender),
            Worker::new(self.0.clone(), queue, stage),
        )
    }

    /// Returns a watcher that receives all events published from now on.
    #[must_use]
    pub fn watch(&self) -> Watcher<T> {
        Watcher::new(&self.0)
    }

    /// Calls `bell` for each message that is held until a watcher answers, until its last clone is dropped.
    /// Watchers poll for other events at their own pace. The call must not block.
    pub fn ring_at_once(&self, bell: &Arc<dyn Fn() + Send + Sync>) {
        self.0.add_bell(bell);
    }

    /// Returns a watcher that receives all events published from now on. It misses none while less than
    /// `most` bytes of events are queued for it.
    #[must_use]
    pub fn watch_all(&self, most: usize) -> Watcher<T> {
        Watcher::with_queue(&self.0, most)
    }
}

impl<T> Default for Bus<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> Clone for Bus<T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

#[cfg(test)]
mod tests;
