//! The impaired link towards one side of a session, with a queue of delayed datagrams.
//!
//! Law: datagrams are sent in order, unless `reorder` moves one ahead of others. A lane queues at most
//! [`MAX_WAITING`] bytes. Without link lines and with an empty queue, a datagram costs one comparison.

use std::collections::BTreeMap;

use teetap_rules::impair::{Channel, Copy, Fate, Impact, LineSet, Lost, PassedDatagram, Sent};
use teetap_wire::Dir;

use super::{datagram::Transit, outbox::Destination, time::Time};

/// Maximum size of the queue in bytes.
const MAX_WAITING: usize = 2 << 20;
/// Overhead of a queued datagram in bytes.
const OVERHEAD: usize = 64;

/// A datagram to send through a lane.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Outgoing<'a> {
    pub(crate) to: Destination,
    pub(crate) bytes: &'a [u8],
    /// True if the session is in 0.7.
    pub(crate) seven: bool,
    /// True if the datagram must be neither duplicated nor reordered.
    pub(crate) once: bool,
    /// True if the datagram is connless.
    pub(crate) connless: bool,
    /// The link lines that may act on the datagram.
    pub(crate) lines: LineSet,
}

/// The link towards one side.
#[derive(Debug, Default)]
pub(crate) struct Lane {
    /// The link lines; `None` if there are none for this direction.
    pub(crate) channel: Option<Channel>,
    queue: Queue,
    /// Number of datagrams sent so far, without connless ones.
    ordinal: u64,
    /// Number of connless datagrams sent so far.
    connless: u64,
    /// Departure time of the last queued connless datagram.
    connless_until: Time,
    /// End of a stall: no datagram is sent before this time.
    stalled: Time,
}

/// A datagram and its destination.
type Addressed = (Destination, Box<[u8]>);

#[derive(Debug, Default)]
struct Queue {
    /// The queued datagrams by departure time and number.
    waiting: BTreeMap<(Time, u64), Addressed>,
    /// Number of the next queued datagram.
    next: u64,
    bytes: usize,
    /// Departure time of the last in-order datagram.
    last: Time,
    /// Departure time of the last datagram that must not be overtaken.
    barrier: Time,
    /// True from the first datagram that is dropped for lack of room until half of the queue is free.
    is_full: bool,
    /// True if the full queue has not been reported yet.
    has_filled: bool,
}

impl Lane {
    /// Counts a datagram. Returns true if it can be sent immediately.
    pub(crate) fn is_open(&mut self, now: Time) -> bool {
        self.ordinal += 1;
        self.channel.is_none() && self.queue.waiting.is_empty() && self.stalled <= now
    }

    /// Counts a connless datagram. Returns true if it can be sent immediately: no link line applies to it,
    /// and no connless datagram is queued.
    pub(crate) fn is_open_connless(&mut self, now: Time) -> bool {
        let is_open = !self.channel.as_ref().is_some_and(Channel::browses) && self.connless_until <= now;
        self.connless += u64::from(!is_open);
        is_open
    }

    /// Returns the departure time of the last queued connless datagram.
    pub(crate) const fn connless_until(&self) -> Time {
        self.connless_until
    }

    /// Stalls the lane: no datagram is sent before `until`. A stall that ends later is kept.
    pub(crate) fn stall(&mut self, until: Time) {
        self.stalled = self.stalled.max(until);
    }

    /// Queues or drops a counted datagram. Returns the effects of the link on the datagram and its
    /// duplicates; empty if there are none.
    pub(crate) fn enqueue(&mut self, now: Time, outgoing: Outgoing<'_>) -> Vec<Transit> {
        let Outgoing {
            to,
            bytes,
            seven,
            once,
            connless,
            lines,
        } = outgoing;
        let ordinal = if connless { self.connless } else { self.ordinal };
        let sent = Sent {
            seven,
            once,
            lines,
            connless,
            ..Sent::new(now.0, ordinal, bytes)
        };
        let Some(channel) = &mut self.channel else {
            let transit = Transit::default();
            let at = self.stalled.max(now);
            let transits = self.queue.push(now, (at, to, bytes), transit, once);
            return transits.into_iter().collect();
        };
        let mut transits = Vec::new();
        for (copy, is_duplicate) in channel
            .pass(&sent)
            .iter()
            .zip([false].into_iter().chain(std::iter::repeat(true)))
        {
            let transit = Transit {
                duplicate: is_duplicate,
                reordered: copy.overtakes,
                corrupted: copy.flips.as_slice().into(),
                ..Transit::default()
            };
            transits.extend(match copy.fate {
                Fate::Lost(lost) => Some(Transit {
                    lost: Some(lost),
                    ..transit
                }),
                Fate::Leaves(at) => {
                    let flipped = flipped(bytes, copy);
                    let at = self.stalled.max(Time(at));
                    let bytes = flipped.as_deref().unwrap_or(bytes);
                    self.queue.push(now, (at, to, bytes), transit, once)
                }
            });
        }
        if connless {
            self.connless_until = self.connless_until.max(self.queue.last);
        }
        transits
    }

