//! One direction of a session, sender S to receiver R: the translation between the numbers that S gives (`u`)
//! and the numbers that R sees (`d`).
//!
//! Law: R receives a prefix of the intended messages, none of them twice, and every ack that a peer receives
//! is inside its window. Numbers are assigned when a message is sent, so drop, inject, delay, hold and
//! reorder are one mechanism. S stays responsible for a message that is only forwarded: S's retransmission
//! repairs a loss, and R's resend requests are forwarded to S. A message that the proxy dropped, holds or
//! made is in its *custody*: the proxy acks it to S and repairs a loss itself.
//!
//! A direction starts in identity mode: chunks are forwarded unchanged, including gaps and repetitions.
//! *Arming* it keeps every number up to the highest one forwarded so far and translates all later ones.

mod log;
mod loose;
mod place;

use std::{collections::BTreeMap, time::Duration};

use teetap_rules::{Made, RuleId, Verdict};
use teetap_wire::{Code, Proto, Seq};

use self::log::{Log, Record};
use super::{
    acks::AckWindow,
    compose::Composer,
    datagram::{HeldId, MadeHow},
    held::{Held, Hold, HoldEnd, Release},
    time::Time,
    waiting::HeldMessage,
};

pub(crate) use self::place::Placement;

/// Maximum number of unacked messages to a receiver. Half of the range of 10-bit numbers ends at 511, and a
/// reference sender never has more than 455.
const WINDOW: usize = 400;
/// Time after which the oldest unacked message is retransmitted, as by reference senders.
const RESEND_AFTER: Duration = Duration::from_secs(1);
/// Maximum time until a missing message is requested, even if no other datagram is sent in that direction
/// (reference: 500 ms).
const REQUEST_WITHIN: Duration = Duration::from_millis(200);
/// Minimum interval between two retransmissions of all unacked messages to one leg.
const FULL_RESEND_EVERY: Duration = Duration::from_millis(100);

/// How sequence numbers are forwarded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    /// Unchanged.
    Identity,
    /// Unchanged up to `high`, which R has not acked yet; translated above.
    Arming,
    /// Translated.
    Translated,
}

/// The meaning of an ack from R.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Acked {
    /// Show this ack to S. The code is set if R's own ack is outside the window, so that S will refuse it.
    Show(Seq, Option<Code>),
    /// Drop the datagram: its ack is outside the window, and a directly connected S would refuse it too.
    Refuse(Code),
}

/// Who answers a resend request from R.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// S: the request is forwarded.
    Sender,
    /// The proxy, with all unacked messages.
    Proxy,
    /// Nobody, because the proxy has answered less than [`FULL_RESEND_EVERY`] ago.
    Merged,
}

/// The beginning or end of the time for which a message is held, as a notice reports it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Wait {
    Begins {
        id: HeldId,
        rule: Option<Box<str>>,
        max: Duration,
    },
    Ends(HoldEnd),
}

