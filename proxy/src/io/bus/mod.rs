//! The bus from the data thread to the watchers.
//!
//! ```text
//! data thread ── Publisher ──> queue ──> Worker, with its Stage (aux thread) ──> ring ──> Watcher, Watcher ...
//! ```
//!
//! Law: publishing never blocks, and wakes a thread only for a message that is held until a watcher answers: the worker, which
//! rings the bells of the watchers. The worker takes every event, in time, and its [`Stage`] decodes it
//! once for all watchers. The ring after it is bounded and drops the oldest, with an exact count for each watcher that
//! missed some; a watcher may have a queue of its own, bounded by bytes. All knowledge about sessions is in the stage, so a
//! watcher that missed something loses nothing else.

mod publisher;
mod ring;
mod watcher;
mod worker;

use std::sync::{Arc, mpsc};

pub use publisher::Publisher;
use ring::Ring;
pub use watcher::{Seen, Watcher};
pub use worker::{Raw, Stage, Worker};

/// Events kept for late watchers.
///
/// A watcher that looks every 20 ms misses nothing below 800 000 events per second. Each event owns its bytes, so
/// the ring is worth about 16 MiB when it is full of ordinary traffic, and twice that with the decoded form of each.
const CAPACITY: usize = 16_384;

/// The place where watchers subscribe; cheap to clone.
#[derive(Debug)]
pub struct Bus<T>(Ring<T>);

impl<T> Bus<T> {
    /// A bus without watchers.
    #[must_use]
    pub fn new() -> Self {
        Self::with_capacity(CAPACITY)
    }

    /// A bus with room for at least `capacity` events (rounded up to a power of two).
    #[must_use]
    pub fn with_capacity(capacity: usize) -> Self {
        Self(Ring::new(capacity))
    }

    /// Returns the two ends before the ring: one for the data thread, one for a thread of its own.
    #[must_use]
    pub fn open<S: Stage<Made = T>>(&self, stage: S) -> (Publisher, Worker<S>) {
        let (sender, queue) = mpsc::channel();
        (
            Publisher::new(Arc::clone(&self.0.counts), sender),
            Worker::new(self.0.clone(), queue, stage),
        )
    }

    /// Returns a watcher that sees everything published from now on.
    #[must_use]
    pub fn watch(&self) -> Watcher<T> {
        Watcher::new(&self.0)
    }

    /// Calls `bell` whenever a message is held until a watcher answers, until the last clone of it is dropped. Other events
    /// are found at the watcher's own pace. The call must not block.
    pub fn ring_at_once(&self, bell: &Arc<dyn Fn() + Send + Sync>) {
        self.0.add_bell(bell);
    }

    /// Returns a watcher that sees everything published from now on, and misses nothing while less than this many bytes of
    /// events wait for it.
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
