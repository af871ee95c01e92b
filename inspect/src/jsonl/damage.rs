//! Lines that cannot be read.
//!
//! Each line stands for itself, so the others are of use: what was passed over is a gap, and reported once more at the end.

use crate::recording::ReadError;

/// The lines that were passed over.
#[derive(Debug, Default)]
pub(super) struct Damage {
    /// The place where the first line begins, and the error in it.
    first: Option<(u64, String)>,
    lines: u64,
    /// Lines since something could be read.
    unreported: u64,
}

impl Damage {
    /// Adds the line at byte `offset`.
    pub(super) fn add(&mut self, offset: u64, text: String) {
        self.first.get_or_insert((offset, text));
        self.lines += 1;
        self.unreported += 1;
    }

    /// Returns how many lines are missing before what comes now; once.
    pub(super) fn unreported(&mut self) -> Option<u64> {
        let unreported = std::mem::take(&mut self.unreported);
        (unreported > 0).then_some(unreported)
    }

    /// Returns the report for the end, where the reading ends with `last`; once.
    pub(super) fn report(&mut self, last: Option<ReadError>) -> Option<ReadError> {
        let Some((offset, mut text)) = self.first.take() else {
            return last;
        };
        match self.lines {
            1 => text.push_str("; this line was passed over"),
            lines => text.push_str(&format!("; this line and {} more were passed over", lines - 1)),
        }
        if let Some(last) = last {
            text.push_str(&format!("; {last}"));
        }
        Some(ReadError::Damaged { offset, text })
    }
}
