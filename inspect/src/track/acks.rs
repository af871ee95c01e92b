//! Acks and resend requests that the receiver of one direction sends.
//!
//! Law: all sequence numbers here are the forwarded ones, since the receiver acks those.

use std::{collections::VecDeque, time::Duration};

use teetap_proxy::session::Time;
use teetap_wire::Seq;

use super::needless::{Needless, Requests};

/// Maximum number of replaced acks kept to recognize reordered datagrams.
const RECENT: usize = 8;

/// Maximum distance by which a reordered ack may be behind the first known ack.
const NEAR: u16 = 64;

/// Maximum delay of a reordered datagram.
const LATE: Duration = Duration::from_millis(300);

/// Maximum number of resend requests whose times are kept.
const REQUESTS: usize = 64;

/// Time after which the ack counts as stuck if the oldest message is still unacked.
pub(super) const STUCK: Duration = Duration::from_secs(4);

/// The value for a receiver that has already replied to the message, used instead of [`STUCK`].
const STUCK_AFTER_ANSWER: Duration = Duration::from_millis(1500);

/// The value for a network that loses datagrams, used instead of [`STUCK`], since all copies may have been lost.
const STUCK_WITH_LOSSES: Duration = Duration::from_secs(7);
const SIGHTS_WITH_LOSSES: u8 = 8;

/// Number of copies, each followed by a sign that the receiver got a later snapshot or input, from which on a stuck ack
/// is not explained by an outage of the network. The second value is for a network that loses datagrams.
const HEARD: u8 = 3;
const HEARD_WITH_LOSSES: u8 = 5;

/// Minimum number of transmissions, at least [`APART`] apart, before the ack counts as stuck. The second value is for a
/// receiver that has already replied.
pub(super) const SIGHTS: u8 = 4;
const SIGHTS_AFTER_ANSWER: u8 = 2;
pub(super) const APART: Duration = Duration::from_millis(300);

/// Minimum number of datagrams from the receiver before the ack counts as stuck.
pub(super) const REPLIES: u8 = 3;

/// Assumed maximum round-trip time to the receiver before one is measured.
const TRIP: Duration = Duration::from_millis(300);

/// Tracks the acks and resend requests for the messages of one direction.
#[derive(Debug, Default)]
pub(super) struct Acks {
    /// Highest forwarded sequence number.
    pub(super) top: Option<Seq>,
    /// The last valid ack.
    pub(super) last: Option<Seq>,
    /// The first known ack and its time.
    first: Option<(Seq, Time)>,
    /// True if the proxy has changed sequence numbers, so that the sender's numbers differ from the forwarded ones.
    pub(super) is_shifted: bool,
    /// Earlier acks, each with the time at which a later ack replaced it.
    recent: VecDeque<(Seq, Time)>,
    pending: Option<Pending>,
    requests: VecDeque<Time>,
    /// Shortest measured time from a message to its ack.
    trip: Option<Duration>,
    needless: Requests,
    /// The highest tick sent to the receiver that the receiver returns: the tick of a snapshot, or the tick that an
    /// input acks.
    tick: Option<i32>,
}

/// The oldest unacked message.
#[derive(Clone, Copy, Debug)]
struct Pending {
    seq: Seq,
    since: Time,
    /// Number of copies sent.
    copies: u8,
    sights: u8,
    last_sight: Time,
    replies: u8,
    is_reported: bool,
    /// Name of the receiver's reply to this message or to a later message.
    answer: Option<&'static str>,
    /// The highest tick sent before the last copy that no returned tick has confirmed yet.
    mark: Option<i32>,
    /// Number of copies after which the receiver has returned a later tick.
    heard: u8,
}

impl Pending {
    const fn begin(seq: Seq, at: Time, copies: u8) -> Self {
        Self {
            seq,
            since: at,
            copies,
            sights: 0,
            last_sight: at,
            replies: 0,
            is_reported: false,
            answer: None,
            mark: None,
            heard: 0,
        }
    }
}

