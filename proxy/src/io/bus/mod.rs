//! The bus from the data thread to the watchers.
//!
//! ```text
//! data thread ── Publisher ──> queue ──> Worker, with its Stage (aux thread) ──> ring ──> Watcher, Watcher ...
//! ```
//!
//! Law: publishing never blocks and never wakes a thread. The worker takes every event, in time, and its [`Stage`] decodes it
//! once for all watchers. The ring after it is bounded and drops the oldest, with an exact count for each watcher that
//! missed some. All knowledge about sessions is in the stage, so a watcher that missed something loses nothing else.

mod publisher;
mod watcher;
mod worker;

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
    mpsc,
};

use tokio::sync::broadcast;

pub use publisher::Publisher;
pub use watcher::{Seen, Watcher};
pub use worker::{Raw, Stage, Worker};

/// Events kept for late watchers.
///
/// A watcher that looks every 20 ms misses nothing below 800 000 events per second. Each event owns its bytes, so
/// the ring is worth about 16 MiB when it is full of ordinary traffic, and twice that with what is decoded of it.
const CAPACITY: usize = 16_384;

/// The place where watchers subscribe; cheap to clone.
#[derive(Debug)]
pub struct Bus<T> {
    ring: broadcast::Sender<Item<T>>,
    counts: Arc<Counts>,
}

#[derive(Debug, Default)]
struct Counts {
    watchers: AtomicUsize,
    /// Bytes of events between publisher and worker.
    queued: AtomicUsize,
    /// Events published, taken or not.
    published: AtomicU64,
    /// The worker has passed on everything there is.
    finished: AtomicBool,
}

/// An entry of the ring.
#[derive(Debug)]
struct Item<T> {
    /// Of the event, from 1.
    ordinal: u64,
    made: Arc<T>,
}

impl<T> Bus<T> {
    /// A bus without watchers.
    #[must_use]
    pub fn new() -> Self {
        Self::with_capacity(CAPACITY)
    }

    /// A bus with room for at least `capacity` events (rounded up to a power of two).
    #[must_use]
    pub fn with_capacity(capacity: usize) -> Self {
        Self {
            ring: broadcast::Sender::new(capacity.max(1)),
            counts: Arc::default(),
        }
    }

    /// The two ends before the ring: one for the data thread, one for a thread of its own.
    #[must_use]
    pub fn open<S: Stage<Made = T>>(&self, stage: S) -> (Publisher, Worker<S>) {
        let (sender, queue) = mpsc::channel();
        (
            Publisher::new(Arc::clone(&self.counts), sender),
            Worker::new(self.clone(), queue, stage),
        )
    }

    /// A watcher that sees everything published from now on.
    #[must_use]
    pub fn watch(&self) -> Watcher<T> {
        Watcher::new(self)
    }
}

impl<T> Default for Bus<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> Clone for Bus<T> {
    fn clone(&self) -> Self {
        Self {
            ring: self.ring.clone(),
            counts: Arc::clone(&self.counts),
        }
    }
}

impl<T> Clone for Item<T> {
    fn clone(&self) -> Self {
        Self {
            ordinal: self.ordinal,
            made: Arc::clone(&self.made),
        }
    }
}

impl Counts {
    fn is_watched(&self) -> bool {
        self.watchers.load(Ordering::Relaxed) > 0
    }
}

#[cfg(test)]
mod tests;
