//! Checks the acks of a recorded session, as the session core does for a live session.
//!
//! Law: an ack outside the window gets the same note as in a live run, unless the recording lacks datagrams that the
//! peers received. Such a hole is reported once, and the window restarts at the ack. A hole is proven by a later
//! sequence number ahead of the ack, or by an ack of the datagram that contained the ack.
//!
//! After a silence, an ack that is ahead is neither noted nor reported until later sequence numbers decide. If the next
//! number in order is sent, or if the sender of the ack retransmits a message that it sent along with the ack, then the
//! ack was wrong. If a number ahead of the ack is sent, then the recording lacks the numbers before it.

use std::time::Duration;

use teetap_proxy::session::{AckWindow, RestartedNumbers, Time};
use teetap_wire::{Code, Dir, PerDir, Seq};

/// Minimum silence of both peers that may be a hole in the recording. Peers in the game never pause this long.
const SILENCE: Duration = Duration::from_millis(500);

/// Time after a silence, or after a recording starts in the middle of a session, in which acks may refer to datagrams
/// that were not recorded.
const AFTER_SILENCE: Duration = Duration::from_secs(2);

/// Maximum distance by which a delayed ack is behind. An ack that is further behind may actually be ahead, after a hole
/// of more than half of all numbers.
const NEAR: u16 = 64;

/// State of the acks of a session.
#[derive(Debug, Default)]
pub(super) struct Acks {
    /// Sequence numbers in each direction.
    numbers: PerDir<Numbers>,
    /// Time of the first datagram; `None` if the start of the session was recorded.
    began: Option<Time>,
    last: Option<Time>,
    /// End of the last silence.
    silence: Option<Time>,
    /// True once the last silence was reported as a hole.
    is_reported: bool,
    /// Sequence numbers since a DDNet client sent ACCEPT during the session; `None` if none was sent. The server may
    /// have restarted its sequence numbers.
    anew: Option<RestartedNumbers>,
}

/// Sequence numbers sent in one direction and the acks returned for them.
#[derive(Debug, Default)]
struct Numbers {
    /// The range of valid acks; `None` before the first ack if the start of the session was not recorded.
    window: Option<AckWindow>,
    /// Highest number before the first ack.
    top: Option<Seq>,
    /// True if the recording has truncated a datagram, whose missing bytes may contain numbers.
    is_cut: bool,
    /// Last ack ahead of every number seen; `None` if a valid ack followed.
    ahead: Option<Seq>,
    /// True if `ahead` was sent after a silence, and later numbers have not shown yet whether it is valid.
    is_open: bool,
    /// First number that the sender sent together with an ack that is ahead.
    doubtful: Option<Seq>,
}

/// Kind of a hole in the recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Hole {
    /// Datagrams during a silence are missing.
    OfSilence,
    /// Single datagrams are missing.
    Other,
}

/// Findings about the ack and the numbers of a datagram.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Finding {
    /// Note about the ack; `None` if there is none.
    pub(super) odd: Option<Code>,
    /// True if the datagram shows that the recording lacks datagrams.
    pub(super) is_hole: bool,
    /// True if the datagram shows that the server has restarted its numbers.
    pub(super) is_restart: bool,
}

impl Acks {
    /// Creates the state of a session whose start was recorded.
    pub(super) fn from_the_start() -> Self {
        let numbers = || Numbers::since(AckWindow::default());
        Self {
            numbers: PerDir::from_fn(|_| numbers()),
            ..Self::default()
        }
    }

    /// Records an ACCEPT of a DDNet client during the session, after which the server may restart its sequence numbers.
    pub(super) fn accepted(&mut self) {
        let has_numbers = |numbers: &Numbers| match numbers.window {
            Some(window) => window.top != Seq::ZERO,
            None => numbers.top.is_some(),
        };
        if self.numbers.iter().any(has_numbers) {
            self.anew = Some(RestartedNumbers::default());
        }
    }

    /// Records a datagram after an ACCEPT during the session. Returns the ack to check, which is `None` if it acks
    /// restarted numbers, and true if the datagram shows that the server has restarted its numbers.
    fn restarted(&mut self, dir: Dir, ack: Option<Seq>, sent: &[Seq]) -> (Option<Seq>, bool) {
        let Some(anew) = &mut self.anew else {
            return (ack, false);
        };
        let acked = self.numbers.s2c.window.map(|window| window.last);
        let is_acked = |number: &Seq| acked.is_some_and(|acked| anew.is_shown_by(*number, acked));
        let is_restart = dir == Dir::S2c && sent.iter().any(is_acked);
        if is_restart {
            self.numbers = PerDir::from_fn(|dir| Numbers::since(anew.window(dir)));
            self.anew = None;
            return (ack, true);
        }
        sent.iter().for_each(|number| anew.sent(dir, *number));
        let window = self.numbers[dir.reverse()].window;
        let is_odd = |ack: Seq| window.is_some_and(|window| window.check(ack).is_err());
        let ack = ack.filter(|ack| !(is_odd(*ack) && anew.accepts(dir.reverse(), *ack)));
        (ack, false)
    }

