//! Counters of the traffic.

use std::ops::Add;

use teetap_wire::PerDir;

/// The traffic so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Sessions that have been online.
    pub sessions: u64,
    /// Sessions that were opened, whether they were ever online or not. A candidate beside a live session
    /// counts once it has replaced that session.
    pub opened: u64,
    /// Datagrams and bytes received, in each direction.
    pub traffic: PerDir<Traffic>,
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
    /// Counts a datagram of `len` bytes.
    pub const fn count(&mut self, len: usize) {
        self.datagrams += 1;
        self.bytes += len as u64;
    }
}

impl Add for Traffic {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            datagrams: self.datagrams + other.datagrams,
            bytes: self.bytes + other.bytes,
        }
    }
}
