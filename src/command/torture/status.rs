//! The progress of the matrix on stderr: one line that changes on a terminal, lines elsewhere.

use std::{sync::Mutex, time::Duration};
use teetap_wire::counted;

use teetap_harness::torture::{Cell, CellResult, Progress as Step};

use crate::{output::say_sentence, progress::Progress};

/// Number of cells between two progress lines if stderr is not a terminal.
const EVERY: usize = 20;

/// Progress of the matrix.
pub(super) struct Status {
    progress: Option<Progress>,
    counts: Mutex<Counts>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    total: usize,
    done: usize,
    failed: usize,
}

impl Status {
    pub(super) fn new() -> Self {
        Self {
            progress: Progress::of_work(),
            counts: Mutex::default(),
        }
    }

    /// Prints a line that stays.
    fn say(&self, text: &str) {
        let line = format!("teetap: {text}");
        match &self.progress {
            Some(progress) => progress.suspend(|| say_sentence(&line)),
            None => say_sentence(&line),
        }
    }

    /// Shows the progress of the matrix.
    pub(super) fn tell(&self, step: Step<'_>) {
        match step {
            Step::Join { number, of } => self.show(&format!("join {number} of {of} without a fault")),
            Step::Begin { cells, jobs, each } => self.begin(cells, jobs, each),
            Step::Cell(cell) => self.cell(cell),
            Step::Done(tried) => self.done(tried),
            Step::Pause => self.show("waiting until the server takes clients again"),
            Step::Waiting { why, time } => self.say(&format!("{why}: waiting {} s", time.as_secs())),
        }
    }

    /// Shows the current step on a terminal.
    fn show(&self, step: &str) {
        if let Some(progress) = &self.progress {
            progress.show(step.to_owned());
        }
    }

    /// Begins the cells; each is expected to run for `each`.
    fn begin(&self, total: usize, at_once: usize, each: Duration) {
        if let Ok(mut counts) = self.counts.lock() {
            counts.total = total;
        }
        self.say(&outlook(total, at_once, each));
    }

    /// Shows the current cell.
    fn cell(&self, cell: &Cell) {
        if let Ok(counts) = self.counts.lock() {
            let (dir, name, fault) = (cell.step.dir, cell.step.short(), cell.fault.name());
            self.show(&format!("{}: {dir} {name} {fault}", counts.text()));
        }
    }

    /// Counts a finished cell.
    fn done(&self, tried: &CellResult) {
        let has_failed = tried.has_failed();
        let Ok(mut counts) = self.counts.lock() else {
            return;
        };
        let line = counts.add(has_failed);
        drop(counts);
        if has_failed {
            self.say(&tried.sentence());
        } else if let Some(line) = line.filter(|_| self.progress.is_none()) {
            self.say(&line);
        }
    }

    /// Removes the progress line.
    pub(super) fn end(&self) {
        if let Some(progress) = &self.progress {
            progress.end();
        }
    }
}

impl Counts {
    /// Counts a finished cell. Returns a progress line after every [`EVERY`] cells, but not after the last cell.
    fn add(&mut self, has_failed: bool) -> Option<String> {
        self.done += 1;
        self.failed += usize::from(has_failed);
        (self.done.is_multiple_of(EVERY) && self.done < self.total).then(|| self.text())
    }

    fn text(&self) -> String {
        let Self { total, done, failed } = self;
        format!("{done} of {total} cells, {failed} failed")
    }
}

/// Returns the line before the first cell: the number of cells and their expected duration.
fn outlook(total: usize, at_once: usize, each: Duration) -> String {
    let way = match at_once {
        1 => "one at a time".to_owned(),
        at_once => format!("{at_once} at once"),
    };
    let parts = u32::try_from(at_once).unwrap_or(u32::MAX).max(1);
    let whole = each * u32::try_from(total).unwrap_or(u32::MAX) / parts;
    let about = match whole.as_secs() {
        seconds @ 0..60 => format!("{} s", seconds + 1),
        seconds => format!("{} min", seconds.div_ceil(60)),
    };
    format!("{}, {way}: at least {about}", counted(total, "cell"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_of_all_cells_is_told_before_the_first_one() {
        let second = Duration::from_secs(1);
        for (total, at_once, each, expected) in [
            (1, 1, second, "1 cell, one at a time: at least 2 s"),
            (118, 2, second, "118 cells, 2 at once: at least 60 s"),
            (121, 2, second, "121 cells, 2 at once: at least 1 min"),
            (141, 1, 3 * second, "141 cells, one at a time: at least 8 min"),
        ] {
            assert_eq!(outlook(total, at_once, each), expected);
        }
    }

    #[test]
    fn every_20_cells_there_is_a_line_but_not_after_the_last_one() {
        let mut counts = Counts {
            total: 60,
            ..Counts::default()
        };
        let lines: Vec<(usize, String)> = (1..=60)
            .filter_map(|cell| Some((cell, counts.add(cell % 15 == 0)?)))
            .collect();
        let expected = [
            (20, "20 of 60 cells, 1 failed".to_owned()),
            (40, "40 of 60 cells, 2 failed".to_owned()),
        ];
        assert_eq!(lines, expected);
    }
}
