//! Counters of the traffic.

/// The traffic so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Sessions that have been online.
    pub sessions: u64,
    /// Sessions that were opened, whether they were ever online or not. A candidate beside a live session
    /// counts once it has replaced that session.
    pub opened: u64,
    /// Datagrams and bytes received from clients.
    pub c2s: Traffic,
    /// Datagrams and bytes received from the server.
    pub s2c: Traffic,
    /// Datagrams that were refused.
    pub refused: u64,
}

/// Datagrams and bytes of one direction, as received.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Number of datagrams.
    pub datagrams: u64,
    /// Total size of the datagrams.
    pub bytes: u64,
}

impl Traffic {
    pub(super) fn count(&mut self, datagram: &[u8]) {
        self.datagrams += 1;
        self.bytes += datagram.len() as u64;
    }
}
