//! The matrix as text, JSON lines and a JUnit report.

use std::{
    fmt::Write as _,
    time::{Duration, SystemTime},
};

use serde_json::{Value, json};

use super::{
    Tried,
    cell::Fault,
    run::{Joined, Plan},
};
use crate::{
    exit::Exit,
    junit::{Case, Outcome, Suite},
};

/// A join that took this much longer than the baseline is late.
const LATE: Duration = Duration::from_millis(250);

/// Exit codes above this are signals.
const SIGNAL: i64 = 128;

/// The results of all cells.
pub(super) struct Table<'a> {
    plan: &'a Plan,
    baseline: Duration,
    tried: Vec<Tried>,
}

impl<'a> Table<'a> {
    pub(super) const fn new(plan: &'a Plan, baseline: Duration, tried: Vec<Tried>) -> Self {
        Self {
            plan,
            baseline,
            tried,
        }
    }

    /// Returns the time that a cell joined later than the baseline; `None` if it did not join.
    fn late(&self, tried: &Tried) -> Option<Duration> {
        match tried.joined {
            Joined::After(time) => Some(time.saturating_sub(self.baseline)),
            Joined::Never | Joined::Ended(_) => None,
        }
    }

    /// Returns the word of a cell.
    fn word(&self, tried: &Tried) -> String {
        match (&tried.joined, self.late(tried)) {
            (_, Some(late)) if late >= LATE => format!("+{:.1} s", late.as_secs_f64()),
            (Joined::After(_), _) => "joined".to_owned(),
            (Joined::Never, _) => "never".to_owned(),
            (Joined::Ended(code), _) if *code > SIGNAL => format!("crashed {code}"),
            (Joined::Ended(code), _) => format!("exit {code}"),
        }
    }

    fn is_failure(&self, tried: &Tried) -> bool {
        tried.cell.is_survived() && self.late(tried).is_none()
    }

    fn failures(&self) -> usize {
        self.tried.iter().filter(|tried| self.is_failure(tried)).count()
    }

    pub(super) fn exit(&self) -> Exit {
        if self.failures() == 0 {
            Exit::Ok
        } else {
            Exit::Failed
        }
    }

    /// Returns the matrix, and the line that repeats each cell that did not join like the baseline.
    pub(super) fn text(&self) -> String {
        let mut page = String::new();
        let baseline = self.baseline.as_secs_f64();
        let _never_fails = writeln!(page, "baseline: joined after {baseline:.2} s\n");
        let mut steps: Vec<_> = self.tried.iter().map(|tried| &tried.cell.step).collect();
        steps.dedup();
        let label = |dir: &str, name: &str| format!("{dir} {name}");
        let widest = steps.iter().map(|step| label(&step.dir, &step.name).len()).max();
        let widest = widest.unwrap_or_default();
        let heads = Fault::ALL.map(|fault| format!("{:<12}", fault.name()));
        let _never_fails = writeln!(page, "{:<widest$}  {}", "", heads.concat().trim_end());
        for step in steps {
            let words = Fault::ALL.map(|fault| {
                let cell = self
                    .tried
                    .iter()
                    .find(|tried| tried.cell.step == *step && tried.cell.fault == fault);
                let mark = cell.filter(|tried| self.is_failure(tried)).map_or("", |_| "!");
                format!(
                    "{:<12}",
                    cell.map_or_else(|| "-".to_owned(), |tried| self.word(tried) + mark)
                )
            });
            let name = label(&step.dir, &step.name);
            let _never_fails = writeln!(page, "{name:<widest$}  {}", words.concat().trim_end());
        }
        let odd = |tried: &&Tried| self.word(tried) != "joined";
        for tried in self.tried.iter().filter(odd) {
            let (word, line) = (self.word(tried), self.plan.line(&tried.cell));
            let _never_fails = write!(page, "\n{word}: {line}");
        }
        let count = self.tried.len();
        let failures = match self.failures() {
            0 => "none failed that peers survive".to_owned(),
            1 => "1 failed that peers survive (!)".to_owned(),
            failures => format!("{failures} failed that peers survive (!)"),
        };
        let _never_fails = writeln!(page, "\n\n{count} cells: {failures}");
        page
    }

    /// Returns a line for the baseline, one for each cell, and one for all.
    pub(super) fn json(&self) -> String {
        let mut lines = vec![json!({"event": "baseline", "joined_s": self.baseline.as_secs_f64()})];
        lines.extend(self.tried.iter().map(|tried| self.cell(tried)));
        lines.push(json!({
            "event": "summary",
            "cells": self.tried.len(),
            "failed": self.failures(),
            "seed": self.plan.seed(),
            "exit": self.exit().code(),
        }));
        lines.iter().map(|line| format!("{line}\n")).collect()
    }

    fn cell(&self, tried: &Tried) -> Value {
        let outcome = match (&tried.joined, self.late(tried)) {
            (_, Some(late)) if late >= LATE => "late",
            (Joined::After(_), _) => "joined",
            (Joined::Never, _) => "never",
            (Joined::Ended(code), _) if *code > SIGNAL => "crashed",
            (Joined::Ended(_), _) => "exited",
        };
        let code = match tried.joined {
            Joined::Ended(code) => Some(code),
            Joined::After(_) | Joined::Never => None,
        };
        json!({
            "event": "cell",
            "dir": tried.cell.step.dir,
            "message": tried.cell.step.name,
            "proto": tried.cell.step.proto,
            "fault": tried.cell.fault.name(),
            "outcome": outcome,
            "late_s": self.late(tried).map(|late| late.as_secs_f64()),
            "cmd_exit": code,
            "survived_by_peers": tried.cell.is_survived(),
            "failed": self.is_failure(tried),
            "rule": tried.cell.rule(),
            "repeat": self.plan.line(&tried.cell),
        })
    }

    /// Returns the report: a cell that peers do not survive cannot fail.
    pub(super) fn suite(&self, wall: SystemTime, time: Duration) -> Suite {
        let case = |tried: &Tried| {
            let outcome = if self.is_failure(tried) {
                Outcome::Failed(tried.joined.to_string())
            } else {
                Outcome::Passed
            };
            Case {
                class: format!("{} {}", tried.cell.step.dir, tried.cell.step.name),
                name: tried.cell.fault.name().to_owned(),
                time: tried.took,
                outcome,
                output: format!("{}\n{}", self.word(tried), self.plan.line(&tried.cell)),
            }
        };
        Suite {
            name: format!("teetap torture {}", self.plan.target()),
            wall,
            time,
            properties: vec![("seed", self.plan.seed().to_string())],
            cases: self.tried.iter().map(case).collect(),
        }
    }
}
