//! The order of the vital messages of one direction.
//!
//! Law: a message counts once. The number of the last one in order only grows, whatever is sent again; what its receiver may lack
//! is kept apart.

use std::{collections::VecDeque, time::Duration};

use teetap_proxy::session::Time;
use teetap_wire::Seq;

/// The time after which a missing number that others were sent again without is taken for skipped.
const SKIPPED: Duration = Duration::from_millis(1500);

/// The times that later numbers are sent again without the missing one. Each answers a request, and all unacked chunks are resent.
const ROUNDS: u8 = 4;

/// The time between two such times: an answer to a request may take several datagrams.
const BETWEEN: Duration = Duration::from_millis(100);

/// The time after which a number is missing for good whatever was sent: the timer of the game sends it again each second.
const NEVER: Duration = Duration::from_secs(5);

/// The datagrams of the sender in that time.
const DATAGRAMS: u16 = 4;

/// The numbers in datagrams that do not count here that are known.
const DOUBTFUL: usize = 16;

/// The numbers of one direction as their sender gives them.
#[derive(Debug, Default)]
pub(super) struct Numbers {
    /// The last one in order; `None` until one is known.
    last: Option<Seq>,
    /// The last one that the receiver has, where it has shown that it lacks later ones.
    back: Option<Seq>,
    gap: Option<Gap>,
    /// The last numbers in datagrams that do not count here, and ahead of a missing one. After another change of the order the receiver
    /// may take one.
    doubtful: VecDeque<Seq>,
    /// True if no number was missed since the first one.
    is_whole: bool,
    /// How many numbers came in order since then.
    count: u64,
}

/// Numbers that did not come, although later ones did.
#[derive(Clone, Copy, Debug)]
struct Gap {
    since: Time,
    rounds: u8,
    last_round: Time,
    datagrams: u16,
    is_reported: bool,
}

/// The place of a vital message in the order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// The next one for its receiver.
    Next,
    /// One that came before.
    Again,
    /// One ahead of this missing number.
    Ahead(Seq),
}

/// A vital message in the order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Placing {
    /// The place for its receiver.
    pub(super) order: Order,
    /// True if it came in order for the first time.
    pub(super) is_first: bool,
}

/// A number that never came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Never {
    pub(super) missing: Seq,
    pub(super) for_: Duration,
}

impl Numbers {
    /// The numbers of a session from its start.
    pub(super) fn from_the_start() -> Self {
        Self {
            last: Some(Seq::ZERO),
            is_whole: true,
            ..Self::default()
        }
    }

    /// Returns the last one in order.
    pub(super) const fn last(&self) -> Option<Seq> {
        self.last
    }

    /// Returns the last one that the receiver has, as far as it is known.
    pub(super) fn base(&self) -> Option<Seq> {
        self.back.or(self.last)
    }

    /// Returns true if no number was missed since the first one.
    pub(super) const fn is_whole(&self) -> bool {
        self.is_whole
    }

    /// Returns true if this number, which is not the next one, is not among those since the first one.
    pub(super) fn never_had(&self, seq: Seq) -> bool {
        let back = self.last.map(|last| seq.distance_to(last));
        self.is_whole && back.is_some_and(|back| u64::from(back) >= self.count)
    }

    /// Numbers may be missing that were sent.
    pub(super) const fn miss(&mut self) {
        self.is_whole = false;
    }

    /// Takes a number in a datagram that does not count.
    pub(super) fn may_have(&mut self, seq: Seq) {
        if self.doubtful.contains(&seq) {
            return;
        }
        self.doubtful.push_back(seq);
        if self.doubtful.len() > DOUBTFUL {
            self.doubtful.pop_front();
        }
    }

    /// Returns true if a number is missing.
    pub(super) const fn has_gap(&self) -> bool {
        self.gap.is_some()
    }

    /// Takes the number of a vital message, and whether it is marked as resent.
    pub(super) fn take(&mut self, seq: Seq, is_resent: bool, at: Time) -> Placing {
        let Some(last) = self.last else {
            // What is sent again may be older than what came before the recording.
            self.last = Some(seq).filter(|_| !is_resent);
            return Placing {
                order: Order::Next,
                is_first: !is_resent,
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
                since: at,
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
            // A receiver that has the missing one all the same takes it.
            self.may_have(seq);
            Order::Ahead(base.next())
        };
        Placing { order, is_first }
    }

    /// Takes an ack of these numbers. Returns the missing number if it acks beyond one.
    pub(super) fn acked(&mut self, ack: Seq) -> Option<Seq> {
        let last = self.last?;
        if !ack.is_behind(last) {
            let missing = last.next();
            let is_known = self.doubtful.contains(&missing);
            let steps = u64::from(last.distance_to(ack));
            *self = Self {
                last: Some(ack),
                count: self.count.saturating_add(steps),
                is_whole: self.is_whole && is_known,
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

    /// Takes a request from a receiver that has all up to `ack` and lacks the next one.
    pub(super) fn lacks_after(&mut self, ack: Seq) {
        self.back = self.last.filter(|last| *last != ack).map(|_| ack);
    }

    /// Takes a datagram of the sender while a number is missing, with its vital numbers and whether they are marked as resent.
    /// Returns the missing number once it is clear that it never comes.
    pub(super) fn look_for_missing(
        &mut self,
        at: Time,
        mut numbers: impl Iterator<Item = (Seq, bool)>,
    ) -> Option<Never> {
        let missing = self.last?.next();
        let gap = self.gap.as_mut().filter(|gap| !gap.is_reported)?;
        gap.datagrams = gap.datagrams.saturating_add(1);
        let mut is_round = false;
        if numbers.any(|(seq, resent)| {
            is_round |= resent && seq != missing && !seq.is_behind(missing);
            seq == missing
        }) {
            return None;
        }
        if is_round && at.since(gap.last_round) >= BETWEEN {
            gap.rounds = gap.rounds.saturating_add(1);
            gap.last_round = at;
        }
        let for_ = at.since(gap.since);
        let is_skipped = for_ >= SKIPPED && gap.rounds >= ROUNDS;
        gap.is_reported = is_skipped || for_ >= NEVER && gap.datagrams >= DATAGRAMS;
        gap.is_reported.then_some(Never { missing, for_ })
    }
}
