//! The results of a matrix as JSON lines and as tests of a JUnit report.

use std::time::{Duration, SystemTime};

use serde_json::{Value, json};

use super::{
    cell::Cell,
    tried::{CellResult, Results},
    verdict::Verdict,
};
use crate::junit::{Case, Outcome, Suite};

/// The results of a matrix with the facts that a report names.
pub struct Report<'a> {
    /// The results.
    pub results: &'a Results,
    /// The server as the user wrote it.
    pub target: &'a str,
    /// Seed of all runs.
    pub seed: u64,
    /// Returns the line that repeats a cell.
    pub repeat: &'a dyn Fn(&Cell) -> String,
}

impl Report<'_> {
    /// Returns one line for the baseline joins, one for each cell, and a summary line.
    #[must_use]
    pub fn json(&self) -> String {
        let baseline = &self.results.baseline;
        let times: Vec<f64> = baseline.times.iter().map(Duration::as_secs_f64).collect();
        let mut lines =
            vec![json!({"event": "baseline", "joined_s": baseline.median().as_secs_f64(), "joins_s": times})];
        lines.extend(self.results.tried.iter().map(|tried| self.cell(tried)));
        lines.push(json!({
            "event": "summary",
            "cells": self.results.tried.len(),
            "failed": self.results.failures(),
            "untried": self.results.cells - self.results.tried.len(),
            "halted": self.results.halted,
            "seed": self.seed,
            "exit": self.results.exit().code(),
        }));
        lines.iter().map(|line| format!("{line}\n")).collect()
    }

    fn cell(&self, tried: &CellResult) -> Value {
        let verdict = &tried.judged.verdict;
        let code = match verdict {
            Verdict::Ended(code) => Some(code),
            _ => None,
        };
        let late = verdict
            .joined()
            .map(|joined| self.results.baseline.late(joined).as_secs_f64());
        json!({
            "event": "cell",
            "dir": tried.cell.step.dir.to_string(),
            "message": tried.cell.step.name,
            "proto": tried.cell.step.proto.to_string(),
            "fault": tried.cell.fault.name(),
            "outcome": verdict.name(self.results.late(tried).is_some()),
            "why": tried.judged.why,
            "printed": tried.judged.said,
            "first_try": tried.first.as_ref().map(|first| first.name(false)),
            "late_s": late,
            "cmd_exit": code,
            "survived_by_peers": tried.cell.is_survived(),
            "failed": tried.has_failed(),
            "rule": tried.cell.rule(),
            "repeat": (self.repeat)(&tried.cell),
        })
    }

    /// Returns the JUnit report. A fault that peers do not survive, or that did not occur, is skipped.
    #[must_use]
    pub fn suite(&self, wall: SystemTime, time: Duration) -> Suite {
        let case = |tried: &CellResult| {
            let sentence = tried.sentence();
            let outcome = match &tried.judged.verdict {
                _ if tried.has_failed() => Outcome::Failed(sentence.clone()),
                Verdict::Joined(_) | Verdict::Faulty(..) => Outcome::Passed,
                Verdict::Untried | Verdict::Refused => Outcome::Skipped(sentence.clone()),
                Verdict::Never | Verdict::Ended(_) => {
                    Outcome::Skipped(format!("no peer survives it; {sentence}"))
                }
            };
            let said = tried.judged.said.as_ref();
            let said = said.map_or(String::new(), |said| format!("the client printed: {said}\n"));
            Case {
                class: tried.cell.step.label(),
                name: tried.cell.fault.name().to_owned(),
                time: tried.took,
                outcome,
                output: format!("{sentence}\n{said}{}", (self.repeat)(&tried.cell)),
            }
        };
        let mut cases: Vec<Case> = self.results.tried.iter().map(case).collect();
        cases.extend(self.results.halted.as_ref().map(|halted| Case {
            class: "teetap".to_owned(),
            name: "all cells".to_owned(),
            time,
            outcome: Outcome::Broken(halted.clone()),
            output: String::new(),
        }));
        Suite {
            name: format!("teetap torture {}", self.target),
            wall,
            time,
            properties: vec![("seed", self.seed.to_string())],
            cases,
        }
    }
}
