//! One direction of a session: the datagrams that were sent and have not arrived yet, and the check of arriving
//! datagrams.

use std::collections::VecDeque;
use std::rc::Rc;

use teetap_kit::peer::SEQUENCES;

use crate::traffic::Ready;

/// One direction of one session.
#[derive(Debug)]
pub(super) struct Lane {
    sent: Rc<[Ready]>,
    expected: Rc<[Ready]>,
    turn: usize,
    /// Number of the last vital message sent.
    seq: u16,
    /// Number of the last vital message that arrived, which is the ack of the other direction.
    arrived: u16,
    flying: VecDeque<Flying>,
    /// True if datagrams may overtake others and may be rewritten with a later ack or another compression.
    is_loose: bool,
}

/// A datagram that was sent and has not arrived yet.
#[derive(Clone, Copy, Debug)]
struct Flying {
    turn: usize,
    seq: u16,
    ack: u16,
    /// The time at which it was sent, in nanoseconds since 1970.
    at: u64,
}

/// The result of checking a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// The datagram is as it was sent, except for the token, which is the receiver's.
    Right {
        /// The time at which it was sent.
        sent_at: u64,
        /// Number of datagrams that were sent before it in this direction and did not arrive.
        lost: usize,
    },
    /// The datagram was never sent.
    Wrong,
}

impl Lane {
    /// Creates a lane. The last vital message that was sent had the number `seq`, and the last that arrived had
    /// `arrived`.
    pub(super) fn new((sent, expected): (Rc<[Ready]>, Rc<[Ready]>), seq: u16, arrived: u16) -> Self {
        Self {
            sent,
            expected,
            turn: 0,
            seq,
            arrived,
            flying: VecDeque::with_capacity(64),
            is_loose: false,
        }
    }

    /// Accepts from now on that datagrams overtake others and are rewritten.
    pub(super) fn loosen(&mut self) {
        self.is_loose = true;
    }

    pub(super) fn arrived(&self) -> u16 {
        self.arrived
    }

    pub(super) fn flying(&self) -> usize {
        self.flying.len()
    }

    /// Writes the next datagram into `out`, and records it as sent.
    pub(super) fn next(&mut self, ack: u16, at: u64, out: &mut Vec<u8>) {
        let turn = self.turn;
        self.turn = (turn + 1) % self.sent.len();
        let Some(ready) = self.sent.get(turn) else { return };
        if ready.is_vital() {
            self.seq = (self.seq + 1) % SEQUENCES;
        }
        let seq = self.seq;
        ready.write(ack, seq, out);
        self.flying.push_back(Flying { turn, seq, ack, at });
    }

    /// Checks a datagram at its receiver: token, ack, numbers and payload.
    pub(super) fn check(&mut self, bytes: &[u8], work: &mut Vec<u8>) -> Verdict {
        for lost in 0..self.flying.len() {
            // The contents repeat, so a loose lane searches from the datagram that was sent last.
            let lost = if self.is_loose {
                self.flying.len() - 1 - lost
            } else {
                lost
            };
            let Some(flying) = self.flying.get(lost).copied() else {
                break;
            };
            let Some(ready) = self.expected.get(flying.turn) else {
                break;
            };
            ready.write(flying.ack, flying.seq, work);
            if work == bytes || self.is_loose && ready.has_chunks_of(work, bytes) {
                let lost = if self.is_loose {
                    self.flying.remove(lost);
                    0
                } else {
                    self.flying.drain(..=lost);
                    lost
                };
                if ready.is_vital() {
                    self.arrived = flying.seq;
                }
                return Verdict::Right {
                    sent_at: flying.at,
                    lost,
                };
            }
        }
        Verdict::Wrong
    }

    /// Discards the record of the datagrams that have not arrived, and returns their number. The numbering continues
    /// as if they had arrived.
    pub(super) fn give_up(&mut self) -> usize {
        self.arrived = self.seq;
        self.flying.drain(..).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::traffic::{Direction, Traffic};
    use teetap_kit::codec::Variant;

    fn lane() -> Lane {
        let traffic = Traffic::new(Variant::V7);
        Lane::new(traffic.ready(Direction::S2c, [1; 4], [1; 4]), 1023, 1023)
    }

    fn next(lane: &mut Lane, at: u64) -> Vec<u8> {
        let mut bytes = Vec::new();
        lane.next(7, at, &mut bytes);
        bytes
    }

    #[test]
    fn everything_that_arrives_in_order_is_right_and_vitals_are_acked() {
        let (mut lane, mut work) = (lane(), Vec::new());
        for at in 0..8 {
            let bytes = next(&mut lane, at);
            assert_eq!(lane.arrived(), 1023);
            let right = Verdict::Right { sent_at: at, lost: 0 };
            assert_eq!(lane.check(&bytes, &mut work), right);
        }
        assert_eq!((lane.arrived(), lane.flying()), (0, 0));
    }

    #[test]
    fn a_loose_lane_takes_datagrams_in_any_order_and_with_other_acks() {
        let (mut lane, mut work) = (lane(), Vec::new());
        lane.loosen();
        let first = next(&mut lane, 1);
        let mut later = next(&mut lane, 2);
        later[1] ^= 5;
        let right = |sent_at| Verdict::Right { sent_at, lost: 0 };
        assert_eq!(lane.check(&later, &mut work), right(2));
        assert_eq!(lane.check(&first, &mut work), right(1));
        assert_eq!(lane.flying(), 0);
        assert_eq!(lane.check(&first, &mut work), Verdict::Wrong);
    }

    #[test]
    fn any_other_byte_is_wrong() {
        let (mut lane, mut work) = (lane(), Vec::new());
        let bytes = next(&mut lane, 0);
        for place in 0..bytes.len() {
            let mut other = bytes.clone();
            other[place] ^= 1;
            assert_eq!(lane.check(&other, &mut work), Verdict::Wrong, "{place}");
        }
        assert_eq!(lane.check(&bytes[1..], &mut work), Verdict::Wrong);
        assert!(matches!(lane.check(&bytes, &mut work), Verdict::Right { .. }));
        assert_eq!(lane.check(&bytes, &mut work), Verdict::Wrong, "twice");
    }

    #[test]
    fn skipped_messages_are_lost() {
        let (mut lane, mut work) = (lane(), Vec::new());
        let all: Vec<_> = (0..4).map(|at| next(&mut lane, at)).collect();
        let right = Verdict::Right { sent_at: 2, lost: 2 };
        assert_eq!(lane.check(&all[2], &mut work), right);
        assert_eq!(lane.check(&all[0], &mut work), Verdict::Wrong, "too late");
        assert_eq!(lane.give_up(), 1);
    }
}
