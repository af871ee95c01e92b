//! The last vital messages of one direction, by which copies are recognized.
//!
//! Law: bounded. Only the number, length and hash of a message are kept, not its bytes.

use std::{collections::VecDeque, time::Duration};

use teetap_proxy::session::Time;
use teetap_wire::Seq;

/// Maximum number of messages kept.
const MOST: usize = 128;

/// Maximum number of datagrams kept.
const DATAGRAMS: usize = 16;

/// Time within which the network may deliver a datagram twice.
const DOUBLED: Duration = Duration::from_secs(2);

/// Time over which the copies of a message are counted.
const BURST: Duration = Duration::from_secs(1);

/// Number of copies within [`BURST`] that make a storm. DDNet answers 10 requests per second, and the resend timer of a
/// chunk is one second.
const STORM: u8 = 12;

/// The last vital messages of one direction.
#[derive(Debug, Default)]
pub(super) struct Copies {
    messages: VecDeque<Known>,
    datagrams: VecDeque<(u64, Time)>,
}

/// A vital message that was sent.
#[derive(Clone, Copy, Debug)]
struct Known {
    seq: Seq,
    hash: u64,
    len: u16,
    /// Time of the last copy.
    at: Time,
    /// True if a copy without the resend flag was sent.
    was_plain: bool,
    burst_since: Time,
    burst: u8,
    /// True if the current burst was reported.
    is_storm: bool,
}

/// How a message relates to earlier ones with the same number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Likeness {
    /// No earlier message has this number.
    New,
    /// A copy of an earlier message. `was_plain` is true if an earlier copy had no resend flag; `storm` is the number
    /// of copies within a second if that is too many.
    Copy { was_plain: bool, storm: Option<u8> },
    /// A different message had this number; `len` is its length in bytes.
    Other { len: u16 },
}

/// An odd number without a pattern, as usual for hash multipliers: 2^64 divided by the golden ratio.
const MULTIPLIER: u64 = 0x9e37_79b9_7f4a_7c15;

/// Returns a hash that is the same in each run. It is computed for every datagram, so speed matters more than collision
/// resistance: a peer that constructs collisions deceives only itself.
pub(super) fn hash(bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks();
    let mut last = [0; 8];
    last.iter_mut().zip(rest).for_each(|(last, byte)| *last = *byte);
    let words = words.iter().copied().chain([last]);
    let mixed = words.fold(bytes.len() as u64, |hash, word| {
        (hash.rotate_left(23) ^ u64::from_le_bytes(word)).wrapping_mul(MULTIPLIER)
    });
    mixed ^ mixed >> 32
}

impl Copies {
    /// Records a vital message. `is_resent` is its resend flag. `is_repeat` is true if the receiver already has a
    /// message with this number; until then a copy ahead of a missing number was refused, and another message may have
    /// its number. `is_double` is true if the network may have delivered the datagram twice.
    pub(super) fn take(
        &mut self,
        seq: Seq,
        data: &[u8],
        (is_resent, is_repeat, is_double): (bool, bool, bool),
        at: Time,
    ) -> Likeness {
        let hash = hash(data);
        let is_other = |known: &Known| known.seq == seq && known.hash != hash;
        if !is_repeat {
            self.messages.retain(|known| !is_other(known));
        }
        let found = self.messages.iter_mut().rev().find(|known| known.seq == seq);
        let Some(known) = found else {
            self.messages.push_back(Known {
                seq,
                hash,
                len: u16::try_from(data.len()).unwrap_or(u16::MAX),
                at,
                was_plain: !is_resent,
                burst_since: at,
                burst: 1,
                is_storm: false,
            });
            if self.messages.len() > MOST {
                self.messages.pop_front();
            }
            return Likeness::New;
        };
        if known.hash != hash {
            return Likeness::Other { len: known.len };
        }
        if at.since(known.burst_since) >= BURST {
            (known.burst_since, known.burst, known.is_storm) = (at, 0, false);
        }
        known.burst = known.burst.saturating_add(u8::from(!is_double));
        known.at = at;
        let was_plain = known.was_plain;
        known.was_plain |= !is_resent;
        Likeness::Copy {
            was_plain,
            storm: Some(known.burst).filter(|burst| *burst >= STORM && !known.is_storm),
        }
    }

    /// Returns true if a different message with this number is known.
    pub(super) fn differs(&self, seq: Seq, data: &[u8]) -> bool {
        let mut messages = self.messages.iter().rev();
        let known = messages.find(|known| known.seq == seq);
        known.is_some_and(|known| known.hash != hash(data))
    }

    /// Records that the copies of a message were reported, so that the rest of the burst is not.
    pub(super) fn reported(&mut self, seq: Seq) {
        if let Some(known) = self.messages.iter_mut().rev().find(|known| known.seq == seq) {
            known.is_storm = true;
        }
    }

    /// Records a datagram. Returns the number of times that the same bytes were received within [`DOUBLED`] before.
    pub(super) fn deliveries(&mut self, bytes: &[u8], at: Time) -> usize {
        let hash = hash(bytes);
        let known = self.datagrams.iter();
        let same = known.filter(|(known, then)| *known == hash && at.since(*then) < DOUBLED);
        let count = same.count();
        self.datagrams.push_back((hash, at));
        if self.datagrams.len() > DATAGRAMS {
            self.datagrams.pop_front();
        }
        count
    }

    /// Returns true if one of the last datagrams had these bytes.
    pub(super) fn knows(&self, bytes: &[u8]) -> bool {
        let hash = hash(bytes);
        self.datagrams.iter().any(|(known, _)| *known == hash)
    }

    /// Returns the time of the last copy of a message.
    pub(super) fn last_of(&self, seq: Seq) -> Option<Time> {
        let mut messages = self.messages.iter().rev();
        messages.find(|known| known.seq == seq).map(|known| known.at)
    }

    /// Returns true if a message with this number and hash is known.
    pub(super) fn holds(&self, seq: Seq, hash: u64) -> bool {
        let mut messages = self.messages.iter();
        messages.any(|known| known.seq == seq && known.hash == hash)
    }

    /// Drops the datagrams and keeps the messages, for a closed session.
    pub(super) fn into_messages(self) -> Self {
        Self {
            datagrams: VecDeque::new(),
            ..self
        }
    }
}
