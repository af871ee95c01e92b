//! The bus from the data thread to the watchers.
//!
//! ```text
//! data thread ── Publisher ──> queue ──> Follower (aux thread) ──> ring ──> Watcher, Watcher ...
//! ```
//!
//! Law: publishing never blocks and never wakes anybody. The follower takes every event, in time, and follows the
//! snapshots of all sessions; behind it the ring is bounded and drops the oldest, with an exact count of what a
//! watcher missed. A
//! watcher that missed something is given the follower's snapshots, so that it knows again what later ones differ from.
//!
//! Watchers read snapshots themselves: they need no help unless they miss something, and a recording is read the same way.

mod follow;
mod follower;
mod publisher;
mod watcher;

use std::sync::{
    Arc, Mutex, MutexGuard, PoisonError,
    atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
    mpsc,
};

use teetap_rules::context::{Contexts, Names, Needs};
use teetap_wire::def::Registry;
use tokio::sync::broadcast;

pub use follow::{Buffers, follow};
pub use follower::Follower;
pub use publisher::Publisher;
pub use watcher::{Seen, Watcher};

use crate::session::{Event, Events};

/// Events kept for late watchers.
///
/// A watcher that looks every 20 ms misses nothing below 800 000 events per second. Each event owns its bytes, so
/// the ring is worth about 16 MiB when it is full of ordinary traffic.
const CAPACITY: usize = 16_384;

/// Where watchers subscribe; cheap to clone.
#[derive(Clone, Debug)]
pub struct Bus {
    shared: Arc<Shared>,
    registry: &'static Registry,
}

#[derive(Debug)]
struct Shared {
    ring: broadcast::Sender<Item>,
    watchers: AtomicUsize,
    /// Bytes of events between publisher and follower.
    queued: AtomicUsize,
    /// Events published, taken or not.
    published: AtomicU64,
    /// The follower has passed on everything there is.
    finished: AtomicBool,
    /// A watcher asks for the snapshots.
    wanted: AtomicBool,
    /// Watchers that do not know them.
    behind: AtomicUsize,
    /// The newest, while a watcher lags.
    checkpoint: Mutex<Option<Checkpoint>>,
}

/// An event of the ring.
#[derive(Clone, Debug)]
struct Item {
    /// Of the event, from 1.
    ordinal: u64,
    event: Arc<Event>,
}

/// The snapshots before an event.
#[derive(Clone, Debug)]
struct Checkpoint {
    /// Of that event.
    ordinal: u64,
    contexts: Arc<Contexts>,
}

impl Bus {
    /// A bus; snapshots are read through these definitions.
    #[must_use]
    pub fn new(registry: &'static Registry) -> Self {
        Self::with_capacity(CAPACITY, registry)
    }

    /// With room for at least `capacity` events (rounded up to a power of two).
    #[must_use]
    pub fn with_capacity(capacity: usize, registry: &'static Registry) -> Self {
        let shared = Shared {
            ring: broadcast::Sender::new(capacity.max(1)),
            watchers: AtomicUsize::new(0),
            queued: AtomicUsize::new(0),
            published: AtomicU64::new(0),
            finished: AtomicBool::new(false),
            wanted: AtomicBool::new(false),
            behind: AtomicUsize::new(0),
            checkpoint: Mutex::new(None),
        };
        Self {
            shared: Arc::new(shared),
            registry,
        }
    }

    /// The two ends before the ring, for a core that makes these events: one for the data thread, one for a thread of
    /// its own.
    #[must_use]
    pub fn open(&self, events: Events) -> (Publisher, Follower) {
        let mut contexts = Contexts::new(self.registry);
        contexts.set_needs(Needs {
            snapshots: true,
            names: Names::None,
        });
        if events != Events::All {
            contexts.ignore_snapshots();
        }
        let (sender, queue) = mpsc::channel();
        (
            Publisher::new(Arc::clone(&self.shared), sender),
            Follower::new(Arc::clone(&self.shared), queue, contexts, self.registry),
        )
    }

    /// A watcher that sees everything published from now on.
    #[must_use]
    pub fn watch(&self) -> Watcher {
        Watcher::new(Arc::clone(&self.shared))
    }
}

impl Shared {
    fn slot(&self) -> MutexGuard<'_, Option<Checkpoint>> {
        // Nothing that is done with it can fail halfway.
        self.checkpoint.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_watched(&self) -> bool {
        self.watchers.load(Ordering::Relaxed) > 0
    }
}

#[cfg(test)]
mod tests;
