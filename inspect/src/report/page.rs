//! The sections of a report.

use std::{borrow::Cow, fmt::Write as _};

use teetap_proxy::session::Time;
use teetap_wire::{Dir, Side, counted};

use super::{
    Arrow, Collected, Ladder, Participant, Session, Sum,
    markup::{block, code, mermaid, plain},
};
use crate::{
    explain,
    joins::waterfall,
    judge::{Finding, Findings},
    recording::{Run, Tally},
};

/// Maximum length of a report, in characters.
pub const MAX: usize = 60_000;

/// Maximum number of findings in a report.
const FINDINGS: usize = 20;

/// Maximum number of joins with their steps.
const JOINS: usize = 4;

/// Maximum number of steps of a join.
const STEPS: usize = 40;

/// Maximum number of sessions.
const SESSIONS: usize = 20;

/// Maximum number of rows of the table of bits, for messages and for items.
const ROWS: usize = 30;

/// Maximum number of rules.
const RULES: usize = 20;

/// Maximum length of the explanation of a datagram, in characters.
const EXPLANATION: usize = 16_000;

/// Width of the explanation of a datagram, in columns.
const WIDTH: usize = 100;

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

    /// Returns the findings, with the texts that may be shown.
    #[must_use]
    fn shown_findings(&self) -> Findings {
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

    fn ladder_text(&self) -> String {
        let Some(ladder) = self.ladder.filter(|ladder| !ladder.arrows.is_empty()) else {
            return String::new();
        };
        let with_proxy = self.run.is_some();
        let finding = self.numbers.findings.list.first();
        let code = finding.map_or(String::new(), |finding| finding.topic.to_string());
        let mut diagram = String::from("sequenceDiagram\n    participant client\n");
        if with_proxy {
            diagram.push_str("    participant teetap\n");
        }
        diagram.push_str("    participant server\n");
        for (place, arrow) in ladder.arrows.iter().enumerate() {
            if place == ladder.mark {
                let _never_fails = writeln!(diagram, "    Note over client,server: {}", mermaid(&code));
            }
            let Arrow { at, label, .. } = arrow;
            let name = |participant: Participant, other: Participant| match participant {
                Participant::Proxy if !with_proxy => match other {
                    Participant::Client => "server",
                    _ => "client",
                },
                participant => participant.name(),
            };
            let (from, to) = (name(arrow.from, arrow.to), name(arrow.to, arrow.from));
            let line = if arrow.is_lost { "-x" } else { "->>" };
            let label = mermaid(&format!("{} {label}", seconds(*at)));
            let _never_fails = writeln!(diagram, "    {from}{line}{to}: {label}");
        }
        if ladder.mark >= ladder.arrows.len() {
            let _never_fails = writeln!(diagram, "    Note over client,server: {}", mermaid(&code));
        }
        let session = finding.and_then(|finding| finding.session);
        let session = session.map_or(String::new(), |session| format!(" in session {}", session.0));
        format!(
            "\n## Messages around the first finding{session}\n\n{}",
            block("mermaid", &diagram)
        )
    }

    fn explanation(&self, room: usize) -> String {
        let Some(found) = self.ladder.and_then(|ladder| ladder.found.as_ref()) else {
            return String::new();
        };
        let Some(best) = self.explanations.first() else {
            return "\nThe datagram of the first finding cannot be read, so that texts and secrets in it cannot be told apart: \
                    only `--show-secrets` shows its bytes.\n"
                .to_owned();
        };
        let title = format!(
            "The {} datagram of the first finding: {}, read as {}",
            found.dir,
            counted(found.bytes.len() as u64, "byte"),
            best.proto
        );
        let text = explain::text::text(None, self.explanations, WIDTH);
        let head = format!("\n<details>\n<summary>{title}</summary>\n\n");
        let hint = if self.is_scrubbed {
            "Texts are replaced, so that a compressed datagram may have another length.\n\n"
        } else {
            ""
        };
        let foot = "\n</details>\n";
        let left = room.saturating_sub(head.len() + hint.len() + foot.len() + 40);
        let mut shown = String::new();
        let mut count = 0;
        for line in text.lines() {
            count += line.chars().count() + 1;
            if count > left {
                shown.push_str("...\n");
                break;
            }
            shown.push_str(line);
            shown.push('\n');
        }
        if left < 400 {
            return String::new();
        }
        format!("{head}{hint}{}{foot}", block("text", &shown))
    }

    fn joins(&self) -> String {
        let seen = self.texts.unwrap_or(self.numbers);
        if seen.joins.is_empty() {
            return String::new();
        }
        // A join that stopped by itself tells more than those that succeeded.
        let mut joins: Vec<_> = seen.joins.iter().collect();
        joins.sort_by_key(|(_, join)| join.stopped().is_none());
        let mut lines = Vec::new();
        for (run, join) in joins.iter().take(JOINS) {
            let run = if seen.runs > 1 {
                format!("run {run}, ")
            } else {
                String::new()
            };
            lines.push(format!("{run}{join}"));
            let steps = waterfall(join);
            lines.extend(steps.iter().take(STEPS).map(|line| format!("  {line}")));
            if steps.len() > STEPS {
                lines.push(format!(
                    "  and {}",
                    counted((steps.len() - STEPS) as u64, "more step")
                ));
            }
        }
        let more = joins.len().saturating_sub(JOINS) as u64 + seen.more_joins;
        if more > 0 {
            lines.push(format!("and {}", counted(more, "more join")));
        }
        format!("\n## Joins\n\n{}", block("text", &lines.join("\n")))
    }

    fn sessions(&self) -> String {
        let seen = self.numbers;
        if seen.sessions.is_empty() {
            return String::new();
        }
        let mut table = String::from(
            "\n## Sessions\n\n| session | protocol | client | server | from | to | c2s datagrams | c2s bytes | s2c datagrams | s2c bytes |\n\
             |---|---|---|---|---:|---:|---:|---:|---:|---:|\n",
        );
        for session in seen.sessions.iter().take(SESSIONS) {
            let proto = session.proto.map_or("-".to_owned(), |proto| proto.to_string());
            let release = |side: Side| {
                let release = session.releases[side].as_ref();
                release.map_or("unknown".to_owned(), |release| code(&release.to_string()))
            };
            let ((c2s, c2s_bytes), (s2c, s2c_bytes)) = (session.traffic[Dir::C2s], session.traffic[Dir::S2c]);
            let _never_fails = writeln!(
                table,
                "| {} | {proto} | {} | {} | {} | {} | {c2s} | {c2s_bytes} | {s2c} | {s2c_bytes} |",
                name(session, seen),
                release(Side::Client),
                release(Side::Server),
                seconds(session.begin),
                seconds(session.end),
            );
        }
        let more = seen.sessions.len().saturating_sub(SESSIONS) as u64 + seen.more_sessions;
        if more > 0 {
            let _never_fails = writeln!(table, "\nand {}", counted(more, "more session"));
        }
        table
    }

    fn losses(&self) -> String {
        let seen = self.numbers;
        if seen.sessions.is_empty() {
            return String::new();
        }
        let mut table = String::from(
            "\n## Losses\n\nAs far as resent vital messages show them.\n\n\
             | session | leg | vital messages | resent | lost | shortest round trip |\n|---|---|---:|---:|---:|---:|\n",
        );
        for session in seen.sessions.iter().take(SESSIONS) {
            for side in [Side::Client, Side::Server] {
                let leg = session.legs[side];
                let rtt = leg.rtt.map_or("-".to_owned(), |rtt| format!("{rtt:.1} ms"));
                let _never_fails = writeln!(
                    table,
                    "| {} | {side} | {} | {} | {} | {rtt} |",
                    name(session, seen),
                    leg.vital,
                    leg.resends,
                    leg.lost
                );
            }
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

    fn bits(&self) -> String {
        let bits = &self.numbers.bits;
        if bits.datagrams == 0 {
            return String::new();
        }
        let total = 8 * bits.bytes;
        let mut table = format!(
            "\n## Bits\n\nOf the {} ({}) that the peers sent. Bytes are before compression, bits after it.\n\n\
             | direction | message | count | bytes | bits | share |\n|---|---|---:|---:|---:|---:|\n",
            counted(bits.datagrams, "datagram"),
            counted(bits.bytes, "byte"),
        );
        let mut row = |dir: &str, name: &str, sum: Option<Sum>, own: u64| {
            let (count, bytes) = sum.map_or((String::new(), String::new()), |sum| {
                (sum.count.to_string(), sum.bytes.to_string())
            });
            let share = percent(own, total);
            let _never_fails = writeln!(table, "| {dir} | {name} | {count} | {bytes} | {own} | {share} |");
        };
        let messages = bits.messages();
        for (dir, name, sum) in messages.iter().take(ROWS) {
            row(&dir.to_string(), &code(name), Some(*sum), sum.bits);
        }
        let mut others = Sum::default();
        for (_, _, sum) in messages.iter().skip(ROWS) {
            others.count += sum.count;
            others.bytes += sum.bytes;
            others.bits += sum.bits;
        }
        if others.count > 0 {
            row("", "other messages", Some(others), others.bits);
        }
        let framing = bits.framing;
        row("", "headers of packets, tokens", None, framing.headers);
        row("", "headers of chunks", None, framing.chunks);
        row("", "end codes, padding", None, framing.padding);
        row("", "unreadable datagrams", None, framing.unreadable);
        row("", "all", None, total);
        table + &self.items()
    }

    fn items(&self) -> String {
        let bits = &self.numbers.bits;
        let items = bits.items();
        if items.is_empty() {
            return String::new();
        }
        let mut table = String::from(
            "\n| item of snapshots | count | bytes | bits | share of snapshots |\n|---|---:|---:|---:|---:|\n",
        );
        let mut rest = bits.snapshots;
        for (_, sum) in &items {
            rest = rest.saturating_sub(sum.bits);
        }
        for (name, sum) in items.iter().take(ROWS) {
            let share = percent(sum.bits, bits.snapshots);
            let Sum { count, bytes, bits } = sum;
            let _never_fails = writeln!(table, "| {} | {count} | {bytes} | {bits} | {share} |", code(name));
        }
        let more: u64 = items.iter().skip(ROWS).map(|(_, sum)| sum.bits).sum();
        if more > 0 {
            let share = percent(more, bits.snapshots);
            let _never_fails = writeln!(table, "| other items | | | {more} | {share} |");
        }
        let share = percent(rest, bits.snapshots);
        let _never_fails = writeln!(table, "| headers, incomplete snapshots | | | {rest} | {share} |");
        table
    }

    fn margins(&self) -> String {
        let margins = &self.numbers.margins;
        let Some((least, at)) = margins.least else {
            return String::new();
        };
        let ms = |value: Option<i64>| value.map_or("-".to_owned(), |value| format!("{value} ms"));
        let late = percent(margins.late, margins.count);
        format!(
            "\n## Input margin\n\nHow early the inputs reached the server, from `input_timing`:\n\n\
             * inputs: {}\n* late: {} ({late})\n* smallest margin: {least} ms, at {}\n* 5% have at most: {}\n\
             * 50% have at most: {}\n* largest margin: {}\n",
            margins.count,
            margins.late,
            seconds(at),
            ms(margins.percentile(5)),
            ms(margins.percentile(50)),
            ms(margins.most),
        )
    }

    fn repeated(&self) -> String {
        format!("\n## Repeat\n\n{}", block("sh", self.repeat))
    }
}

/// Returns the table of findings.
fn findings(findings: &Findings, frames: bool) -> String {
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

/// Returns the number of a session, with its run if there are several.
fn name(session: &Session, seen: &Collected) -> String {
    match seen.runs {
        0 | 1 => session.id.0.to_string(),
        _ => format!("{} (run {})", session.id.0, session.run),
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
