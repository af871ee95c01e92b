//! The matrix as text, JSON lines and a JUnit report.

use std::{
    borrow::Cow,
    fmt::Write as _,
    time::{Duration, SystemTime},
};
use teetap_wire::counted;

use teetap_harness::{
    junit::Suite,
    torture::{Baseline, Cell, CellResult, Fault, LoginMessage, Plan, Report, Results, Verdict},
};

use super::repeat::{Repeat, seed};
use crate::{
    cli::TortureOptions,
    exit::Exit,
    look::{Look, TextColor},
    output::fit::{cut, sentence, width},
};

/// Columns of a cell; with the names of messages, a row fits a terminal of 80 columns.
const COLUMN: usize = 9;
/// Minimum columns for the name of a message.
const LEAST_LABEL: usize = 12;
/// Minimum columns for the reason at the end of a row.
const LEAST_WHY: usize = 24;

/// The results of all cells.
pub(super) struct Table {
    repeat: Repeat,
    /// The server as the user wrote it.
    target: String,
    seed: u64,
    results: Results,
    /// True to list every cell that did not join at once, not only the failed cells.
    all: bool,
}

impl Table {
    pub(super) fn new(options: &TortureOptions, plan: &Plan<'_>, results: Results) -> Self {
        Self {
            repeat: Repeat::new(options, plan),
            target: options.target.to_string(),
            seed: seed(options),
            results,
            all: options.all,
        }
    }

    const fn baseline(&self) -> &Baseline {
        &self.results.baseline
    }

    /// Returns the word for a cell, at most 8 characters.
    fn word(&self, tried: &CellResult) -> String {
        let mark = if tried.has_failed() { "!" } else { "" };
        let word = match (&tried.judged.verdict, self.results.late(tried)) {
            (Verdict::Joined(_), _) if tried.is_second() => "2nd try".to_owned(),
            (Verdict::Joined(_), Some(late)) => format!("+{:.1} s", late.as_secs_f64()),
            (Verdict::Ended(code), _) if tried.judged.verdict.name(false) == "exited" => {
                format!("exit {code}")
            }
            (Verdict::Untried, _) => "-".to_owned(),
            (verdict, _) => verdict.name(false).to_owned(),
        };
        word + mark
    }

    fn ink(&self, tried: &CellResult) -> TextColor {
        match &tried.judged.verdict {
            _ if tried.has_failed() => TextColor::Error,
            Verdict::Untried => TextColor::Faint,
            verdict if verdict.is_bad() => TextColor::Faint,
            Verdict::Faulty(..) | Verdict::Refused => TextColor::Warning,
            _ if tried.is_second() || self.results.late(tried).is_some() => TextColor::Warning,
            _ => TextColor::Plain,
        }
    }

    pub(super) fn exit(&self) -> Exit {
        self.results.exit()
    }

    /// Returns the matrix, the failed cells with the line that repeats each, and the totals. Breaks sentences between
    /// words to fit `columns`, but not the lines that repeat a run, so that they can be copied.
    pub(super) fn text(&self, columns: Option<usize>) -> String {
        let mut page = format!("{}\n\n", sentence(&self.joins(), columns));
        self.add_matrix(columns, &mut page);
        for tried in self.results.tried.iter().filter(|tried| tried.has_failed()) {
            self.add_details(tried, columns, &mut page);
        }
        let is_odd = |tried: &&CellResult| !tried.has_failed() && self.word(tried) != "joined";
        for tried in self.results.tried.iter().filter(|_| self.all).filter(is_odd) {
            self.add_details(tried, columns, &mut page);
        }
        page.push('\n');
        for line in self.totals().lines() {
            let _infallible = writeln!(page, "{}", sentence(line, columns));
        }
        if let Some(halted) = &self.results.halted {
            let left = self.results.cells - self.results.tried.len();
            let line = format!("stopped, {} not tried: {halted}", counted(left, "cell"));
            let _infallible = writeln!(page, "{}", sentence(&line, columns));
        }
        page
    }

    /// Returns the line about the joins without a fault.
    fn joins(&self) -> String {
        let times = &self.baseline().times;
        let seconds = |time: Option<&Duration>| time.copied().unwrap_or_default().as_secs_f64();
        format!(
            "without a fault: joined after {:.2} s, the median of {} ({:.2} to {:.2} s)",
            self.baseline().median().as_secs_f64(),
            times.len(),
            seconds(times.first()),
            seconds(times.last()),
        )
    }

