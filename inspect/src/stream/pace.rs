//! The pace of one peer: its silences, and the time that it takes to answer.
//!
//! Law: a peer is silent only while the other one is not: a pause of both is one of the recording.

use std::time::Duration;

use teetap_proxy::session::Time;

/// The silence that is noted. A peer with nothing to send sends a keepalive after a second, and one may be lost.
const SILENCE: Duration = Duration::from_millis(2500);

/// The datagrams of the other peer in that time.
const OTHERS: u32 = 2;

/// The time after which a connection sends what waits in it, give or take what the network and the loop of a program add.
const FLUSH: std::ops::RangeInclusive<Duration> = Duration::from_millis(480)..=Duration::from_millis(560);

/// The time that an answer has to be late for it, beyond the usual way to its sender and back. A later one waited for something else.
const WAITED: std::ops::RangeInclusive<Duration> = Duration::from_millis(250)..=Duration::from_millis(560);

/// The times to a peer and back that show how long the way is.
const TRIPS: u8 = 2;

/// The most by which the times to a peer and back differ on a network that keeps nothing back.
const SPREAD: Duration = Duration::from_millis(100);

/// The questions that are known.
const MOST: usize = 4;

/// The pace of one peer.
#[derive(Debug, Default)]
pub(super) struct Pace {
    last: Option<Time>,
    /// The time from the datagram before the current one.
    pause: Duration,
    /// The datagrams of the other peer since its last one.
    others: u32,
    /// The time of the last one of the other peer.
    other: Option<Time>,
    /// The times after which a datagram followed one of the other peer, where both sent one at a time, as in handshakes: the way to this
    /// peer and back.
    trips: Trips,
    /// The same without the current datagram.
    trips_before: Trips,
    /// The questions to it: the name of the answer and the time.
    questions: Vec<(&'static str, &'static str, Time)>,
}

/// The times to a peer and back.
#[derive(Clone, Copy, Debug, Default)]
struct Trips {
    count: u8,
    shortest: Duration,
    longest: Duration,
}

impl Trips {
    fn add(&mut self, trip: Duration) {
        self.shortest = if self.count == 0 {
            trip
        } else {
            self.shortest.min(trip)
        };
        self.longest = self.longest.max(trip);
        self.count = self.count.saturating_add(1);
    }
}

/// A late answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Late {
    pub(super) question: &'static str,
    pub(super) after: Duration,
}

impl Pace {
    /// Takes a datagram of this peer. Returns its silence before it, if that was long, and true if the other peer was not silent.
    pub(super) fn sent(&mut self, at: Time) -> (Option<Duration>, bool) {
        let last = self.last.replace(at);
        self.pause = last.map_or(Duration::ZERO, |last| at.since(last));
        let others = std::mem::take(&mut self.others);
        self.trips_before = self.trips;
        if let Some(other) = self.other.filter(|_| others == 1) {
            self.trips.add(at.since(other));
        }
        (
            Some(self.pause).filter(|pause| *pause >= SILENCE),
            others >= OTHERS,
        )
    }

    /// Takes a datagram of the other peer.
    pub(super) const fn other_sent(&mut self, at: Time) {
        self.others = self.others.saturating_add(1);
        self.other = Some(at);
    }

    /// Takes a question that this peer has to answer.
    pub(super) fn asked(&mut self, question: &'static str, answer: &'static str, at: Time) {
        self.questions.retain(|(_, known, _)| *known != answer);
        if self.questions.len() >= MOST {
            self.questions.remove(0);
        }
        self.questions.push((question, answer, at));
    }

    /// Forgets a question with this answer.
    pub(super) fn forget(&mut self, answer: &str) {
        self.questions.retain(|(_, known, _)| *known != answer);
    }

    /// Takes a message of this peer in the current datagram. Returns the delay if it is an answer that waited for the flush of the
    /// connection. `is_rough`: the network has lost, doubled or kept back a datagram.
    pub(super) fn answered(&mut self, name: &str, at: Time, is_rough: bool) -> Option<Late> {
        let index = self.questions.iter().position(|(_, answer, _)| *answer == name)?;
        let (question, _, asked) = self.questions.remove(index);
        let after = at.since(asked);
        // Without the handshake a long way to the peer looks the same, and so does a network that keeps datagrams back.
        let trips = self.trips_before;
        let waited = after.saturating_sub(trips.shortest);
        let is_steady = !is_rough && trips.count >= TRIPS && trips.longest - trips.shortest <= SPREAD;
        let is_late = is_steady && FLUSH.contains(&self.pause) && WAITED.contains(&waited);
        is_late.then_some(Late { question, after })
    }
}