/// Evidence that the ack of a receiver does not advance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stuck {
    pub(super) missing: Seq,
    pub(super) for_: Duration,
    pub(super) sights: u8,
    pub(super) answer: Option<&'static str>,
    /// True if the receiver has shown that it receives later datagrams, so that the network is not the cause.
    pub(super) is_proven: bool,
}

impl Acks {
    /// Records the forwarded number of a vital message, even if the datagram was not sent.
    pub(super) fn forwarded(&mut self, seq: Seq) {
        if self.top.is_none_or(|top| !seq.is_behind(top)) {
            self.top = Some(seq);
        }
    }

    /// Records a vital message that was sent to the receiver. `counts` is true if every receiver accepts the datagram.
    /// `is_ahead` is true if an earlier message is missing, so that the receiver cannot ack this message yet.
    pub(super) fn sent(&mut self, seq: Seq, at: Time, counts: bool, is_ahead: bool) {
        self.forwarded(seq);
        // Only a message ahead of a missing message causes a resend request, not the next message or a retransmission.
        if self.last.is_none_or(|last| !seq.is_behind(last.next())) {
            self.needless.caused(at);
        }
        if is_ahead || self.last.is_some_and(|last| seq.is_behind(last)) {
            return;
        }
        let pending = self.pending.get_or_insert(Pending::begin(seq, at, 0));
        pending.copies = pending.copies.saturating_add(u8::from(pending.seq == seq));
        if counts && (pending.sights == 0 || at.since(pending.last_sight) >= APART) {
            pending.sights = pending.sights.saturating_add(1);
            pending.last_sight = at;
            pending.mark = self.tick;
        }
    }

    #[cfg(test)]
    pub(super) fn forget_ticks(&mut self) {
        self.tick = None;
        if let Some(pending) = &mut self.pending {
            (pending.mark, pending.heard) = (None, 0);
        }
    }

    /// Records a tick that the receiver will return: that of a snapshot, or the tick that an input acks.
    pub(super) fn tick_sent(&mut self, tick: i32) {
        self.tick = self.tick.max(Some(tick));
    }

    /// Records a tick that the receiver returns. A tick that was first sent after a copy of the oldest message shows
    /// that the receiver gets datagrams that were sent after that copy.
    pub(super) fn tick_returned(&mut self, tick: i32) {
        let is_sent = self.tick.is_some_and(|sent| tick <= sent);
        if let Some(pending) = &mut self.pending
            && is_sent
            && pending.mark.is_some_and(|mark| tick > mark)
        {
            pending.mark = None;
            pending.heard = pending.heard.saturating_add(1);
        }
    }

    /// Returns true if the receiver has acked at least one message.
    pub(super) fn has_acked(&self) -> bool {
        self.first.is_some() && self.last != Some(Seq::ZERO)
    }

    /// Records a valid ack. Returns evidence, at most once per message, if the ack does not advance. `is_rough` is true
    /// if the network has lost datagrams.
    pub(super) fn acked(&mut self, ack: Seq, at: Time, is_rough: bool) -> Option<Stuck> {
        self.first.get_or_insert((ack, at));
        if let Some(last) = self.last.replace(ack).filter(|last| *last != ack) {
            self.recent.push_back((last, at));
            if self.recent.len() > RECENT {
                self.recent.pop_front();
            }
        }
        let pending = self.pending.as_mut()?;
        if pending.seq.is_behind(ack) {
            if pending.sights == 1 {
                let trip = at.since(pending.since);
                self.trip = Some(self.trip.map_or(trip, |known| known.min(trip)));
            }
            let is_all = self.top.is_none_or(|top| top.is_behind(ack));
            self.pending = (!is_all).then_some(Pending::begin(ack.next(), at, 1));
            return None;
        }
        pending.replies = pending.replies.saturating_add(1);
        let for_ = at.since(pending.since);
        let heard = if is_rough { HEARD_WITH_LOSSES } else { HEARD };
        let is_proven = pending.answer.is_some() || pending.heard >= heard;
        // Without a sign that the receiver gets anything, all copies may have been lost in an outage.
        let (time, sights) = match pending.answer {
            Some(_) => (STUCK_AFTER_ANSWER, SIGHTS_AFTER_ANSWER),
            None if is_rough || !is_proven => (STUCK_WITH_LOSSES, SIGHTS_WITH_LOSSES),
            None => (STUCK, SIGHTS),
        };
        let is_stuck = for_ >= time && pending.sights >= sights && pending.replies >= REPLIES;
        if !is_stuck || std::mem::replace(&mut pending.is_reported, true) {
            return None;
        }
        Some(Stuck {
            missing: pending.seq,
            for_,
            sights: pending.sights,
            answer: pending.answer,
            is_proven,
        })
    }

