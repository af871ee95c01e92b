//! One direction of a session, sender S to receiver R: the translation between the numbers that S gives (`u`) and
//! the numbers that R sees (`d`).
//!
//! Law: what R gets is a prefix of what was meant, nothing twice, and no ack leaves a peer's window. Numbers are
//! given at emission, so drop, inject, delay, hold and reorder are one mechanism. A message that is only forwarded
//! stays its sender's responsibility: S's resend repairs a loss and R's resend requests reach S. What the proxy
//! swallowed, holds or made is in its *custody*: acked to S and repaired by the proxy.
//!
//! A direction starts in identity mode, where nothing is touched and gaps and repeats pass. *Arming* it keeps every
//! number up to the highest one forwarded so far and translates everything above.

mod log;
mod loose;
mod place;

use std::time::Duration;

use teetap_rules::{Made, Verdict};
use teetap_wire::{Code, Proto, Seq};

use self::log::{Log, Record};
use super::{
    acks::AckWindow,
    compose::Composer,
    datagram::HeldId,
    held::{Held, Hold, Left, Release},
    time::Time,
    waiting::Waiting,
};

pub(crate) use self::place::Placing;

/// The number of unacked numbers that the proxy lets a receiver have. The half range of 10-bit numbers ends at 511 and a
/// reference sender never has more than 455.
const WINDOW: usize = 400;
/// After this the oldest unacked message is sent again, as reference senders do.
const RESEND_AFTER: Duration = Duration::from_secs(1);
/// A missing message is requested by this time even when nothing else goes that way (reference: 500 ms).
const REQUEST_WITHIN: Duration = Duration::from_millis(200);
/// Full resends to one leg are at least this far apart.
const FULL_RESEND_EVERY: Duration = Duration::from_millis(100);

/// How numbers pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    /// Untouched.
    Identity,
    /// Untouched up to `high`, which R has not acked yet; translated above.
    Arming,
    /// Translated.
    Translated,
}

/// The meaning of an ack from R.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Acked {
    /// S is shown this. The note says when R's own ack looked wrong and S will refuse it.
    Show(Seq, Option<Code>),
    /// The datagram is void: its ack is outside the window, and a directly connected S would refuse it too.
    Refuse(Code),
}

/// The one that answers a resend request from R.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// S: the flag is forwarded.
    Sender,
    /// The proxy, with everything unacked.
    Proxy,
    /// None: an answer has just gone out.
    Merged,
}

/// The beginning or the end of a wait that a notice reports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Wait {
    Begins {
        id: HeldId,
        rule: Option<Box<str>>,
        max: Duration,
    },
    Ends(Left),
}

/// One direction's state.
#[derive(Debug)]
pub(crate) struct Splice {
    mode: Mode,
    /// Last number of S's that arrived in order.
    u_seen: Seq,
    /// Highest number of S's that was forwarded in identity mode.
    high: Seq,
    /// Last number given towards R.
    d_last: Seq,
    /// Last valid ack of R's.
    a_d: Seq,
    /// One was above 0, which comes again every 1024 messages.
    was_acked: bool,
    log: Log,
    hold: Hold,
    /// The beginnings and ends of waits that are not reported yet.
    waits: Vec<Wait>,
    /// True once the full queue was reported.
    is_full_reported: bool,
    /// The decision about a message that was refused because there was no room. It waits for the next copy.
    decided: Option<(Seq, Verdict)>,
    /// A number of S's is missing.
    gap: bool,
    /// The time by which S gets a resend request.
    want_resend: Option<Time>,
    last_full_resend: Option<Time>,
}

impl Splice {
    pub(crate) fn new() -> Self {
        Self {
            mode: Mode::Identity,
            u_seen: Seq::ZERO,
            high: Seq::ZERO,
            d_last: Seq::ZERO,
            a_d: Seq::ZERO,
            was_acked: false,
            log: Log::default(),
            hold: Hold::default(),
            waits: Vec::new(),
            is_full_reported: false,
            decided: None,
            gap: false,
            want_resend: None,
            last_full_resend: None,
        }
    }

    /// A direction in which these numbers were sent and acked.
    pub(crate) fn since(window: AckWindow) -> Self {
        Self {
            u_seen: window.top,
            high: window.top,
            a_d: window.last,
            was_acked: window.last != Seq::ZERO,
            ..Self::new()
        }
    }

