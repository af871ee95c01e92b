//! Findings as text: the list of `teetap judge`, and the lines at the end of a run.

use std::{ffi::OsStr, fmt::Write as _, path::Path};

use teetap_harness::outcome::{FEW, Times, grave};
use teetap_inspect::judge::{Counts, Finding, Findings, Role};
use teetap_wire::{Severity, counted};

use crate::{
    look::{Look, TextColor},
    repeat::quoted,
};

/// Maximum number of harmless oddities listed if there are no more severe findings.
const BRIEF: usize = 10;

/// Findings of a recording, and how to print them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Listing<'a> {
    pub(crate) findings: &'a Findings,
    /// The recording, as the user wrote it.
    pub(crate) file: &'a Path,
    /// True if datagrams have the numbers of packets in the capture.
    pub(crate) frames: bool,
    /// True to list harmless oddities like other findings. Otherwise they have one line each, and are listed only if
    /// nothing more severe was found.
    pub(crate) all: bool,
    /// True if the recording is damaged, so that its rest is unknown.
    pub(crate) is_damaged: bool,
}

impl Listing<'_> {
    /// Returns the list: each finding with its place, the commands that show more, and the number of findings left out.
    pub(crate) fn text(&self) -> String {
        let mut page = String::new();
        let is_listed = |finding: &&Finding| self.all || finding.severity > Severity::Info;
        for (rank, finding) in (1_usize..).zip(self.findings.list.iter().filter(is_listed)) {
            self.add(rank, finding, &mut page);
        }
        let infos = self.findings.counts().infos;
        match (page.is_empty(), infos) {
            (true, 0) if self.is_damaged => page.push_str("nothing found before the damage\n"),
            (true, 0) => page.push_str("nothing found that a receiver drops, ignores or reads differently\n"),
            (true, _) => self.add_brief(infos, &mut page),
            (false, 1..) if !self.all => {
                let oddities = harmless(infos);
                let _infallible = writeln!(page, "{oddities} not listed: -v lists them");
            }
            (false, _) => {}
        }
        for (rank, end) in (self.findings.list.len() + 1..).zip(&self.findings.ends) {
            self.add(rank, end, &mut page);
        }
        page.push_str(&missing(self.findings).map_or(String::new(), |line| line + "\n"));
        page
    }

    /// Lists harmless oddities, one line each.
    fn add_brief(&self, infos: u64, page: &mut String) {
        let _infallible = writeln!(page, "no errors or warnings, {}:", harmless(infos));
        for (rank, finding) in (1_usize..).zip(self.findings.list.iter().take(BRIEF)) {
            let _infallible = write!(page, "{rank}. ");
            Look::get()
                .out
                .paint(ink(finding.severity), finding.severity.name(), page);
            let from = match finding.role {
                Role::Network => "on the way from",
                Role::Fault | Role::Consequence | Role::End => "by",
            };
            let (sentence, peer, place) = (finding.sentence(), finding.peer(), finding.place(self.frames));
            let _infallible = writeln!(page, " {sentence}; {from} {peer}, {place}");
        }
        let more = self.findings.list.len().saturating_sub(BRIEF);
        if more > 0 {
            let _infallible = writeln!(page, "and {more} more");
        }
        page.push_str("-v shows how to see them, `teetap explain CODE` what one means\n");
    }

    fn add(&self, rank: usize, finding: &Finding, page: &mut String) {
        let look = Look::get().out;
        let ink = ink(finding.severity);
        let _infallible = write!(page, "{rank}. ");
        look.paint(ink, finding.severity.name(), page);
        let _infallible = writeln!(page, " {}", finding.sentence());
        let (attribution, place) = (finding.attribution(), finding.place(self.frames));
        let _infallible = writeln!(page, "   {attribution}, {place}");
        if let Some(filter) = finding.filter() {
            let file = quoted(self.file.as_os_str());
            let filter = quoted(OsStr::new(&filter));
            let _infallible = writeln!(page, "   teetap open {file} -f {filter}");
        }
        let _infallible = writeln!(page, "   teetap explain {}", finding.topic);
    }
}

/// Returns the numbers of findings as text: "1 error, 2 warnings, 3 harmless oddities", or "no findings".
pub(crate) fn totals(counts: Counts) -> String {
    let Counts {
        errors,
        warnings,
        infos,
    } = counts;
    let mut parts = Vec::new();
    parts.extend((errors > 0).then(|| counted(errors, "error").to_string()));
    parts.extend((warnings > 0).then(|| counted(warnings, "warning").to_string()));
    parts.extend((infos > 0).then(|| harmless(infos)));
    if parts.is_empty() {
        return "no findings".to_owned();
    }
    parts.join(", ")
}

