//! The progress of a join, and the times at which it stalled.

use teetap_proxy::session::Time;

use super::PATIENCE;

/// Time of the last progress of a join, and counts of its stalls.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stalls {
    /// Time of the last progress.
    pub(super) progress: Time,
    /// True once the stall since the last progress was reported.
    pub(super) is_reported: bool,
    pub(super) count: u32,
    /// Number of stalls after a message that was lost on the way.
    pub(super) lost: u32,
}

impl Stalls {
    pub(super) const fn begin(at: Time) -> Self {
        Self {
            progress: at,
            is_reported: false,
            count: 0,
            lost: 0,
        }
    }

    /// Records progress.
    pub(super) const fn progress_at(&mut self, at: Time) {
        self.progress = at;
        self.is_reported = false;
    }

    /// Records a stall that is reported.
    pub(super) fn report(&mut self, is_loss: bool) {
        self.is_reported = true;
        self.count = self.count.saturating_add(1);
        self.lost = self.lost.saturating_add(u32::from(is_loss));
    }

    /// Records a report of a stall in a recording. Does not count a stall again that was already found here.
    pub(super) fn on_report(&mut self) {
        self.count = self.count.saturating_add(u32::from(!self.is_reported));
        self.is_reported = true;
    }

    /// Returns true if the join has not stalled at this time.
    pub(super) fn is_in_time(&self, at: Time) -> bool {
        !self.is_reported && at.since(self.progress) < PATIENCE
    }
}