    pub(crate) fn is_identity(&self) -> bool {
        self.mode == Mode::Identity
    }

    /// Returns true if R's numbers are not those of S: messages were dropped or made.
    pub(crate) fn is_shifted(&self) -> bool {
        self.mode == Mode::Translated && self.d_last != self.u_seen
    }

    /// Returns true if R has acked anything at all.
    pub(crate) fn has_been_acked(&self) -> bool {
        self.was_acked
    }

    /// Returns true if messages are refused since the last call, because too many wait already.
    pub(crate) fn has_begun_refusing(&mut self) -> bool {
        let before = std::mem::replace(&mut self.is_full_reported, self.hold.is_refusing());
        self.is_full_reported && !before
    }

    /// Returns true if one more message of `len` bytes can be numbered or held.
    pub(crate) fn has_room(&mut self, len: usize) -> bool {
        !self.must_queue() || self.hold.has_room(len)
    }

    /// Starts translating. True when it was in identity mode until now.
    pub(crate) fn arm(&mut self) -> bool {
        if self.mode != Mode::Identity {
            return false;
        }
        self.d_last = self.high;
        self.mode = Mode::Arming;
        self.settle();
        true
    }

    /// Handles R's ack in a datagram header.
    pub(crate) fn on_ack(&mut self, ack: Seq) -> Acked {
        let top = if self.is_identity() {
            self.high
        } else {
            self.d_last
        };
        if let Err(code) = (AckWindow { last: self.a_d, top }).check(ack) {
            return if self.is_identity() {
                Acked::Show(ack, Some(code))
            } else {
                Acked::Refuse(code)
            };
        }
        self.a_d = ack;
        self.was_acked |= ack != Seq::ZERO;
        if self.mode != Mode::Translated && ack.is_behind(self.high) && self.u_seen.is_behind(ack) {
            self.u_seen = ack;
        }
        self.settle();
        self.log.acked(ack);
        Acked::Show(self.shown(), None)
    }

    /// Arming ends when R has everything that passed untouched.
    fn settle(&mut self) {
        if self.mode == Mode::Arming && self.high.is_behind(self.a_d) {
            self.mode = Mode::Translated;
            if self.u_seen.is_behind(self.high) {
                self.u_seen = self.high;
            }
        }
    }

    /// Returns the ack shown to the sender.
    pub(crate) fn shown(&self) -> Seq {
        match self.mode {
            Mode::Identity | Mode::Arming => self.a_d,
            Mode::Translated => self.log.first_owed().map_or(self.u_seen, Seq::prev),
        }
    }

    /// Handles a resend request from R.
    pub(crate) fn on_resend_request(&mut self, now: Time) -> Answer {
        if self.mode != Mode::Translated || !self.log.has_custody() || self.gap {
            return Answer::Sender;
        }
        if self
            .last_full_resend
            .is_some_and(|last| now.since(last) < FULL_RESEND_EVERY)
        {
            return Answer::Merged;
        }
        self.last_full_resend = Some(now);
        Answer::Proxy
    }

    /// Sends everything unacked once more, in order.
    pub(crate) fn resend_all(&mut self, proto: Proto, now: Time, out: &mut Composer) {
        for record in self.log.iter_mut() {
            if record.transmit(now) {
                out.push(proto, Some(record.d), true, &record.data);
            }
        }
    }

    /// Returns true if a resend request to S is due with the next datagram, which the caller sends.
    pub(crate) fn take_resend_request(&mut self) -> bool {
        self.want_resend.take().is_some()
    }

    /// Returns true if S has to get a request now although nothing else goes that way.
    pub(crate) fn resend_request_is_due(&self, now: Time) -> bool {
        self.want_resend.is_some_and(|by| by <= now)
    }

    /// Requests what is missing once more: the datagram with the request is lost.
    pub(crate) fn ask_again(&mut self, now: Time) {
        self.want_resend.get_or_insert(now);
    }

    fn request_resend(&mut self, now: Time) {
        self.want_resend.get_or_insert(now + REQUEST_WITHIN);
    }

    /// Sends or queues a message made by a rule or a person.
    pub(crate) fn inject(&mut self, made: &Made, proto: Proto, now: Time, out: &mut Composer) {
        if !made.vital {
            out.push(proto, None, false, &made.data);
        } else if self.must_queue() {
            self.hold
                .push_ordered(Held::new(made.data.as_slice().into(), true, Release::Ready));
        } else {
            self.emit_own(made.data.as_slice().into(), proto, now, out);
        }
    }

