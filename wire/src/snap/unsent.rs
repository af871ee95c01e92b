//! Detects clients that ack no snapshot.
//!
//! After a correct client has decoded a snapshot, each of its inputs acks the tick of the snapshot until it decodes a
//! newer snapshot. A client that lacks the base of a delta acks -1 until it decodes a complete snapshot (`NETMSG_SNAP`
//! and `SendInput` in `client.cpp` of Teeworlds 0.6.5, 0.7.5 and of DDNet). The evidence is a series of inputs that ack
//! -1, 0 or a tick that was not sent, while the server sends complete snapshots, which every client can decode. A
//! client that no longer receives snapshots still acks the last snapshot, regardless of its age.
//!
//! Law: memory is bounded.

use std::collections::VecDeque;

/// Minimums for a row: complete snapshots, ticks from the first to the last snapshot, and inputs.
const MANY: u16 = 8;
const TICKS: i32 = 100;
const INPUTS: u16 = 25;
/// Maximum number of ticks kept.
const MOST: usize = 512;

/// The ticks that were sent, and the inputs that ack none of these ticks.
#[derive(Debug, Clone, Default)]
pub(super) struct Unsent {
    ticks: VecDeque<i32>,
    /// True if snapshots older than the kept ticks were sent, or may have been sent.
    is_cut: bool,
    /// The last tick that was sent and acked.
    acked: Option<i32>,
    /// The number of complete snapshots since the last ack of a sent tick.
    count: u16,
    /// The tick of the first of these snapshots.
    first: Option<i32>,
    inputs: u16,
    is_reported: bool,
}

impl Unsent {
    /// Creates a list for a session whose earlier snapshots may be unknown.
    pub(super) fn new(is_cut: bool) -> Self {
        Self {
            is_cut,
            ..Self::default()
        }
    }

    /// Records a part of a snapshot.
    pub(super) fn sent(&mut self, tick: i32) {
        if self.ticks.back() == Some(&tick) {
            return;
        }
        if self.ticks.len() >= MOST {
            self.ticks.pop_front();
            self.is_cut = true;
        }
        self.ticks.push_back(tick);
    }

    /// Records a complete snapshot that each client can read.
    pub(super) fn complete(&mut self, tick: i32) {
        self.count = self.count.saturating_add(1);
        self.first.get_or_insert(tick);
    }

    /// Records an ack. Returns true, once, if the client is proven to ack no snapshot.
    pub(super) fn acked(&mut self, tick: i32) -> bool {
        let Some((oldest, newest)) = self.ticks.front().zip(self.ticks.back()) else {
            return false;
        };
        let (is_unknown, newest) = (self.is_cut && (1..*oldest).contains(&tick), *newest);
        // Most acks are of a recent tick.
        let was_sent = || self.ticks.iter().rev().any(|sent| *sent == tick);
        if is_unknown || self.acked == Some(tick) || was_sent() {
            self.acked = Some(tick);
            (self.count, self.first, self.inputs) = (0, None, 0);
            return false;
        }
        self.inputs = self.inputs.saturating_add(1);
        let is_long = self
            .first
            .is_some_and(|first| newest.saturating_sub(first) >= TICKS);
        let is_clear = is_long && self.count >= MANY && self.inputs >= INPUTS;
        is_clear && !std::mem::replace(&mut self.is_reported, true)
    }

    /// Returns true if the last ack is `tick`, and that tick was sent.
    pub(super) fn knows(&self, tick: i32) -> bool {
        self.acked == Some(tick)
    }

    /// Returns the number of bytes of memory held.
    pub(super) fn memory(&self) -> usize {
        self.ticks.capacity() * size_of::<i32>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the inputs at which a client is noted that acks the result of `ack` for the newest tick. Every second
    /// input follows a snapshot, which is complete if `is_complete` returns true.
    fn noted(mut unsent: Unsent, is_complete: fn(i32) -> bool, ack: impl Fn(i32) -> i32) -> Vec<i32> {
        let mut noted = Vec::new();
        for input in 0..4000 {
            let tick = 1000 + input / 2 * 10;
            if input % 2 == 0 {
                unsent.sent(tick);
                unsent.sent(tick);
                if is_complete(tick) {
                    unsent.complete(tick);
                }
            }
            if unsent.acked(ack(tick)) {
                noted.push(input);
            }
            assert!(unsent.memory() <= 4096);
        }
        noted
    }

    #[test]
    fn a_client_that_acks_what_was_not_sent_is_noted_once() {
        let acks: [fn(i32) -> i32; 5] = [|_| -1, |_| 0, |_| 7, |tick| tick + 1, |tick| tick - 1];
        for ack in acks {
            assert_eq!(noted(Unsent::default(), |_| true, ack), [24]);
        }
        // One complete snapshot per second: the client is reported at the eighth.
        assert_eq!(noted(Unsent::default(), |tick| tick % 50 == 0, |_| -1), [70]);
        // The client acks at first, and then stops.
        let late = |tick| if tick < 2000 { tick } else { -1 };
        assert_eq!(noted(Unsent::default(), |_| true, late), [224]);
    }

    #[test]
    fn others_are_not() {
        let play = |ack: fn(i32) -> i32| noted(Unsent::default(), |_| true, ack);
        assert_eq!(play(|tick| tick), []);
        assert_eq!(play(|tick| (tick - 200).max(1000)), []);
        // The network loses all snapshots after this tick: the ack stays, longer than ticks are kept.
        assert_eq!(play(|tick| tick.min(1200)), []);
        // The client lacks a base now and then.
        assert_eq!(play(|tick| if tick % 110 == 0 { tick } else { -1 }), []);
        // The client can read none: no complete snapshot is right.
        assert_eq!(noted(Unsent::default(), |_| false, |_| -1), []);
        // Other snapshots were sent before the first known snapshot.
        assert_eq!(noted(Unsent::new(true), |_| true, |_| 900), []);
        assert_eq!(noted(Unsent::new(true), |_| true, |_| -1), [24]);
    }
}
