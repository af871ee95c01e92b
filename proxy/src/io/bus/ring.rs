//! The ring of the newest events, and the counts that both of its ends share.

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
    /// The queues of watchers that keep what they have not seen. Only watchers and the worker lock it.
    pub(super) queues: Arc<Mutex<Vec<Queue<T>>>>,
    /// The bells of watchers.
    bells: Arc<Mutex<Vec<Weak<Bell>>>>,
}

/// A call that wakes a watcher. The worker makes it, and must not be kept waiting.
pub(super) type Bell = dyn Fn() + Send + Sync;

/// A queue to one watcher, bounded by bytes.
#[derive(Debug)]
pub(super) struct Queue<T> {
    sender: mpsc::Sender<Item<T>>,
    queued: Arc<AtomicUsize>,
    most: usize,
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
    /// The thread of the worker, once it runs.
    pub(super) worker: OnceLock<Thread>,
}

/// An entry of the ring.
#[derive(Debug)]
pub(super) struct Item<T> {
    /// The number of the event, from 1; of one that the stage made by itself that of the event before it.
    pub(super) ordinal: u64,
    /// True if the stage made it by itself: no event was published for it.
    pub(super) is_made: bool,
    pub(super) made: Arc<T>,
    /// Bytes of the event as watchers get it.
    pub(super) size: usize,
}

impl<T> Ring<T> {
    /// A ring with room for at least `capacity` events.
    pub(super) fn new(capacity: usize) -> Self {
        Self {
            sender: broadcast::Sender::new(capacity.max(1)),
            counts: Arc::default(),
            queues: Arc::default(),
            bells: Arc::default(),
        }
    }

    /// Adds a bell, which rings until it is dropped.
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

    /// Adds a queue for so many bytes. Returns its other end, and the bytes in it.
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

    /// Passes an event on to all watchers.
    pub(super) fn send(&self, item: &Item<T>) {
        let mut queues = self.queues.lock().unwrap_or_else(PoisonError::into_inner);
        queues.retain(|queue| {
            // It sees from the number of the next one that this one is missing.
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
