//! Recognizes what the acks of a peer count in place of vital chunks.
//!
//! Law: a pattern is reported once, if it holds for at least [`ENOUGH`] acks outside the window, and the values that
//! prove it are part of it.

use std::fmt;

use teetap_wire::Seq;

/// Minimum number of acks outside the window.
const ENOUGH: u32 = 5;

/// Minimum amount by which an ack has grown before it is compared with the other peer's datagrams.
const GROWTH: u32 = 12;

/// Maximum difference between the growth of an ack and that of what it counts, for datagrams that are on their way.
const UNDERWAY: u32 = 3;

/// The lowest number that does not fit in 8 bits.
const EIGHT_BITS: u16 = 1 << 8;

/// What a peer has sent so far.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Amounts {
    /// Number of datagrams that are not control packets.
    pub(super) datagrams: u32,
    /// Number of announced chunks.
    pub(super) chunks: u32,
}

/// The acks of one peer, compared with what the other peer has sent.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct AckPattern {
    /// What the other peer had sent at the first ack, with its number of vital chunks.
    start: Option<(Amounts, u64)>,
    last: Seq,
    growth: u32,
    /// Number of acks.
    total: u32,
    /// Number of acks outside the window.
    odd: u32,
    /// Number of these that are one more than the highest number.
    next: u32,
    /// Number of these that are the last number of their own sender.
    own: u32,
    /// Number of these that are the low 8 bits of the highest number or of the one before it.
    eight_bits: u32,
    /// True once an ack went back.
    went_back: bool,
    is_reported: bool,
}

/// What the acks of a peer are in place of the number of the last vital chunk in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AckMistake {
    /// The number of the next chunk, in this many of so many datagrams.
    Next(u32, u32),
    /// The last number of its own sender, in this many of so many datagrams. The last value is true if it is the number of
    /// the next chunk of the other peer, too.
    Own(u32, u32, bool),
    /// A count of datagrams or chunks.
    Counts {
        /// Amount by which the ack has grown.
        growth: u32,
        /// Number of datagrams of the other peer in that time.
        datagrams: u32,
        /// Number of chunks in these datagrams.
        chunks: u32,
        /// Number of vital chunks among them.
        vital: u32,
    },
    /// The low 8 bits of the number.
    EightBits,
}

impl AckPattern {
    /// Returns true if an ack need not be recorded, because the numbers before it are not all known.
    pub(super) const fn is_idle(&self, is_odd: bool, is_from_start: bool) -> bool {
        self.is_reported || !is_odd && !is_from_start && self.odd == 0
    }

    /// Records the ack of a datagram. `own` is the last number of its sender, `None` if it has none. `top` is the highest number of the other peer, `sent` what it has sent, and
    /// `vital` its number of vital chunks. Returns the mistake, once, if the acks show it.
    pub(super) fn acked(
        &mut self,
        (ack, is_odd): (Seq, bool),
        (own, top): (Option<Seq>, Seq),
        sent: Amounts,
        vital: u64,
    ) -> Option<AckMistake> {
        let (before, vital_before) = *self.start.get_or_insert_with(|| {
            self.last = ack;
            (sent, vital)
        });
        let step = self.last.distance_to(ack);
        self.went_back |= ack != self.last && ack.is_behind(self.last);
        self.growth = self.growth.saturating_add(step.into());
        self.last = ack;
        self.total = self.total.saturating_add(1);
        if !is_odd {
            return None;
        }
        let low = |seq: Seq| Seq::new(seq.get() % EIGHT_BITS);
        self.odd = self.odd.saturating_add(1);
        self.own = self.own.saturating_add(u32::from(own == Some(ack)));
        self.next = self.next.saturating_add(u32::from(ack == top.next()));
        let is_low = top.get() >= EIGHT_BITS && (ack == low(top) || ack == low(top.prev()));
        self.eight_bits = self.eight_bits.saturating_add(u32::from(is_low));
        if self.is_reported || self.odd < ENOUGH {
            return None;
        }
        let datagrams = sent.datagrams.saturating_sub(before.datagrams);
        let chunks = sent.chunks.saturating_sub(before.chunks);
        let vital = u32::try_from(vital.saturating_sub(vital_before)).unwrap_or(u32::MAX);
        let growth = self.growth;
        let is_near = |count: u32| count.abs_diff(growth) <= UNDERWAY;
        let counts = !self.went_back
            && growth >= GROWTH
            && growth > 2 * vital.saturating_add(UNDERWAY)
            && (is_near(datagrams) || is_near(chunks));
        let found = if self.eight_bits == self.odd {
            AckMistake::EightBits
        } else if counts {
            AckMistake::Counts {
                growth,
                datagrams,
                chunks,
                vital,
            }
        } else if self.own == self.odd && 2 * self.odd >= self.total {
            AckMistake::Own(self.own, self.total, self.next == self.odd)
        } else if self.next == self.odd && 2 * self.odd >= self.total {
            AckMistake::Next(self.next, self.total)
        } else {
            return None;
        };
        self.is_reported = true;
        Some(found)
    }
}

