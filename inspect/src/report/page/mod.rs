//! The sections of a report.

mod bits;
mod findings;
mod first;
mod sessions;

use std::fmt::Write as _;

use teetap_proxy::session::Time;
use teetap_wire::counted;

use super::{
    Collected, Ladder,
    markup::{block, code},
};
use crate::{
    explain,
    recording::{Run, Tally},
};
use findings::findings;

/// Maximum length of a report, in characters.
pub const MAX: usize = 60_000;

/// Maximum number of rules.
const RULES: usize = 20;

/// Maximum length of the explanation of a datagram, in characters.
const EXPLANATION: usize = 16_000;

/// A report about a recording.
#[derive(Debug)]
pub struct Page<'a> {
    /// Name of the file, without its folder.
    pub file: &'a str,
    /// Version of teetap that writes the report.
    pub version: &'a str,
    /// The last run of the recording; `None` for captures of other programs.
    pub run: Option<&'a Run>,
    /// Totals of the recording.
    pub tally: Tally,
    /// The error that ended the reading.
    pub damage: Option<&'a str>,
    /// The recording as it is.
    pub numbers: &'a Collected,
    /// The recording with the texts that may be shown; `None` if it is shown as it is.
    pub texts: Option<&'a Collected>,
    /// True if the texts that peers sent are replaced by placeholders.
    pub is_scrubbed: bool,
    /// The only session of the report.
    pub only: Option<u32>,
    /// The messages around the first finding.
    pub ladder: Option<&'a Ladder>,
    /// The explanations of the datagram of the first finding; empty if it is hidden.
    pub explanations: &'a [explain::Explanation],
    /// The command line that repeats the run.
    pub repeat: &'a str,
}

impl Page<'_> {
    /// Returns the report as Markdown.
    #[must_use]
    pub fn text(&self) -> String {
        let mut page = Sheet::default();
        page.add(&format!(
            "# teetap report: {}\n\n{}",
            code(self.file),
            self.facts()
        ));
        page.add(&findings(&self.shown_findings(), self.run.is_none()));
        page.add(&self.ladder_text());
        // The explanation has the room that the other sections leave.
        let rest = [
            self.joins(),
            self.sessions(),
            self.losses(),
            self.rules(),
            self.bits(),
            self.margins(),
            self.repeated(),
        ];
        let reserved: usize = rest.iter().map(|section| section.chars().count()).sum();
        let room = page.room().saturating_sub(reserved + 200).min(EXPLANATION);
        page.add(&self.explanation(room));
        rest.iter().for_each(|section| page.add(section));
        page.text
    }

    fn facts(&self) -> String {
        let seen = self.numbers;
        let mut rows = vec![("teetap", code(self.version))];
        if let Some(run) = self.run {
            rows.push(("recorded by", code(&format!("teetap {}", run.version))));
            rows.push(("seed", code(&run.seed.to_string())));
        } else {
            rows.push(("recorded by", "another program".to_owned()));
        }
        if seen.runs > 1 {
            rows.push(("runs", seen.runs.to_string()));
        }
        rows.push(("duration", seconds(self.tally.until)));
        let sessions = seen.sessions.len() as u64 + seen.more_sessions;
        rows.push(("sessions", sessions.to_string()));
        if let Some(only) = self.only {
            rows.push(("only session", only.to_string()));
        }
        let counts = seen.findings.counts();
        let oddities = match counts.infos {
            1 => "1 harmless oddity".to_owned(),
            count => format!("{count} harmless oddities"),
        };
        let (errors, warnings) = (
            counted(counts.errors, "error"),
            counted(counts.warnings, "warning"),
        );
        rows.push(("findings", format!("{errors}, {warnings}, {oddities}")));
        if seen.lost > 0 {
            rows.push(("missing events", seen.lost.to_string()));
        }
        if let Some(damage) = self.damage {
            rows.push(("damage", code(damage)));
        }
        let texts = match (self.is_scrubbed, self.texts) {
            (true, _) => "texts, secrets and addresses are replaced (`--keep-text` keeps texts)",
            (false, Some(_)) => "secrets and addresses are replaced",
            (false, None) => "nothing: secrets are shown",
        };
        rows.push(("hidden", texts.to_owned()));
        let mut table = String::from("| | |\n|---|---|\n");
        for (name, value) in rows {
            let _never_fails = writeln!(table, "| {name} | {value} |");
        }
        table
    }

    fn rules(&self) -> String {
        let seen = self.numbers;
        if seen.rules.is_empty() {
            return String::new();
        }
        let mut table = String::from("\n## Rules\n\n| rule | text or name | messages |\n|---:|---|---:|\n");
        let names = &self.texts.unwrap_or(seen).rules;
        for (number, (name, (_, hits))) in (1_usize..).zip(names.iter().zip(&seen.rules)).take(RULES) {
            let rule = match self.is_scrubbed {
                true => "hidden".to_owned(),
                false => code(&name.0),
            };
            let _never_fails = writeln!(table, "| {number} | {rule} | {hits} |");
        }
        if seen.rules.len() > RULES {
            let more = (seen.rules.len() - RULES) as u64;
            let _never_fails = writeln!(table, "\nand {}", counted(more, "more rule"));
        }
        table
    }

    fn repeated(&self) -> String {
        format!("\n## Repeat\n\n{}", block("sh", self.repeat))
    }
}

fn seconds(at: Time) -> String {
    format!("{:.3} s", at.as_secs_f64())
}

fn percent(part: u64, whole: u64) -> String {
    match whole {
        0 => "-".to_owned(),
        whole => format!("{:.1}%", 100.0 * part as f64 / whole as f64),
    }
}

/// A text of limited length.
#[derive(Debug, Default)]
struct Sheet {
    text: String,
    /// Number of characters.
    len: usize,
}

impl Sheet {
    const fn room(&self) -> usize {
        MAX.saturating_sub(self.len)
    }

    /// Adds a section, unless it is too long.
    fn add(&mut self, section: &str) {
        let len = section.chars().count();
        if self.len + len <= MAX {
            self.text.push_str(section);
            self.len += len;
        }
    }
}
