//! Checks that a peer retransmits its unacked vital messages, and only those.
//!
//! Law: the games retransmit the oldest unacked message each second, and stop once it is acked
//! (`CNetConnection::Update` and `AckChunks` in `network_conn.cpp` of Teeworlds 0.6.5 and 0.7.5, and of DDNet). Acks
//! are recorded when they are sent to the peer, which may not receive all of them. An ack is known to be received once
//! the peer acks a message that was sent along with it or later.
//!
//! Memory is bounded: at most [`MOST`] messages of each state per peer.

use std::{collections::VecDeque, time::Duration};

use teetap_proxy::session::Time;
use teetap_wire::Seq;

/// Maximum number of messages kept in each state.
const MOST: usize = 64;

/// Time within which a peer that sends other datagrams has to retransmit its oldest unacked message. Three
/// retransmissions are due in this time, and five in the longer time for a network that loses datagrams.
const AGAIN: Duration = Duration::from_secs(3);
const AGAIN_WITH_LOSSES: Duration = Duration::from_secs(5);

/// Maximum contribution of a pause between two datagrams to that time. Since an idle game sends a keepalive each
/// second, a longer pause means that the peer is suspended or its datagrams are lost.
const AWAKE: Duration = Duration::from_millis(1100);

/// Minimum number of retransmissions of later messages without the oldest message, if there are any.
const ROUNDS: u8 = 4;

/// Minimum time between two such retransmissions.
const BETWEEN: Duration = Duration::from_millis(100);

/// Time after receiving an ack during which a peer may still retransmit the acked message, because it may have queued
/// the message before.
const BEGUN: Duration = Duration::from_secs(1);

/// Number of retransmissions after that time at which a message is reported.
const REPEATS: u8 = 2;

/// The unacked and the recently acked vital messages of one peer.
#[derive(Debug, Default)]
pub(super) struct SentMessages {
    /// Unacked messages, sorted by number.
    open: VecDeque<UnackedMessage>,
    /// Recently acked messages whose ack the peer may not have received.
    acked: VecDeque<AckedMessage>,
    /// Recently acked messages whose ack the peer has received.
    finished: VecDeque<FinishedMessage>,
    /// Highest ack sent to the peer, and the time at which it was sent first.
    shown: Option<Seq>,
    shown_at: Time,
    /// Time of the last datagram of the peer.
    last: Option<Time>,
    /// Time during which the peer has sent datagrams without retransmitting the oldest unacked message.
    awake: Duration,
    /// Number of retransmissions of later messages during that time.
    rounds: u8,
    last_round: Option<Time>,
    /// True if a datagram of the peer was lost or reordered.
    has_losses: bool,
    is_reported: bool,
    /// True once a retransmission of an acked message was reported.
    is_repeat_reported: bool,
}

/// An unacked message.
#[derive(Clone, Copy, Debug)]
struct UnackedMessage {
    seq: Seq,
    name: Option<&'static str>,
    at: Time,
}

/// An acked message whose ack the peer may not have received.
#[derive(Clone, Copy, Debug)]
struct AckedMessage {
    seq: Seq,
    name: Option<&'static str>,
    /// Number of the first message sent to the peer along with the ack or after it.
    proof: Option<Seq>,
}

/// An acked message whose ack the peer has received.
#[derive(Clone, Copy, Debug)]
struct FinishedMessage {
    seq: Seq,
    name: Option<&'static str>,
    /// Time at which the peer acked the proof, which shows that it has received the ack.
    since: Time,
    /// Number of retransmissions since then.
    repeats: u8,
}

/// A message that its sender fails to retransmit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unrepeated {
    /// Sequence number of the message.
    pub seq: Seq,
    /// Name of the message; `None` if unknown.
    pub name: Option<&'static str>,
    /// Time since the last copy of the message.
    pub for_: Duration,
}

/// A message that its sender retransmits although it has received the ack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Repeated {
    /// Sequence number of the message.
    pub seq: Seq,
    /// Name of the message; `None` if unknown.
    pub name: Option<&'static str>,
    /// Time since the sender received the ack.
    pub after: Duration,
}

impl SentMessages {
    /// Creates the state of a peer at the start of its session, with nothing acked.
    pub(super) fn from_the_start() -> Self {
        Self {
            shown: Some(Seq::ZERO),
            ..Self::default()
        }
    }

    /// Records an ack that was sent to the peer. `with` is the number of a new message in the same datagram, if any.
    pub(super) fn on_ack_sent(&mut self, ack: Seq, with: Option<Seq>, at: Time) {
        if self.shown.is_some_and(|shown| ack.is_behind(shown)) {
            self.along(with);
            return;
        }
        let from = self.shown.replace(ack);
        if from != Some(ack) {
            self.shown_at = at;
        }
        // Half of all numbers are behind an ack; only numbers between the previous ack and this ack are newly acked.
        let is_acked = |open: &mut UnackedMessage| match from {
            Some(from) => open.seq.is_acked_between(from, ack),
            None => open.seq.is_behind(ack),
        };
        let before = self.open.len();
        while let Some(open) = self.open.pop_front_if(is_acked) {
            let proof = None;
            let (seq, name) = (open.seq, open.name);
            push(&mut self.acked, AckedMessage { seq, name, proof });
        }
        if self.open.len() != before {
            // Another message is the oldest from now on, so its time starts now.
            self.begin(at);
        }
        self.along(with);
    }

