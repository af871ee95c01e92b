//! Which sequence numbers one side has acked during a join.

use teetap_wire::Seq;

/// Sequence numbers that one side has acked since it connected.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Acked {
    last: Seq,
    /// Number of sequence numbers acked so far.
    count: u16,
}

impl Acked {
    /// Records an ack. Ignores an ack that is behind the last recorded ack.
    pub(super) fn advance(&mut self, ack: Seq) {
        if !ack.is_behind(self.last) {
            self.count = self.count.saturating_add(self.last.distance_to(ack));
            self.last = ack;
        }
    }

    /// Returns true if `seq` was acked since the side connected. Half of all sequence numbers are behind the last ack;
    /// the count excludes numbers that this connection has not used yet.
    pub(super) const fn has(self, seq: Seq) -> bool {
        seq.is_behind(self.last) && seq.distance_to(self.last) < self.count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks all sequence numbers around each ack against unwrapped numbers, over three wraps.
    #[test]
    fn a_number_is_acked_only_if_the_acks_have_passed_it() {
        let seq = |number: i32| Seq::new(u16::try_from(number.rem_euclid(1024)).unwrap());
        let mut acked = Acked::default();
        for last in 0..3100 {
            acked.advance(seq(last));
            for number in last - 512..last + 512 {
                let expected = number >= 1 && number <= last;
                assert_eq!(
                    acked.has(seq(number)),
                    expected,
                    "number {number}, acked up to {last}"
                );
            }
            // An older ack that arrives out of order does not revoke later acks.
            acked.advance(seq(last - 7));
            assert_eq!(acked.last, seq(last), "acked up to {last}");
        }
    }
}
