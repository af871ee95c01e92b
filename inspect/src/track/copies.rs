//! Recognizes copies of recent vital messages and datagrams in one direction.
//!
//! Law: memory is bounded, and only the number, length and hash of a message are kept, not its bytes.

use std::{collections::VecDeque, time::Duration};

use teetap_proxy::session::Time;
use teetap_wire::Seq;

/// Maximum number of messages kept.
const MOST: usize = 128;

/// Maximum number of datagrams kept.
const DATAGRAMS: usize = 16;

/// Time within which equal datagrams count as duplicates made by the network.
const DOUBLED: Duration = Duration::from_secs(2);

/// Time over which copies of a message are counted.
const BURST: Duration = Duration::from_secs(1);

/// Minimum number of copies within [`BURST`] to report. DDNet answers at most 10 requests per second, and the resend
/// timer of a chunk is one second.
const STORM: u8 = 12;

/// Recent vital messages and datagrams of one direction.
#[derive(Debug, Default)]
pub(super) struct Copies {
    /// At most one message for each number.
    messages: VecDeque<Known>,
    datagrams: VecDeque<(u64, Time)>,
}

/// A vital message that was sent.
#[derive(Clone, Copy, Debug)]
struct Known {
    seq: Seq,
    hash: u64,
    len: u16,
    /// Name of the message; `None` if unknown.
    name: Option<&'static str>,
    /// Time of the last copy.
    at: Time,
    /// True if a copy without the resend flag was sent.
    was_plain: bool,
    burst_since: Time,
    burst: u8,
    /// True once the current burst was reported.
    is_storm: bool,
}

/// How a message relates to earlier messages with the same number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Likeness {
    /// No earlier message has this number.
    New,
    /// A copy of an earlier message. `was_plain` is true if an earlier copy had no resend flag. `storm` is the number
    /// of copies within [`BURST`], if there are too many and they were not reported yet.
    Copy { was_plain: bool, storm: Option<u8> },
    /// An earlier, different message had the same number. `len` is the earlier length in bytes, `name`
    /// the earlier name, if known.
    Other { len: u16, name: Option<&'static str> },
}

/// An odd number without a pattern, as usual for hash multipliers: 2^64 divided by the golden ratio.
const MULTIPLIER: u64 = 0x9e37_79b9_7f4a_7c15;

