//! The tests that a run is for a JUnit report: what it waited for, what must not come, its command.

use std::time::{Duration, SystemTime};

use teetap_inspect::{Ending, EndingBy};

use crate::{
    exit::Exit,
    junit::{Case, Outcome, Report, Suite},
    run::{EndedBy, Summary},
};

/// A report that a run ends with.
#[derive(Debug)]
pub(crate) struct Verdicts {
    pub(crate) report: Report,
    /// The server as the user wrote it.
    pub(crate) target: String,
    /// The expression of `--until`.
    pub(crate) until: Option<String>,
    /// The expression of `--fail-on`.
    pub(crate) fail_on: Option<String>,
    /// The start of the run.
    pub(crate) wall: SystemTime,
}

impl Verdicts {
    /// Writes the report.
    ///
    /// # Errors
    /// Returns a sentence with the cause.
    pub(crate) fn write(self, summary: &Summary) -> Result<(), String> {
        let changed = summary
            .rules_changed
            .then(|| ("rules_changed", "true".to_owned()));
        let suite = Suite {
            name: format!("teetap {}", self.target),
            wall: self.wall,
            time: Duration::from_micros(summary.at.0),
            properties: [
                ("seed", summary.seed.to_string()),
                ("repeat", summary.repeat.clone()),
                ("exit", summary.exit.code().to_string()),
                ("ended_by", summary.ended_by.to_string()),
            ]
            .into_iter()
            .chain(changed)
            .collect(),
            cases: self.cases(summary),
        };
        self.report.write(&suite)
    }

    fn cases(&self, summary: &Summary) -> Vec<Case> {
        let case = |name: String, time: Duration, outcome: Outcome| Case {
            class: "teetap".to_owned(),
            name,
            time,
            output: match outcome {
                Outcome::Passed => String::new(),
                Outcome::Failed(_) | Outcome::Broken(_) => format!("repeat: {}", summary.repeat),
            },
            outcome,
        };
        let whole = Duration::from_micros(summary.at.0);
        let ending = |by| match &summary.ended_by {
            EndedBy::Ending(ending) if ending.by == by => Some(&**ending),
            _ => None,
        };
        let time = |ending: &Ending| Duration::from_micros(ending.at.0);
        let mut cases = vec![case("run".to_owned(), whole, of_run(summary))];
        if let Some(until) = &self.until {
            let found = ending(EndingBy::Until);
            let outcome = match found {
                Some(_) => Outcome::Passed,
                None => Outcome::Failed(format!(
                    "no message matched; the run was ended by {}",
                    summary.ended_by
                )),
            };
            cases.push(case(format!("until {until}"), found.map_or(whole, time), outcome));
        }
        if let Some(fail_on) = &self.fail_on {
            let found = ending(EndingBy::FailOn);
            let outcome = found.map_or(Outcome::Passed, |ending| Outcome::Failed(ending.to_string()));
            cases.push(case(
                format!("fail on {fail_on}"),
                found.map_or(whole, time),
                outcome,
            ));
        }
        if let Some(end) = summary.cmd {
            let outcome = match end.code {
                // The run was over first, and stopped it.
                _ if end.is_stopped => Outcome::Passed,
                0 => Outcome::Passed,
                code => Outcome::Failed(format!("exit code {code}")),
            };
            cases.push(case("command".to_owned(), whole, outcome));
        }
        cases
    }
}

/// Returns the outcome of the run itself: it came to an end of its own, and no rule failed it.
fn of_run(summary: &Summary) -> Outcome {
    match (&summary.ended_by, summary.exit) {
        (EndedBy::Crash, _) => Outcome::Broken("teetap crashed: this is a bug".to_owned()),
        (EndedBy::Signal(_), Exit::Signal(_)) => {
            Outcome::Broken(format!("interrupted by {}", summary.ended_by))
        }
        (EndedBy::Ending(ending), exit) if ending.is_by_rule() && exit != Exit::Ok => {
            Outcome::Failed(format!("{}: {ending}", ending.by))
        }
        _ => Outcome::Passed,
    }
}
