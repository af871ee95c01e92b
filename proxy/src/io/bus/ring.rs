//! The ring of the newest events, and the counters that both of its ends share.

use std::{
    fmt,
    sync::{
        Arc, Mutex, OnceLock, PoisonError, Weak,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
        mpsc,
    },
    thread::Thread,
};

use tokio::sync::broadcast;

/// The ring; cheap to clone.
pub(super) struct Ring<T> {
    pub(super) sender: broadcast::Sender<Item<T>>,
    pub(super) counts: Arc<Counts>,
    /// Queues of watchers that keep all unread events. Only watchers and the worker lock this.
    pub(super) queues: Arc<Mutex<Vec<Queue<T>>>>,
    /// The bells of watchers.
    bells: Arc<Mutex<Vec<Weak<Bell>>>>,
}

/// A call that wakes a watcher. The worker makes the call, so it must not block.
pub(super) type Bell = dyn Fn() + Send + Sync;

/// A queue to one watcher, bounded by bytes.
#[derive(Debug)]
pub(super) struct Queue<T> {
    sender: mpsc::Sender<Item<T>>,
    queued: Arc<AtomicUsize>,
    most: usize,
}

/// Counters of a bus.
#[derive(Debug, Default)]
pub(super) struct Counts {
    pub(super) watchers: AtomicUsize,
    /// Bytes of events that are queued between publisher and worker.
    pub(super) queued: AtomicUsize,
    /// Number of published events, whether or not the worker received them.
    pub(super) published: AtomicU64,
    /// True once the worker has passed on all events.
    pub(super) finished: AtomicBool,
    /// The thread of the worker, once it is running.
    pub(super) worker: OnceLock<Thread>,
}

/// An entry of the ring.
#[derive(Debug)]
pub(super) struct Item<T> {
    /// Number of the event, from 1. An event that the stage created has the number of the event before it.
    pub(super) ordinal: u64,
    /// True if the stage created the event itself, without a published event.
    pub(super) is_made: bool,
    pub(super) made: Arc<T>,
    /// Bytes that the event uses in the form that watchers receive.
    pub(super) size: usize,
}

impl<T> Ring<T> {
    /// Returns a ring with room for at least `capacity` events.
    pub(super) fn new(capacity: usize) -> Self {
        Self {
            sender: broadcast::Sender::new(capacity.max(1)),
            counts: Arc::default(),
            queues: Arc::default(),
            bells: Arc::default(),
        }
    }

    /// Adds a bell, which is rung until its last clone is dropped.
    pub(super) fn add_bell(&self, bell: &Arc<Bell>) {
        let mut bells = self.bells.lock().unwrap_or_else(PoisonError::into_inner);
        bells.push(Arc::downgrade(bell));
    }

    /// Rings all bells.
    pub(super) fn ring_bells(&self) {
        let mut bells = self.bells.lock().unwrap_or_else(PoisonError::into_inner);
        bells.retain(|bell| {
            bell.upgrade().is_some_and(|bell| {
                bell();
                true
            })
        });
    }

    /// Adds a queue with room for `most` bytes. Returns its receiving end and the number of bytes in it.
    pub(super) fn queue(&self, most: usize) -> (mpsc::Receiver<Item<T>>, Arc<AtomicUsize>) {
        let (sender, receiver) = mpsc::channel();
        let queued = Arc::<AtomicUsize>::default();
        let queue = Queue {
            sender,
            queued: Arc::clone(&queued),
            most,
        };
        self.queues
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(queue);
        (receiver, queued)
    }

    /// Passes an event to all watchers.
    pub(super) fn send(&self, item: &Item<T>) {
        let mut queues = self.queues.lock().unwrap_or_else(PoisonError::into_inner);
        queues.retain(|queue| {
            // The number of the next event shows the watcher that this one is missing.
            if queue.queued.load(Ordering::Relaxed) >= queue.most {
                return true;
            }
            queue.queued.fetch_add(item.size, Ordering::Relaxed);
            queue.sender.send(item.clone()).is_ok()
        });
        let _no_watchers = self.sender.send(item.clone());
    }
}

impl<T> fmt::Debug for Ring<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ring")
            .field("counts", &self.counts)
            .finish_non_exhaustive()
    }
}

impl<T> Clone for Ring<T> {
    fn clone(&self) -> Self {
        Self {
            sender: self.sender.clone(),
            counts: Arc::clone(&self.counts),
            queues: Arc::clone(&self.queues),
            bells: Arc::clone(&self.bells),
        }
    }
}

impl<T> Clone for Item<T> {
    fn clone(&self) -> Self {
        Self {
            ordinal: self.ordinal,
            is_made: self.is_made,
            made: Arc::clone(&self.made),
            size: self.size,
        }
    }
}

impl Counts {
    pub(super) fn is_watched(&self) -> bool {
        self.watchers.load(Ordering::Relaxed) > 0
    }
}
