//! Sequence and ack numbers of vital chunks.
//!
//! Law: numbers have 10 bits, and all arithmetic is modulo 1024. Numbers have no absolute order, only a position
//! relative to another number. The first vital chunk of a connection has number 1; the number 0 is used only after a
//! wrap.

use std::fmt;

/// The number of values in the cycle.
const COUNT: u16 = 1024;
const MASK: u16 = COUNT - 1;

/// A sequence or ack number, 0 to 1023.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Seq(u16);

impl Seq {
    /// The ack of a peer that has received no vital chunk yet.
    pub const ZERO: Self = Self(0);

    /// Creates a number from the low 10 bits of `value`.
    #[must_use]
    pub const fn new(value: u16) -> Self {
        Self(value & MASK)
    }

    /// Returns the number, 0 to 1023.
    #[must_use]
    pub const fn get(self) -> u16 {
        self.0
    }

    /// Returns the number after this one; 0 follows 1023.
    #[must_use]
    pub const fn next(self) -> Self {
        self.plus(1)
    }

    /// Returns the number before this one; 1023 precedes 0.
    #[must_use]
    pub const fn prev(self) -> Self {
        self.plus(MASK)
    }

    /// Returns the number `count` places later.
    #[must_use]
    pub const fn plus(self, count: u16) -> Self {
        Self::new(self.0.wrapping_add(count))
    }

    /// Returns the number of steps forward from here to `later`, 0 to 1023.
    #[must_use]
    pub const fn distance_to(self, later: Self) -> u16 {
        later.0.wrapping_sub(self.0) & MASK
    }

    /// Returns true if a receiver whose last in-order number is `ack` treats this number as a duplicate: it lies in
    /// the cyclic range `ack - 512 ..= ack`, 513 numbers (Teeworlds 0.6.5 network.cpp, `IsSeqInBackroom`).
    #[must_use]
    pub const fn is_behind(self, ack: Self) -> bool {
        self.distance_to(ack) <= COUNT / 2
    }

    /// Returns true if this number lies in the cyclic closed range from `lo` to `hi`.
    ///
    /// With `lo` = the last accepted ack and `hi` = the last number sent, this is the ack window outside which
    /// receivers drop the whole datagram (Teeworlds 0.6.4 and later, `CNetConnection::Feed`).
    #[must_use]
    pub const fn is_within(self, lo: Self, hi: Self) -> bool {
        lo.distance_to(self) <= lo.distance_to(hi)
    }

    /// Returns true if this number is acked when the ack advances from `from` to `to`: it lies in the cyclic range
    /// after `from`, up to and including `to`. Returns false for every number if `to` is behind `from`.
    #[must_use]
    pub const fn is_acked_between(self, from: Self, to: Self) -> bool {
        let steps = from.distance_to(self);
        !to.is_behind(from) && steps > 0 && steps <= from.distance_to(to)
    }

    /// Returns header bits 9 and 8.
    pub(crate) const fn high(self) -> u8 {
        self.0.to_be_bytes()[0]
    }

    /// Returns header bits 7 to 0.
    pub(crate) const fn low(self) -> u8 {
        self.0.to_be_bytes()[1]
    }
}

impl fmt::Display for Seq {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl fmt::Debug for Seq {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reimplements `is_behind` as the reference writes it, with ordinary integers.
    fn reference_backroom(seq: i32, ack: i32) -> bool {
        let bottom = ack - 512;
        if bottom < 0 {
            seq <= ack || seq >= bottom + 1024
        } else {
            seq <= ack && seq >= bottom
        }
    }

    fn reference_window(ack: i32, peer_ack: i32, sequence: i32) -> bool {
        if sequence >= peer_ack {
            ack >= peer_ack && ack <= sequence
        } else {
            ack >= peer_ack || ack <= sequence
        }
    }

    #[test]
    fn backroom_is_the_references_for_every_pair() {
        for ack in 0..1024u16 {
            for seq in 0..1024u16 {
                let expected = reference_backroom(i32::from(seq), i32::from(ack));
                assert_eq!(
                    Seq::new(seq).is_behind(Seq::new(ack)),
                    expected,
                    "seq {seq} ack {ack}"
                );
            }
        }
        assert!(Seq::new(514).is_behind(Seq::new(2)));
        assert!(!Seq::new(513).is_behind(Seq::new(2)));
    }

    #[test]
    fn window_is_the_references() {
        for lo in (0..1024u16).step_by(31).chain([1023]) {
            for hi in (0..1024u16).step_by(37).chain([0, 1023, lo]) {
                for ack in (0..1024u16).step_by(7).chain([lo, hi, 1023]) {
                    let expected = reference_window(i32::from(ack), i32::from(lo), i32::from(hi));
                    let got = Seq::new(ack).is_within(Seq::new(lo), Seq::new(hi));
                    assert_eq!(got, expected, "ack {ack} in {lo}..={hi}");
                }
            }
        }
    }

    #[test]
    fn an_ack_that_advances_acks_the_numbers_that_it_passes() {
        for from in (0..1024u16).step_by(33).chain([1022, 1023]) {
            for steps in (0..=511u16).step_by(29).chain([1, 511]) {
                for number in 0..1024u16 {
                    let expected = (1..=steps).any(|step| (from + step) % 1024 == number);
                    let (from, to) = (Seq::new(from), Seq::new(from + steps));
                    let got = Seq::new(number).is_acked_between(from, to);
                    assert_eq!(got, expected, "{number} from {from} to {to}");
                }
            }
        }
        // A reordered, older ack acks nothing.
        assert!(!Seq::new(5).is_acked_between(Seq::new(9), Seq::new(7)));
    }

    #[test]
    fn wraps() {
        assert_eq!(Seq::new(1023).next(), Seq::ZERO);
        assert_eq!(Seq::ZERO.prev(), Seq::new(1023));
        assert_eq!(Seq::new(1020).plus(7).get(), 3);
        assert_eq!(Seq::new(1020).distance_to(Seq::new(3)), 7);
        assert_eq!(Seq::new(3).distance_to(Seq::new(1020)), 1017);
        assert_eq!(Seq::new(0xffff).get(), 1023);
        assert_eq!(Seq::new(5).plus(u16::MAX), Seq::new(4));
    }
}
