//! Resend requests without a cause.
//!
//! Law: a receiver sets the flag after a vital chunk that is ahead of a missing one, and in one datagram. So it cannot request more
//! often than vital chunks were sent to it that are not the next one after its ack, however bad the network. Copies of chunks and of requests, and chunks that a recording
//! lacks, are what [`TIMES`] allows for.

use std::time::Duration;

use teetap_proxy::session::Time;

/// The time in which both are counted. The chunks in the time before count as well: they may be on their way.
const WINDOW: Duration = Duration::from_secs(4);

/// The requests that are many.
const MANY: u16 = 16;

/// The times as many requests as chunks.
const TIMES: u16 = 4;

/// The requests of a receiver, and the vital chunks that may have caused them.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Requests {
    since: Option<Time>,
    requests: u16,
    chunks: u16,
    /// The chunks in the time before.
    before: u16,
    is_reported: bool,
}

/// Requests without a cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Needless {
    pub(super) requests: u16,
    pub(super) chunks: u16,
    pub(super) within: Duration,
}

impl Requests {
    /// Takes a vital chunk that was sent to the receiver and may be ahead of a missing one.
    pub(super) fn caused(&mut self, at: Time) {
        self.look(at);
        self.chunks = self.chunks.saturating_add(1);
    }

    /// Takes a request. Returns those since a while once they are more than chunks can have caused.
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

    /// Begins to count anew after a while. Returns the time since when it counts.
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
