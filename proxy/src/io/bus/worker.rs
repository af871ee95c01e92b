//! The worker: decodes each event once and passes it on to the watchers.

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

/// Interval at which the worker polls the queue.
const TICK: Duration = Duration::from_millis(5);

/// Maximum time between the timestamp of an event and its arrival in the queue.
const LATENESS: Duration = Duration::from_millis(20);

/// A step that turns each event into the value that all watchers receive.
pub trait Stage: Send + 'static {
    /// An event in the form that watchers receive.
    type Made: Send + Sync + 'static;

    /// Converts the next event.
    fn event(&mut self, event: Event) -> Self::Made;

    /// Reports that events before the next one are missing, because there was no room for them.
    fn gap(&mut self);

    /// Returns an event of the stage's own that was due before this time, the earliest first. All later
    /// events have this time or a later one.
    fn due(&mut self, _before: Time) -> Option<Self::Made> {
        None
    }

    /// Returns the bytes that the converted event uses in addition to the event itself.
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

/// Receives every event from the queue, converts it with the stage, and passes the result on to the watchers.
#[derive(Debug)]
pub struct Worker<S: Stage> {
    ring: Ring<S::Made>,
    queue: mpsc::Receiver<(u64, Event)>,
    stage: S,
    /// Number of the last event.
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

    /// Runs until the publisher is dropped and all events are passed on.
    pub fn run(self, clock: Clock) {
        self.run_each(TICK, clock);
    }

    /// Polls the queue after each `tick`, and when an event is published that watchers need immediately.
    pub(super) fn run_each(mut self, tick: Duration, clock: Clock) {
        // Set once: only one worker of a bus runs.
        let _known = self.ring.counts.worker.set(thread::current());
        loop {
            // Read before polling, so that all events up to this time are received first.
            let now = clock.now();
            if !self.turn() {
                return;
            }
            self.pass_on_due(Time(now.0.saturating_sub(micros(LATENESS))));
            thread::park_timeout(tick);
        }
    }

    /// Passes on the events that the stage itself creates before this time.
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

    /// Handles the queued events, for a caller with its own loop. Returns false if the publisher was dropped.
    pub fn turn(&mut self) -> bool {
        loop {
            match self.queue.try_recv() {
                Ok((ordinal, event)) => self.process(ordinal, event),
                Err(TryRecvError::Empty) => return true,
                Err(TryRecvError::Disconnected) => {
                    self.ring.counts.finished.store(true, Ordering::Release);
                    return false;
                }
            }
        }
    }

    fn process(&mut self, ordinal: u64, event: Event) {
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
