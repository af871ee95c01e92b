//! The sequence numbers of vital messages in one direction of a session.

use std::collections::VecDeque;

use teetap_proxy::session::Time;
use teetap_wire::Seq;

/// Number of recent sequence numbers whose first arrival is kept: the cycle has 1024, and receivers accept half of it.
const SEEN: usize = 512;

/// Maximum number of plot points kept per direction.
const POINTS: usize = 512;

/// Limit for the number of missing messages. A larger jump of the numbers does not count as missing messages.
const JUMP: u16 = 256;

/// A line in the plot of sequence numbers over time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Track {
    /// Sequence numbers as the sender gave them.
    SeqIn,
    /// Sequence numbers as they were forwarded.
    SeqOut,
    /// Acks of the receiver.
    AckIn,
    /// Acks as they were forwarded to the sender.
    AckOut,
}

/// A point of the plot.
#[derive(Clone, Copy, Debug)]
pub struct Point {
    /// Time of the datagram.
    pub at: Time,
    /// The line that it belongs to.
    pub track: Track,
    /// The sequence number, unwrapped: it continues beyond the cycle of 1024.
    pub number: i64,
}

/// Vital messages that are missing directly before a received message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Missing {
    /// Sequence number of the first missing message.
    pub first: Seq,
    /// Number of missing messages.
    pub count: u16,
}

/// The first arrival of a sequence number.
#[derive(Clone, Copy, Debug)]
pub(super) struct First {
    pub(super) seq: Seq,
    pub(super) at: Time,
    /// True if the message was forwarded.
    pub(super) left: bool,
}

/// One direction of a session.
#[derive(Clone, Debug, Default)]
pub struct DirectionStatistics {
    newest: Option<Seq>,
    seen: VecDeque<First>,
    /// The last number on each line of the plot.
    last: [Option<i64>; 4],
    points: VecDeque<Point>,
}

impl DirectionStatistics {
    /// Returns the points of the plot, oldest first.
    pub fn points(&self) -> impl Iterator<Item = Point> + '_ {
        self.points.iter().copied()
    }

    /// Returns the first arrival of a sequence number; `None` if not seen recently.
    pub(super) fn first(&self, seq: Seq) -> Option<First> {
        self.seen.iter().rev().find(|seen| seen.seq == seq).copied()
    }

    /// Records the sequence number of a received message. Returns the messages missing directly before it.
    pub(super) fn on_number(&mut self, seq: Seq, at: Time, left: bool) -> Option<Missing> {
        if let Some(seen) = self.seen.iter_mut().rev().find(|seen| seen.seq == seq) {
            seen.left |= left;
        } else {
            if self.seen.len() >= SEEN {
                self.seen.pop_front();
            }
            self.seen.push_back(First { seq, at, left });
        }
        let steps = self.newest.map_or(1, |newest| newest.distance_to(seq));
        if steps == 0 || steps > 512 {
            return None;
        }
        let newest = self.newest.replace(seq)?;
        let count = steps - 1;
        let first = newest.next();
        (1..JUMP).contains(&count).then_some(Missing { first, count })
    }

    /// Adds a number to the plot if it differs from the last number of its line.
    pub(super) fn plot(&mut self, track: Track, seq: Seq, at: Time) {
        let Some(last) = self.last.get_mut(track as usize) else {
            return;
        };
        let number = match *last {
            None => i64::from(seq.get()),
            Some(last) => {
                let known = Seq::new(u16::try_from(last.rem_euclid(1024)).unwrap_or(0));
                let ahead = i64::from(known.distance_to(seq));
                last + if ahead > 512 { ahead - 1024 } else { ahead }
            }
        };
        if *last == Some(number) {
            return;
        }
        *last = Some(number);
        if self.points.len() >= POINTS {
            self.points.pop_front();
        }
        self.points.push_back(Point { at, track, number });
    }

    /// Forgets the newest number, because events were missed.
    pub(super) fn gap(&mut self) {
        self.newest = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AT: Time = Time(0);

    #[test]
    fn a_jump_is_missing_messages_and_a_late_one_is_not() {
        let mut way = DirectionStatistics::default();
        let mut take = |seq| way.on_number(Seq::new(seq), AT, true);
        assert_eq!(take(1022), None, "the beginning may have been missed");
        assert_eq!(take(1023), None);
        let missing = Missing {
            first: Seq::new(0),
            count: 2,
        };
        assert_eq!(take(2), Some(missing));
        assert_eq!((take(0), take(1), take(3)), (None, None, None));
        assert!(way.first(Seq::new(1)).is_some() && way.first(Seq::new(4)).is_none());
    }

    #[test]
    fn the_plot_counts_on_where_numbers_wrap() {
        let mut way = DirectionStatistics::default();
        for seq in [1022, 1023, 1023, 0, 1, 1023] {
            way.plot(Track::SeqIn, Seq::new(seq), AT);
        }
        let numbers: Vec<_> = way.points().map(|point| point.number).collect();
        assert_eq!(numbers, [1022, 1023, 1024, 1025, 1023]);
    }
}
