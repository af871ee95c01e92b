//! The end of the output: the summary of a run or a recording, and the result of a replay.

use teetap_capture::Tally;
use teetap_engine::recording::Finished;
use teetap_harness::outcome::Summary;
use teetap_inspect::{
    Verbosity,
    jsonl::{self, FindingsBody},
    judge::{Finding, Findings},
};
use teetap_proxy::io::input_log::Checked;

use super::{Output, effects, findings, joins, plain};
use crate::exit::Exit;

impl Output {
    /// Prints the summary.
    pub(crate) fn summary(&mut self, summary: &Summary) {
        // The end of each session was printed when it ended.
        if let Some(findings) = summary.findings.as_ref().filter(|_| self.style.json) {
            self.ranked((1..).zip(&findings.list), false);
        }
        if self.style.json {
            jsonl::summary(summary.at, summary.body(), &mut self.stdout.lines);
        }
        found(summary).iter().for_each(|line| self.say(line));
        if let Some(silent) = summary.silent_command() {
            self.say(&format!("teetap: {silent}"));
        }
        effects::lines(summary).iter().for_each(|line| self.say(line));
        let joins = joins::lines(&summary.joins, self.has_details());
        joins.iter().for_each(|line| self.say(line));
        self.say(&plain::summary(summary));
    }

    /// Returns true if the steps of each join are printed.
    fn has_details(&self) -> bool {
        self.style.verbosity >= Verbosity::Datagrams
    }

    /// Prints the summary of a recording.
    pub(crate) fn tally(&mut self, tally: &Tally, exit: Exit) {
        let joins = self.take_joins();
        if self.style.json {
            let bodies = (joins.bodies(), joins.left_out());
            jsonl::tally(tally, bodies, None, exit.code(), &mut self.stdout.lines);
        }
        if !self.style.matches_only {
            joins::lines(&joins, self.has_details())
                .iter()
                .for_each(|line| self.say(line));
        }
        self.say(&plain::tally(tally, None, exit));
    }

    /// Prints findings and the ends of sessions as JSON lines.
    pub(crate) fn findings(&mut self, findings: &Findings, with_frames: bool) {
        self.ranked((1..).zip(findings.list.iter().chain(&findings.ends)), with_frames);
    }

    /// Prints findings with their ranks as JSON lines.
    fn ranked<'f>(&mut self, findings: impl Iterator<Item = (u64, &'f Finding)>, with_frames: bool) {
        for (rank, finding) in findings {
            jsonl::finding(rank, finding, with_frames, &mut self.stdout.lines);
        }
    }

    /// Prints the summary of a recording whose findings were printed.
    pub(crate) fn judged(&mut self, tally: &Tally, findings: &Findings, exit: Exit) {
        if self.style.json {
            let counts = FindingsBody::from(findings);
            jsonl::tally(
                tally,
                (Vec::new(), 0),
                Some(counts),
                exit.code(),
                &mut self.stdout.lines,
            );
        }
        let totals = findings::totals(findings.counts());
        self.say(&plain::tally(tally, Some(totals), exit));
    }

    /// Prints the result of a replay.
    pub(crate) fn replay(&mut self, checked: &Checked) {
        if self.style.json {
            jsonl::replay(checked, &mut self.stdout.lines);
        } else {
            plain::replay(checked, &mut self.stdout.lines);
        }
    }
}

/// Returns the lines about the findings of a run.
fn found(summary: &Summary) -> Vec<String> {
    let recording = summary.recording.as_ref().filter(|outcome| outcome.is_file);
    let recording = recording.map(|outcome| &*outcome.path);
    let findings = summary.findings.as_ref();
    let mut lines = findings.map_or_else(Vec::new, |findings| {
        findings::lines(findings, recording, &summary.times)
    });
    let is_unused = summary
        .ended
        .as_ref()
        .is_some_and(|ended| ended.stats.traffic.c2s.datagrams == 0);
    if is_unused {
        lines.push(
            "teetap: no client sent a datagram: clients connect to the address of the proxy".to_owned(),
        );
    }
    lines
}

/// Ends a recording with this summary.
pub(crate) fn leave_to(summary: &Summary, recording: Finished) {
    let mut lines = found(summary);
    lines.extend(effects::lines(summary));
    lines.extend(joins::lines(&summary.joins, false));
    lines.push(plain::summary(summary));
    recording.summary(summary.at, &lines.join("\n"), &summary.line());
}
