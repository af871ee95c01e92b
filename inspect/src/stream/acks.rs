//! The acks and resend requests of the receiver of one direction.
//!
//! Law: numbers here are those that messages were sent on with, which are the ones that the receiver acks.

use std::{collections::VecDeque, time::Duration};

use teetap_proxy::session::Time;
use teetap_wire::Seq;

/// The acks before the last one that are known.
const RECENT: usize = 8;

/// The time for which an overtaken datagram may be late.
const LATE: Duration = Duration::from_millis(300);

/// The times of requests that are known.
const REQUESTS: usize = 16;

/// The time after which a message without an ack shows a receiver that stands still.
const STUCK: Duration = Duration::from_secs(4);

/// The times that messages were sent since then, this far apart at least.
const SIGHTS: u8 = 4;
const APART: Duration = Duration::from_millis(300);

/// The datagrams of the receiver since then.
const REPLIES: u8 = 3;

/// The time after a request in which what is sent again answers it.
const ANSWER: Duration = Duration::from_secs(1);

/// The bytes of such an answer that are more than a map in download takes.
const AMPLIFIED: u32 = 16 << 10;

/// The times the bytes of the request.
const TIMES: u32 = 20;

/// The longest time to a receiver and back, where none was measured.
const TRIP: Duration = Duration::from_millis(300);

/// The acks of one direction.
#[derive(Debug, Default)]
pub(super) struct Acks {
    /// The highest number that was sent on.
    pub(super) top: Option<Seq>,
    /// The last valid ack.
    pub(super) last: Option<Seq>,
    /// True if messages were sent on with other numbers than their sender gave them.
    pub(super) is_shifted: bool,
    /// The acks before the last one, and when they were replaced.
    recent: VecDeque<(Seq, Time)>,
    pending: Option<Pending>,
    requests: VecDeque<Time>,
    /// The shortest time from a message to its ack.
    trip: Option<Duration>,
    asked: Option<Asked>,
}

/// The oldest message without an ack.
#[derive(Clone, Copy, Debug)]
struct Pending {
    seq: Seq,
    since: Time,
    sights: u8,
    last_sight: Time,
    replies: u8,
    is_reported: bool,
}

/// A resend request and its answer.
#[derive(Clone, Copy, Debug)]
struct Asked {
    at: Time,
    bytes: u32,
    answered: u32,
    is_reported: bool,
}

/// An ack that does not move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stuck {
    pub(super) missing: Seq,
    pub(super) for_: Duration,
    pub(super) sights: u8,
}

/// An answer much larger than its request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Amplified {
    pub(super) asked: u32,
    pub(super) answered: u32,
}

impl Acks {
    /// Takes the number with which a vital message was sent on. `counts`: its receiver takes datagrams like this one.
    pub(super) fn sent(&mut self, seq: Seq, at: Time, counts: bool) {
        if self.top.is_none_or(|top| !seq.is_behind(top)) {
            self.top = Some(seq);
        }
        if self.last.is_some_and(|last| seq.is_behind(last)) {
            return;
        }
        let pending = self.pending.get_or_insert(Pending {
            seq,
            since: at,
            sights: 0,
            last_sight: at,
            replies: 0,
            is_reported: false,
        });
        if counts && (pending.sights == 0 || at.since(pending.last_sight) >= APART) {
            pending.sights = pending.sights.saturating_add(1);
            pending.last_sight = at;
        }
    }

    /// Takes a valid ack. Returns the state of an ack that does not move, once.
    pub(super) fn acked(&mut self, ack: Seq, at: Time) -> Option<Stuck> {
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
            self.pending = (!is_all).then_some(Pending {
                seq: ack.next(),
                since: at,
                sights: 0,
                last_sight: at,
                replies: 0,
                is_reported: false,
            });
            return None;
        }
        pending.replies = pending.replies.saturating_add(1);
        let for_ = at.since(pending.since);
        let is_stuck = for_ >= STUCK && pending.sights >= SIGHTS && pending.replies >= REPLIES;
        if !is_stuck || std::mem::replace(&mut pending.is_reported, true) {
            return None;
        }
        Some(Stuck {
            missing: pending.seq,
            for_,
            sights: pending.sights,
        })
    }

    /// Takes a resend request of this many bytes: the receiver knows that it lacks a message.
    pub(super) fn requested(&mut self, at: Time, bytes: usize) {
        self.requests.push_back(at);
        if self.requests.len() > REQUESTS {
            self.requests.pop_front();
        }
        if let Some(pending) = &mut self.pending {
            (pending.since, pending.sights, pending.replies) = (at, 0, 0);
        }
        let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
        match &mut self.asked {
            Some(asked) if at.since(asked.at) < ANSWER => asked.bytes = asked.bytes.saturating_add(bytes),
            asked => {
                *asked = Some(Asked {
                    at,
                    bytes,
                    answered: 0,
                    is_reported: false,
                });
            }
        }
    }

    /// Takes the bytes of a chunk that is sent again. Returns the bytes of an answer that is much larger than its request, once.
    pub(super) fn resent(&mut self, at: Time, bytes: usize) -> Option<Amplified> {
        let asked = self.asked.as_mut().filter(|asked| at.since(asked.at) < ANSWER)?;
        let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
        asked.answered = asked.answered.saturating_add(bytes);
        let is_much = asked.answered >= AMPLIFIED && asked.answered / TIMES >= asked.bytes;
        if !is_much || std::mem::replace(&mut asked.is_reported, true) {
            return None;
        }
        Some(Amplified {
            asked: asked.bytes,
            answered: asked.answered,
        })
    }

    /// Returns the number of requests since a time.
    pub(super) fn requests_since(&self, since: Time) -> usize {
        self.requests.iter().filter(|at| **at >= since).count()
    }

    /// Returns true if an ack was the last one a short time ago: its datagram was overtaken.
    pub(super) fn was_last(&self, ack: Seq, at: Time) -> bool {
        let mut recent = self.recent.iter().rev();
        recent.any(|(known, until)| *known == ack && at.since(*until) <= LATE)
    }

    /// Returns true if a message that was last sent at this time has been lost if it has no ack now.
    pub(super) fn is_lost(&self, sent: Time, now: Time) -> bool {
        now.since(sent) > self.trip.map_or(TRIP, |trip| trip * 2 + APART / 6)
    }
}
