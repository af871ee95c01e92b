//! One leg of a session: its state, its round-trip times, and the losses observed on it.

use std::{collections::VecDeque, fmt, time::Duration};

use teetap_proxy::session::Time;
use teetap_rules::context::RoundTrip;
use teetap_wire::Seq;

use super::samples::Samples;

/// Number of recent round-trip times whose minimum is shown. A peer may answer late, but never early.
const TRIPS: usize = 8;

/// Maximum number of ticks whose answer is awaited.
const WAITING: usize = 64;

/// The state of a leg, derived from its messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LegState {
    /// No message was seen.
    #[default]
    Silent,
    /// A token was requested.
    Token,
    /// CONNECT was sent.
    Connect,
    /// Messages were sent on the leg.
    Online,
    /// CLOSE was sent.
    Closed,
}

impl fmt::Display for LegState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Silent => "silent",
            Self::Token => "token",
            Self::Connect => "connect",
            Self::Online => "online",
            Self::Closed => "closed",
        })
    }
}

/// A leg of a session.
#[derive(Clone, Debug, Default)]
pub struct Leg {
    /// The state.
    pub state: LegState,
    /// Number of vital messages on this leg, resends included.
    pub vital: u64,
    /// Number of resent vital messages on this leg.
    pub resends: u64,
    /// Number of vital messages or their acks lost on this leg, as far as resends show.
    pub lost: u64,
    /// Round-trip times between the proxy and the peer, in milliseconds: from a vital message to its ack, from a
    /// snapshot to the first input that acks it, and from an input to its timing message.
    pub trips: Samples,
    /// Time of the last datagram of the peer that its receiver accepts.
    pub(super) heard: Option<Time>,
    /// The vital message whose ack is awaited.
    acked: RoundTrip,
    /// The ticks whose answer is awaited, and the times they were sent.
    ticks: VecDeque<(i64, Time)>,
}

impl Leg {
    /// Returns the minimum of the last few round-trip times in milliseconds; `None` if none was measured.
    #[must_use]
    pub fn rtt(&self) -> Option<f64> {
        self.trips.least_of(TRIPS)
    }

    /// Returns the fraction of vital messages that were lost, from 0 to 1; `None` if there were no vital messages.
    #[must_use]
    pub fn loss(&self) -> Option<f64> {
        (self.vital > 0).then(|| self.lost as f64 / self.vital as f64)
    }

    /// Records that a vital message was sent to the peer.
    pub(super) fn on_sent(&mut self, seq: Seq, at: Time, resend: bool) {
        self.acked.on_sent(at.0, seq, resend);
    }

    /// Records an ack of the peer.
    pub(super) fn on_ack(&mut self, ack: Seq, at: Time) {
        if let Some(micros) = self.acked.on_ack(at.0, ack) {
            self.trip(at, Duration::from_micros(micros));
        }
    }

    /// Records a message to the peer that the peer answers with this tick.
    pub(super) fn on_tick(&mut self, tick: i64, at: Time) {
        // The time of the last part of a snapshot counts.
        self.ticks.retain(|(known, _)| *known != tick);
        if self.ticks.len() >= WAITING {
            self.ticks.pop_front();
        }
        self.ticks.push_back((tick, at));
    }

    /// Records the answer of the peer to a tick. Only the first answer counts.
    pub(super) fn on_answer(&mut self, tick: i64, at: Time) {
        let Some(place) = self.ticks.iter().position(|(known, _)| *known == tick) else {
            return;
        };
        let answered = self.ticks.drain(..=place).next_back();
        if let Some((_, sent)) = answered {
            self.trip(at, at.since(sent));
        }
    }

    fn trip(&mut self, at: Time, trip: Duration) {
        self.trips.push(at, trip.as_secs_f64() * 1000.0);
    }

    /// Forgets the awaited acks and answers, because events were missed.
    pub(super) fn gap(&mut self) {
        self.acked = RoundTrip::default();
        self.ticks.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Time {
        Time(ms * 1000)
    }

    #[test]
    fn a_trip_ends_with_the_ack_and_a_resend_voids_it() {
        let mut leg = Leg::default();
        leg.on_sent(Seq::new(1), at(10), false);
        leg.on_sent(Seq::new(2), at(20), false);
        leg.on_ack(Seq::new(0), at(25));
        assert_eq!(leg.rtt(), None);
        leg.on_ack(Seq::new(2), at(50));
        assert_eq!(leg.rtt(), Some(40.0));
        leg.on_sent(Seq::new(3), at(60), false);
        leg.on_sent(Seq::new(3), at(70), true);
        leg.on_ack(Seq::new(3), at(71));
        assert_eq!(leg.trips.iter().count(), 1);
    }

    #[test]
    fn a_tick_is_answered_once_and_older_ones_not_at_all() {
        let mut leg = Leg::default();
        leg.on_tick(7, at(1));
        leg.on_tick(8, at(2));
        leg.on_tick(8, at(3));
        leg.on_answer(8, at(13));
        leg.on_answer(8, at(14));
        leg.on_answer(7, at(15));
        assert_eq!(leg.trips.iter().map(|(_, ms)| ms).collect::<Vec<_>>(), [10.0]);
    }

    /// An ack or an answer after a gap may belong to an earlier message that was missed.
    #[test]
    fn nothing_is_measured_across_a_gap() {
        for has_gap in [false, true] {
            let mut leg = Leg::default();
            leg.on_sent(Seq::new(1), at(10), false);
            leg.on_tick(7, at(20));
            if has_gap {
                leg.gap();
            }
            leg.on_ack(Seq::new(1), at(50));
            leg.on_answer(7, at(100));
            let trips: Vec<f64> = leg.trips.iter().map(|(_, ms)| ms).collect();
            let expected: &[f64] = if has_gap { &[] } else { &[40.0, 80.0] };
            assert_eq!(trips, expected, "gap: {has_gap}");
        }
    }

    #[test]
    fn the_newest_ticks_are_awaited() {
        let most = i64::try_from(WAITING).unwrap();
        let mut leg = Leg::default();
        for tick in 0..3 * most {
            leg.on_tick(tick, at(1));
            let count = most.min(tick + 1);
            let awaited: Vec<i64> = leg.ticks.iter().map(|(tick, _)| *tick).collect();
            assert_eq!(awaited, Vec::from_iter(tick + 1 - count..=tick));
        }
    }
}
