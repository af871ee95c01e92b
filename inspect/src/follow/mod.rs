//! Collects statistics of sessions: legs, counts, and values over time.
//!
//! Law: every event must be passed in order. Memory is bounded: [`SESSIONS`] sessions, each with ring buffers of fixed
//! size. Sequence numbers, acks and losses are counted per leg, from the datagrams that were received and sent on it.

mod counts;
mod leg;
mod samples;
mod session;
mod way;

use std::collections::BTreeMap;

use teetap_proxy::session::{EventKind, SessionId, State, Time};
use teetap_wire::Seq;

use crate::DecodedEvent;

pub use counts::{Count, Counts, Items, Packed};
pub use leg::{Leg, LegState};
pub use samples::{Rates, SECONDS, Samples};
pub use session::Followed;
pub use way::{DirectionStatistics, Missing, Point, Track};

/// Maximum number of sessions followed. If there are more, the oldest closed session is forgotten first.
pub const SESSIONS: usize = 256;

/// The statistics of all sessions.
#[derive(Clone, Debug, Default)]
pub struct Statistics {
    sessions: BTreeMap<u32, Followed>,
    total: Counts,
}

/// How a datagram relates to earlier datagrams.
#[derive(Clone, Debug, Default)]
pub struct Ties {
    /// Messages missing directly before a message of this datagram.
    pub missing: Option<Missing>,
    /// The resent messages in this datagram.
    pub resends: Vec<Resend>,
}

/// A resent message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resend {
    /// Sequence number given by the sender.
    pub seq: Seq,
    /// Time at which the message was first received; `None` if it was lost on its way to the proxy or was not seen.
    pub first: Option<Time>,
}

impl Statistics {
    /// Records an event. Returns how its datagram relates to earlier datagrams.
    pub fn event(&mut self, decoded: &DecodedEvent) -> Ties {
        let event = &decoded.event;
        if let (EventKind::Datagram(datagram), Some(reading)) = (&event.what, &decoded.reading) {
            self.total.datagram(event.at, datagram, reading);
        }
        let Some(SessionId(id)) = event.session else {
            return Ties::default();
        };
        if let EventKind::Session(change) = &event.what
            && change.state == State::Opening
        {
            self.sessions.remove(&id);
        }
        if !self.sessions.contains_key(&id) {
            self.make_room();
        }
        let session = self.sessions.entry(id);
        session.or_insert_with(|| Followed::new(event.at)).event(decoded)
    }

    /// Records that events of all sessions were missed.
    pub fn gap(&mut self) {
        self.sessions.values_mut().for_each(Followed::gap);
    }

    /// Advances the rates to `now`.
    pub fn tick(&mut self, now: Time) {
        self.total.rates.tick(now);
        let sessions = self.sessions.values_mut();
        sessions.for_each(|session| session.counts.rates.tick(now));
    }

    /// Returns the sessions in order of their numbers.
    pub fn sessions(&self) -> impl ExactSizeIterator<Item = (SessionId, &Followed)> {
        self.sessions
            .iter()
            .map(|(id, session)| (SessionId(*id), session))
    }

    /// Returns a session; `None` if it is not followed.
    #[must_use]
    pub fn session(&self, session: SessionId) -> Option<&Followed> {
        self.sessions.get(&session.0)
    }

    /// Returns the counts of all sessions together.
    #[must_use]
    pub const fn total(&self) -> &Counts {
        &self.total
    }

    fn make_room(&mut self) {
        while self.sessions.len() >= SESSIONS {
            let mut sessions = self.sessions.iter();
            let closed = sessions.find(|(_, session)| session.state == State::Closed);
            match closed.map(|(id, _)| *id) {
                Some(id) => drop(self.sessions.remove(&id)),
                None => drop(self.sessions.pop_first()),
            }
        }
    }
}

#[cfg(test)]
mod tests;
