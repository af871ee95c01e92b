//! The end of the output: the summary of a run or a recording, and the result of a replay.

use teetap_capture::Tally;
use teetap_engine::recording::Finished;
use teetap_inspect::{
    Verbosity,
    jsonl::{self, FindingsBody, PerDir, RecordingBody, SummaryBody},
    judge::Findings,
};
use teetap_proxy::{io::input_log::Checked, session::Traffic};

use super::{Output, effects, findings, plain};
use crate::{exit::Exit, run::Summary};

impl Output {
    /// Prints the summary.
    pub(crate) fn summary(&mut self, summary: &Summary) {
        if let Some(findings) = summary.findings.as_ref().filter(|_| self.style.json) {
            self.findings(findings, false);
        }
        if self.style.json {
            jsonl::summary(summary.at, summary.body(), &mut self.stdout.lines);
        }
        summary.found().iter().for_each(|line| self.say(line));
        if let Some(silent) = summary.silent_command() {
            self.say(&format!("teetap: {silent}"));
        }
        effects::lines(summary).iter().for_each(|line| self.say(line));
        let joins = summary.joins.lines(self.has_details());
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
            joins
                .lines(self.has_details())
                .iter()
                .for_each(|line| self.say(line));
        }
        self.say(&plain::tally(tally, None, exit));
    }

    /// Prints findings as JSON lines.
    pub(crate) fn findings(&mut self, findings: &Findings, with_frames: bool) {
        for (rank, finding) in (1..).zip(&findings.list) {
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

impl Summary {
    /// Returns the body of the `summary` line of the JSON output.
    fn body(&self) -> SummaryBody<'_> {
        let ended = self.ended.as_ref();
        let stats = ended.map(|ended| &ended.stats);
        let per_dir = |count: fn(&Traffic) -> u64| {
            stats.map(|stats| PerDir {
                c2s: count(&stats.c2s),
                s2c: count(&stats.s2c),
            })
        };
        SummaryBody {
            sessions: stats.map(|stats| stats.sessions),
            never_online: stats.map(|stats| stats.opened.saturating_sub(stats.sessions)),
            datagrams: per_dir(|traffic| traffic.datagrams),
            bytes: per_dir(|traffic| traffic.bytes),
            refused: stats.map(|stats| stats.refused),
            unsent: ended.map(|ended| ended.counters.unsent),
            network_errors: ended.map(|ended| ended.counters.errors),
            kernel_drops: self.kernel_drops,
            lost: self.lost,
            seed: self.seed,
            repeat: Some((&*self.repeat).into()),
            rules_changed: self.rules_changed,
            rules: self.report().map(effects::rules).unwrap_or_default(),
            links: self.report().map(effects::links).unwrap_or_default(),
            joins: self.joins.bodies(),
            joins_left_out: self.joins.left_out(),
            exit: self.exit.code(),
            ended_by: Some(self.ended_by.body()),
            cmd_exit: self.cmd.map(|end| end.code),
            cmd_stopped: self.cmd.map(|end| end.is_stopped),
            recording: self.recording.as_ref().map(|outcome| {
                let recorded = outcome.recorded.as_ref();
                RecordingBody {
                    file: outcome.path.to_string_lossy(),
                    packets: recorded.map(|recorded| recorded.packets),
                    missing: recorded.map(|recorded| recorded.missing),
                    lost: recorded.map(|recorded| recorded.lost),
                }
            }),
            findings: self.findings.as_ref().map(FindingsBody::from),
        }
    }

    /// Returns the sentences that explain why a test of the run failed, the likeliest first: joins that stopped, findings, and a client
    /// that was silent.
    pub(crate) fn reasons(&self) -> Vec<String> {
        let mut reasons = self.joins.sentences();
        let findings = self.findings.iter().flat_map(findings::grave).take(findings::FEW);
        reasons.extend(findings.map(|one| self.times.finding(one).to_string()));
        reasons.extend(self.silent_command());
        reasons
    }

    /// Returns the sentence about a command from which no datagram came.
    fn silent_command(&self) -> Option<String> {
        let stats = &self.ended.as_ref()?.stats;
        let is_silent = stats.opened == 0 && stats.refused == 0 && stats.c2s.datagrams == 0;
        (self.cmd.is_some() && is_silent).then(|| {
            format!(
                "no datagram came from the command: it has to connect to {} ({{addr}}, or {{host}} and {{port}})",
                self.connect
            )
        })
    }

    /// Returns the lines about its findings.
    fn found(&self) -> Vec<String> {
        let recording = self.recording.as_ref().map(|outcome| &*outcome.path);
        let findings = self.findings.as_ref();
        let mut lines = findings.map_or_else(Vec::new, |findings| {
            findings::lines(findings, recording, &self.times)
        });
        let is_unused = self
            .ended
            .as_ref()
            .is_some_and(|ended| ended.stats.c2s.datagrams == 0);
        if is_unused {
            lines.push(
                "teetap: no client sent a datagram: clients connect to the address of the proxy".to_owned(),
            );
        }
        lines
    }

    /// Returns the `summary` line of the JSON output.
    pub(crate) fn line(&self) -> Vec<u8> {
        let mut line = Vec::new();
        jsonl::summary(self.at, self.body(), &mut line);
        line
    }

    /// Ends a recording with this summary.
    pub(crate) fn leave_to(&self, recording: Finished) {
        let mut lines = self.found();
        lines.extend(effects::lines(self));
        lines.extend(self.joins.lines(false));
        lines.push(plain::summary(self));
        recording.summary(self.at, &lines.join("\n"), &self.line());
    }
}
