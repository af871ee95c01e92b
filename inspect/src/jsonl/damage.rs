//! Counts unreadable lines.
//!
//! Lines are independent of each other, so the remaining lines are still useful. Skipped lines are reported as a gap,
//! and again at the end.

use crate::recording::ReadError;

/// The skipped lines.
#[derive(Debug, Default)]
pub(super) struct Damage {
    /// Offset of the first skipped line, and the error in it.
    first: Option<(u64, String)>,
    lines: u64,
    /// Number of skipped lines since the last readable line.
    unreported: u64,
}

impl Damage {
    /// Records the skipped line at byte `offset`.
    pub(super) fn add(&mut self, offset: u64, text: String) {
        self.first.get_or_insert((offset, text));
        self.lines += 1;
        self.unreported += 1;
    }

    /// Returns the number of skipped lines that were not returned before; `None` if there are none.
    pub(super) fn unreported(&mut self) -> Option<u64> {
        let unreported = std::mem::take(&mut self.unreported);
        (unreported > 0).then_some(unreported)
    }

    /// Returns the report for the end of the file, combined with the error `last` that ended it. Later calls return
    /// only `last`.
    pub(super) fn report(&mut self, last: Option<ReadError>) -> Option<ReadError> {
        let Some((offset, mut text)) = self.first.take() else {
            return last;
        };
        match self.lines {
            1 => text.push_str("; this line was skipped"),
            lines => text.push_str(&format!("; this line and {} more were skipped", lines - 1)),
        }
        if let Some(last) = last {
            text.push_str(&format!("; {last}"));
        }
        Some(ReadError::Damaged { offset, text })
    }
}