/// Returns the lines at the end of a run: the first findings that are not harmless, how to see the others, and how to
/// have the first one explained.
pub(super) fn lines(findings: &Findings, recording: Option<&Path>, times: &Times) -> Vec<String> {
    if findings.list.iter().all(|one| one.severity <= Severity::Info) {
        return Vec::new();
    }
    let grave = grave(findings);
    let number = grave.clone().count();
    let counts = Counts {
        infos: 0,
        ..findings.counts()
    };
    let hint = match recording {
        Some(file) => format!("teetap judge {} shows where", quoted(file.as_os_str())),
        None => "with -w FILE, teetap judge FILE shows where".to_owned(),
    };
    let explained = grave
        .clone()
        .next()
        .map(|first| format!("teetap explain {} shows what the first one means", first.topic));
    let mut lines = vec![format!("found {}: {hint}", totals(counts))];
    lines.extend(grave.take(FEW).map(|one| times.finding(one).to_string()));
    if number > FEW {
        lines.push(format!("and {} more", number - FEW));
    }
    lines.extend(missing(findings));
    lines.extend(explained);
    let lines = lines.iter().map(|line| format!("teetap: {line}"));
    lines.collect()
}

/// Returns the sentence about findings that may be missing.
fn missing(findings: &Findings) -> Option<String> {
    match (findings.unlisted, findings.missed) {
        (0, false) => None,
        (0, true) => Some("events were missed: there may be more findings".to_owned()),
        (count, _) => Some(format!(
            "{} of other kinds, peers or sessions: too many to list",
            counted(count, "more note")
        )),
    }
}

fn harmless(count: u64) -> String {
    match count {
        1 => "1 harmless oddity".to_owned(),
        count => format!("{count} harmless oddities"),
    }
}

const fn ink(severity: Severity) -> TextColor {
    match severity {
        Severity::Error => TextColor::Error,
        Severity::Warning => TextColor::Warning,
        Severity::Info => TextColor::Faint,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn totals_have_only_the_severities_that_occur() {
        let totals = |errors, warnings, infos| {
            super::totals(Counts {
                errors,
                warnings,
                infos,
            })
        };
        assert_eq!(totals(0, 0, 0), "no findings");
        assert_eq!(totals(1, 2, 3), "1 error, 2 warnings, 3 harmless oddities");
        assert_eq!(totals(2, 1, 1), "2 errors, 1 warning, 1 harmless oddity");
        assert_eq!(totals(1, 0, 0), "1 error");
        assert_eq!(totals(0, 1, 0), "1 warning");
        assert_eq!(totals(0, 0, 1), "1 harmless oddity");
        assert_eq!(totals(7, 0, 2), "7 errors, 2 harmless oddities");
    }

    #[test]
    fn a_list_tells_whether_findings_may_be_missing() {
        let missed = "events were missed: there may be more findings";
        let unlisted = |count: &str| format!("{count} of other kinds, peers or sessions: too many to list");
        let clean = "nothing found that a receiver drops, ignores or reads differently\n";
        for (unlisted, missed, expected) in [
            (0, false, None),
            (0, true, Some(missed.to_owned())),
            (1, false, Some(unlisted("1 more note"))),
            (2, true, Some(unlisted("2 more notes"))),
        ] {
            let findings = Findings {
                unlisted,
                missed,
                ..Findings::default()
            };
            assert_eq!(missing(&findings), expected);
            let text = |is_damaged| {
                let listing = Listing {
                    findings: &findings,
                    file: Path::new("a.pcap"),
                    frames: true,
                    all: false,
                    is_damaged,
                };
                listing.text()
            };
            let more = expected.map_or(String::new(), |line| line + "\n");
            assert_eq!(text(false), format!("{clean}{more}"));
            assert_eq!(text(true), format!("nothing found before the damage\n{more}"));
            // Without grave findings a run ends without lines.
            assert_eq!(lines(&findings, None, &Times::default()), Vec::<String>::new());
        }
    }

    #[test]
    fn each_severity_has_its_colour() {
        let inks = [Severity::Error, Severity::Warning, Severity::Info].map(ink);
        assert!(matches!(
            inks,
            [TextColor::Error, TextColor::Warning, TextColor::Faint]
        ));
    }
}
