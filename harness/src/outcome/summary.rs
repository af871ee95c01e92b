//! The facts at the end of a run.

use std::{net::SocketAddr, time::Duration};

use teetap_engine::recording::Outcome;
use teetap_inspect::{
    jsonl::{self, FindingsBody, LineEffect, RecordingBody, RuleEffect, SummaryBody},
    judge::{Finding, Findings, Topic},
};
use teetap_proxy::{
    io::Ended,
    session::{Time, Traffic},
    words::Word,
};
use teetap_rules::{LineReport, Report, RuleReport};
use teetap_wire::Severity;

use super::{EndedBy, Exit, FEW, Joins, Times};
use crate::child;

/// Facts at the end of a run.
#[derive(Clone, Debug)]
pub struct Summary {
    /// Time of the end, since the start of the run.
    pub at: Time,
    /// Result of the data thread; `None` if it crashed.
    pub ended: Option<Ended>,
    /// Number of events that this output missed.
    pub lost: u64,
    /// Number of datagrams that the kernel dropped before they were read.
    pub kernel_drops: u64,
    /// Seed of all random decisions.
    pub seed: u64,
    /// Address that clients on this machine connect to.
    pub connect: SocketAddr,
    /// Shell command that repeats the run.
    pub repeat: String,
    /// True if the rules changed during the run; `repeat` does not repeat that.
    pub rules_changed: bool,
    /// Result of the run.
    pub exit: Exit,
    /// Cause of the end.
    pub ended_by: EndedBy,
    /// How the command of `run` ended.
    pub cmd: Option<child::End>,
    /// Result of the recording; `None` if the run was not recorded.
    pub recording: Option<Outcome>,
    /// Joins of the sessions.
    pub joins: Joins,
    /// Clock of the lines above the summary.
    pub times: Times,
    /// Findings; `None` if some events were not decoded completely.
    pub findings: Option<Findings>,
}

impl Summary {
    /// Returns the rules and link lines with their effects; `None` if the data thread crashed.
    #[must_use]
    pub fn report(&self) -> Option<&Report> {
        self.ended.as_ref().map(|ended| &ended.report)
    }

    /// Returns the cause of the end as text.
    #[must_use]
    pub fn cause(&self) -> String {
        match &self.ended_by {
            EndedBy::Ending(ending) => format!("{}: {}", ending.by, self.times.ending(ending)),
            other => other.to_string(),
        }
    }

    /// Returns the body of the `summary` line of the JSON output.
    #[must_use]
    pub fn body(&self) -> SummaryBody<'_> {
        let ended = self.ended.as_ref();
        let stats = ended.map(|ended| &ended.stats);
        let per_dir = |count: fn(Traffic) -> u64| stats.map(|stats| stats.traffic.map(count));
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
            rules: self.report().map(rules).unwrap_or_default(),
            links: self.report().map(links).unwrap_or_default(),
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
                    saved: recorded.and_then(|recorded| Some(recorded.saved.as_ref()?.0)),
                }
            }),
            findings: self.findings.as_ref().map(FindingsBody::from),
        }
    }

    /// Returns sentences that explain why a test of the run failed, the most likely reason first: stopped joins,
    /// findings, and a silent client.
    pub(super) fn reasons(&self) -> Vec<String> {
        let mut reasons = self.joins.sentences();
        let findings = self.findings.iter().flat_map(grave).take(FEW);
        reasons.extend(findings.map(|one| self.times.finding(one).to_string()));
        reasons.extend(self.silent_command());
        reasons
    }

    /// Returns the sentence about a command that sent no datagram; `None` if it sent one.
    #[must_use]
    pub fn silent_command(&self) -> Option<String> {
        let stats = &self.ended.as_ref()?.stats;
        let is_silent = stats.opened == 0 && stats.refused == 0 && stats.traffic.c2s.datagrams == 0;
        (self.cmd.is_some() && is_silent).then(|| {
            format!(
                "no datagram came from the command: it has to connect to {} ({{addr}}, or {{host}} and {{port}})",
                self.connect
            )
        })
    }

    /// Returns the `summary` line of the JSON output.
    #[must_use]
    pub fn line(&self) -> Vec<u8> {
        let mut line = Vec::new();
        jsonl::summary(self.at, self.body(), &mut line);
        line
    }
}

/// Returns the findings that are not harmless. Excludes logins, which have lines of their own.
pub fn grave(findings: &Findings) -> impl Iterator<Item = &Finding> + Clone {
    let grave = findings.list.iter().filter(|one| one.severity > Severity::Info);
    grave.filter(|one| !matches!(one.topic, Topic::FindingCode(code) if code.is_about_login()))
}

fn seconds(micros: u64) -> f64 {
    Duration::from_micros(micros).as_secs_f64()
}

/// Returns the effects of rules as JSON.
fn rules(report: &Report) -> Vec<RuleEffect<'_>> {
    report.rules.iter().map(rule_effect).collect()
}

fn rule_effect(rule: &RuleReport) -> RuleEffect<'_> {
    let RuleReport { name, text, hits, .. } = rule;
    RuleEffect {
        name: name.as_deref().map(Into::into),
        text: (&**text).into(),
        hits: hits.count,
        last_at: hits.last.map(|last| seconds(last.at)),
        last_session: hits.last.map(|last| last.session),
    }
}

/// Returns the effects of link lines as JSON.
fn links(report: &Report) -> Vec<LineEffect<'_>> {
    report.lines.iter().map(line_effect).collect()
}

fn line_effect(line: &LineReport) -> LineEffect<'_> {
    let LineReport { text, dir, tally, .. } = line;
    LineEffect {
        link: (&**text).into(),
        dir: Word(*dir),
        lost: tally.lost,
        delayed: tally.delayed,
        duplicated: tally.duplicated,
        reordered: tally.reordered,
        corrupted: tally.corrupted,
    }
}
