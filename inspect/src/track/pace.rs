//! Measures the silences and reply times of one peer.
//!
//! Law: a peer counts as silent only while the other peer sends; a pause of both peers is a pause of the recording.

use std::time::Duration;

use teetap_proxy::session::Time;

/// Minimum silence to report. An idle peer sends a keepalive each second, and one keepalive may be lost.
const SILENCE: Duration = Duration::from_millis(2500);

/// Minimum number of datagrams from the other peer during the silence.
const OTHERS: u32 = 2;

/// Time after the last datagram at which a connection flushes its queued chunks, with the delays of network and main
/// loop.
const FLUSH: std::ops::RangeInclusive<Duration> = Duration::from_millis(480)..=Duration::from_millis(560);

/// Delay of a reply, in addition to the shortest round-trip time, that waiting for a flush explains. A longer delay has
/// another cause.
const WAITED: std::ops::RangeInclusive<Duration> = Duration::from_millis(250)..=Duration::from_millis(560);

/// Minimum number of measured round-trip times.
const TRIPS: u8 = 2;

/// Maximum spread of the round-trip times on a steady network.
const SPREAD: Duration = Duration::from_millis(100);

/// Maximum number of messages kept that wait for a reply.
const MOST: usize = 4;

/// Pauses and reply times of one peer.
#[derive(Debug, Default)]
pub(super) struct Pace {
    last: Option<Time>,
    /// Time between the previous datagram and the current one.
    pause: Duration,
    /// Number of datagrams of the other peer since the last datagram of this peer.
    others: u32,
    /// Time of the last datagram of the other peer.
    other: Option<Time>,
    /// Round-trip times to this peer, measured while the peers alternate, as in a handshake.
    trips: Trips,
    /// The value of [`Self::trips`] before the current datagram.
    trips_before: Trips,
    /// Messages to which this peer has not replied yet: name of the message, name of the reply, time.
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

/// A reply that was queued until a flush.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LateReply {
    pub(super) question: &'static str,
    pub(super) after: Duration,
}

impl Pace {
    /// Records a datagram of this peer. Returns the pause before it if that was at least [`SILENCE`], and true if the
    /// other peer sent datagrams during the pause.
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

    /// Records a message, `question`, to which this peer has to reply with the message `answer`.
    pub(super) fn asked(&mut self, question: &'static str, answer: &'static str, at: Time) {
        self.questions.retain(|(_, known, _)| *known != answer);
        if self.questions.len() >= MOST {
            self.questions.remove(0);
        }
        self.questions.push((question, answer, at));
    }

    /// Forgets the message to which `answer` is the reply.
    pub(super) fn forget(&mut self, answer: &str) {
        self.questions.retain(|(_, known, _)| *known != answer);
    }

    /// Records a message of this peer in the current datagram. Returns the delay if the message is a reply that was
    /// queued until a flush of the connection. `is_rough` is true if the network has lost, duplicated or reordered a
    /// datagram.
    pub(super) fn answered(&mut self, name: &str, at: Time, is_rough: bool) -> Option<LateReply> {
        let index = self.questions.iter().position(|(_, answer, _)| *answer == name)?;
        let (question, _, asked) = self.questions.remove(index);
        let after = at.since(asked);
        // Without measured round-trip times, a slow network would look the same as a queued reply.
        let trips = self.trips_before;
        let waited = after.saturating_sub(trips.shortest);
        let is_steady = !is_rough && trips.count >= TRIPS && trips.longest - trips.shortest <= SPREAD;
        let is_late = is_steady && FLUSH.contains(&self.pause) && WAITED.contains(&waited);
        is_late.then_some(LateReply { question, after })
    }
}