    /// Appends a row for each message, those with failures first. A wide terminal has a reason at the end of each row;
    /// on a narrow terminal long names are cut.
    fn add_matrix(&self, columns: Option<usize>, page: &mut String) {
        let mut steps: Vec<&LoginMessage> = self.results.tried.iter().map(|tried| &tried.cell.step).collect();
        steps.dedup();
        let fails = |step: &LoginMessage| {
            self.results
                .tried
                .iter()
                .any(|tried| tried.has_failed() && tried.cell.step == *step)
        };
        steps.sort_by_key(|step| !fails(step));
        let cells = Fault::ALL.len() * COLUMN;
        let longest = steps.iter().map(|step| step.label().len()).max();
        let most = columns.map_or(usize::MAX, |columns| columns.saturating_sub(cells));
        let widest = longest.unwrap_or_default().min(most.max(LEAST_LABEL));
        let room = columns.map_or(0, |columns| columns.saturating_sub(widest + cells + 1));
        let has_why = room >= LEAST_WHY;
        let _infallible = write!(page, "{:<widest$}", "");
        for &fault in Fault::ALL {
            let _infallible = write!(page, " {:<1$}", fault.name(), COLUMN - 1);
        }
        if has_why {
            page.push_str(" why");
        }
        page.truncate(page.trim_end_matches(' ').len());
        page.push('\n');
        for step in steps {
            let _infallible = write!(page, "{:<widest$}", short(&step.label(), widest));
            // Spaces are added before the next word, so that no line ends with spaces.
            let mut spaces = 1;
            for &fault in Fault::ALL {
                let is_meant = |tried: &&CellResult| tried.cell.step == *step && tried.cell.fault == fault;
                let cell = self.results.tried.iter().find(is_meant);
                let (word, ink) = cell.map_or(("-".to_owned(), TextColor::Faint), |tried| {
                    (self.word(tried), self.ink(tried))
                });
                page.push_str(&" ".repeat(spaces));
                Look::get().out.paint(ink, &word, page);
                spaces = COLUMN.saturating_sub(word.len()).max(1);
            }
            if let Some((ink, why)) = self.why(step).filter(|_| has_why) {
                page.push_str(&" ".repeat(spaces));
                Look::get().out.paint(ink, &short(&why, room), page);
            }
            page.push('\n');
        }
    }

    /// Returns the reason of the most severe cell in a row; `None` if no cell has a reason.
    fn why(&self, step: &LoginMessage) -> Option<(TextColor, String)> {
        let cells = self.results.tried.iter().filter(|tried| tried.cell.step == *step);
        let reasons = cells.filter_map(|tried| Some((tried, tried.judged.why.as_ref()?)));
        let (tried, why) = reasons
            .min_by_key(|(tried, _)| (!tried.has_failed(), tried.judged.verdict == Verdict::Untried))?;
        Some((self.ink(tried), format!("{}: {why}", tried.cell.fault.name())))
    }

    /// Appends the sentence about a cell, the last line of its client, and the line that repeats it.
    fn add_details(&self, tried: &CellResult, columns: Option<usize>, page: &mut String) {
        page.push('\n');
        for line in sentence(&tried.sentence(), columns).lines() {
            Look::get().out.paint(self.ink(tried), line, page);
            page.push('\n');
        }
        if let Some(said) = &tried.judged.said {
            let line = format!("  the client printed: {said}");
            let _infallible = writeln!(page, "{}", sentence(&line, columns));
        }
        let _infallible = writeln!(page, "  {}", self.repeat.line(&tried.cell));
    }

    /// Returns the line with the totals.
    fn totals(&self) -> String {
        let of = |is_meant: &dyn Fn(&CellResult) -> bool, text: &str| match self.results.count(is_meant) {
            0 => None,
            count => Some(format!("{count} {text}")),
        };
        let failures = match self.results.failures() {
            0 => "none failed that peers survive".to_owned(),
            failures => format!("{failures} failed that peers survive (!)"),
        };
        let is_impossible = |tried: &CellResult| tried.judged.verdict.is_bad() && !tried.has_failed();
        let is_weak =
            |tried: &CellResult| matches!(tried.judged.verdict, Verdict::Faulty(..)) && !tried.has_failed();
        let parts = [
            Some(failures),
            of(
                &|tried| is_impossible(tried) && !is_weak(tried),
                "failed that no peer survives",
            ),
            of(&is_weak, "joined with an oddity"),
            of(
                &|tried| {
                    matches!(tried.judged.verdict, Verdict::Joined(_)) && self.results.late(tried).is_some()
                },
                "joined late",
            ),
            of(&|tried| tried.is_second(), "joined at the second try"),
            of(
                &|tried| tried.judged.verdict == Verdict::Refused,
                "refused by the server",
            ),
            of(&|tried| tried.judged.verdict == Verdict::Untried, "not tried (-)"),
        ];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        let is_more = self
            .results
            .count(|tried| !tried.has_failed() && self.word(tried) != "joined")
            > 0;
        let more = if is_more && !self.all {
            "\n--all lists the cells that did not fail, too"
        } else {
            ""
        };
        let cells = counted(self.results.tried.len(), "cell");
        format!("{cells}: {}{more}\n", parts.join(", "))
    }

    /// Returns the results as JSON lines.
    pub(super) fn json(&self) -> String {
        self.report(&|cell| self.repeat.line(cell)).json()
    }

    /// Returns the results as tests of a JUnit report.
    pub(super) fn suite(&self, wall: SystemTime, time: Duration) -> Suite {
        self.report(&|cell| self.repeat.line(cell)).suite(wall, time)
    }

    fn report<'r>(&'r self, repeat: &'r dyn Fn(&Cell) -> String) -> Report<'r> {
        Report {
            results: &self.results,
            target: &self.target,
            seed: self.seed,
            repeat,
        }
    }
}

/// Returns a text, cut to at most `columns` columns.
fn short(text: &str, columns: usize) -> Cow<'_, str> {
    if width(text) <= columns {
        return text.into();
    }
    let parts = cut(&[(TextColor::Plain, text.into())], columns, Look::get().out.ascii);
    parts.iter().map(|(_, part)| &**part).collect::<String>().into()
}

#[cfg(test)]
#[path = "table_tests.rs"]
mod tests;
