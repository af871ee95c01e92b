//! The progress of the matrix on stderr: one line that changes on a terminal, lines elsewhere.

use std::{sync::Mutex, time::Duration};

use super::{Tried, cell::Cell};
use crate::{
    output::{counted, say_sentence},
    progress::Progress,
};

/// Cells after which a line is printed where stderr is not a terminal.
const EVERY: usize = 20;

/// The progress.
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

    /// Prints a line for good.
    pub(super) fn say(&self, text: &str) {
        let line = format!("teetap: {text}");
        match &self.progress {
            Some(progress) => progress.suspend(|| say_sentence(&line)),
            None => say_sentence(&line),
        }
    }

    /// Shows the step at hand on a terminal.
    pub(super) fn show(&self, step: &str) {
        if let Some(progress) = &self.progress {
            progress.show(step.to_owned());
        }
    }

    /// Begins the cells; each is expected to take so long.
    pub(super) fn begin(&self, total: usize, at_once: usize, each: Duration) {
        if let Ok(mut counts) = self.counts.lock() {
            counts.total = total;
        }
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
        let cells = counted(total as u64, "cell");
        self.say(&format!("{cells}, {way}: at least {about}"));
    }

    /// Shows the cell at hand.
    pub(super) fn cell(&self, cell: &Cell) {
        if let Ok(counts) = self.counts.lock() {
            let Counts { total, done, failed } = *counts;
            let (dir, name, fault) = (&cell.step.dir, cell.step.short(), cell.fault.name());
            self.show(&format!(
                "{done} of {total} cells, {failed} failed: {dir} {name} {fault}"
            ));
        }
    }

    /// Counts a cell.
    pub(super) fn done(&self, tried: &Tried, has_failed: bool) {
        let Ok(mut counts) = self.counts.lock() else {
            return;
        };
        counts.done += 1;
        counts.failed += usize::from(has_failed);
        let Counts { total, done, failed } = *counts;
        drop(counts);
        if has_failed {
            self.say(&tried.sentence());
        } else if self.progress.is_none() && done % EVERY == 0 && done < total {
            self.say(&format!("{done} of {total} cells, {failed} failed"));
        }
    }

    /// Takes the line away.
    pub(super) fn end(&self) {
        if let Some(progress) = &self.progress {
            progress.end();
        }
    }
}