/// Returns a hash that is the same in each run. Speed matters more than collision resistance, because the hash is
/// computed for every datagram, and collisions made by a peer only hide that peer's own mistakes.
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
    /// Records a vital message and compares it with earlier messages under the same number. `is_resent` is its resend
    /// flag. `is_repeat` is true if the receiver already has a message with this number; otherwise an earlier message
    /// was refused, and a different message may replace it. `is_double` is true if the network may have duplicated the
    /// datagram.
    pub(super) fn record(
        &mut self,
        seq: Seq,
        data: &[u8],
        (is_resent, is_repeat, is_double): (bool, bool, bool),
        at: Time,
    ) -> Likeness {
        let hash = hash(data);
        let mut found = self.messages.iter().rposition(|known| known.seq == seq);
        if let Some(at) = found
            && !is_repeat
            && self.messages.get(at).is_some_and(|known| known.hash != hash)
        {
            self.messages.remove(at);
            found = None;
        }
        let Some(known) = found.and_then(|at| self.messages.get_mut(at)) else {
            self.messages.push_back(Known {
                seq,
                hash,
                len: u16::try_from(data.len()).unwrap_or(u16::MAX),
                name: None,
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
            let Known { len, name, .. } = *known;
            return Likeness::Other { len, name };
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

    /// Sets the name of the last message with this number.
    pub(super) fn set_name(&mut self, seq: Seq, name: Option<&'static str>) {
        if let Some(known) = self.messages.iter_mut().rev().find(|known| known.seq == seq) {
            known.name = name;
        }
    }

    /// Returns true if the last known message with this number has other contents.
    pub(super) fn differs(&self, seq: Seq, data: &[u8]) -> bool {
        let mut messages = self.messages.iter().rev();
        let known = messages.find(|known| known.seq == seq);
        known.is_some_and(|known| known.hash != hash(data))
    }

    /// Records that the copies of a message were reported, so that the same burst is not reported again.
    pub(super) fn reported(&mut self, seq: Seq) {
        if let Some(known) = self.messages.iter_mut().rev().find(|known| known.seq == seq) {
            known.is_storm = true;
        }
    }

    /// Records a datagram. Returns how many equal datagrams were received within the last [`DOUBLED`].
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

    /// Returns true if a recent datagram had the same bytes.
    pub(super) fn knows(&self, bytes: &[u8]) -> bool {
        let hash = hash(bytes);
        self.datagrams.iter().any(|(known, _)| *known == hash)
    }

    /// Returns the time of the last copy of the message `seq`; `None` if the message is unknown.
    pub(super) fn last_of(&self, seq: Seq) -> Option<Time> {
        let mut messages = self.messages.iter().rev();
        messages.find(|known| known.seq == seq).map(|known| known.at)
    }

    /// Returns true if a message with this number and hash is known.
    pub(super) fn holds(&self, seq: Seq, hash: u64) -> bool {
        let mut messages = self.messages.iter();
        messages.any(|known| known.seq == seq && known.hash == hash)
    }

    /// Keeps only the messages, for the record of a closed session.
    pub(super) fn into_messages(self) -> Self {
        Self {
            datagrams: VecDeque::new(),
            ..self
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Time {
        Time(ms * 1000)
    }

    /// Only copies of the last 2 s and of the last 16 datagrams count.
    #[test]
    fn a_datagram_is_doubled_for_2_seconds_and_16_datagrams() {
        let mut copies = Copies::default();
        let counts = [0, 100, 1999, 2000, 3998, 6000].map(|at| copies.deliveries(b"x", ms(at)));
        assert_eq!(counts, [0, 1, 2, 2, 2, 0]);
        assert_eq!(copies.deliveries(b"y", ms(6000)), 0);
        for number in 0..14_u8 {
            copies.deliveries(&[number], ms(6000));
            assert!(copies.knows(b"x"), "{number}");
        }
        assert!(copies.knows(b"y"));
        copies.deliveries(&[14], ms(6000));
        assert!(!copies.knows(b"x") && copies.knows(b"y"));
        assert_eq!(copies.deliveries(b"x", ms(6001)), 0);
    }

    #[test]
    fn copies_are_counted_for_a_second_and_reported_once() {
        let mut copies = Copies::default();
        let seq = Seq::new(5);
        let take = |copies: &mut Copies, at, is_resent| {
            let likeness = copies.record(seq, b"a", (is_resent, true, false), ms(at));
            match likeness {
                Likeness::Copy { was_plain, storm } => Some((was_plain, storm)),
                _ => None,
            }
        };
        assert_eq!(take(&mut copies, 0, true), None);
        assert_eq!(take(&mut copies, 1, true), Some((false, None)));
        assert_eq!(take(&mut copies, 2, false), Some((false, None)));
        for at in 3..11 {
            assert_eq!(take(&mut copies, at, true), Some((true, None)), "{at}");
        }
        for count in [12, 13] {
            assert_eq!(take(&mut copies, 999, true), Some((true, Some(count))));
        }
        copies.reported(seq);
        assert_eq!(take(&mut copies, 999, true), Some((true, None)));
        // Another second, in which the datagrams that the network delivered twice do not count.
        for at in 0..11 {
            assert_eq!(take(&mut copies, 1000 + at, true), Some((true, None)), "{at}");
            copies.record(seq, b"a", (true, true, true), ms(1000 + at));
        }
        assert_eq!(take(&mut copies, 1999, true), Some((true, Some(12))));
        assert_eq!(copies.last_of(seq), Some(ms(1999)));
    }

    #[test]
    fn another_message_has_the_number_of_one_that_the_receiver_has() {
        let seq = Seq::new(5);
        for (is_repeat, expected) in [
            (true, Likeness::Other { len: 3, name: None }),
            (false, Likeness::New),
        ] {
            let mut copies = Copies::default();
            let flags = (false, is_repeat, false);
            assert_eq!(copies.record(seq, b"one", flags, ms(0)), Likeness::New);
            assert!(copies.differs(seq, b"other") && !copies.differs(seq, b"one"));
            assert_eq!(copies.record(seq, b"other", flags, ms(1)), expected);
            assert_eq!(copies.holds(seq, hash(b"one")), is_repeat);
            assert_eq!(copies.holds(seq, hash(b"other")), !is_repeat);
        }
    }

    #[test]
    fn the_last_128_messages_are_kept() {
        let mut copies = Copies::default();
        for number in 0..129 {
            copies.record(Seq::new(number), b"a", (false, false, false), ms(0));
        }
        assert_eq!(
            [0, 1, 128].map(|number| copies.last_of(Seq::new(number)).is_some()),
            [false, true, true]
        );
    }
}
