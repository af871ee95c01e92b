//! The vital messages of one peer: those without an ack, and the last ones that were acked.
//!
//! Law: the games send the oldest message without an ack again after a second, until it is acked, and forget a message once it is
//! (`CNetConnection::Update` and `AckChunks` in `network_conn.cpp` of Teeworlds 0.6.5 and 0.7.5, and of DDNet). The acks are those that
//! were sent to the peer. It may have missed some; that it has not is known once it acks a message that was sent along with one.
//!
//! Bounded: [`MOST`] messages of each kind.

use std::{collections::VecDeque, time::Duration};

use teetap_proxy::session::Time;
use teetap_wire::Seq;

/// The most messages that are known.
const MOST: usize = 64;

/// The time after which a message without an ack has to be there again, while its sender sends other datagrams, and the same where the
/// network loses datagrams. Three repeats are due in it, or five.
const AGAIN: Duration = Duration::from_secs(3);
const AGAIN_WITH_LOSSES: Duration = Duration::from_secs(5);

/// The longest time between two datagrams of a peer that counts for that: a game that rests sends a keepalive each second.
const AWAKE: Duration = Duration::from_millis(1100);

/// The times that other messages are sent again without the oldest one.
const ROUNDS: u8 = 4;

/// The time between two of them.
const BETWEEN: Duration = Duration::from_millis(100);

/// The time for which a peer may still send a message of which it has the ack: in a datagram that it had begun before.
const BEGUN: Duration = Duration::from_secs(1);

/// The times that a message is sent after that.
const REPEATS: u8 = 2;

/// The vital messages of one peer.
#[derive(Debug, Default)]
pub(super) struct Own {
    /// Messages without an ack, in the order of their numbers.
    open: VecDeque<Open>,
    /// The last ones that were acked.
    done: VecDeque<Done>,
    /// The highest ack that was sent to the peer.
    shown: Option<Seq>,
    /// The time of the last datagram of the peer.
    last: Option<Time>,
    /// The time in which the peer has sent datagrams without the oldest message.
    awake: Duration,
    /// The times that the peer has sent others again in that time.
    rounds: u8,
    last_round: Option<Time>,
    /// True if a datagram of the peer was lost or overtaken.
    has_losses: bool,
    is_reported: bool,
    /// A message that was acked and sent again was reported.
    is_repeat_reported: bool,
}

/// A message without an ack.
#[derive(Clone, Copy, Debug)]
struct Open {
    seq: Seq,
    name: Option<&'static str>,
    at: Time,
}

/// A message that was acked.
#[derive(Clone, Copy, Debug)]
struct Done {
    seq: Seq,
    name: Option<&'static str>,
    /// The first message to the peer that was sent along with the ack.
    proof: Option<Seq>,
    /// The time at which the peer had that.
    known: Option<Time>,
    repeats: u8,
}

/// A message that its sender does not send again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unrepeated {
    /// The number.
    pub seq: Seq,
    /// The name; `None` if unknown.
    pub name: Option<&'static str>,
    /// The time since its last copy.
    pub for_: Duration,
}

/// A message that its sender sends again although it has the ack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Repeated {
    /// The number.
    pub seq: Seq,
    /// The name; `None` if unknown.
    pub name: Option<&'static str>,
    /// The time since the peer has the ack.
    pub after: Duration,
}

impl Own {
    /// The messages of a peer from the start of its session, which has no acks.
    pub(super) fn from_the_start() -> Self {
        Self {
            shown: Some(Seq::ZERO),
            ..Self::default()
        }
    }

    /// Records an ack that was sent to the peer, along with this message.
    pub(super) fn shown(&mut self, ack: Seq, with: Option<Seq>, at: Time) {
        if self.shown.is_some_and(|shown| ack.is_behind(shown)) {
            self.along(with);
            return;
        }
        let from = self.shown.replace(ack);
        // A number before the first one is behind each ack, and none acks it.
        let is_acked = |open: &mut Open| match from {
            Some(from) => open.seq.is_acked_between(from, ack),
            None => open.seq.is_behind(ack),
        };
        let before = self.open.len();
        while let Some(open) = self.open.pop_front_if(is_acked) {
            self.done.push_back(Done {
                seq: open.seq,
                name: open.name,
                proof: None,
                known: None,
                repeats: 0,
            });
            if self.done.len() > MOST {
                self.done.pop_front();
            }
        }
        if self.open.len() != before {
            // The next one may have been the second so far, which waits for its turn.
            self.begin(at);
        }
        self.along(with);
    }

    /// The oldest message is another one, or was sent again.
    fn begin(&mut self, at: Time) {
        (self.awake, self.rounds, self.last_round) = (Duration::ZERO, 0, None);
        self.last = self.last.map(|last| last.max(at));
        self.is_reported = false;
    }

    /// Acks so far are proved by this message.
    fn along(&mut self, with: Option<Seq>) {
        if with.is_some() {
            let unproved = self.done.iter_mut().filter(|done| done.proof.is_none());
            unproved.for_each(|done| done.proof = with);
        }
    }

    /// Records an ack of the peer.
    pub(super) fn proved(&mut self, ack: Seq, at: Time) {
        let has = |proof: Seq| proof.is_behind(ack);
        let new = self.done.iter_mut().filter(|done| done.known.is_none());
        new.filter(|done| done.proof.is_some_and(has))
            .for_each(|done| done.known = Some(at));
    }

    /// Records a datagram of the peer with these numbers, each with its resend flag. Returns the oldest message once it should have been
    /// sent again.
    pub(super) fn said(
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
            // A peer that has missed an ack sends an older one again.
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
        // Its copies may be lost one by one.
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

    /// Records a vital message of the peer. Returns it if the peer sends it although it has its ack, once.
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
        // A datagram that was overtaken brings it after later ones.
        let later = self.open.iter().rev().take_while(|open| seq.is_behind(open.seq));
        let place = self.open.len() - later.count();
        if place == 0 {
            self.begin(at);
        }
        self.open.insert(place, Open { seq, name, at });
        self.open.truncate(MOST);
        None
    }

    fn repeated(&mut self, seq: Seq, at: Time) -> Option<Repeated> {
        let done = self.done.iter_mut().rev().find(|done| done.seq == seq)?;
        let known = done.known.filter(|known| at.since(*known) >= BEGUN)?;
        done.repeats = done.repeats.saturating_add(1);
        if done.repeats < REPEATS || std::mem::replace(&mut self.is_repeat_reported, true) {
            return None;
        }
        Some(Repeated {
            seq,
            name: done.name,
            after: at.since(known),
        })
    }
}
