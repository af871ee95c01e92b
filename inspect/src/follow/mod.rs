//! Facts about sessions that grow with the traffic: their legs, counts, and values over time.
//!
//! Law: fed with every event in its order, and bounded: [`SESSIONS`] sessions, each with rings of fixed size. Numbers, acks
//! and losses are facts of a leg, by its datagrams as they were received and sent.

mod counts;
mod leg;
mod samples;
mod session;
mod way;

use std::collections::BTreeMap;

use teetap_proxy::session::{SessionId, State, Time, What};
use teetap_wire::Seq;

use crate::DecodedEvent;

pub use counts::{Count, Counts, Items, Packed};
pub use leg::{Leg, LegState};
pub use samples::{Rates, SECONDS, Samples};
pub use session::{Followed, SILENCE};
pub use way::{Missing, Point, Track, Way};

/// Sessions that are followed at once; the oldest closed one is forgotten first.
pub const SESSIONS: usize = 256;

/// The facts about all sessions.
#[derive(Clone, Debug, Default)]
pub struct Follow {
    sessions: BTreeMap<u32, Followed>,
    total: Counts,
}

/// The relations of a datagram to those before it.
#[derive(Clone, Debug, Default)]
pub struct Ties {
    /// Messages ahead of its first one that did not come.
    pub missing: Option<Missing>,
    /// The messages that are sent again in it.
    pub resends: Vec<Resend>,
}

/// A message that is sent again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resend {
    /// The number that its sender gave it.
    pub seq: Seq,
    /// The time at which it came first; `None` if it was lost on its way to the proxy, or not seen.
    pub first: Option<Time>,
}

impl Follow {
    /// Takes an event.
    pub fn event(&mut self, decoded: &DecodedEvent) -> Ties {
        let event = &decoded.event;
        if let (What::Datagram(datagram), Some(reading)) = (&event.what, &decoded.reading) {
            self.total.datagram(event.at, datagram, reading);
        }
        let Some(SessionId(id)) = event.session else {
            return Ties::default();
        };
        if let What::Session(change) = &event.what
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

    /// Events of all sessions were missed.
    pub fn gap(&mut self) {
        self.sessions.values_mut().for_each(Followed::gap);
    }

    /// Notes the time.
    pub fn tick(&mut self, now: Time) {
        self.total.rates.tick(now);
        let sessions = self.sessions.values_mut();
        sessions.for_each(|session| session.counts.rates.tick(now));
    }

    /// Returns the sessions in the order of their numbers.
    pub fn sessions(&self) -> impl ExactSizeIterator<Item = (SessionId, &Followed)> {
        self.sessions
            .iter()
            .map(|(id, session)| (SessionId(*id), session))
    }

    /// Returns a session.
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
