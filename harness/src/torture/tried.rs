//! The results of a matrix.

use std::time::Duration;

use super::{
    cell::Cell,
    verdict::{Judged, Verdict},
};
use crate::outcome::Exit;

/// Minimum delay that counts as late.
const LATE: Duration = Duration::from_millis(250);

/// Result of a cell.
#[derive(Clone, Debug)]
pub struct CellResult {
    /// The cell.
    pub cell: Cell,
    /// Verdict of the last try.
    pub judged: Judged,
    /// Verdict of the first try, if there was a second one.
    pub first: Option<Verdict>,
    /// Duration of all tries.
    pub took: Duration,
}

impl CellResult {
    /// Returns true if peers of the protocol survive the fault but this client did not.
    #[must_use]
    pub fn has_failed(&self) -> bool {
        self.cell.is_survived() && self.judged.verdict.is_bad()
    }

    /// Returns true if the cell failed at first, but not when it was tried again alone.
    #[must_use]
    pub const fn is_second(&self) -> bool {
        self.first.is_some() && !self.judged.verdict.is_bad()
    }

    /// Returns the sentence about the cell: the message, the fault, the verdict and the reason.
    #[must_use]
    pub fn sentence(&self) -> String {
        let (dir, name, fault) = (self.cell.step.dir, self.cell.step.short(), self.cell.fault.name());
        let first = match &self.first {
            Some(first) if self.is_second() => format!("{first}; when tried again, "),
            Some(_) => "twice: ".to_owned(),
            None => String::new(),
        };
        let why = match (&self.judged.verdict, &self.judged.why) {
            (Verdict::Faulty(..), Some(why)) => format!(" {why}"),
            (_, Some(why)) => format!(": {why}"),
            (_, None) => String::new(),
        };
        format!("{dir} {name} {fault}: {first}{}{why}", self.judged.verdict)
    }
}

/// Joins without a fault, for comparison.
#[derive(Clone, Debug, Default)]
pub struct Baseline {
    /// Durations of the joins, the shortest first.
    pub times: Vec<Duration>,
    /// Codes of findings about the client without a fault.
    pub(super) known: Vec<&'static str>,
}

impl Baseline {
    /// Returns the baseline of joins with these durations, the shortest first, and without findings.
    #[must_use]
    pub const fn new(times: Vec<Duration>) -> Self {
        let known = Vec::new();
        Self { times, known }
    }

    /// Returns the median duration; zero if there are no joins.
    #[must_use]
    pub fn median(&self) -> Duration {
        self.times.get(self.times.len() / 2).copied().unwrap_or_default()
    }

    /// Returns the time by which a join exceeds the median.
    #[must_use]
    pub fn late(&self, joined: Duration) -> Duration {
        joined.saturating_sub(self.median())
    }

    /// Returns true if a join exceeds the median by more than the joins without a fault differ from each other, and by
    /// at least `LATE`.
    #[must_use]
    pub fn is_late(&self, joined: Duration) -> bool {
        let span = self.times.first().zip(self.times.last());
        let span = span.map_or(Duration::ZERO, |(first, last)| last.saturating_sub(*first));
        self.late(joined) >= LATE.max(span)
    }
}

/// Results of a whole matrix.
#[derive(Clone, Debug, Default)]
pub struct Results {
    /// Joins without a fault.
    pub baseline: Baseline,
    /// Cells that were tried, in the order of the matrix.
    pub tried: Vec<CellResult>,
    /// Number of cells of the matrix.
    pub cells: usize,
    /// Reason why the remaining cells were not tried; `None` if all were.
    pub halted: Option<String>,
}

impl Results {
    /// Returns the delay of a cell that joined late; `None` if it did not join, or in time.
    #[must_use]
    pub fn late(&self, tried: &CellResult) -> Option<Duration> {
        let joined = tried.judged.verdict.joined()?;
        let is_late = self.baseline.is_late(joined);
        is_late.then(|| self.baseline.late(joined))
    }

    /// Returns the number of cells for which `is_meant` returns true.
    pub fn count(&self, is_meant: impl Fn(&CellResult) -> bool) -> usize {
        self.tried.iter().filter(|tried| is_meant(tried)).count()
    }

    /// Returns the number of cells that failed although peers of the protocol survive them.
    #[must_use]
    pub fn failures(&self) -> usize {
        self.count(CellResult::has_failed)
    }

    /// Returns the result of the matrix: a network error if it stopped early without a failure.
    #[must_use]
    pub fn exit(&self) -> Exit {
        match (self.failures(), &self.halted) {
            (0, None) => Exit::Ok,
            (0, Some(_)) => Exit::Network,
            _ => Exit::Failed,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_join_is_late_beyond_the_differences_of_the_baseline() {
        let ms = Duration::from_millis;
        let baseline = |times: &[u64]| Baseline::new(times.iter().map(|time| ms(*time)).collect());
        let calm = baseline(&[100, 110, 130]);
        assert_eq!(
            (calm.median(), calm.late(ms(400)), calm.late(ms(50))),
            (ms(110), ms(290), ms(0))
        );
        assert!(calm.is_late(ms(360)) && !calm.is_late(ms(359)));
        // On a busy machine the joins differ by 900 ms.
        let busy = baseline(&[100, 300, 1000]);
        assert!(busy.is_late(ms(1200)) && !busy.is_late(ms(1199)));
        assert_eq!(baseline(&[]).median(), ms(0));
    }
}