    /// Returns the direction and the number of the last datagram, connless or not.
    pub(crate) const fn passed(&self, dir: Dir, connless: bool) -> PassedDatagram {
        PassedDatagram {
            dir,
            datagram: if connless { self.connless } else { self.ordinal },
            connless,
        }
    }

    /// Returns the effects of each link line on the last datagram.
    pub(crate) fn impacts(&self) -> &[Impact] {
        self.channel.as_ref().map_or(&[], Channel::impacts)
    }

    /// Returns the departure time of the next datagram; `None` if the queue is empty.
    pub(crate) fn deadline(&self) -> Option<Time> {
        let first = self.queue.waiting.first_key_value();
        first.map(|((at, _), _)| self.stalled.max(*at))
    }

    /// Returns the departure time of the last datagram; `None` if the queue is empty.
    pub(crate) fn end(&self) -> Option<Time> {
        let last = self.queue.waiting.last_key_value();
        last.map(|((at, _), _)| self.stalled.max(*at))
    }

    /// Removes and returns the next datagram if it is due.
    pub(crate) fn pop(&mut self, until: Time) -> Option<Addressed> {
        let queue = &mut self.queue;
        let entry = queue
            .waiting
            .first_entry()
            .filter(|entry| self.stalled.max(entry.key().0) <= until)?;
        let (to, bytes) = entry.remove();
        queue.bytes -= bytes.len() + OVERHEAD;
        queue.is_full &= queue.bytes > MAX_WAITING / 2;
        Some((to, bytes))
    }

    /// Returns true once after the queue has filled up.
    pub(crate) fn has_filled(&mut self) -> bool {
        std::mem::take(&mut self.queue.has_filled)
    }
}

impl Queue {
    /// Queues a datagram for a time, but not ahead of earlier ones unless it is reordered. Returns the effect
    /// on the datagram; `None` if it is sent immediately and unchanged.
    fn push(
        &mut self,
        now: Time,
        (at, to, bytes): (Time, Destination, &[u8]),
        transit: Transit,
        once: bool,
    ) -> Option<Transit> {
        let at = if transit.reordered {
            at.max(self.barrier)
        } else {
            self.last = at.max(self.last);
            self.last
        };
        if self.bytes + bytes.len() + OVERHEAD > MAX_WAITING {
            self.has_filled |= !std::mem::replace(&mut self.is_full, true);
            return Some(Transit {
                lost: Some(Lost::Full),
                ..transit
            });
        }
        if once {
            self.barrier = at;
        }
        self.bytes += bytes.len() + OVERHEAD;
        self.waiting.insert((at, self.next), (to, bytes.into()));
        self.next += 1;
        let transit = Transit {
            delay: at.since(now),
            ..transit
        };
        (transit != Transit::default()).then_some(transit)
    }
}

