//! Clients that go on acking an old snapshot although they can read newer ones.
//!
//! A client acks the newest snapshot that it has read with each input (`NETMSG_SNAP` and `SendInput` in `client.cpp` of
//! Teeworlds 0.6.5, 0.7.5 and of DDNet). The servers keep snapshots for three seconds; without the acked one they send
//! complete snapshots (`DoSnapshot` in `server.cpp`).
//!
//! The evidence that the client receives the server's datagrams is its ack of a vital message that was sent after the
//! snapshots. Only snapshots in small datagrams count, because a network may lose all large ones.
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
    is_reported: bool,
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
        if snap.base > self.acked {
            return;
        }
        if self.readable.len() >= SNAPSHOTS {
            self.readable.pop_front();
        }
        self.readable.push_back((snap.tick, at));
    }

    /// Records an input that acks `ack`. `is_sent` is true if a snapshot of that tick was sent.
    pub(super) fn on_input(&mut self, ack: i32, is_sent: bool) -> Option<(Code, ContentFact)> {
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