    /// Records a resend request. Restarts the time of the oldest unacked message, since the receiver knows that it
    /// lacks a message. Returns the counts if there are more requests than messages can have caused.
    pub(super) fn requested(&mut self, at: Time) -> Option<Needless> {
        self.requests.push_back(at);
        if self.requests.len() > REQUESTS {
            self.requests.pop_front();
        }
        if let Some(pending) = &mut self.pending {
            (pending.since, pending.sights, pending.replies) = (at, 0, 0);
            (pending.mark, pending.heard) = (None, 0);
        }
        self.needless.requested(at)
    }

    /// Records that the receiver replied to the message `seq` before acking it. One reply alone is no proof, because a
    /// client that joins with a second player sends the same messages without waiting.
    pub(super) fn answered(&mut self, seq: Seq, answer: &'static str) {
        if let Some(pending) = self.pending.as_mut().filter(|pending| pending.seq.is_behind(seq)) {
            pending.answer = Some(answer);
        }
    }

    /// Returns the first and the last unacked number, and the number of copies of the first message; `None` if every
    /// message is acked.
    pub(super) fn unacked(&self) -> Option<(Seq, Seq, u8)> {
        let pending = self.pending?;
        let top = self
            .top
            .filter(|top| !top.is_behind(pending.seq) || *top == pending.seq)?;
        Some((pending.seq, top, pending.copies))
    }

    /// Returns the first and the last unacked number, and the time since the first one was sent or requested again;
    /// `None` if every message is acked.
    pub(super) fn unacked_since(&self, at: Time) -> Option<(Seq, Seq, Duration)> {
        let (first, last, _) = self.unacked()?;
        Some((first, last, at.since(self.pending?.since)))
    }

    /// Returns the time of the ack that covers every message; `None` if one is not acked, or the time is unknown.
    pub(super) fn all_since(&self) -> Option<Time> {
        let is_all = self.last? == self.top?;
        self.recent.back().filter(|_| is_all).map(|(_, at)| *at)
    }

    /// Returns the number of resend requests since a time; `None` if too many to be known ([`REQUESTS`] or more).
    pub(super) fn requests_since(&self, since: Time) -> Option<usize> {
        let count = self.requests.iter().filter(|at| **at >= since).count();
        Some(count).filter(|count| *count < REQUESTS)
    }

    /// Returns true if `ack` would have been valid [`LATE`] ago, so that its datagram was probably reordered.
    pub(super) fn was_last(&self, ack: Seq, at: Time) -> bool {
        let mut recent = self.recent.iter().rev();
        recent.any(|(known, until)| known.is_behind(ack) && at.since(*until) <= LATE)
    }

    /// Returns true if `ack` is slightly behind the first known ack and was received soon after it, so that its
    /// datagram was probably reordered.
    pub(super) fn is_before_first(&self, ack: Seq, at: Time) -> bool {
        let is_before = |first: Seq| ack.is_behind(first) && ack.distance_to(first) <= NEAR;
        self.first
            .is_some_and(|(first, since)| is_before(first) && at.since(since) <= LATE)
    }

    /// Returns true if a message last sent at `sent` and still unacked at `now` must have been lost.
    pub(super) fn is_lost(&self, sent: Time, now: Time) -> bool {
        now.since(sent) > self.trip.map_or(TRIP, |trip| trip * 2 + APART / 6)
    }
}
