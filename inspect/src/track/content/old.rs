//! Clients that go on acking an old snapshot, or none, although they can read newer ones.
//!
//! A client acks the newest snapshot that it has read with each input (`NETMSG_SNAP` and `SendInput` in `client.cpp` of
//! Teeworlds 0.6.5, 0.7.5 and of DDNet). The servers keep snapshots for three seconds; without the acked one they send
//! complete snapshots (`DoSnapshot` in `server.cpp`).
//!
//! The evidence that the client receives the server's datagrams is its ack of a vital message that was sent after the
//! snapshots. Only snapshots in small datagrams count, because a network may lose all large ones.
//!
//! A client that cannot read a difference acks none until it has read a complete snapshot, which the server then sends
//! once a second. [`COMPLETE`] of them in a row are rarely lost together.
//!
//! Memory is bounded: [`SNAPSHOTS`] snapshots and [`MESSAGES`] vital messages per session.

use std::collections::VecDeque;

use teetap_proxy::session::Time;
use teetap_wire::{Code, Seq};

use super::{ContentFact, message::Snap};

/// Maximum numbers of snapshots and of vital messages kept.
const SNAPSHOTS: usize = 256;
const MESSAGES: usize = 64;

/// Minimums for a report: consecutive inputs, snapshots newer than the ack, and ticks from the ack to the newest of
/// them, after which a server has dropped the acked snapshot.
const INPUTS: u16 = 25;
const NEWER: usize = 25;
const TICKS: i32 = 150;

/// Minimums for a report of a client that acks none anymore: complete snapshots, and ticks between the first and the last
/// of them. The second number of snapshots is for a network that loses datagrams.
const COMPLETE: u16 = 4;
const COMPLETE_WITH_LOSSES: u16 = 8;
const TICKS_WITHOUT: i32 = 100;

/// The inputs that ack no snapshot, and the complete snapshots since the first of them.
#[derive(Debug, Default)]
struct WithoutAck {
    inputs: u16,
    snapshots: u16,
    first: i32,
    newest: i32,
    is_reported: bool,
}

/// The snapshots that a client could have acked.
#[derive(Debug, Default)]
pub(super) struct OldAcks {
    /// The snapshots that the client can read, with the times at which they were sent.
    readable: VecDeque<(i32, Time)>,
    /// Unacked vital messages to the client, with the times at which they were sent first.
    messages: VecDeque<(Seq, Time)>,
    /// The client has received a datagram that was sent at this time or later.
    heard: Option<Time>,
    /// The newest snapshot that the client has acked.
    acked: i32,
    inputs: u16,
    without: WithoutAck,
    is_reported: bool,
}

impl WithoutAck {
    fn restart(&mut self) {
        *self = Self {
            is_reported: self.is_reported,
            ..Self::default()
        };
    }

    fn on_complete(&mut self, tick: i32) {
        if self.inputs == 0 {
            return;
        }
        if self.snapshots == 0 {
            self.first = tick;
        }
        self.newest = tick;
        self.snapshots = self.snapshots.saturating_add(1);
    }

    /// Records an input that acks none. Returns the fact, once, if the client has acked `acked` before.
    fn on_input(&mut self, acked: i32, is_rough: bool) -> Option<(Code, ContentFact)> {
        self.inputs = self.inputs.saturating_add(1);
        let complete = if is_rough { COMPLETE_WITH_LOSSES } else { COMPLETE };
        let is_long = self.newest.saturating_sub(self.first) >= TICKS_WITHOUT && self.inputs >= INPUTS;
        let is_proven = is_long && self.snapshots >= complete && acked > 0;
        if !is_proven || std::mem::replace(&mut self.is_reported, true) {
            return None;
        }
        let fact = ContentFact::AckNone {
            acked,
            newest: self.newest,
            snapshots: self.snapshots,
            inputs: self.inputs,
        };
        Some((Code::SnapAckOld, fact))
    }
}

impl OldAcks {
    /// Records a vital message to the client.
    pub(super) fn on_vital(&mut self, seq: Seq, at: Time) {
        if self.messages.back().is_some_and(|(last, _)| seq.is_behind(*last)) {
            return;
        }
        if self.messages.len() >= MESSAGES {
            self.messages.pop_front();
        }
        self.messages.push_back((seq, at));
    }

    /// Records the ack in the header of a datagram of the client.
    pub(super) fn on_ack(&mut self, ack: Seq) {
        while let Some((_, at)) = self.messages.pop_front_if(|(seq, _)| seq.is_behind(ack)) {
            self.heard = self.heard.max(Some(at));
        }
    }

    /// Records a snapshot that the client can read if it has the acked snapshot.
    pub(super) fn on_readable(&mut self, snap: &Snap, at: Time) {
        // Clients of the games need not read a snapshot with another base than -1.
        if snap.base == -1 {
            self.without.on_complete(snap.tick);
        }
        if snap.base > self.acked {
            return;
        }
        if self.readable.len() >= SNAPSHOTS {
            self.readable.pop_front();
        }
        self.readable.push_back((snap.tick, at));
    }

    /// Records an input that acks `ack`. `is_sent` is true if a snapshot of that tick was sent, `is_rough` if the network
    /// has lost datagrams.
    pub(super) fn on_input(
        &mut self,
        ack: i32,
        is_sent: bool,
        is_rough: bool,
    ) -> Option<(Code, ContentFact)> {
        if ack < 0 {
            self.inputs = 0;
            return self.without.on_input(self.acked, is_rough);
        }
        self.without.restart();
        if is_sent && ack > self.acked {
            self.acked = ack;
        }
        if !is_sent || ack < self.acked {
            self.inputs = 0;
            return None;
        }
        while self.readable.pop_front_if(|(tick, _)| *tick <= ack).is_some() {}
        let heard = self.heard?;
        let received = self.readable.iter().take_while(|(_, at)| *at <= heard);
        let count = received.clone().count();
        let newest = received.last().map_or(ack, |(tick, _)| *tick);
        let is_old = count >= NEWER && newest.saturating_sub(ack) >= TICKS;
        self.inputs = if is_old { self.inputs.saturating_add(1) } else { 0 };
        if self.inputs < INPUTS || std::mem::replace(&mut self.is_reported, true) {
            return None;
        }
        let fact = ContentFact::AckOld {
            got: ack,
            newest,
            snapshots: count,
        };
        Some((Code::SnapAckOld, fact))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the snapshots at which a client is reported that acks none after tick 100, if the server sends a complete
    /// snapshot each second.
    fn reported(is_rough: bool, acks: impl Fn(i32) -> bool) -> Vec<i32> {
        let mut old = OldAcks::default();
        let mut reported = Vec::new();
        old.on_input(100, true, is_rough);
        for tick in 101..1000 {
            if tick % 50 == 0 {
                let (base, parts, part, is_empty) = (-1, 1, 0, false);
                let snap = Snap {
                    tick,
                    base,
                    parts,
                    part,
                    is_empty,
                };
                old.on_readable(&snap, Time(0));
            }
            let ack = if acks(tick) { tick - tick % 50 } else { -1 };
            reported.extend(old.on_input(ack, ack > 0, is_rough).map(|_| tick));
        }
        reported
    }

    #[test]
    fn a_client_that_acks_none_anymore_is_reported_once() {
        assert_eq!(reported(false, |_| false), [300]);
        assert_eq!(reported(true, |_| false), [500]);
        assert_eq!(reported(false, |tick| tick % 150 > 120), [0; 0]);
    }
}