/// Returns the bytes with the flipped bits of a copy; `None` if no bit is flipped.
fn flipped(bytes: &[u8], copy: &Copy) -> Option<Box<[u8]>> {
    if copy.flips.is_empty() {
        return None;
    }
    let mut bytes: Box<[u8]> = bytes.into();
    for bit in &copy.flips {
        let byte = usize::try_from(bit / 8).ok().and_then(|at| bytes.get_mut(at));
        if let Some(byte) = byte {
            *byte ^= 1 << (bit % 8);
        }
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::session::UpstreamId;
    use teetap_rules::{
        Opening,
        impair::{Dirs, LinkLine, Links, Reorder, Share},
    };

    fn lane(change: impl FnOnce(&mut LinkLine)) -> Lane {
        let opening = Opening {
            seed: 3,
            session: 1,
            at: 0,
            is_new: true,
            client: None,
        };
        let mut line = LinkLine::new(Dirs::C2s);
        line.delay = Some(Duration::from_millis(5));
        change(&mut line);
        Lane {
            channel: Links::new([line]).open(&opening, Dir::C2s, None),
            ..Lane::default()
        }
    }

    fn send(lane: &mut Lane, at: u64, text: &str) -> Vec<Transit> {
        lane.is_open(Time(at));
        lane.enqueue(Time(at), outgoing(text))
    }

    fn outgoing(text: &str) -> Outgoing<'_> {
        Outgoing {
            to: Destination::Server(UpstreamId(1)),
            bytes: text.as_bytes(),
            seven: false,
            once: false,
            connless: false,
            lines: LineSet::ALL,
        }
    }

    fn left(lane: &mut Lane, until: u64) -> Vec<String> {
        let next = || lane.pop(Time(until));
        std::iter::from_fn(next)
            .map(|(_, bytes)| String::from_utf8_lossy(&bytes).into_owned())
            .collect()
    }

    #[test]
    fn datagrams_leave_at_their_time_and_in_order() {
        let mut lane = lane(|line| line.to = Some(Duration::from_millis(10)));
        assert!(!lane.is_open(Time(9_000)));
        assert_eq!(send(&mut lane, 9_000, "a")[0].delay, Duration::from_millis(5));
        // The line has ended, but datagrams in flight are still sent first.
        assert_eq!(send(&mut lane, 11_000, "b")[0].delay, Duration::from_millis(3));
        assert_eq!(left(&mut lane, 13_999), [""; 0]);
        assert_eq!(left(&mut lane, 14_000), ["a", "b"]);
        assert_eq!(send(&mut lane, 15_000, "c"), []);
        assert_eq!(left(&mut lane, 15_000), ["c"]);
    }

    #[test]
    fn a_stall_keeps_everything_and_its_order() {
        let mut lane = lane(|line| line.to = Some(Duration::from_millis(10)));
        send(&mut lane, 0, "a");
        lane.stall(Time(3_000_000));
        lane.stall(Time(2_000_000));
        // The stall applies to the datagram in flight, and to a datagram that is sent after the line has
        // ended.
        assert_eq!(lane.deadline(), Some(Time(3_000_000)));
        assert_eq!(send(&mut lane, 1_000_000, "b")[0].delay, Duration::from_secs(2));
        assert_eq!(left(&mut lane, 2_999_999), [""; 0]);
        assert_eq!(lane.end(), Some(Time(3_000_000)));
        assert_eq!(left(&mut lane, 3_000_000), ["a", "b"]);
        assert_eq!(send(&mut lane, 3_000_000, "c"), []);
        assert_eq!(left(&mut lane, 3_000_000), ["c"]);
    }

    #[test]
    fn nothing_overtakes_a_datagram_that_leaves_once() {
        let mut lane = lane(|line| {
            let share = Share::WHOLE;
            line.reorder = Some(Reorder { share, gap: 1 });
        });
        lane.is_open(Time(0));
        let once = true;
        let accept = Outgoing {
            once,
            ..outgoing("once")
        };
        lane.enqueue(Time(0), accept);
        assert!(send(&mut lane, 1_000, "ahead")[0].reordered);
        assert_eq!(left(&mut lane, 4_999), [""; 0]);
        assert_eq!(left(&mut lane, 5_000), ["once", "ahead"]);
    }

    #[test]
    fn what_waits_survives_the_end_of_the_lines_and_keeps_the_lane_busy() {
        let mut lane = lane(|_| ());
        send(&mut lane, 0, "a");
        lane.channel = None;
        assert!(!lane.is_open(Time(1_000)));
        assert_eq!(
            lane.enqueue(Time(1_000), outgoing("b"))[0].delay,
            Duration::from_millis(4)
        );
        assert_eq!(left(&mut lane, 5_000), ["a", "b"]);
        assert!(lane.is_open(Time(5_000)));
    }

    #[test]
    fn a_full_lane_drops_and_reports_it_once_each_time_it_fills() {
        let mut lane = lane(|line| line.delay = Some(Duration::from_mins(1)));
        let large = "x".repeat(1_400);
        let mut lost = 0;
        for n in 0..2_000 {
            lost += send(&mut lane, n, &large)
                .iter()
                .filter(|transit| transit.lost == Some(Lost::Full))
                .count();
        }
        assert_eq!(lost, 2_000 - MAX_WAITING / (1_400 + OVERHEAD));
        assert!(lane.has_filled() && !lane.has_filled());
        assert_eq!(left(&mut lane, 70_000_000).len(), 2_000 - lost);
        assert_eq!(lane.queue.bytes, 0);
        send(&mut lane, 71_000_000, &large);
        assert!(!lane.has_filled());
    }
}
