//! Tracks the order of vital messages in one direction.
//!
//! Law: retransmissions never move the last in-order number back. The messages that the receiver still lacks are
//! tracked separately.

use std::{collections::VecDeque, time::Duration};

use teetap_proxy::session::Time;
use teetap_wire::Seq;

use super::{ack_pattern::Amounts, uncounted::CountedInVain};

/// Time after which a missing number counts as skipped if later numbers were retransmitted but not the missing one.
const SKIPPED: Duration = Duration::from_millis(1500);

/// Minimum number of such retransmissions. Each of them answers a resend request, and a correct sender would retransmit
/// all unacked chunks.
const ROUNDS: u8 = 4;

/// Minimum time between two such retransmissions, since the datagrams of one retransmission count once.
const BETWEEN: Duration = Duration::from_millis(100);

/// Time after which the oldest unacked message counts as skipped, even without retransmissions of later messages. The
/// resend timer of the games retransmits the oldest message each second (`CNetConnection::Update` in network_conn.cpp
/// of 0.6.5).
const NEVER: Duration = Duration::from_secs(5);

/// Minimum number of datagrams from the sender within [`NEVER`].
const DATAGRAMS: u16 = 4;

/// Minimum distance from the last number in order at which a number may be a count of something else.
const CLEAR: u16 = 8;

/// Maximum number of sequence numbers kept that the receiver may or may not have.
const DOUBTFUL: usize = 16;

/// The sequence numbers of one direction, before any change by the proxy.
#[derive(Debug, Default)]
pub(super) struct Numbers {
    /// The last in-order number; `None` until one is known.
    last: Option<Seq>,
    /// The receiver's last in-order number, if the receiver is known to lack later messages; `None` if it equals
    /// `last`.
    back: Option<Seq>,
    gap: Option<Gap>,
    /// Numbers that are not counted here but that the receiver may have: numbers in datagrams that the receiver should
    /// drop, and numbers ahead of a missing number, which the network may reorder.
    doubtful: VecDeque<Seq>,
    /// True if every number since the first one was seen.
    is_whole: bool,
    /// True if no number before the first one seen was sent.
    is_from_start: bool,
    /// Number of in-order numbers so far.
    count: u64,
    /// The highest number, in order or not.
    high: Option<Seq>,
}

/// A gap in the order: a number is missing although later numbers were sent.
#[derive(Clone, Copy, Debug)]
struct Gap {
    /// The first number after the missing one.
    next: Seq,
    /// What `next` counts, if it is no number of a vital message: `chunks` or `datagrams`.
    counts: Option<&'static str>,
    /// The message that is not vital and that the sender has probably counted; `None` if unknown.
    in_vain: Option<CountedInVain>,
    since: Time,
    /// Time of the last datagram that retransmits a message before the gap, so that its ack has not reached the sender.
    unheard: Time,
    rounds: u8,
    last_round: Time,
    datagrams: u16,
    is_reported: bool,
}

/// The position of a vital message in the order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// The next message for the receiver.
    Next,
    /// A retransmission of an earlier message.
    Again,
    /// A message ahead of the contained missing number.
    Ahead(Seq),
}

/// The position of a vital message in the order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ChunkPosition {
    /// The position from the receiver's point of view.
    pub(super) order: Order,
    /// True for the first in-order copy of the message.
    pub(super) is_first: bool,
    /// The highest number sent before the message; `None` if unknown.
    pub(super) high: Option<Seq>,
}

/// A sequence number that was never sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SkippedNumber {
    pub(super) missing: Seq,
    /// The first number sent after the missing one.
    pub(super) next: Seq,
    /// What that number counts: `chunks` or `datagrams`; `None` if unknown.
    pub(super) counts: Option<&'static str>,
    /// The message that is not vital and that the sender has probably counted; `None` if unknown.
    pub(super) in_vain: Option<CountedInVain>,
    pub(super) for_: Duration,
}