    /// Records an ack that some receivers drop: no message acked by it has to be retransmitted, and none is acked for
    /// certain.
    pub(super) fn on_doubtful_ack(&mut self, ack: Seq, at: Time) {
        let Some(shown) = self.shown else { return };
        let before = self.open.len();
        self.open.retain(|open| !open.seq.is_acked_between(shown, ack));
        if self.open.len() != before {
            self.begin(at);
        }
    }

    /// Restarts the time of the oldest message, because another message is the oldest now or the peer retransmitted it.
    fn begin(&mut self, at: Time) {
        (self.awake, self.rounds, self.last_round) = (Duration::ZERO, 0, None);
        self.last = self.last.map(|last| last.max(at));
        self.is_reported = false;
    }

    /// Makes the message `with` the proof of all acks that have none.
    fn along(&mut self, with: Option<Seq>) {
        if with.is_some() {
            let unproved = self.acked.iter_mut().filter(|acked| acked.proof.is_none());
            unproved.for_each(|acked| acked.proof = with);
        }
    }

    /// Returns the time since which `seq` is the oldest unacked number of the peer; `None` if it is not the oldest.
    pub(super) fn oldest_since(&self, seq: Seq) -> Option<Time> {
        let shown = self.shown.filter(|shown| shown.next() == seq);
        shown.map(|_| self.shown_at)
    }

    /// Records an ack sent by the peer, which proves that the peer has received earlier acks.
    pub(super) fn proved(&mut self, ack: Seq, at: Time) {
        // Messages are acked in order, so their proofs are usually in order as well. A proof that is out of order only
        // delays when the messages after it count as finished.
        let is_proved = |acked: &mut AckedMessage| acked.proof.is_some_and(|proof| proof.is_behind(ack));
        while let Some(AckedMessage { seq, name, .. }) = self.acked.pop_front_if(is_proved) {
            let finished = FinishedMessage {
                seq,
                name,
                since: at,
                repeats: 0,
            };
            push(&mut self.finished, finished);
        }
    }

    /// Records a datagram of the peer. `numbers` are its vital numbers with their resend flags. Returns the oldest
    /// unacked message, once, if the peer should have retransmitted it by now.
    pub(super) fn on_received(
        &mut self,
        at: Time,
        numbers: impl Iterator<Item = (Seq, bool)>,
    ) -> Option<Unrepeated> {
        let since = self
            .last
            .replace(at)
            .map_or(Duration::ZERO, |last| at.since(last));
        let oldest = *self.open.front()?;
        let (mut has_it, mut is_round) = (false, false);
        for (seq, is_resent) in numbers {
            // A peer that did not receive the last ack retransmits a message before the oldest unacked one.
            has_it |= seq.is_behind(oldest.seq);
            is_round |= is_resent && !seq.is_behind(oldest.seq);
        }
        if has_it {
            self.begin(at);
            return None;
        }
        self.awake += since.min(AWAKE);
        if is_round && self.last_round.is_none_or(|last| at.since(last) >= BETWEEN) {
            self.rounds = self.rounds.saturating_add(1);
            self.last_round = Some(at);
        }
        let time = if self.has_losses { AGAIN_WITH_LOSSES } else { AGAIN };
        // A few retransmissions without the oldest message are no proof, since its copies may have been lost.
        let is_open = (1..ROUNDS).contains(&self.rounds);
        if self.awake < time || is_open || std::mem::replace(&mut self.is_reported, true) {
            return None;
        }
        Some(Unrepeated {
            seq: oldest.seq,
            name: oldest.name,
            for_: at.since(oldest.at),
        })
    }

    /// Records a vital message of the peer. Returns the message, at most once per session, if the peer retransmits it
    /// although it has received the ack.
    pub(super) fn sent(&mut self, seq: Seq, name: Option<&'static str>, at: Time) -> Option<Repeated> {
        if self.shown.is_some_and(|shown| seq.is_behind(shown)) {
            return self.repeated(seq, at);
        }
        if let Some(open) = self.open.iter_mut().find(|open| open.seq == seq) {
            open.at = at;
            return None;
        }
        let last = self.open.back().map(|last| last.seq).or(self.shown);
        self.has_losses |= last.is_some_and(|last| seq != last.next());
        // A message in a reordered datagram is recorded after later messages.
        let later = self.open.iter().rev().take_while(|open| seq.is_behind(open.seq));
        let place = self.open.len() - later.count();
        if place == 0 {
            self.begin(at);
        }
        self.open.insert(place, UnackedMessage { seq, name, at });
        self.open.truncate(MOST);
        None
    }

    fn repeated(&mut self, seq: Seq, at: Time) -> Option<Repeated> {
        let mut finished = self.finished.iter_mut().rev();
        let message = finished.find(|message| message.seq == seq && at.since(message.since) >= BEGUN)?;
        message.repeats = message.repeats.saturating_add(1);
        if message.repeats < REPEATS || std::mem::replace(&mut self.is_repeat_reported, true) {
            return None;
        }
        Some(Repeated {
            seq,
            name: message.name,
            after: at.since(message.since),
        })
    }
}

/// Appends a message. Discards the oldest message if there are too many.
fn push<T>(messages: &mut VecDeque<T>, message: T) {
    if messages.len() >= MOST {
        messages.pop_front();
    }
    messages.push_back(message);
}
