//! The forms in which times are shown.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use teetap_proxy::session::Time;

/// A form of times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum TimeForm {
    /// Seconds since the start of the run.
    #[default]
    Run,
    /// Seconds since the beginning of the session.
    Session,
    /// Seconds since the row above.
    Delta,
    /// The time of day in UTC.
    Wall,
}

impl TimeForm {
    /// Returns the form after this one.
    #[must_use]
    pub(crate) const fn next(self) -> Self {
        match self {
            Self::Run => Self::Session,
            Self::Session => Self::Delta,
            Self::Delta => Self::Wall,
            Self::Wall => Self::Run,
        }
    }

    /// Returns the name, which the screen shows after the word "time".
    #[must_use]
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Run => "since the start of the run",
            Self::Session => "since the beginning of the session",
            Self::Delta => "since the row above",
            Self::Wall => "of day, UTC",
        }
    }
}

/// Returns seconds with milliseconds, in at least eight columns.
#[must_use]
pub(crate) fn seconds(time: Duration) -> String {
    let (seconds, ms) = (time.as_secs(), time.subsec_millis());
    format!("{seconds:>4}.{ms:03}")
}

/// Returns the UTC time of day, in twelve columns.
#[must_use]
pub(crate) fn wall(start: SystemTime, at: Time) -> String {
    let since = start.duration_since(UNIX_EPOCH).unwrap_or_default() + Duration::from_micros(at.0);
    let (seconds, ms) = (since.as_secs(), since.subsec_millis());
    let (hours, minutes) = (seconds / 3600 % 24, seconds / 60 % 60);
    format!("{hours:02}:{minutes:02}:{:02}.{ms:03}", seconds % 60)
}
