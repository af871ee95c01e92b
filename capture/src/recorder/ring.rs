//! The last minutes of a run, encoded, for a recording that begins before the event that matters.
//!
//! Memory is bounded: events are left out once they are too old, or once all events exceed [`LIMIT`] bytes. The
//! state of each session and the names of the rules are kept, because a reader of the recording needs them.

use std::{
    collections::{BTreeMap, VecDeque},
    time::Duration,
};

use teetap_proxy::session::{Event, EventKind, Notice, State, Time};

/// Maximum bytes of the encoded events.
pub const LIMIT: usize = 256 << 20;

/// Encoded events of the last minutes.
#[derive(Debug)]
pub(super) struct Ring {
    keep: Duration,
    limit: usize,
    events: VecDeque<Kept>,
    /// Bytes of the events.
    bytes: usize,
    /// Number of events that were left out.
    left_out: u64,
    /// True if an event was left out because of the limit, although it was not too old.
    is_short: bool,
    /// State changes that precede the events, of sessions that have not ended before them.
    sessions: BTreeMap<u32, Vec<u8>>,
    /// The last names of the rules that precede the events.
    rules: Vec<u8>,
}

/// An encoded event.
#[derive(Debug)]
struct Kept {
    at: Time,
    kind: Kind,
    /// Number of packets in the event.
    packets: u64,
    bytes: Box<[u8]>,
}

/// The part of an event that is kept when the event itself is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Nothing.
    Other,
    /// The state of a session.
    Session(u32, State),
    /// The names of the rules.
    Rules,
}

impl Kind {
    pub(super) fn of(event: &Event) -> Self {
        match (&event.what, event.session) {
            (EventKind::Session(change), Some(session)) => Self::Session(session.0, change.state),
            (EventKind::Notice(Notice::RulesSet { .. }), _) => Self::Rules,
            _ => Self::Other,
        }
    }
}

impl Ring {
    pub(super) fn new(keep: Duration) -> Self {
        Self {
            keep,
            limit: LIMIT,
            events: VecDeque::new(),
            bytes: 0,
            left_out: 0,
            is_short: false,
            sessions: BTreeMap::new(),
            rules: Vec::new(),
        }
    }

    /// Adds an encoded event.
    pub(super) fn push(&mut self, at: Time, kind: Kind, bytes: &[u8], packets: u64) {
        self.bytes += bytes.len() + size_of::<Kept>();
        self.events.push_back(Kept {
            at,
            kind,
            packets,
            bytes: bytes.into(),
        });
        while self.bytes > self.limit {
            self.is_short = true;
            self.leave_out_first();
        }
    }

    /// Leaves out the events that are too old.
    pub(super) fn end_old(&mut self, now: Time) {
        while self
            .events
            .front()
            .is_some_and(|first| now.since(first.at) > self.keep)
        {
            self.leave_out_first();
        }
    }

    fn leave_out_first(&mut self) {
        let Some(first) = self.events.pop_front() else {
            return;
        };
        self.bytes -= first.bytes.len() + size_of::<Kept>();
        self.left_out += 1;
        match first.kind {
            Kind::Other => {}
            Kind::Session(session, State::Closed) => {
                self.sessions.remove(&session);
            }
            Kind::Session(session, state) => {
                let states = self.sessions.entry(session).or_default();
                if state == State::Opening {
                    states.clear();
                }
                states.extend_from_slice(&first.bytes);
            }
            Kind::Rules => self.rules = first.bytes.into(),
        }
    }

    /// Returns the time of the first event.
    pub(super) fn begin(&self) -> Option<Time> {
        self.events.front().map(|first| first.at)
    }

    /// Returns the number of events that were left out.
    pub(super) const fn left_out(&self) -> u64 {
        self.left_out
    }

    /// Returns true, once, if the limit of bytes leaves less than the requested time.
    pub(super) fn take_short(&mut self) -> bool {
        std::mem::take(&mut self.is_short)
    }

    /// Returns the encoded events that describe the state at the beginning.
    pub(super) fn state(&self) -> impl Iterator<Item = &[u8]> {
        std::iter::once(&*self.rules).chain(self.sessions.values().map(|states| &**states))
    }

    /// Returns the encoded events, each with the number of its packets.
    pub(super) fn events(&self) -> impl Iterator<Item = (&[u8], u64)> {
        self.events.iter().map(|kept| (&*kept.bytes, kept.packets))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000;

    fn texts<'a>(parts: impl Iterator<Item = &'a [u8]>) -> String {
        parts
            .map(|bytes| String::from_utf8(bytes.to_vec()).unwrap())
            .collect()
    }

    #[test]
    fn old_events_are_left_out_but_not_the_state_of_sessions() {
        let mut ring = Ring::new(Duration::from_secs(10));
        for (at, kind, text) in [
            (0, Kind::Rules, "r"),
            (1, Kind::Session(1, State::Opening), "a"),
            (2, Kind::Session(1, State::Online), "b"),
            (3, Kind::Session(2, State::Opening), "c"),
            (4, Kind::Other, "-"),
            (5, Kind::Session(2, State::Closed), "d"),
            (6, Kind::Session(3, State::Opening), "e"),
            (12, Kind::Other, "f"),
            (14, Kind::Session(1, State::Closed), "g"),
        ] {
            ring.push(Time(at * SECOND), kind, text.as_bytes(), 1);
        }
        let mut at = |seconds: u64| {
            ring.end_old(Time(seconds * SECOND));
            let (state, events) = (texts(ring.state()), texts(ring.events().map(|(bytes, _)| bytes)));
            (state, events, ring.left_out())
        };
        let expected = |state: &str, events: &str, left_out| (state.to_owned(), events.to_owned(), left_out);
        assert_eq!(at(10), expected("", "rabc-defg", 0));
        assert_eq!(at(13), expected("rab", "c-defg", 3));
        assert_eq!(at(14), expected("rabc", "-defg", 4));
        assert_eq!(at(16), expected("rab", "efg", 6));
        assert_eq!(at(20), expected("rabe", "fg", 7));
        assert_eq!(at(25), expected("re", "", 9));
        assert_eq!(ring.bytes, 0);
    }

    #[test]
    fn the_bytes_are_bounded() {
        let mut ring = Ring::new(Duration::from_secs(10));
        ring.limit = 10 * (size_of::<Kept>() + 100);
        for at in 0..1000 {
            ring.push(Time(at), Kind::Other, &[b'x'; 100], 1);
            assert!(ring.bytes <= ring.limit, "{}", ring.bytes);
        }
        assert_eq!((ring.events.len(), ring.begin()), (10, Some(Time(990))));
        assert!(ring.take_short() && !ring.take_short(), "said once");
    }
}
