//! The acks and inputs of the client, and the faults that they prove.

use crate::note::{Code, Note, Notes};
use crate::snap::forms::{Ack, Head};
use crate::snap::late::LateInputs;
use crate::snap::unacked::Unacked;
use crate::snap::unsent::Unsent;

/// Number of acked ticks remembered whose snapshots were not seen. A server deltas against an ack of the last round trip.
const UNSEEN: usize = 4;

#[derive(Debug, Clone, Default)]
pub(super) struct ClientAcks {
    /// The tick that the client acked last; `None` if it has acked none.
    pub(super) acked: Option<i32>,
    /// The last acked ticks whose snapshots were not seen, the newest last.
    unseen: [Option<i32>; UNSEEN],
    unacked: Unacked,
    unsent: Unsent,
    late: LateInputs,
}

impl ClientAcks {
    /// Records an ack, and notes proven faults of the client.
    pub(super) fn on_ack(&mut self, ack: Ack, notes: &mut Notes) {
        let mut note = |code, (at, len)| notes.push(Note { code, at, len });
        let (tick, place) = ack.tick;
        self.acked = Some(tick).filter(|tick| *tick >= 0);
        if self.unacked.acked(tick) {
            note(Code::SnapEmptyUnacked, place);
        }
        if self.unsent.acked(tick) {
            note(Code::SnapUnacked, place);
        }
        if let Some((intended, place)) = ack.intended
            && self.late.sent(intended, self.unsent.knows(tick).then_some(tick))
        {
            note(Code::InputLate, place);
        }
    }

    /// Records that the snapshot of an acked tick was not seen. The client has received it, unless its ack is wrong.
    pub(super) fn not_seen(&mut self, tick: i32) {
        if tick >= 0 && !self.unseen.contains(&Some(tick)) {
            self.unseen.rotate_left(1);
            if let Some(newest) = self.unseen.last_mut() {
                *newest = Some(tick);
            }
        }
    }

    /// Returns true if the client has acked a snapshot of this tick that was not seen.
    pub(super) fn has_unseen(&self, tick: i32) -> bool {
        self.unseen.contains(&Some(tick))
    }

    /// Records an `input_timing` of the server with `left` milliseconds.
    pub(super) fn on_timing(&mut self, left: i32) {
        self.late.answered(left);
    }

    /// Records a part of a snapshot.
    pub(super) fn sent(&mut self, tick: i32) {
        self.unsent.sent(tick);
    }

    /// Records a snapshot that the client can read. `is_complete` is true if every client can read it.
    pub(super) fn readable(&mut self, head: &Head, is_complete: bool) {
        if head.crc.is_none() {
            self.unacked.came(head.tick);
        } else {
            self.unacked.came_full(head.tick);
        }
        if is_complete {
            self.unsent.complete(head.tick);
        }
    }

    /// Records that messages were missed.
    pub(super) fn gap(&mut self) {
        self.unacked = Unacked::default();
        self.unsent = Unsent::new(true);
    }

    /// Starts anew. `missed` is true if messages may be missed.
    pub(super) fn forget(&mut self, missed: bool) {
        *self = Self {
            unsent: Unsent::new(missed),
            ..Self::default()
        };
    }

    /// Returns the number of bytes of memory held.
    pub(super) fn memory(&self) -> usize {
        self.unacked.memory() + self.unsent.memory()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the codes of the notes on a client that acks tick 900, while complete snapshots from tick 1000 on are
    /// known.
    fn noted(mut acks: ClientAcks) -> Vec<&'static str> {
        let mut notes = Notes::new();
        for tick in (1000..2000).step_by(10) {
            acks.sent(tick);
            acks.unsent.complete(tick);
            let tick = (900, (0, 1));
            acks.on_ack(Ack { tick, intended: None }, &mut notes);
        }
        notes.iter().map(|note| note.code.name()).collect()
    }

    #[test]
    fn a_client_may_ack_a_snapshot_that_a_gap_hides() {
        let mut behind_a_gap = ClientAcks::default();
        behind_a_gap.gap();
        assert_eq!(
            (noted(ClientAcks::default()), noted(behind_a_gap)),
            (vec!["snap-unacked"], vec![]),
            "notes without a gap, and after one"
        );
    }
}
