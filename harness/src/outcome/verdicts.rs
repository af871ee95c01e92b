//! The tests of a run in a JUnit report: the message it waited for, the message that must not be received, its command,
//! its rules.
//!
//! Law: a successful run has no failed test. An unsuccessful run has one failed test for its cause; tests that it could
//! not complete are skipped.

use std::{
    collections::BTreeMap,
    time::{Duration, SystemTime},
};

use teetap_inspect::{Ending, EndingBy};
use teetap_proxy::session::{SessionId, Time};
use teetap_rules::{End, RuleReport, Test};

use super::{EndedBy, Exit, Summary};
use crate::{
    child,
    junit::{Case, Outcome, Report, ReportError, Suite},
    step_summary::{StepSummary, StepSummaryError},
};

/// Reason why the tests of a run cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum VerdictsError {
    /// The JUnit report.
    #[error(transparent)]
    Report(#[from] ReportError),
    /// The summary.
    #[error(transparent)]
    Summary(#[from] StepSummaryError),
}

/// The report of a run, and the tests that it contains.
#[derive(Debug)]
pub struct Verdicts {
    /// File of the JUnit report; `None` if none is wanted.
    pub report: Option<Report>,
    /// File to which the result is appended as Markdown; `None` if none is wanted.
    pub summary: Option<StepSummary>,
    /// The server as the user wrote it.
    pub target: String,
    /// Expression of `--until`.
    pub until: Option<String>,
    /// Expression of `--fail-on`.
    pub fail_on: Option<String>,
    /// Start time of the run.
    pub wall: SystemTime,
}

impl Verdicts {
    /// Writes the report and the summary.
    ///
    /// # Errors
    /// A file cannot be written.
    pub fn write(self, summary: &Summary) -> Result<(), VerdictsError> {
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
                ("ended_by", summary.cause()),
            ]
            .into_iter()
            .chain(changed)
            .collect(),
            cases: self.cases(summary),
        };
        let reported = self.report.map(|report| report.write(&suite));
        let appended = self.summary.map(|summary| summary.append(&suite));
        reported.transpose()?;
        appended.transpose()?;
        Ok(())
    }

    fn cases(&self, summary: &Summary) -> Vec<Case> {
        let case = |name: String, time: Duration, outcome: Outcome| Case {
            class: "teetap".to_owned(),
            name,
            time,
            output: match outcome {
                Outcome::Passed | Outcome::Skipped(_) => String::new(),
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
            let outcome = found.map_or_else(|| of_until(summary), |_| Outcome::Passed);
            cases.push(case(format!("until {until}"), found.map_or(whole, time), outcome));
        }
        if let Some(fail_on) = &self.fail_on {
            let found = ending(EndingBy::FailOn);
            let outcome = found.map_or_else(
                || cut_short(summary).unwrap_or(Outcome::Passed),
                |ending| Outcome::Failed(explained(summary, &summary.times.ending(ending).to_string())),
            );
            cases.push(case(
                format!("fail on {fail_on}"),
                found.map_or(whole, time),
                outcome,
            ));
        }
        if let Some(end) = summary.cmd {
            let outcome = of_command(summary, end, self.until.is_some());
            cases.push(case("command".to_owned(), whole, outcome));
        }
        let mut names: BTreeMap<&str, u32> = BTreeMap::new();
        for rule in summary.report().into_iter().flat_map(|report| &report.rules) {
            let Some(test) = &rule.test else { continue };
            let name = rule.name.as_deref().unwrap_or(&rule.text);
            let count = names.entry(name).or_default();
            *count += 1;
            let name = match *count {
                1 => name.to_owned(),
                count => format!("{name} #{count}"),
            };
            let time = test.failure.as_ref().map(|failure| failure.hit.at);
            let time = time.map_or(whole, Duration::from_micros);
            cases.push(Case {
                class: "teetap.rules".to_owned(),
                ..case(name, time, of_rule(rule, test, summary))
            });
        }
        cases
    }
}

