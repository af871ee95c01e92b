//! The sending half of the bus, on the data thread.

use std::sync::{Arc, atomic::Ordering, mpsc};

use super::ring::Counts;
use crate::session::{Event, EventKind, Notice};

/// Maximum bytes of events that wait for the worker. The worker polls every few milliseconds; this limit
/// allows for a second of 500 Mbit/s in which the worker gets no CPU time.
pub(super) const QUEUE: usize = 64 << 20;

/// The publishing end of the bus. The data thread owns the only one.
#[derive(Debug)]
pub struct Publisher {
    counts: Arc<Counts>,
    queue: mpsc::Sender<(u64, Event)>,
    ordinal: u64,
    /// Number of datagrams so far.
    frames: u64,
}

impl Publisher {
    pub(super) const fn new(counts: Arc<Counts>, queue: mpsc::Sender<(u64, Event)>) -> Self {
        Self {
            counts,
            queue,
            ordinal: 0,
            frames: 0,
        }
    }

    /// Publishes an event to all watchers, and numbers it if it is about a datagram. Without watchers the
    /// event is dropped silently. If too many bytes are queued, it is dropped and all watchers count it as
    /// missed.
    pub fn publish(&mut self, mut event: Event) {
        self.ordinal += 1;
        if let Some(ends) = event.ends_mut() {
            self.frames += 1;
            ends.frame = Some(self.frames);
        }
        self.counts.published.store(self.ordinal, Ordering::Release);
        if !self.counts.is_watched() {
            return;
        }
        let room = if ends_run(&event) { 2 * QUEUE } else { QUEUE };
        if self.counts.queued.load(Ordering::Relaxed) >= room {
            return;
        }
        let size = size_of_event(&event);
        self.counts.queued.fetch_add(size, Ordering::Relaxed);
        let is_awaited = is_awaited(&event);
        // There is no worker: it has panicked, which ends the run, or a test has not started one.
        let _no_worker = self.queue.send((self.ordinal, event));
        if is_awaited && let Some(worker) = self.counts.worker.get() {
            worker.unpark();
        }
    }
}

/// Returns true for an event that watchers need immediately, because a message is held until one of them
/// answers.
pub(super) const fn is_awaited(event: &Event) -> bool {
    matches!(event.what, EventKind::Notice(Notice::Held { .. }))
}

/// Returns true for an event that ends the run. Such an event is queued even if others are dropped.
const fn ends_run(event: &Event) -> bool {
    matches!(
        event.what,
        EventKind::Notice(Notice::AssertionFailed { .. } | Notice::ExitRequested { .. })
    )
}

/// Returns the bytes that a queued event uses.
pub(super) fn size_of_event(event: &Event) -> usize {
    let owned = match &event.what {
        EventKind::Datagram(datagram) => datagram.owned(),
        EventKind::Connless(connless) => {
            connless.bytes.len() + connless.sent.as_deref().map_or(0, <[u8]>::len)
        }
        EventKind::Session(_) | EventKind::Notice(_) | EventKind::Answer(_) => 0,
    };
    size_of::<Event>() + owned
}
