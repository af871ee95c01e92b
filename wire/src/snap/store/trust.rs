//! Whether the snapshots of a session are read correctly.

use crate::snap::row::WrongRun;

#[derive(Debug, Clone)]
pub(super) struct Trust {
    whole: bool,
    /// True if messages were missed since the last snapshot that was certainly read correctly.
    missed: bool,
    /// The wrong snapshots since the last correct snapshot.
    row: Option<WrongRun>,
}

impl Default for Trust {
    fn default() -> Self {
        Self {
            whole: true,
            missed: false,
            row: None,
        }
    }
}

impl Trust {
    /// Returns true if the last snapshot was readable. After a gap, returns false until a snapshot with a valid checksum
    /// was read.
    pub(super) const fn whole(&self) -> bool {
        self.whole
    }

    pub(super) const fn missed(&self) -> bool {
        self.missed
    }

    pub(super) const fn row(&self) -> Option<WrongRun> {
        self.row
    }

    /// Records that messages were missed.
    pub(super) const fn gap(&mut self) {
        (self.whole, self.missed) = (false, true);
    }

    /// Records a correct snapshot. `is_proven` is true if its contents do not depend on missed messages.
    pub(super) const fn correct(&mut self, is_proven: bool) {
        self.row = None;
        self.missed = self.missed && !is_proven;
        self.whole = !self.missed;
    }

    /// Records a wrong snapshot whose sum is wrong by `off`.
    pub(super) fn wrong(&mut self, tick: i32, off: i32) {
        self.whole = false;
        self.row = Some(WrongRun::with(self.row, tick, off));
    }

    /// Records a snapshot without a base.
    pub(super) const fn unreadable(&mut self) {
        self.whole = false;
    }

    /// Forgets the wrong snapshots.
    pub(super) const fn forget(&mut self) {
        self.row = None;
    }
}
