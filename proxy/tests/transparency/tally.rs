//! The counts of a replay, with which a test checks that the recording contains the datagrams that the
//! test is about.

use std::collections::BTreeMap;

use teetap_kit::codec::{Variant, open};
use teetap_wire::Side;

use crate::datagram::{Kind, is_compressed};

/// Counts of one replay.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    /// Recorded datagrams that were inputs.
    pub(crate) received: usize,
    /// Datagrams that were forwarded.
    pub(crate) forwarded: usize,
    /// Datagrams outside of any session that were forwarded.
    pub(crate) connless: usize,
    /// Datagrams that stayed on the leg of their sender, by that side and their kind.
    pub(crate) kept: BTreeMap<(Side, Kind), usize>,
    /// Datagrams that the core sent on its own, by the leg on which they were sent and their kind.
    pub(crate) made: BTreeMap<(Side, Kind), usize>,
    /// Datagrams after a CLOSE.
    pub(crate) late: usize,
    /// Compressed DDNet datagrams: with exactly the bytes that their sender would have sent with the other
    /// token; with a padding byte that their sender omits; and uncompressed, because compression saves
    /// nothing.
    pub(crate) ddnet: [usize; 3],
    /// Notes on forwarded datagrams.
    pub(crate) notes: BTreeMap<&'static str, usize>,
    /// Retransmissions among forwarded datagrams: datagrams with the resend flag, chunks with the resend
    /// flag, gaps in the numbers, and numbers that were seen before.
    pub(crate) resend_flags: usize,
    pub(crate) resent_chunks: usize,
    pub(crate) gaps: usize,
    pub(crate) repeats: usize,
}

impl Tally {
    pub(crate) fn keep(&mut self, side: Side, kind: Kind) {
        *self.kept.entry((side, kind)).or_default() += 1;
    }

    pub(crate) fn make(&mut self, side: Side, kind: Kind) {
        *self.made.entry((side, kind)).or_default() += 1;
    }

    /// Checks a compressed DDNet datagram and counts the form in which it was sent.
    pub(crate) fn look_at_compressed(&mut self, variant: Variant, sent: &[u8], expected: &[u8]) {
        let is_padded = || {
            sent.split_last()
                .is_some_and(|(last, rest)| *last == 0 && rest == expected)
        };
        let form = if sent == expected {
            0
        } else if is_padded() {
            1
        } else {
            assert!(
                !is_compressed(variant, sent),
                "other bytes: {sent:02x?}, {expected:02x?}"
            );
            assert!(
                sent.len() <= expected.len(),
                "clear and longer: {sent:02x?}, {expected:02x?}"
            );
            2
        };
        self.ddnet[form] += 1;
    }

    /// Counts the numbers of a forwarded datagram. `newest` is the highest number of its direction so far.
    pub(crate) fn look(&mut self, variant: Variant, bytes: &[u8], newest: &mut u16) {
        let opened = open(variant, bytes).unwrap();
        self.resend_flags += usize::from(opened.head.flags.resend);
        for chunk in opened.chunks() {
            self.resent_chunks += usize::from(chunk.resend);
            let Some(seq) = chunk.seq else { continue };
            match seq.wrapping_sub(*newest) & 0x3ff {
                1 => *newest = seq,
                2..512 => {
                    self.gaps += 1;
                    *newest = seq;
                }
                _ => self.repeats += 1,
            }
        }
    }
}
