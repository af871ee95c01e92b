//! The last vital messages of one direction, so that copies of them are known.
//!
//! Law: bounded. Of a message it keeps its number, its length and a hash, not its bytes.

use std::{collections::VecDeque, time::Duration};

use teetap_proxy::session::Time;
use teetap_wire::Seq;

/// The most messages that are known.
const MOST: usize = 128;

/// The most datagrams that are known.
const DATAGRAMS: usize = 16;

/// The time in which the network may deliver a datagram twice.
const DOUBLED: Duration = Duration::from_secs(2);

/// The time in which copies are counted.
const BURST: Duration = Duration::from_secs(1);

/// The copies in that time that are a storm. DDNet answers 10 requests a second, and the timer of a chunk is a second.
const STORM: u8 = 12;

/// The last vital messages of one direction.
#[derive(Debug, Default)]
pub(super) struct Copies {
    messages: VecDeque<Known>,
    datagrams: VecDeque<(u64, Time)>,
}

/// A vital message.
#[derive(Clone, Copy, Debug)]
struct Known {
    seq: Seq,
    hash: u64,
    len: u16,
    /// The time of the last copy.
    at: Time,
    /// True if a copy came that is not marked as resent.
    was_plain: bool,
    burst_since: Time,
    burst: u8,
    /// True if this burst was reported.
    is_storm: bool,
}

/// The relation of a message to those that came before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Likeness {
    /// No message with its number is known.
    New,
    /// A copy. `was_plain`: there was one before that was not marked as resent. `storm`: the copies within a second, when these
    /// are too many.
    Copy { was_plain: bool, storm: Option<u8> },
    /// Another message had its number, of this length in bytes.
    Other { len: u16 },
}

/// An odd number without a pattern, as multipliers of hashes are: 2^64 divided by the golden ratio.
const MULTIPLIER: u64 = 0x9e37_79b9_7f4a_7c15;

/// Returns a hash that is the same in each run. It is made for each datagram: speed counts more than peers that look for bytes
/// with the same one, who only deceive themselves.
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
    /// Records a vital message. `is_resent`: it is marked as sent again. `is_repeat`: its receiver has a message with this number; until
    /// then a copy that was ahead of a missing number was refused, and another message may have its number. `is_double`: the network
    /// may have delivered its datagram for the second time.
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

    /// Returns true if another message with this number is known.
    pub(super) fn differs(&self, seq: Seq, data: &[u8]) -> bool {
        let mut messages = self.messages.iter().rev();
        let known = messages.find(|known| known.seq == seq);
        known.is_some_and(|known| known.hash != hash(data))
    }

    /// Records that the copies of a message were reported: those that follow at once are not.
    pub(super) fn reported(&mut self, seq: Seq) {
        if let Some(known) = self.messages.iter_mut().rev().find(|known| known.seq == seq) {
            known.is_storm = true;
        }
    }

    /// Records a datagram. Returns how often the same bytes were received a short time before.
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

    /// Returns true if a message with this number and this hash is known.
    pub(super) fn holds(&self, seq: Seq, hash: u64) -> bool {
        let mut messages = self.messages.iter();
        messages.any(|known| known.seq == seq && known.hash == hash)
    }

    /// Forgets the datagrams, of a session that is over.
    pub(super) fn into_messages(self) -> Self {
        Self {
            datagrams: VecDeque::new(),
            ..self
        }
    }
}
