//! Servers whose snapshots go back in time, and servers that ignore the acks of their clients.
//!
//! A server increases its tick with each snapshot, and sends the difference to the acked snapshot if it is at most three
//! seconds old (`DoSnapshot` in `server.cpp` of Teeworlds 0.6.5, 0.7.5 and of DDNet). Clients ignore snapshots before the
//! newest one (`NETMSG_SNAP` in `client.cpp`). Without an ack a server sends one snapshot in a second, or five to a client
//! that has never acked one. Complete snapshots at a higher rate show that it does not use the acks that it receives.
//!
//! Memory is bounded: [`MOST`] ticks per session.

use std::collections::VecDeque;

use teetap_wire::Code;

use super::{ContentFact, message::Snap};

/// Maximum number of ticks kept.
const MOST: usize = 512;

/// Minimum number of consecutive older snapshots. A network that delivers so many older snapshots also delivers newer
/// ones in the meantime.
const OLDER: u16 = 25;

/// Minimums for a series of complete snapshots: snapshots, inputs, and ticks from the first to the last one.
const COMPLETE: u16 = 25;
const INPUTS: u16 = 25;
const TICKS: i32 = 100;

/// Maximum average number of ticks between two snapshots of the series.
const BETWEEN: i32 = 6;

/// Maximum age in ticks of an acked snapshot that the server still has.
const FRESH: i32 = 100;

/// The ticks of the snapshots that a server has sent.
#[derive(Debug, Default)]
pub(super) struct SentSnapshots {
    ticks: VecDeque<i32>,
    newest: Option<i32>,
    /// Number of older snapshots since the newest one.
    older: u16,
    is_reported: bool,
}

impl SentSnapshots {
    /// Returns the tick of the newest snapshot; `None` if none was sent.
    pub(super) const fn newest(&self) -> Option<i32> {
        self.newest
    }

    /// Returns true if a snapshot of this tick was sent.
    pub(super) fn has(&self, tick: i32) -> bool {
        // Most acks are of a recent tick.
        self.ticks.iter().rev().any(|sent| *sent == tick)
    }

    /// Records a part of a snapshot.
    pub(super) fn record(&mut self, tick: i32) -> Option<(Code, ContentFact)> {
        if self.has(tick) {
            return None;
        }
        if self.ticks.len() >= MOST {
            self.ticks.pop_front();
        }
        self.ticks.push_back(tick);
        let newest = self.newest.max(Some(tick));
        if self.newest != newest {
            (self.newest, self.older) = (newest, 0);
            return None;
        }
        self.older = self.older.saturating_add(1);
        if self.older < OLDER || std::mem::replace(&mut self.is_reported, true) {
            return None;
        }
        let fact = ContentFact::TickBack {
            got: tick,
            newest: newest?,
            snapshots: self.older,
        };
        Some((Code::SnapTickBack, fact))
    }
}

/// The complete snapshots that a server sends although it could send differences.
#[derive(Debug, Default)]
pub(super) struct UnusedAcks {
    /// The last acked tick that was sent.
    acked: Option<i32>,
    inputs: u16,
    snapshots: u16,
    first: i32,
    is_reported: bool,
}

impl UnusedAcks {
    /// Records an ack. `is_sent` is true if a snapshot of that tick was sent.
    pub(super) const fn on_ack(&mut self, ack: i32, is_sent: bool) {
        match self.acked {
            // The network has reordered this input.
            Some(acked) if is_sent && ack < acked => {}
            _ if is_sent => {
                self.acked = Some(ack);
                self.inputs = self.inputs.saturating_add(1);
            }
            _ => {
                self.acked = None;
                self.restart();
            }
        }
    }

    const fn restart(&mut self) {
        (self.inputs, self.snapshots) = (0, 0);
    }

    /// Records a part of a snapshot.
    pub(super) fn on_snapshot(&mut self, snap: &Snap) -> Option<(Code, ContentFact)> {
        if snap.part != 0 || snap.is_empty && snap.base < 0 {
            // An empty snapshot is not larger without a base.
            return None;
        }
        let is_fresh = |acked: &i32| (1..=FRESH).contains(&snap.tick.saturating_sub(*acked));
        let Some(acked) = self.acked.filter(is_fresh).filter(|_| snap.base < 0) else {
            self.restart();
            return None;
        };
        if self.snapshots == 0 {
            (self.first, self.inputs) = (snap.tick, 0);
        }
        self.snapshots = self.snapshots.saturating_add(1);
        let ticks = snap.tick.saturating_sub(self.first);
        let is_long = self.snapshots >= COMPLETE && self.inputs >= INPUTS && ticks >= TICKS;
        let is_fast = ticks <= BETWEEN * i32::from(self.snapshots);
        if !(is_long && is_fast) || std::mem::replace(&mut self.is_reported, true) {
            return None;
        }
        let fact = ContentFact::AcksIgnored {
            acked,
            snapshots: self.snapshots,
        };
        Some((Code::SnapAckIgnored, fact))
    }
}
