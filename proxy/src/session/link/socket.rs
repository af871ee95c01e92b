//! The upstream socket of a session, which another session of the same client may share.

use std::{net::SocketAddr, time::Duration};

use teetap_wire::Token;

use crate::session::Time;

/// Time for which late datagrams of a replaced session are expected.
const FORMER: Duration = Duration::from_secs(2);
/// Minimum time between two notices about a failure of the network.
const REPORT_EVERY: Duration = Duration::from_secs(5);

#[derive(Debug)]
pub(super) struct Socket {
    /// Local address; `None` until the socket is open.
    local: Option<SocketAddr>,
    /// True while another session of the client has the same socket.
    pub(super) is_shared: bool,
    /// Token in late datagrams of the session that this session replaced on the same socket, and the time until which they
    /// may arrive.
    former: Option<(Token, Time)>,
    /// Time of the last notice about a failure of the network.
    reported: Option<Time>,
}

impl Socket {
    /// Returns the socket that another session shares at the local address `shared`, or else a socket that is not open yet.
    pub(super) fn new(shared: Option<SocketAddr>) -> Self {
        Self {
            local: shared,
            is_shared: shared.is_some(),
            former: None,
            reported: None,
        }
    }

    /// Returns the local address; `None` until the socket is open.
    pub(super) fn local(&self) -> Option<SocketAddr> {
        self.local
    }

    pub(super) fn is_open(&self) -> bool {
        self.local.is_some()
    }

    pub(super) fn opened(&mut self, local: SocketAddr) {
        self.local = Some(local);
    }

    pub(super) fn failed(&mut self) {
        self.local = None;
    }

    /// Records that the session replaces another session on the socket, whose late datagrams contain the token `former`.
    pub(super) fn replaces(&mut self, former: Option<Token>, now: Time) {
        self.former = former.map(|token| (token, now + FORMER));
    }

    /// Returns true if late datagrams of the replaced session contain `token`.
    pub(super) fn is_former(&self, token: Option<Token>, now: Time) -> bool {
        self.former
            .is_some_and(|(former, until)| now < until && token == Some(former))
    }

    /// Returns true if the last report of a network failure is at least [`REPORT_EVERY`] old, and records a new report.
    pub(super) fn may_report(&mut self, now: Time) -> bool {
        let is_due = self.reported.is_none_or(|last| now.since(last) >= REPORT_EVERY);
        if is_due {
            self.reported = Some(now);
        }
        is_due
    }
}
