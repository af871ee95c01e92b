//! The middle: follows snapshots, and passes events on to the ring.

use std::{
    sync::{
        Arc,
        atomic::Ordering,
        mpsc::{self, TryRecvError},
    },
    thread,
    time::Duration,
};

use teetap_rules::context::Contexts;
use teetap_wire::def::Registry;

use super::{Buffers, Checkpoint, Item, Shared, follow, publisher::size_of_event};
use crate::{
    io::Clock,
    session::{Event, Time},
};

/// The interval between two looks.
const TICK: Duration = Duration::from_millis(5);

/// A copy of all snapshots takes milliseconds where sessions are many: not more often than this.
pub(super) const BETWEEN: Duration = Duration::from_millis(250);

/// Follows the snapshots of all sessions, and passes every event on to the watchers.
#[derive(Debug)]
pub struct Follower {
    shared: Arc<Shared>,
    queue: mpsc::Receiver<(u64, Event)>,
    contexts: Contexts,
    registry: &'static Registry,
    buffers: Buffers,
    /// Of the last event.
    ordinal: u64,
    /// When the last copy was made.
    copied: Option<Time>,
}

impl Follower {
    pub(super) fn new(
        shared: Arc<Shared>,
        queue: mpsc::Receiver<(u64, Event)>,
        contexts: Contexts,
        registry: &'static Registry,
    ) -> Self {
        Self {
            shared,
            queue,
            contexts,
            registry,
            buffers: Buffers::default(),
            ordinal: 0,
            copied: None,
        }
    }

    /// Runs until the publisher is gone and everything is passed on.
    pub fn run(mut self, clock: Clock) {
        while self.turn(clock.now()) {
            thread::sleep(TICK);
        }
    }

    /// Takes everything available, for callers with a loop of their own; `false`: there will be nothing more.
    pub fn turn(&mut self, now: Time) -> bool {
        loop {
            match self.queue.try_recv() {
                Ok((ordinal, event)) => self.take(ordinal, event, now),
                Err(TryRecvError::Empty) => return true,
                Err(TryRecvError::Disconnected) => {
                    self.shared.finished.store(true, Ordering::Release);
                    return false;
                }
            }
        }
    }

    fn take(&mut self, ordinal: u64, event: Event, now: Time) {
        let size = size_of_event(&event);
        self.shared.queued.fetch_sub(size, Ordering::Relaxed);
        if ordinal != self.ordinal + 1 {
            // There was no room for those in between.
            self.contexts.gap();
        }
        self.ordinal = ordinal;
        if self.contexts.stores().is_following() {
            // A turn may be long.
            self.leave_checkpoint(now.max(event.at));
            follow(&mut self.contexts, self.registry, &event, &mut self.buffers);
        }
        let event = Arc::new(event);
        let _nobody_watches = self.shared.ring.send(Item { ordinal, event });
    }

    /// For a watcher that missed something: the snapshots before this event.
    fn leave_checkpoint(&mut self, now: Time) {
        let soon = self.copied.is_some_and(|copied| now < copied + BETWEEN);
        if soon || !self.shared.wanted.swap(false, Ordering::AcqRel) {
            return;
        }
        self.copied = Some(now);
        let checkpoint = Checkpoint {
            ordinal: self.ordinal,
            contexts: Arc::new(self.contexts.clone()),
        };
        let mut slot = self.shared.slot();
        // The watcher may be gone.
        if self.shared.behind.load(Ordering::Acquire) > 0 {
            *slot = Some(checkpoint);
        }
    }
}
