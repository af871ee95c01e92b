//! The pace of one peer: its silences and its reply times.
//!
//! Law: a peer is silent only while the other peer sends; a pause of both peers is a pause of the recording.

use std::time::Duration;

use teetap_proxy::session::Time;

/// Minimum silence to note. An idle peer sends a keepalive after a second, and one keepalive may be lost.
const SILENCE: Duration = Duration::from_millis(2500);

/// Minimum datagrams of the other peer during that silence.
const OTHERS: u32 = 2;

/// Time after which a connection flushes its queued chunks, including the delays that network and main loop add.
const FLUSH: std::ops::RangeInclusive<Duration> = Duration::from_millis(480)..=Duration::from_millis(560);

/// Delay of a reply, beyond the usual round-trip time, that a flush explains. A longer delay has another cause.
const WAITED: std::ops::RangeInclusive<Duration> = Duration::from_millis(250)..=Duration::from_millis(560);

/// Minimum number of measured round trips.
const TRIPS: u8 = 2;

/// Maximum spread of the round-trip times on a network that does not delay datagrams.
const SPREAD: Duration = Duration::from_millis(100);

/// Maximum number of open questions kept.
const MOST: usize = 4;

/// The pace of one peer.
#[derive(Debug, Default)]
pub(super) struct Pace {
    last: Option<Time>,
    /// Time between the previous datagram and the current one.
    pause: Duration,
    /// Number of datagrams of the other peer since the last datagram of this peer.
    others: u32,
    /// Time of the last datagram of the other peer.
    other: Option<Time>,
    /// Round-trip times to this peer, measured when both peers sent one datagram at a time, as in handshakes.
    trips: Trips,
    /// [`Self::trips`] before the current datagram.
    trips_before: Trips,
    /// Open questions to this peer: name of the question, name of the answer, time.
    questions: Vec<(&'static str, &'static str, Time)>,
}

/// Statistics of the round-trip times to a peer.
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

/// A late reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Late {
    pub(super) question: &'static str,
    pub(super) after: Duration,
}

impl Pace {
    /// Records a datagram of this peer. Returns the silence before it if that was long, and true if the other peer was
    /// not silent meanwhile.
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

    /// Records a datagram of the other peer.
    pub(super) const fn other_sent(&mut self, at: Time) {
        self.others = self.others.saturating_add(1);
        self.other = Some(at);
    }

    /// Records a question that this peer has to answer.
    pub(super) fn asked(&mut self, question: &'static str, answer: &'static str, at: Time) {
        self.questions.retain(|(_, known, _)| *known != answer);
        if self.questions.len() >= MOST {
            self.questions.remove(0);
        }
        self.questions.push((question, answer, at));
    }

    /// Forgets the question with this answer.
    pub(super) fn forget(&mut self, answer: &str) {
        self.questions.retain(|(_, known, _)| *known != answer);
    }

    /// Records a message of this peer in the current datagram. Returns the delay if the message is an answer that
    /// waited for a flush of the connection. `is_rough` is true if the network has lost, duplicated or delayed a
    /// datagram.
    pub(super) fn answered(&mut self, name: &str, at: Time, is_rough: bool) -> Option<Late> {
        let index = self.questions.iter().position(|(_, answer, _)| *answer == name)?;
        let (question, _, asked) = self.questions.remove(index);
        let after = at.since(asked);
        // Without measured round trips, a distant peer or a network that delays datagrams would look the same.
        let trips = self.trips_before;
        let waited = after.saturating_sub(trips.shortest);
        let is_steady = !is_rough && trips.count >= TRIPS && trips.longest - trips.shortest <= SPREAD;
        let is_late = is_steady && FLUSH.contains(&self.pause) && WAITED.contains(&waited);
        is_late.then_some(Late { question, after })
    }
}
