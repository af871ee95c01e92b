//! Time as the core knows it: microseconds since the start of the run, handed in with every input.

use std::{
    fmt,
    ops::{Add, Sub},
    time::Duration,
};

/// A point in time, in microseconds since the start of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(pub u64);

impl Time {
    /// The start of the run.
    pub const ZERO: Self = Self(0);

    /// Returns the time since the start in seconds, with microsecond resolution.
    #[must_use]
    pub fn as_secs_f64(self) -> f64 {
        Duration::from_micros(self.0).as_secs_f64()
    }

    /// Returns the time since `earlier`; zero if `earlier` is later.
    #[must_use]
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_micros(self.0.saturating_sub(earlier.0))
    }
}

impl Add<Duration> for Time {
    type Output = Self;

    fn add(self, later: Duration) -> Self {
        Self(
            self.0
                .saturating_add(u64::try_from(later.as_micros()).unwrap_or(u64::MAX)),
        )
    }
}

impl Sub<Time> for Time {
    type Output = Duration;

    fn sub(self, earlier: Time) -> Duration {
        self.since(earlier)
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:06}", self.0 / 1_000_000, self.0 % 1_000_000)
    }
}
