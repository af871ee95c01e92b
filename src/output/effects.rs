//! The effects of rules and link lines in the summary of a run.

use teetap_harness::outcome::{Summary, Times};
use teetap_inspect::row;
use teetap_proxy::session::{SessionId, Time};
use teetap_rules::{LineReport, Report, RuleReport};
use teetap_wire::{counted, printable};

/// Maximum number of rules with a line of their own, and of rules listed as never hit.
const MAX_LISTED: usize = 50;

/// Line below the command that repeats a run, if the rules changed during the run.
const NOT_REPEATED: &str = "not repeated: the rules changed during the run";

/// Returns a line for each rule that acted, a line about the rules that did not, a line for each link line, and the
/// line that repeats the run. Returns no lines for a run without rules.
pub(super) fn lines(summary: &Summary) -> Vec<String> {
    let Some(report) = summary.report().filter(|report| **report != Report::default()) else {
        return Vec::new();
    };
    let (hit, never): (Vec<_>, Vec<_>) = report.rules.iter().partition(|rule| rule.hits.count > 0);
    let mut lines: Vec<String> = hit
        .iter()
        .take(MAX_LISTED)
        .map(|rule| of_rule(rule, &summary.times))
        .collect();
    if hit.len() > MAX_LISTED {
        lines.push(format!("{} more rules acted", hit.len() - MAX_LISTED));
    }
    if !never.is_empty() {
        let names: Vec<_> = never.iter().take(MAX_LISTED).map(|rule| name(rule)).collect();
        let more = match never.len().checked_sub(MAX_LISTED) {
            None | Some(0) => String::new(),
            Some(more) => format!("; and {more} more"),
        };
        lines.push(format!("never hit: {}{more}", names.join("; ")));
    }
    lines.extend(report.lines.iter().map(of_line));
    lines.push(format!("repeat: {}", summary.repeat));
    if summary.rules_changed {
        lines.push(NOT_REPEATED.to_owned());
    }
    lines
        .iter()
        .map(|line| format!("teetap: {}", printable(line.as_bytes())))
        .collect()
}

fn of_rule(rule: &RuleReport, times: &Times) -> String {
    let last = rule.hits.last.map_or(String::new(), |last| {
        let at = times
            .convert(Some(SessionId(last.session)), Time(last.at))
            .as_secs_f64();
        format!(", last at {at:.3} s in session {}", last.session)
    });
    format!("rule {}: {}{last}", name(rule), counted(rule.hits.count, "hit"))
}

fn of_line(line: &LineReport) -> String {
    let counts = line.tally.counts();
    let counts: Vec<String> = counts
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!("{count} {what}"))
        .collect();
    let counts = if counts.is_empty() {
        "no effect".to_owned()
    } else {
        counts.join(", ")
    };
    format!("{}, {}: {counts}", line.text, row::arrow(line.dir, None))
}

/// Returns the name of a rule, or its text.
fn name(rule: &RuleReport) -> &str {
    rule.name.as_deref().unwrap_or(&rule.text)
}
