//! Units of the language: shares and times.

use std::fmt;
use std::time::Duration;

/// A share in millionths, from 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Share(u32);

impl Share {
    /// Everything.
    pub const WHOLE: Self = Self(1_000_000);
    /// Nothing.
    pub const NONE: Self = Self(0);

    /// Returns a share; `None` if it is more than the whole.
    #[must_use]
    pub fn new(millionths: u32) -> Option<Self> {
        (millionths <= Self::WHOLE.0).then_some(Self(millionths))
    }

    /// Returns the share in millionths.
    #[must_use]
    pub(crate) const fn millionths(self) -> u32 {
        self.0
    }
}

/// Formats the share as a percentage that parses to the same share.
impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}%", percent(self.0))
    }
}

/// Formats millionths as a percentage, without the `%`.
pub(crate) fn percent(millionths: u32) -> String {
    let digits = format!("{}.{:04}", millionths / 10_000, millionths % 10_000);
    digits.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Converts a time to microseconds, at most [`u64::MAX`].
pub(crate) fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

/// Returns a duration with its unit.
pub(crate) fn shown(time: Duration) -> String {
    match time.as_micros() {
        micros if micros.is_multiple_of(1_000_000) => format!("{} s", micros / 1_000_000),
        micros if micros.is_multiple_of(1000) => format!("{} ms", micros / 1000),
        micros => format!("{micros} us"),
    }
}

/// Returns a number with its noun; only `one` for 1.
pub(crate) fn counted(count: u32, one: &str, many: &str) -> String {
    if count == 1 {
        one.to_owned()
    } else {
        format!("{count} {many}")
    }
}