/// Returns the outcome of a rule with `fail` or `expect`.
fn of_rule(rule: &RuleReport, test: &Test, summary: &Summary) -> Outcome {
    if let Some(failure) = &test.failure {
        let place = Ending {
            by: EndingBy::Rule(Box::default(), End::Fail(Box::default())),
            at: Time(failure.hit.at),
            session: Some(SessionId(failure.hit.session)),
            message: failure
                .message
                .as_ref()
                .map(|(dir, message)| (*dir, message.to_string())),
        };
        return Outcome::Failed(explained(
            summary,
            &format!("{}: {}", failure.why, summary.times.ending(&place)),
        ));
    }
    match rule.hits.count {
        0 if !rule.is_enabled => Outcome::Skipped("the rule was switched off".to_owned()),
        0 if test.waits => Outcome::Skipped("the rule never acted, so it expected nothing".to_owned()),
        _ => Outcome::Passed,
    }
}

/// Returns the outcome of the run itself. It passes if the run ended regularly and no rule without a test failed it.
fn of_run(summary: &Summary) -> Outcome {
    match (&summary.ended_by, summary.exit) {
        (EndedBy::Crash, _) => Outcome::Broken("teetap crashed: this is a bug".to_owned()),
        (EndedBy::Signal(_), _) => Outcome::Broken(format!("interrupted by {}", summary.ended_by)),
        (EndedBy::Ending(ending), _)
            if ending.is_by_rule() && summary.exit != Exit::Ok && !has_failed_rule(summary) =>
        {
            Outcome::Failed(explained(summary, &summary.cause()))
        }
        (EndedBy::Demo, Exit::Failed | Exit::Network) => Outcome::Failed("the demo failed".to_owned()),
        _ => Outcome::Passed,
    }
}

/// Returns true if a rule in the report failed the run. Rules that were replaced during the run are not in the report.
fn has_failed_rule(summary: &Summary) -> bool {
    let tests = summary.report().into_iter().flat_map(|report| &report.rules);
    tests
        .filter_map(|rule| rule.test.as_ref())
        .any(|test| test.failure.is_some())
}

/// Returns the outcome of a wait for a message that was not received.
fn of_until(summary: &Summary) -> Outcome {
    match (cut_short(summary), summary.exit) {
        (Some(cut_short), _) => cut_short,
        (None, Exit::Timeout) => {
            let by = match (&summary.ended_by, summary.cmd) {
                (EndedBy::Command, Some(end)) => format!("the end of the command ({end})"),
                (by, _) => by.to_string(),
            };
            let why = format!("no message matched; the run was ended by {by}");
            Outcome::Failed(explained(summary, &why))
        }
        (None, _) => Outcome::Skipped(format!("the run was ended by {}", summary.ended_by)),
    }
}

/// Returns the outcome of the command.
fn of_command(summary: &Summary, end: child::End, has_until: bool) -> Outcome {
    let killed = if end.is_killed {
        "; TERM did not end it, so it was killed"
    } else {
        ""
    };
    match (&summary.ended_by, end.code) {
        (EndedBy::Command, 0) => Outcome::Passed,
        (EndedBy::Command, _) => Outcome::Failed(explained(summary, &end.to_string())),
        (EndedBy::Timeout, _) if !has_until => {
            let why = format!("the command had not ended by --timeout{killed}");
            Outcome::Failed(explained(summary, &why))
        }
        _ if summary.exit == Exit::Ok => Outcome::Passed,
        (by, _) => cut_short(summary)
            .unwrap_or_else(|| Outcome::Skipped(format!("stopped: the run was ended by {by}{killed}"))),
    }
}

/// Returns the outcome of a test of a run that was cut short; `None` if the run ended regularly.
fn cut_short(summary: &Summary) -> Option<Outcome> {
    match summary.ended_by {
        EndedBy::Crash => Some(Outcome::Skipped("teetap crashed".to_owned())),
        EndedBy::Signal(_) | EndedBy::StdoutClosed | EndedBy::User => {
            let text = format!("the run was ended by {}", summary.ended_by);
            Some(Outcome::Skipped(text))
        }
        _ => None,
    }
}

/// Returns a sentence with the most likely reason after it, and the other reasons on further lines.
fn explained(summary: &Summary, why: &str) -> String {
    let mut reasons = summary.reasons().into_iter();
    let first = reasons.next().map_or(String::new(), |first| format!(": {first}"));
    let mut text = format!("{why}{first}");
    for reason in reasons {
        text.push('\n');
        text.push_str(&reason);
    }
    text
}

#[cfg(test)]
#[path = "verdicts_tests.rs"]
mod tests;