    /// Records the ack and the vital sequence numbers of a datagram. `is_cut` is true if the recording has truncated
    /// it.
    pub(super) fn record(
        &mut self,
        at: Time,
        dir: Dir,
        ack: Option<Seq>,
        sent: &[Seq],
        is_cut: bool,
    ) -> Finding {
        let (ack, is_restart) = self.restarted(dir, ack, sent);
        let Self {
            numbers,
            began,
            last,
            silence,
            is_reported,
            ..
        } = self;
        if last.is_none() && numbers.iter().all(|numbers| numbers.window.is_none()) {
            *began = Some(at);
        }
        if last.replace(at).is_some_and(|last| at.since(last) >= SILENCE) {
            (*silence, *is_reported) = (Some(at), false);
        }
        let is_new = began.is_some_and(|began| at.since(began) < AFTER_SILENCE);
        let is_after_silence = silence.is_some_and(|end| at.since(end) < AFTER_SILENCE);
        let (own, other) = numbers.with_reverse_mut(dir);
        if let Some(ack) = ack.filter(|_| is_new) {
            other.sent_before(ack);
        }
        let mut finding = ack.map_or(Finding::default(), |ack| other.ack(ack, is_after_silence));
        if other.is_open && own.doubtful.is_some_and(|first| sent.contains(&first)) {
            // The message sent along with the ack is retransmitted, so the peer dropped that datagram because of its
            // ack.
            other.is_open = false;
            finding.odd = Some(Code::AckAhead);
        }
        let is_valid = finding.odd.is_none() && !other.is_open;
        let mut other_hole = None;
        if let Some(ack) = ack.filter(|_| is_valid)
            && other.doubtful.is_some_and(|first| first.is_behind(ack))
        {
            // The peer acks the message sent along with the ack, so it accepted that datagram with its ack.
            other.doubtful = None;
            other_hole = own.begin_anew();
        }
        let is_doubtful = other.ahead.is_some();
        own.doubtful = own.doubtful.filter(|_| is_doubtful);
        for number in sent {
            let is_new = own.window.is_some_and(|window| *number == window.top.next());
            let shown = own.sent(*number);
            other_hole = other_hole.or(shown);
            if is_new && is_doubtful {
                own.doubtful.get_or_insert(*number);
            }
        }
        own.is_cut |= is_cut;
        // A silence is reported once, although it may reveal a hole in each direction.
        finding.is_hole = match other_hole {
            Some(Hole::OfSilence) => !std::mem::replace(is_reported, true),
            Some(Hole::Other) => true,
            None => finding.is_hole && !std::mem::replace(is_reported, true),
        };
        finding.is_restart = is_restart;
        finding
    }
}

impl Numbers {
    /// Creates the state of a direction whose numbers and acks have reached `window`.
    fn since(window: AckWindow) -> Self {
        Self {
            window: Some(window),
            ..Self::default()
        }
    }

    /// Records an ack soon after the start of a recording. Accepts an ack that is slightly ahead, because the acked
    /// messages may have been sent before the start.
    fn sent_before(&mut self, ack: Seq) {
        if let Some(window) = &mut self.window
            && window.check(ack) == Err(Code::AckAhead)
            && window.top.distance_to(ack) <= NEAR
        {
            window.sent(ack);
        }
    }

    /// Records an ack of the receiver. `is_after_silence` is true if numbers may have been sent during an unrecorded
    /// silence.
    fn ack(&mut self, ack: Seq, is_after_silence: bool) -> Finding {
        let Some(window) = &mut self.window else {
            let top = self.top.filter(|top| ack.is_behind(*top)).unwrap_or(ack);
            self.window = Some(AckWindow { last: ack, top });
            return Finding::default();
        };
        let is_hole = match window.check(ack) {
            Ok(()) => false,
            Err(_) if self.is_cut => {
                window.sent(ack);
                false
            }
            Err(Code::AckAhead) if is_after_silence || self.is_open => {
                self.ahead = Some(ack);
                self.is_open = true;
                return Finding::default();
            }
            // The recording lacks more than half of all numbers, so the ack is not behind but ahead.
            Err(_) if is_after_silence && ack.distance_to(window.last) > NEAR => {
                window.sent(ack);
                true
            }
            Err(code) => {
                self.ahead = Some(ack).filter(|_| code == Code::AckAhead).or(self.ahead);
                return Finding {
                    odd: Some(code),
                    ..Finding::default()
                };
            }
        };
        window.last = ack;
        self.ahead = None;
        self.is_open = false;
        Finding {
            is_hole,
            ..Finding::default()
        }
    }

    /// Records a sequence number. Returns a hole if the number shows that the recording lacks acked numbers before it.
    fn sent(&mut self, number: Seq) -> Option<Hole> {
        let Some(window) = &mut self.window else {
            if self.top.is_none_or(|top| top.is_behind(number)) {
                self.top = Some(number);
            }
            return None;
        };
        let is_next = number == window.top.next();
        window.sent(number);
        if is_next {
            // The next number in order shows that no number is missing, so the ack was wrong.
            self.is_open = false;
            self.ahead = None;
        }
        let is_beyond = self
            .ahead
            .is_some_and(|ahead| ahead != number && ahead.is_behind(number));
        (!is_next && is_beyond).then(|| self.begin_anew()).flatten()
    }

    /// Accepts the ack that is ahead of every number seen. Returns the hole that it reveals; `None` if no ack was
    /// pending.
    fn begin_anew(&mut self) -> Option<Hole> {
        let (Some(ahead), Some(window)) = (self.ahead.take(), &mut self.window) else {
            return None;
        };
        let is_of_silence = std::mem::take(&mut self.is_open);
        window.last = ahead;
        window.sent(ahead);
        Some(if is_of_silence {
            Hole::OfSilence
        } else {
            Hole::Other
        })
    }
}
