//! The acks of a recorded session, checked as the session core checks them.
//!
//! Law: an ack outside the window is noted as in a live run. A recording may lack datagrams that the peers had. Where it shows
//! that, by a silence before such an ack, by a number beyond it or by an answer to its datagram, that is a hole: it is
//! reported once, and the window begins anew with the ack.

use std::time::Duration;

use teetap_proxy::session::{AckWindow, Time};
use teetap_wire::{Code, Dir, Seq};

/// The silence of both peers after which an ack outside the window shows a hole: peers that play never rest as long.
const SILENCE: Duration = Duration::from_millis(500);

/// The time after a silence in which acks may still come for what was sent in it.
const AFTER_SILENCE: Duration = Duration::from_secs(2);

/// The acks of a session.
#[derive(Debug, Default)]
pub(super) struct Acks {
    /// The numbers of the client, which the server acks, and those of the server.
    numbers: [Numbers; 2],
    last: Option<Time>,
    /// The end of the last silence.
    silence: Option<Time>,
    /// True if that silence was reported as a hole.
    is_reported: bool,
}

/// The numbers of one direction, and the acks of their receiver.
#[derive(Debug, Default)]
struct Numbers {
    /// `None` before the first ack, where the start of the session was not recorded.
    window: Option<AckWindow>,
    /// The highest number before the first ack.
    top: Option<Seq>,
    /// True if the recording cuts datagrams off: there may be numbers in the missing bytes.
    is_cut: bool,
    /// The last ack beyond all numbers, since the last valid one.
    ahead: Option<Seq>,
    /// The first number that was sent along with an invalid ack for the other direction.
    doubtful: Option<Seq>,
}

/// The findings about the ack and the numbers of a datagram.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Finding {
    /// The oddity of its ack.
    pub(super) odd: Option<Code>,
    /// True if it shows that the recording lacks datagrams.
    pub(super) is_hole: bool,
}

impl Acks {
    /// The acks of a session whose start was recorded.
    pub(super) fn from_the_start() -> Self {
        let numbers = || Numbers {
            window: Some(AckWindow::default()),
            ..Numbers::default()
        };
        Self {
            numbers: [numbers(), numbers()],
            ..Self::default()
        }
    }

    /// Takes a datagram: its ack and the numbers of its vital messages. `is_cut`: the recording lacks bytes of it.
    pub(super) fn see(
        &mut self,
        at: Time,
        dir: Dir,
        ack: Option<Seq>,
        sent: &[Seq],
        is_cut: bool,
    ) -> Finding {
        let Self {
            numbers: [c2s, s2c],
            last,
            silence,
            is_reported,
        } = self;
        if last.replace(at).is_some_and(|last| at.since(last) >= SILENCE) {
            (*silence, *is_reported) = (Some(at), false);
        }
        let is_after_silence = silence.is_some_and(|end| at.since(end) < AFTER_SILENCE);
        let (own, other) = match dir {
            Dir::C2s => (c2s, s2c),
            Dir::S2c => (s2c, c2s),
        };
        let mut finding = ack.map_or(Finding::default(), |ack| other.ack(ack, is_after_silence));
        // It may show in both directions.
        finding.is_hole = finding.is_hole && !std::mem::replace(is_reported, true);
        let is_valid = finding.odd.is_none();
        if let Some(ack) = ack.filter(|_| is_valid)
            && other.doubtful.is_some_and(|first| first.is_behind(ack))
        {
            // The peer took that datagram, so its ack was right.
            other.doubtful = None;
            finding.is_hole |= own.begin_anew();
        }
        let is_doubtful = other.ahead.is_some();
        own.doubtful = own.doubtful.filter(|_| is_doubtful);
        for number in sent {
            let is_new = own.window.is_some_and(|window| *number == window.top.next());
            finding.is_hole |= own.sent(*number);
            if is_new && is_doubtful {
                own.doubtful.get_or_insert(*number);
            }
        }
        own.is_cut |= is_cut;
        finding
    }
}

impl Numbers {
    /// Handles an ack of the receiver. `is_after_silence`: numbers may have been sent in a hole.
    fn ack(&mut self, ack: Seq, is_after_silence: bool) -> Finding {
        let Some(window) = &mut self.window else {
            let top = self.top.filter(|top| ack.is_behind(*top)).unwrap_or(ack);
            self.window = Some(AckWindow { last: ack, top });
            return Finding::default();
        };
        let is_hole = match window.check(ack) {
            Ok(()) => false,
            Err(_) if is_after_silence || self.is_cut => {
                window.sent(ack);
                !self.is_cut
            }
            Err(code) => {
                self.ahead = Some(ack).filter(|_| code == Code::AckAhead).or(self.ahead);
                return Finding {
                    odd: Some(code),
                    is_hole: false,
                };
            }
        };
        window.last = ack;
        self.ahead = None;
        Finding { odd: None, is_hole }
    }

    /// Handles a number of the sender. Returns true if it shows that those before it are missing: they were acked.
    fn sent(&mut self, number: Seq) -> bool {
        let Some(window) = &mut self.window else {
            if self.top.is_none_or(|top| top.is_behind(number)) {
                self.top = Some(number);
            }
            return false;
        };
        let is_next = number == window.top.next();
        window.sent(number);
        let is_beyond = self
            .ahead
            .is_some_and(|ahead| ahead != number && ahead.is_behind(number));
        !is_next && is_beyond && self.begin_anew()
    }

    /// Takes the ack beyond all numbers for a valid one. Returns true if there was one.
    fn begin_anew(&mut self) -> bool {
        let (Some(ahead), Some(window)) = (self.ahead.take(), &mut self.window) else {
            return false;
        };
        window.last = ahead;
        window.sent(ahead);
        true
    }
}
