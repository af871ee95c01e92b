//! The acks of one side of a join.

use teetap_wire::Seq;

/// The acks of one side since it has connected.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Acked {
    last: Seq,
    /// The numbers that it has acked.
    count: u16,
}

impl Acked {
    /// Takes an ack.
    pub(super) fn advance(&mut self, ack: Seq) {
        if !ack.is_behind(self.last) {
            self.count = self.count.saturating_add(self.last.distance_to(ack));
            self.last = ack;
        }
    }

    /// Returns true if this number is acked. One before the first number was never sent, although it is behind the last ack.
    pub(super) const fn has(self, seq: Seq) -> bool {
        seq.is_behind(self.last) && seq.distance_to(self.last) < self.count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All numbers around each ack, over three wraps, against numbers without a wrap.
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
            // An overtaken ack takes nothing back.
            acked.advance(seq(last - 7));
            assert_eq!(acked.last, seq(last), "acked up to {last}");
        }
    }
}
