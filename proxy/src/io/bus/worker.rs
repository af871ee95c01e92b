//! The worker: decodes events once, and passes them on to the ring.

use std::{
    sync::{
        Arc,
        atomic::Ordering,
        mpsc::{self, TryRecvError},
    },
    thread,
    time::Duration,
};

use super::{
    publisher::{is_awaited, size_of_event},
    ring::{Item, Ring},
};
use crate::{
    io::Clock,
    session::{Event, Time},
};

/// Time between two looks at the queue.
const TICK: Duration = Duration::from_millis(5);

/// The longest time between the stamp of an event and its place in the queue.
const LATENESS: Duration = Duration::from_millis(20);

/// A step that turns each event into the value that all watchers get.
pub trait Stage: Send + 'static {
    /// An event as watchers get it.
    type Made: Send + Sync + 'static;

    /// Takes the next event.
    fn event(&mut self, event: Event) -> Self::Made;

    /// Events before the next one are missing: there was no room for them.
    fn gap(&mut self);

    /// Returns an event of its own that was due before this time, the earliest first. Everything that comes later has this time or
    /// a later one.
    fn due(&mut self, _before: Time) -> Option<Self::Made> {
        None
    }

    /// Returns the bytes that an event takes for watchers, beside those of the event itself.
    #[must_use]
    fn size(_made: &Self::Made) -> usize {
        0
    }
}

/// The stage that passes events on as they are.
#[derive(Clone, Copy, Debug, Default)]
pub struct Raw;

impl Stage for Raw {
    type Made = Event;

    fn event(&mut self, event: Event) -> Event {
        event
    }

    fn gap(&mut self) {}
}

/// Takes every event from the queue, hands it to the stage, and passes the result on to the watchers.
#[derive(Debug)]
pub struct Worker<S: Stage> {
    ring: Ring<S::Made>,
    queue: mpsc::Receiver<(u64, Event)>,
    stage: S,
    /// The number of the last event.
    ordinal: u64,
}

impl<S: Stage> Worker<S> {
    pub(super) const fn new(ring: Ring<S::Made>, queue: mpsc::Receiver<(u64, Event)>, stage: S) -> Self {
        Self {
            ring,
            queue,
            stage,
            ordinal: 0,
        }
    }

    /// Runs until the publisher is dropped and everything is passed on.
    pub fn run(self, clock: Clock) {
        self.run_each(TICK, clock);
    }

    /// Runs with a look at the queue after each `tick`, and when an event comes that watchers wait for.
    pub(super) fn run_each(mut self, tick: Duration, clock: Clock) {
        // Set once: a bus has one worker that runs.
        let _known = self.ring.counts.worker.set(thread::current());
        loop {
            // Read before the queue, so that what was stamped until then is taken first.
            let now = clock.now();
            if !self.turn() {
                return;
            }
            self.pass_on_due(Time(now.0.saturating_sub(micros(LATENESS))));
            thread::park_timeout(tick);
        }
    }

    /// Passes on what the stage makes by itself until this time.
    pub(super) fn pass_on_due(&mut self, before: Time) {
        while let Some(made) = self.stage.due(before) {
            let size = size_of::<Event>() + S::size(&made);
            self.ring.send(&Item {
                ordinal: self.ordinal,
                is_made: true,
                made: Arc::new(made),
                size,
            });
        }
    }

    /// Takes the events that wait, for a caller with a loop of its own. Returns false when no more will come.
    pub fn turn(&mut self) -> bool {
        loop {
            match self.queue.try_recv() {
                Ok((ordinal, event)) => self.take(ordinal, event),
                Err(TryRecvError::Empty) => return true,
                Err(TryRecvError::Disconnected) => {
                    self.ring.counts.finished.store(true, Ordering::Release);
                    return false;
                }
            }
        }
    }

    fn take(&mut self, ordinal: u64, event: Event) {
        let size = size_of_event(&event);
        let is_awaited = is_awaited(&event);
        self.ring.counts.queued.fetch_sub(size, Ordering::Relaxed);
        if ordinal != self.ordinal + 1 {
            self.stage.gap();
        }
        self.pass_on_due(event.at);
        self.ordinal = ordinal;
        let made = Arc::new(self.stage.event(event));
        let size = size + S::size(&made);
        self.ring.send(&Item {
            ordinal,
            is_made: false,
            made,
            size,
        });
        if is_awaited {
            self.ring.ring_bells();
        }
    }
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}
