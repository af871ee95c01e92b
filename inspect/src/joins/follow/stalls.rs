//! When a join last progressed, and how often it stalled.

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
    /// Number of stalls after a message that was lost.
    pub(super) lost: u32,
    /// Number of stalls that ended after a retransmission, so that a datagram may have been lost.
    pub(super) resent: u32,
    /// True if a peer has sent a message again since the last progress.
    has_resend: bool,
}

impl Stalls {
    pub(super) const fn begin(at: Time) -> Self {
        Self {
            progress: at,
            is_reported: false,
            count: 0,
            lost: 0,
            resent: 0,
            has_resend: false,
        }
    }

    /// Records that the join progressed.
    pub(super) fn progress_at(&mut self, at: Time) {
        self.resent = self
            .resent
            .saturating_add(u32::from(self.is_reported && self.has_resend));
        self.progress = at;
        (self.is_reported, self.has_resend) = (false, false);
    }

    /// Records that a peer has sent a message of the join again.
    pub(super) const fn on_resend(&mut self) {
        self.has_resend = true;
    }

    /// Records a stall that is reported now. `is_loss` is true if the last message was lost.
    pub(super) fn report(&mut self, is_loss: bool) {
        self.is_reported = true;
        self.count = self.count.saturating_add(1);
        self.lost = self.lost.saturating_add(u32::from(is_loss));
    }

    /// Records a stall that the recording reports. Does not count the stall twice if it was already reported here.
    pub(super) fn on_report(&mut self) {
        self.count = self.count.saturating_add(u32::from(!self.is_reported));
        self.is_reported = true;
    }

    /// Returns true if the join has not stalled yet.
    pub(super) fn is_in_time(&self, at: Time) -> bool {
        !self.is_reported && at.since(self.progress) < PATIENCE
    }
}
