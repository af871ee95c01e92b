//! The table of findings.

use std::{borrow::Cow, fmt::Write as _};

use super::Page;
use crate::{
    judge::{Finding, Findings},
    report::markup::{code, plain},
};

/// Maximum number of findings in a report.
const FINDINGS: usize = 20;

impl Page<'_> {
    /// Returns the findings, with the texts that may be shown.
    #[must_use]
    pub(super) fn shown_findings(&self) -> Findings {
        let mut findings = self.numbers.findings.clone();
        if let Some(texts) = self.texts {
            let shown = &texts.findings;
            for finding in findings.list.iter_mut().chain(&mut findings.ends) {
                let mut all = shown.list.iter().chain(&shown.ends);
                let twin = all.find(|twin| {
                    (twin.topic, twin.by, twin.session, twin.run, twin.first.at)
                        == (
                            finding.topic,
                            finding.by,
                            finding.session,
                            finding.run,
                            finding.first.at,
                        )
                });
                hide(finding, twin);
            }
        }
        findings
    }
}

/// Returns the table of findings.
pub(super) fn findings(findings: &Findings, frames: bool) -> String {
    if findings.list.is_empty() {
        return "\n## Findings\n\nNothing found that a receiver drops, ignores or reads differently.\n"
            .to_owned();
    }
    let mut table = String::from(
        "\n## Findings\n\n| | severity | code | finding | by | first place |\n|---:|---|---|---|---|---|\n",
    );
    for (rank, finding) in (1_usize..).zip(&findings.list).take(FINDINGS) {
        let _never_fails = writeln!(
            table,
            "| {rank} | {} | {} | {} | {} | {} |",
            finding.severity.name(),
            code(finding.topic.name()),
            sentence(finding),
            plain(&finding.attribution()),
            plain(&finding.place(frames)),
        );
    }
    let more = findings.list.len().saturating_sub(FINDINGS) as u64 + findings.unlisted;
    if more > 0 {
        let _never_fails = writeln!(table, "\nand {more} more");
    }
    table
}

/// Returns the explanation of a finding. Only texts of teetap itself stand outside of code.
fn sentence(finding: &Finding) -> String {
    let mut cell = match &finding.first.message {
        Some(message) => format!("{}: ", code(message)),
        None => String::new(),
    };
    match &finding.text {
        Cow::Borrowed(text) => cell.push_str(&plain(text)),
        Cow::Owned(text) => cell.push_str(&code(text)),
    }
    if let Some(detail) = &finding.detail {
        let _never_fails = write!(cell, "; {}", code(detail.as_str()));
    }
    cell
}

/// Replaces the texts of a finding by those of its twin, whose texts may be shown. Without a twin, only texts of teetap
/// stay.
fn hide(finding: &mut Finding, twin: Option<&Finding>) {
    match twin {
        Some(twin) => {
            finding.text = twin.text.clone();
            finding.detail = twin.detail.clone();
            finding.first.client = twin.first.client;
            finding.first.message = twin.first.message.clone();
        }
        None => {
            if matches!(finding.text, Cow::Owned(_)) {
                finding.text = Cow::Borrowed("its text is hidden");
            }
            finding.detail = None;
            finding.first.client = None;
            if matches!(finding.first.message, Some(Cow::Owned(_))) {
                finding.first.message = None;
            }
        }
    }
}