impl fmt::Display for AckMistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Next(next, total) => write!(
                f,
                "in {next} of {total} datagrams the ack is the number after the last one sent: it is the last number received, not the next"
            ),
            Self::Own(own, total, is_next) => {
                let next = if *is_next {
                    ", and also the number after the last one of the other peer"
                } else {
                    ""
                };
                write!(
                    f,
                    "in {own} of {total} datagrams the ack is the last number of its own sender{next}: it is the last number received"
                )
            }
            Self::Counts {
                growth,
                datagrams,
                chunks,
                vital,
            } => write!(
                f,
                "the ack grew by {growth} during {datagrams} datagrams with {chunks} chunks, {vital} of them vital: only vital chunks count"
            ),
            Self::EightBits => f.write_str("the ack has the low 8 bits of the number: numbers have 10 bits"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the first mistake of a peer whose acks are `ack` of the highest number and of the number of chunks.
    fn found(ack: impl Fn(u16, u16) -> u16, vital_every: u16) -> Option<AckMistake> {
        found_with(ack, vital_every, None)
    }

    /// Returns the first mistake like [`found`], of a peer whose last number is `own`.
    fn found_with(ack: impl Fn(u16, u16) -> u16, vital_every: u16, own: Option<u16>) -> Option<AckMistake> {
        let mut pattern = AckPattern::default();
        (1..400).find_map(|count: u16| {
            let top = count / vital_every;
            let amount = u32::from(count);
            let sent = Amounts {
                datagrams: amount,
                chunks: amount,
            };
            let got = Seq::new(ack(top, count));
            let numbers = (own.map(Seq::new), Seq::new(top));
            pattern.acked((got, got != Seq::new(top)), numbers, sent, top.into())
        })
    }

    #[test]
    fn the_pattern_of_acks_is_named() {
        assert_eq!(found(|top, _| top, 10), None);
        assert_eq!(found(|top, _| top + 1, 10), Some(AckMistake::Next(5, 5)));
        assert_eq!(found(|top, _| top % 256, 1), Some(AckMistake::EightBits));
        assert_eq!(
            found(|_, count| count, 10),
            Some(AckMistake::Counts {
                growth: 12,
                datagrams: 12,
                chunks: 12,
                vital: 1,
            })
        );
        assert_eq!(
            found_with(|_, _| 77, 10, Some(77)),
            Some(AckMistake::Own(5, 5, false))
        );
        assert_eq!(
            found_with(|_, _| 1, 500, Some(1)),
            Some(AckMistake::Own(5, 5, true))
        );
        assert_eq!(found_with(|top, _| top, 10, Some(77)), None);
        assert_eq!(found(|top, _| top + 20, 10), None);
        assert_eq!(found(|_, count| count * 7, 10), None);
    }
}
