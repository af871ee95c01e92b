//! The counts of a replay, so that a test can show that there was something to see.

use std::collections::BTreeMap;

use teetap_kit::codec::{Variant, open};
use teetap_wire::Side;

use crate::datagram::{Kind, is_compressed};

/// Counts of one replay.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    /// Recorded datagrams that went in.
    pub(crate) received: usize,
    /// The datagrams that came out on the other leg.
    pub(crate) forwarded: usize,
    /// The datagrams outside of any session that came out on the other leg.
    pub(crate) connless: usize,
    /// The datagrams that stayed on the leg of their sender.
    pub(crate) kept: BTreeMap<(Side, Kind), usize>,
    /// The datagrams that the core sent on its own, by the leg they went to.
    pub(crate) made: BTreeMap<(Side, Kind), usize>,
    /// The datagrams after a CLOSE.
    pub(crate) late: usize,
    /// Compressed DDNet datagrams that came out with the very bytes that their sender would have sent with the other
    /// token; with a padding byte that their sender leaves out; and in clear, where compression saves nothing.
    pub(crate) ddnet: [usize; 3],
    /// Notes on datagrams that were forwarded.
    pub(crate) notes: BTreeMap<&'static str, usize>,
    /// The resends that came out: datagrams with the resend flag, chunks marked as resent, numbers left out and numbers seen
    /// before.
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

    /// The form in which a compressed DDNet datagram came out, if it came out right.
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

    /// Looks at the numbers of a datagram that came out. `newest` is the highest one of its direction so far.
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
