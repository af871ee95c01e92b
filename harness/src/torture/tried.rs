//! The results of a matrix.

use std::time::Duration;

use super::{
    cell::Cell,
    verdict::{Judged, Verdict},
    watch::ClientFinding,
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

    /// Adds a join and its findings.
    pub(super) fn add(&mut self, joined: Duration, findings: &[ClientFinding]) {
        self.times.push(joined);
        self.times.sort_unstable();
        for found in findings {
            if !self.known.contains(&found.code) {
                self.known.push(found.code);
            }
        }
    }

    /// Returns the median duration; zero if there are no joins.
    #[must_use]
    pub fn median(&self) -> Duration {
        self.times.get(self.times.len() / 2).copied().unwrap_or_default()
    }

    /// Returns the time by which a join exceeds the median.
    #[must_use]
    pub(super) fn late(&self, joined: Duration) -> Duration {
        joined.saturating_sub(self.median())
    }

    /// Returns true if a join exceeds the median by more than the joins without a fault differ from each other, and by
    /// at least `LATE`.
    #[must_use]
    fn is_late(&self, joined: Duration) -> bool {
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
    use teetap_wire::{Dir, Proto, Severity};

    use super::*;
    use crate::torture::{cell::Fault, login::LoginMessage};

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

    #[test]
    fn a_baseline_has_its_times_in_order_and_each_code_once() {
        let ms = Duration::from_millis;
        let found = |code| ClientFinding {
            code,
            is_error: false,
            text: "for a test".to_owned(),
        };
        let mut baseline = Baseline::default();
        baseline.add(ms(300), &[found("ack-ahead"), found("resend-storm")]);
        baseline.add(ms(100), &[]);
        baseline.add(ms(200), &[found("resend-storm"), found("late-reply")]);
        assert_eq!(baseline.times, [ms(100), ms(200), ms(300)]);
        assert_eq!(baseline.known, ["ack-ahead", "resend-storm", "late-reply"]);
    }

    fn tried(verdict: Verdict, first: Option<Verdict>, why: Option<&str>) -> CellResult {
        let step = LoginMessage {
            dir: Dir::S2c,
            name: "sys.con_ready".to_owned(),
            vital: true,
            is_control: false,
            proto: Proto::V7,
        };
        CellResult {
            cell: Cell {
                step,
                fault: Fault::Lose,
            },
            judged: Judged {
                verdict,
                why: why.map(str::to_owned),
                said: None,
            },
            first,
            took: Duration::ZERO,
        }
    }

    #[test]
    fn the_sentence_of_a_cell_tells_both_tries() {
        let joined = || Verdict::Joined(Duration::from_millis(500));
        let faulty = Verdict::Faulty(Duration::from_millis(500), Severity::Error);
        for (tried, is_second, text) in [
            (tried(joined(), None, None), false, "joined after 0.50 s"),
            (
                tried(joined(), Some(Verdict::Never), None),
                true,
                "never joined; when tried again, joined after 0.50 s",
            ),
            (
                tried(Verdict::Never, Some(Verdict::Never), Some("it waits")),
                false,
                "twice: never joined: it waits",
            ),
            (
                tried(faulty, None, Some("it acks 9")),
                false,
                "joined after 0.50 s, but it acks 9",
            ),
        ] {
            assert_eq!(tried.sentence(), format!("s2c con_ready lose: {text}"));
            assert_eq!(tried.is_second(), is_second, "{text}");
        }
    }

    /// A fault that no peer survives is no failure of the client.
    #[test]
    fn the_result_of_a_matrix_is_its_failures_and_then_its_halt() {
        let mut dropped = tried(Verdict::Never, None, None);
        dropped.cell.fault = Fault::Drop;
        let good = || tried(Verdict::Joined(Duration::ZERO), Some(Verdict::Never), None);
        let bad = || tried(Verdict::Never, Some(Verdict::Never), None);
        for (tried, is_halted, failures, exit) in [
            (vec![good(), dropped.clone()], false, 0, Exit::Ok),
            (vec![good(), dropped], true, 0, Exit::Network),
            (vec![bad(), good(), bad()], false, 2, Exit::Failed),
            (vec![bad()], true, 1, Exit::Failed),
        ] {
            let results = Results {
                tried,
                halted: is_halted.then(|| "for a test".to_owned()),
                ..Results::default()
            };
            assert_eq!((results.failures(), results.exit()), (failures, exit));
        }
    }

    #[test]
    fn only_a_cell_that_joined_is_late() {
        let ms = Duration::from_millis;
        let results = Results {
            baseline: Baseline::new(vec![ms(100)]),
            ..Results::default()
        };
        let late = |verdict| results.late(&tried(verdict, None, None));
        assert_eq!(late(Verdict::Joined(ms(349))), None);
        assert_eq!(late(Verdict::Joined(ms(350))), Some(ms(250)));
        assert_eq!(late(Verdict::Faulty(ms(400), Severity::Warning)), Some(ms(300)));
        assert_eq!(late(Verdict::Never), None);
    }
}
