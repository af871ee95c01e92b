//! Detects resend requests without a cause.
//!
//! Law: a receiver sets the resend flag in one datagram after each vital chunk that is ahead of a missing chunk.
//! Therefore the number of requests cannot exceed the number of such chunks sent to the receiver, however bad the
//! network. [`TIMES`] allows for copies of chunks and requests, and for chunks that are missing from a recording.

use std::time::Duration;

use teetap_proxy::session::Time;

/// Time over which requests and chunks are counted. The chunks of the preceding window count as well, because they may
/// still be in flight.
const WINDOW: Duration = Duration::from_secs(4);

/// Minimum number of requests in a window to report.
const MANY: u16 = 16;

/// Minimum ratio of requests to chunks to report.
const TIMES: u16 = 4;

/// The resend requests of a receiver, and the vital chunks that may have caused them.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Requests {
    since: Option<Time>,
    requests: u16,
    chunks: u16,
    /// Number of chunks in the preceding window.
    before: u16,
    is_reported: bool,
}

/// Counts of resend requests that exceed their possible causes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Needless {
    pub(super) requests: u16,
    pub(super) chunks: u16,
    pub(super) within: Duration,
}

impl Requests {
    /// Records a vital chunk that was sent to the receiver and may be ahead of a missing chunk.
    pub(super) fn caused(&mut self, at: Time) {
        self.look(at);
        self.chunks = self.chunks.saturating_add(1);
    }

    /// Records a request. Returns the counts of the window if there are more requests than the chunks can have caused.
    pub(super) fn requested(&mut self, at: Time) -> Option<Needless> {
        let since = self.look(at);
        self.requests = self.requests.saturating_add(1);
        let chunks = self.chunks.saturating_add(self.before);
        let is_much = self.requests >= MANY && self.requests / TIMES > chunks;
        if !is_much || std::mem::replace(&mut self.is_reported, true) {
            return None;
        }
        Some(Needless {
            requests: self.requests,
            chunks,
            within: at.since(since),
        })
    }

    /// Starts a new window if the current window has ended. Returns the start of the current window.
    fn look(&mut self, at: Time) -> Time {
        let since = *self.since.get_or_insert(at);
        if at.since(since) < WINDOW {
            return since;
        }
        let is_near = at.since(since) < WINDOW * 2;
        *self = Self {
            since: Some(at),
            requests: 0,
            chunks: 0,
            before: if is_near { self.chunks } else { 0 },
            is_reported: self.is_reported,
        };
        at
    }
}
