//! The ring of the newest events, and the counts that both of its ends share.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
};

use tokio::sync::broadcast;

/// The ring; cheap to clone.
#[derive(Debug)]
pub(super) struct Ring<T> {
    pub(super) sender: broadcast::Sender<Item<T>>,
    pub(super) counts: Arc<Counts>,
}

/// The counts of a bus.
#[derive(Debug, Default)]
pub(super) struct Counts {
    pub(super) watchers: AtomicUsize,
    /// Bytes of events between publisher and worker.
    pub(super) queued: AtomicUsize,
    /// Events published, taken or not.
    pub(super) published: AtomicU64,
    /// The worker has passed on all events.
    pub(super) finished: AtomicBool,
}

/// An entry of the ring.
#[derive(Debug)]
pub(super) struct Item<T> {
    /// The number of the event, from 1.
    pub(super) ordinal: u64,
    pub(super) made: Arc<T>,
}

impl<T> Ring<T> {
    /// A ring with room for at least `capacity` events.
    pub(super) fn new(capacity: usize) -> Self {
        Self {
            sender: broadcast::Sender::new(capacity.max(1)),
            counts: Arc::default(),
        }
    }
}

impl<T> Clone for Ring<T> {
    fn clone(&self) -> Self {
        Self {
            sender: self.sender.clone(),
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
    pub(super) fn is_watched(&self) -> bool {
        self.watchers.load(Ordering::Relaxed) > 0
    }
}
