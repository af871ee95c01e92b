//! Proves until when a peer has received the datagrams of the other peer: it returns a tick that they contained, or acks
//! one of their messages.
//!
//! Law: the time is that of the first datagram with the tick or message, so a peer has received something at that time or
//! later.
//!
//! Memory is bounded: at most [`MOST`] ticks in each direction.

use std::collections::VecDeque;

use teetap_proxy::session::Time;

/// Maximum number of ticks kept, ten seconds of snapshots.
const MOST: usize = 256;

/// The ticks that one peer has sent, and the proof that the other peer has received them.
#[derive(Debug, Default)]
pub(super) struct Echo {
    /// Each tick with the time at which it was sent first, in ascending order.
    ticks: VecDeque<(i32, Time)>,
    /// A time at which, or after which, the other peer has received a datagram.
    until: Option<Time>,
}

impl Echo {
    /// Records a tick in a datagram of the peer.
    pub(super) fn sent(&mut self, tick: i32, at: Time) {
        if self.ticks.back().is_some_and(|(last, _)| *last >= tick) {
            return;
        }
        if self.ticks.len() >= MOST {
            self.ticks.pop_front();
        }
        self.ticks.push_back((tick, at));
    }

    /// Records a tick that the other peer returns.
    pub(super) fn returned(&mut self, tick: i32) {
        let sent = self.ticks.iter().rev().find(|(sent, _)| *sent == tick);
        if let Some((_, at)) = sent.copied() {
            self.until = self.until.max(Some(at));
        }
    }

    /// Returns a time at which, or after which, the other peer has received a datagram; `None` if there is no proof.
    pub(super) const fn until(&self) -> Option<Time> {
        self.until
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_returned_tick_proves_the_time_at_which_it_was_sent_first() {
        let mut echo = Echo::default();
        for (tick, at) in [(10, 1), (12, 2), (12, 3), (11, 4), (14, 5)] {
            echo.sent(tick, Time(at));
        }
        for (tick, until) in [
            (9, None),
            (12, Some(2)),
            (10, Some(2)),
            (11, Some(2)),
            (14, Some(5)),
        ] {
            echo.returned(tick);
            assert_eq!(echo.until(), until.map(Time), "{tick}");
        }
    }
}