impl Numbers {
    /// Creates the initial state of a session that was seen from its start.
    pub(super) fn from_the_start() -> Self {
        Self {
            last: Some(Seq::ZERO),
            high: Some(Seq::ZERO),
            is_whole: true,
            is_from_start: true,
            ..Self::default()
        }
    }

    /// Returns the last in-order number.
    pub(super) const fn last(&self) -> Option<Seq> {
        self.last
    }

    /// Returns the receiver's last in-order number; `None` if unknown.
    pub(super) fn base(&self) -> Option<Seq> {
        self.back.or(self.last)
    }

    /// Returns true if every number since the first one was seen.
    pub(super) const fn is_whole(&self) -> bool {
        self.is_whole
    }

    /// Returns the number of in-order numbers so far.
    pub(super) const fn count(&self) -> u64 {
        self.count
    }

    /// Returns true if no number before the first one seen was sent.
    pub(super) const fn is_from_start(&self) -> bool {
        self.is_from_start
    }

    /// Returns true if a number that is not the next in order was not used in this session before.
    pub(super) fn never_had(&self, seq: Seq) -> bool {
        let back = self.last.map(|last| seq.distance_to(last));
        self.is_whole && back.is_some_and(|back| u64::from(back) >= self.count)
    }

    /// Records that datagrams were not seen, so that any number may have been sent.
    pub(super) const fn miss(&mut self) {
        self.is_whole = false;
        self.is_from_start = false;
    }

    /// Records a number that is not counted as sent but that the receiver may have.
    pub(super) fn may_have(&mut self, seq: Seq) {
        if self.doubtful.contains(&seq) {
            return;
        }
        self.doubtful.push_back(seq);
        if self.doubtful.len() > DOUBTFUL {
            self.doubtful.pop_front();
        }
    }

    /// Returns true if a number is missing although later numbers were sent.
    pub(super) const fn has_gap(&self) -> bool {
        self.gap.is_some()
    }

    /// Records the number and the resend flag of a vital message. Returns the position of the message in the order.
    pub(super) fn record(&mut self, seq: Seq, is_resent: bool, at: Time) -> ChunkPosition {
        let high = self.high;
        if high.is_none_or(|high| !seq.is_behind(high)) {
            self.high = Some(seq);
        }
        let Some(last) = self.last else {
            // A retransmission may be older than the last in-order message before the recording began.
            self.last = Some(seq).filter(|_| !is_resent);
            return ChunkPosition {
                order: Order::Next,
                is_first: !is_resent,
                high,
            };
        };
        let base = self.back.unwrap_or(last);
        let is_first = seq == last.next();
        if is_first {
            self.last = Some(seq);
            self.count = self.count.saturating_add(1);
            self.gap = None;
        } else if !seq.is_behind(last) {
            self.gap.get_or_insert(Gap {
                next: seq,
                counts: None,
                in_vain: None,
                since: at,
                unheard: at,
                rounds: 0,
                last_round: at,
                datagrams: 0,
                is_reported: false,
            });
        }
        let order = if seq == base.next() {
            if self.back.is_some() {
                self.back = Some(seq).filter(|_| self.last != Some(seq));
            }
            Order::Next
        } else if seq.is_behind(base) {
            Order::Again
        } else {
            // The receiver accepts this message if it has received the missing message after all.
            self.may_have(seq);
            Order::Ahead(base.next())
        };
        ChunkPosition {
            order,
            is_first,
            high,
        }
    }

    /// Recognizes a number ahead of a missing one as the count of chunks or datagrams that were sent so far. `in_datagram`
    /// is the number of chunks in its datagram.
    pub(super) fn compare(&mut self, seq: Seq, sent: Amounts, in_datagram: u8) {
        let (Some(last), true) = (self.last, self.is_from_start) else {
            return;
        };
        let Some(gap) = self.gap.as_mut().filter(|gap| gap.next == seq) else {
            return;
        };
        let number = u32::from(seq.get());
        let before = sent.chunks.saturating_sub(in_datagram.into());
        gap.counts = match last.distance_to(seq) > CLEAR {
            true if (before + 1..=sent.chunks).contains(&number) => Some("chunks"),
            true if number == sent.datagrams => Some("datagrams"),
            _ => None,
        };
    }

