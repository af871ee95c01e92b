//! The snapshots that a client was sent, and those that its inputs ack.
//!
//! Law: a client acks the newest complete snapshot with each input. The server takes the ack for the base of the next difference; without it,
//! it sends complete snapshots, one in a second (`CServer::DoSnapshot` in `server.cpp` of Teeworlds 0.6.5 and 0.7.5, and of DDNet). A client
//! that misses snapshots acks an older one, which is known for [`MOST`] snapshots.

use std::{collections::VecDeque, time::Duration};

use teetap_proxy::session::Time;

/// The most ticks that are known: those of more than 10 seconds.
const MOST: usize = 512;

/// The snapshots, the inputs without an ack of one, and the time of both after which it is clear.
const SNAPSHOTS: usize = 25;
const INPUTS: u32 = 25;
const TIME: Duration = Duration::from_secs(2);

/// The snapshots of a client.
#[derive(Debug, Default)]
pub(super) struct Ticks {
    known: VecDeque<i32>,
    inputs: u32,
    /// The time of the first snapshot since the last ack of one.
    since: Option<Time>,
    is_reported: bool,
}

/// Inputs that ack no snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unacked {
    /// The ack of the last one.
    pub got: i32,
    /// The newest snapshot.
    pub newest: i32,
    /// The inputs.
    pub inputs: u32,
}

impl Ticks {
    /// Records a part of a snapshot.
    pub(super) fn sent(&mut self, tick: i32, at: Time) {
        self.since.get_or_insert(at);
        if self.known.back() != Some(&tick) {
            self.known.push_back(tick);
            if self.known.len() > MOST {
                self.known.pop_front();
            }
        }
    }

    /// Records the ack of an input. Returns the inputs once it is clear that they ack no snapshot.
    pub(super) fn acked(&mut self, tick: i32, at: Time) -> Option<Unacked> {
        if self.known.contains(&tick) {
            (self.inputs, self.since) = (0, None);
            return None;
        }
        let newest = *self.known.back()?;
        self.inputs = self.inputs.saturating_add(1);
        let is_long = self.since.is_some_and(|since| at.since(since) >= TIME);
        let is_clear = is_long && self.inputs >= INPUTS && self.known.len() >= SNAPSHOTS;
        if !is_clear || std::mem::replace(&mut self.is_reported, true) {
            return None;
        }
        Some(Unacked {
            got: tick,
            newest,
            inputs: self.inputs,
        })
    }
}