    pub(crate) fn release_key(&mut self, key: u64) -> bool {
        self.hold.release_key(key)
    }

    pub(crate) fn release_one(&mut self, id: HeldId) -> bool {
        self.hold.release_one(id)
    }

    /// Drops a held message. False if it is not held any more.
    pub(crate) fn drop_one(&mut self, id: HeldId) -> bool {
        let left = self.hold.drop_one(id);
        self.waits.extend(left.map(Wait::Ends));
        left.is_some()
    }

    /// Replaces the bytes of a held message.
    ///
    /// # Errors
    /// Why they are not replaced.
    pub(crate) fn edit(&mut self, id: HeldId, data: &[u8]) -> Result<(), &'static str> {
        self.hold.edit(id, data)
    }

    /// Adds all held messages, the oldest first.
    pub(crate) fn list(&self, list: &mut Vec<Waiting>, of: impl Fn(HeldId) -> Waiting) {
        self.hold.list(list, of);
    }

    /// Returns true if there is something to report about held messages.
    pub(crate) fn has_waits(&self) -> bool {
        !self.waits.is_empty()
    }

    /// Returns what is to be reported about held messages since the last call.
    pub(crate) fn take_waits(&mut self) -> Vec<Wait> {
        std::mem::take(&mut self.waits)
    }

    /// Lets everything go that is due and has room.
    pub(crate) fn release(&mut self, proto: Proto, now: Time, out: &mut Composer) {
        while let Some(held) = self.hold.pop_due(now, self.window_is_open()) {
            self.waits.extend(held.left().map(Wait::Ends));
            if held.vital {
                self.emit_own(held.data, proto, now, out);
            } else {
                out.push(proto, None, false, &held.data);
            }
        }
        if self.hold.has_recovered() {
            self.request_resend(now);
        }
    }

    /// Sends the oldest unacked message again when the proxy answers for it and it is a second old. Reference
    /// senders send just that one; here the next ones ride along in the same datagram, because a released queue that
    /// lost its tail would otherwise be repaired one message per second, longer than its receiver's peer has patience.
    pub(crate) fn resend_oldest(&mut self, proto: Proto, now: Time, out: &mut Composer) {
        let oldest = self
            .log
            .front()
            .filter(|record| record.u.is_none() && self.mode == Mode::Translated);
        if oldest.is_none_or(|record| now.since(record.last) < RESEND_AFTER) {
            return;
        }
        for record in self.log.iter_mut() {
            if !out.has_room_in_datagram(record.data.len()) {
                break;
            }
            if record.transmit(now) {
                out.push(proto, Some(record.d), true, &record.data);
            }
        }
    }

    /// Returns how long R has not acked the oldest message in custody.
    pub(crate) fn custody_age(&self, now: Time) -> Duration {
        let oldest = self
            .log
            .front()
            .filter(|record| record.u.is_none() && self.mode == Mode::Translated);
        oldest.map_or(Duration::ZERO, |record| now.since(record.first))
    }

    /// Returns the time at which something has to be done without a datagram.
    pub(crate) fn deadline(&self) -> Option<Time> {
        if self.is_identity() {
            return None;
        }
        let oldest = self
            .log
            .front()
            .filter(|record| record.u.is_none() && self.mode == Mode::Translated);
        let resend = oldest.map(|record| record.last + RESEND_AFTER);
        [
            resend,
            self.want_resend,
            self.hold.deadline(self.window_is_open()),
        ]
        .into_iter()
        .flatten()
        .min()
    }

    fn window_is_open(&self) -> bool {
        self.log.len() < WINDOW
    }

    fn must_queue(&self) -> bool {
        self.hold.is_queueing() || !self.window_is_open()
    }

    fn next_number(&mut self) -> Seq {
        self.d_last = self.d_last.next();
        self.d_last
    }

    /// Numbers and sends a message that the proxy answers for.
    fn emit_own(&mut self, data: Box<[u8]>, proto: Proto, now: Time, out: &mut Composer) {
        let d = self.next_number();
        out.push(proto, Some(d), false, &data);
        self.log.push(Record {
            d,
            u: None,
            data,
            first: now,
            last: now,
            lose: 0,
        });
    }
}