    /// Records the message that the sender has probably counted instead of the missing numbers before `seq`. `fitting`
    /// returns it for their number.
    pub(super) fn explain(&mut self, seq: Seq, fitting: impl FnOnce(u16) -> Option<CountedInVain>) {
        if let (Some(last), Some(gap)) = (self.last, self.gap.as_mut().filter(|gap| gap.next == seq)) {
            gap.in_vain = fitting(last.distance_to(seq).saturating_sub(1));
        }
    }

    /// Records an ack from the receiver. If the ack is ahead of the last in-order number, returns the first missing
    /// number, unless the receiver may have it.
    pub(super) fn acked(&mut self, ack: Seq) -> Option<Seq> {
        let last = self.last?;
        if !ack.is_behind(last) {
            let missing = last.next();
            let is_known = self.doubtful.contains(&missing);
            let steps = u64::from(last.distance_to(ack));
            *self = Self {
                last: Some(ack),
                count: self.count.saturating_add(steps),
                high: self.high.filter(|high| !high.is_behind(ack)).or(Some(ack)),
                is_whole: self.is_whole && is_known,
                is_from_start: self.is_from_start,
                doubtful: std::mem::take(&mut self.doubtful),
                ..Self::default()
            };
            return (!is_known).then_some(missing);
        }
        if self.back.is_some_and(|back| back.is_behind(ack)) {
            self.back = Some(ack).filter(|_| ack != last);
        }
        None
    }

    /// Records that the receiver lacks all messages after `ack`, because it has requested their retransmission.
    pub(super) fn lacks_after(&mut self, ack: Seq) {
        self.back = self.last.filter(|last| *last != ack).map(|_| ack);
    }

    /// Records a datagram of the sender while a number is missing. `numbers` are its vital numbers with their resend
    /// flags. Returns the missing number, once, when it is certain that the sender has skipped it.
    ///
    /// The resend timer of the games retransmits only the oldest unacked message. `oldest` is the time since which the
    /// missing message is the sender's oldest unacked message; `None` if it is not the oldest.
    pub(super) fn look_for_missing(
        &mut self,
        at: Time,
        oldest: Option<Time>,
        mut numbers: impl Iterator<Item = (Seq, bool)>,
    ) -> Option<SkippedNumber> {
        let missing = self.last?.next();
        let gap = self.gap.as_mut().filter(|gap| !gap.is_reported)?;
        gap.datagrams = gap.datagrams.saturating_add(1);
        let (mut is_round, mut has_older) = (false, false);
        if numbers.any(|(seq, resent)| {
            let is_older = seq.is_behind(missing);
            has_older |= resent && is_older;
            is_round |= resent && seq != missing && !is_older;
            seq == missing
        }) {
            return None;
        }
        if has_older {
            // The sender retransmits an older message, so it has not received the ack of that message yet.
            gap.unheard = at;
        }
        if is_round && at.since(gap.last_round) >= BETWEEN {
            gap.rounds = gap.rounds.saturating_add(1);
            gap.last_round = at;
        }
        let for_ = at.since(gap.since);
        let is_skipped = for_ >= SKIPPED && gap.rounds >= ROUNDS;
        let is_due = oldest.is_some_and(|oldest| at.since(oldest.max(gap.unheard)) >= NEVER);
        gap.is_reported = is_skipped || is_due && for_ >= NEVER && gap.datagrams >= DATAGRAMS;
        let (next, counts, in_vain) = (gap.next, gap.counts, gap.in_vain);
        gap.is_reported.then_some(SkippedNumber {
            missing,
            next,
            counts,
            in_vain,
            for_,
        })
    }
}
