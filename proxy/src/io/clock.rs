//! The clock, which is read only here.

use std::time::{Instant, SystemTime};

use crate::session::Time;

/// The clock of a run: measures time since the start, and knows the wall-clock time of the start.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    start: Instant,
    wall: SystemTime,
}

impl Clock {
    /// Starts the clock of a run.
    #[must_use]
    #[expect(
        clippy::disallowed_methods,
        reason = "this is the one place that reads the clock"
    )]
    pub fn start() -> Self {
        Self {
            start: Instant::now(),
            wall: SystemTime::now(),
        }
    }

    /// Returns the time since the start.
    #[must_use]
    pub fn now(&self) -> Time {
        Time::ZERO + self.start.elapsed()
    }

    /// Returns the wall-clock time of the start.
    #[must_use]
    pub fn wall(&self) -> SystemTime {
        self.wall
    }
}
