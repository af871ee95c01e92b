//! The run: its title, its time and its counts, for the first and the last line of the screen.

use teetap_proxy::session::Time;

use super::{meter::Meter, title::Title};

/// A second in microseconds.
const SECOND: u64 = 1_000_000;

/// The run, or the recording of a run.
#[derive(Debug)]
pub(crate) struct Run {
    /// Facts about the run.
    pub(crate) title: Title,
    /// Time of the run.
    pub(crate) now: Time,
    /// Counts of the run.
    pub(crate) meter: Meter,
}

impl Run {
    /// Returns a run that starts now.
    #[must_use]
    pub(crate) fn new(title: Title) -> Self {
        Self {
            title,
            now: Time::ZERO,
            meter: Meter::default(),
        }
    }

    /// Returns the current second of the run.
    #[must_use]
    pub(crate) const fn second(&self) -> u64 {
        self.now.0 / SECOND
    }

    /// Updates the time. Returns true if the rate of messages may have changed.
    pub(crate) fn tick(&mut self, now: Time) -> bool {
        self.now = now;
        self.meter.tick(now)
    }
}
