//! Messages on which a rule acted, for the evaluation of their retransmissions.
//!
//! Law: a retransmission repeats the decision about its message. A sequence number identifies a message until it is
//! reused after 1024 messages, and a resend is never that old (`NET_MAX_SEQUENCE`, `CNetConnection`).

use teetap_wire::{Dir, PerDir, Seq};

use crate::verdict::Message;

/// Number of sequence numbers of the games.
const NUMBERS: usize = 1024;

/// One bit per sequence number and direction. Allocated with the first message.
#[derive(Debug, Default)]
pub(super) struct ActedOn(Option<Box<PerDir<[u64; NUMBERS / 64]>>>);

impl ActedOn {
    /// Records whether the rule acted on the first copy of a message.
    pub(super) fn record(&mut self, message: &Message<'_>, acted: bool) {
        if self.0.is_none() && !acted {
            return;
        }
        let bits = self.0.get_or_insert_default();
        let Some((word, bit)) = message.seq.and_then(|seq| place(bits, message.dir, seq)) else {
            return;
        };
        if acted {
            *word |= bit;
        } else {
            *word &= !bit;
        }
    }

    /// Returns true if the rule acted on the first copy of this message.
    pub(super) fn has(&mut self, message: &Message<'_>) -> bool {
        let bits = self.0.as_deref_mut().zip(message.seq);
        let place = bits.and_then(|(bits, seq)| place(bits, message.dir, seq));
        place.is_some_and(|(word, bit)| *word & bit != 0)
    }
}

fn place(bits: &mut PerDir<[u64; NUMBERS / 64]>, dir: Dir, seq: Seq) -> Option<(&mut u64, u64)> {
    let number = usize::from(seq.get());
    let word = bits[dir].get_mut(number / 64)?;
    Some((word, 1 << (number % 64)))
}