/// State of one direction.
#[derive(Debug)]
pub(crate) struct Splice {
    mode: Mode,
    /// Last number from S that was received in order.
    u_seen: Seq,
    /// Highest number from S that was forwarded in identity mode.
    high: Seq,
    /// Last number assigned towards R.
    d_last: Seq,
    /// Last valid ack from R.
    a_d: Seq,
    /// True once R has sent an ack other than 0. `a_d` does not tell, because acks wrap around to 0 every
    /// 1024 messages.
    was_acked: bool,
    log: Log,
    hold: Hold,
    /// Beginnings and ends of waits that are not reported yet.
    waits: Vec<Wait>,
    /// True once the full queue was reported.
    is_full_reported: bool,
    /// The verdict on a message that was refused for lack of room; kept for the next copy of the message.
    decided: Option<(Seq, Verdict)>,
    /// The numbers from S whose last message a rule dropped, each with the rules that acted on it.
    dropped: BTreeMap<u16, Box<[RuleId]>>,
    /// True if a number from S is missing.
    gap: bool,
    /// Time by which a resend request is sent to S; `None` if none is needed.
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
            dropped: BTreeMap::new(),
            gap: false,
            want_resend: None,
            last_full_resend: None,
        }
    }

    /// Returns a direction in identity mode in which the numbers of `window` were already sent and acked.
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

    /// Returns true if R sees other numbers than S assigned, because rules have dropped or made messages.
    pub(crate) fn is_shifted(&self) -> bool {
        self.mode == Mode::Translated && self.d_last != self.u_seen
    }

    /// Returns true if R has acked any message.
    pub(crate) fn has_been_acked(&self) -> bool {
        self.was_acked
    }

    /// Returns true if the hold queue has begun to refuse messages since the last call.
    pub(crate) fn has_begun_refusing(&mut self) -> bool {
        let before = std::mem::replace(&mut self.is_full_reported, self.hold.is_refusing());
        self.is_full_reported && !before
    }

    /// Returns true if one more message of `len` bytes can be numbered or held.
    pub(crate) fn has_room(&mut self, len: usize) -> bool {
        !self.must_queue() || self.hold.has_room(len)
    }

    /// Starts to translate numbers. Returns true if the direction was in identity mode.
    pub(crate) fn arm(&mut self) -> bool {
        if self.mode != Mode::Identity {
            return false;
        }
        self.d_last = self.high;
        self.mode = Mode::Arming;
        self.settle();
        true
    }

    /// Handles R's ack in the header of a datagram.
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

    /// Ends arming once R has acked all messages that were forwarded unchanged.
    fn settle(&mut self) {
        if self.mode == Mode::Arming && self.high.is_behind(self.a_d) {
            self.mode = Mode::Translated;
            if self.u_seen.is_behind(self.high) {
                self.u_seen = self.high;
            }
        }
    }

    /// Returns the ack to show to the sender.
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

    /// Retransmits all unacked messages, in order.
    pub(crate) fn resend_all(&mut self, proto: Proto, now: Time, out: &mut Composer) {
        for record in self.log.iter_mut() {
            if record.transmit(now) {
                out.push(proto, Some(record.d), true, &record.data);
            }
        }
    }

    /// Returns true if S has to get a resend request, and clears it. The caller puts it in the next datagram
    /// to S.
    pub(crate) fn take_resend_request(&mut self) -> bool {
        self.want_resend.take().is_some()
    }

    /// Returns true if a resend request to S is due now, even without another datagram in that direction.
    pub(crate) fn resend_request_is_due(&self, now: Time) -> bool {
        self.want_resend.is_some_and(|by| by <= now)
    }

    /// Requests missing messages again, because the datagram with the request was lost.
    pub(crate) fn ask_again(&mut self, now: Time) {
        self.want_resend.get_or_insert(now);
    }

    fn request_resend(&mut self, now: Time) {
        self.want_resend.get_or_insert(now + REQUEST_WITHIN);
    }

    /// Sends or queues a message that a rule or a user made.
    pub(crate) fn inject(
        &mut self,
        made: &Made,
        (how, rule): (MadeHow, Option<Box<str>>),
        proto: Proto,
        now: Time,
        out: &mut Composer,
    ) {
        let held = Held::new(made.data.as_slice().into(), made.vital, Release::Ready, now);
        let held = held.made(how).by(rule);
        if !made.vital {
            out.push_made(proto, None, &held.data, |sent| held.made_at(sent, now));
        } else if self.must_queue() {
            self.hold.push_ordered(held);
        } else {
            self.emit_own(held, proto, now, out);
        }
    }

    pub(crate) fn release_key(&mut self, key: u64) -> bool {
        self.hold.release_key(key)
    }

    pub(crate) fn release_one(&mut self, id: HeldId) -> bool {
        self.hold.release_one(id)
    }

    /// Drops a held message. Returns false if it is no longer held.
    pub(crate) fn drop_one(&mut self, id: HeldId) -> bool {
        let left = self.hold.drop_one(id);
        self.waits.extend(left.map(Wait::Ends));
        left.is_some()
    }

    /// Replaces the bytes of a held message.
    ///
    /// # Errors
    /// Returns the reason why the bytes are not replaced.
    pub(crate) fn edit(&mut self, id: HeldId, data: &[u8]) -> Result<(), &'static str> {
        self.hold.edit(id, data)
    }

    /// Appends all held messages to `list`, in the order of their numbers.
    pub(crate) fn list(&self, list: &mut Vec<HeldMessage>, of: impl Fn(HeldId) -> HeldMessage) {
        self.hold.list(list, of);
    }

    /// Returns true if the beginning or end of a wait has to be reported.
    pub(crate) fn has_waits(&self) -> bool {
        !self.waits.is_empty()
    }

    /// Removes and returns the beginnings and ends of waits since the last call.
    pub(crate) fn take_waits(&mut self) -> Vec<Wait> {
        std::mem::take(&mut self.waits)
    }

    /// Sends all held messages that are due; vital ones only while the window has room.
    pub(crate) fn release(&mut self, proto: Proto, now: Time, out: &mut Composer) {
        while let Some(held) = self.hold.pop_due(now, self.window_is_open()) {
            self.waits.extend(held.left().map(Wait::Ends));
            if held.vital {
                self.emit_own(held, proto, now, out);
            } else {
                out.push_made(proto, None, &held.data, |sent| held.made_at(sent, now));
            }
        }
        if self.hold.has_recovered() {
            self.request_resend(now);
        }
    }

    /// Retransmits the oldest unacked message if it is in custody and was last sent a second ago. Reference
    /// senders send only that message. The proxy fills the datagram with the next messages, because it may
    /// have released a whole queue at once. If the end of that queue was lost, one retransmission per second
    /// would take longer than the timeouts of the peers.
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

    /// Returns the age of the oldest unacked message if it is in custody; otherwise zero.
    pub(crate) fn custody_age(&self, now: Time) -> Duration {
        let oldest = self
            .log
            .front()
            .filter(|record| record.u.is_none() && self.mode == Mode::Translated);
        oldest.map_or(Duration::ZERO, |record| now.since(record.first))
    }

    /// Returns the time at which the direction has to be handled without a datagram; `None` if there is none.
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

    /// Numbers and sends a message that is in the proxy's custody.
    fn emit_own(&mut self, held: Held, proto: Proto, now: Time, out: &mut Composer) {
        let d = self.next_number();
        out.push_made(proto, Some(d), &held.data, |sent| held.made_at(sent, now));
        self.log.push(Record {
            d,
            u: None,
            data: held.data,
            first: now,
            last: now,
            lose: 0,
            rules: Box::default(),
            is_corrupted: false,
        });
    }
}
