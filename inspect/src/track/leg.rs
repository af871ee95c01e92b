//! Tracks the datagrams that the proxy sends to each peer.
//!
//! Law: the state of a leg is the same as if it were computed from a capture between the proxy and the peer. If a rule or
//! a link line loses a message, the leg never sees it. A delayed datagram counts from the time at which the proxy sends
//! it, with the sequence numbers that the proxy wrote. Therefore a run, its recording and a capture of the leg alone
//! have the same notes. In a capture by another program, both legs have the same datagrams.
//!
//! Memory is bounded: at most [`LATE`] delayed datagrams per direction.

use std::collections::VecDeque;

use teetap_proxy::session::{Datagram, SessionId, Time};
use teetap_wire::{Dir, Flags, Packet, Seq, Token};

use super::{
    Network, Stream, Streams,
    numbers::{Numbers, Order},
    recorded::given_token,
};

/// Maximum number of delayed datagrams kept per direction.
const LATE: usize = 256;

/// The datagrams of one direction as the proxy sent them to the receiver.
#[derive(Debug, Default)]
pub(super) struct SentToReceiver {
    /// The order of the vital messages.
    pub(super) numbers: Numbers,
    /// Evidence of losses, copies or reordering before the datagrams were sent to the receiver.
    pub(super) network: Network,
    /// Datagrams that link lines delay, sorted by departure time.
    late: VecDeque<Sent>,
}

/// A datagram sent to a peer.
#[derive(Clone, Debug)]
struct Sent {
    at: Time,
    ack: Seq,
    /// Sequence number and resend flag of each vital message.
    numbers: Vec<(Seq, bool)>,
    is_packed: bool,
    doubt: Doubt,
}

/// How likely it is that the receiver drops a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Doubt {
    /// Every receiver accepts the datagram.
    None,
    /// Some receivers drop the datagram or a part of it.
    Form,
    /// The receiver presumably drops the datagram.
    Dropped,
}

impl SentToReceiver {
    /// Creates the initial state of a session that was seen from its start.
    pub(super) fn from_the_start() -> Self {
        Self {
            numbers: Numbers::from_the_start(),
            ..Self::default()
        }
    }

    /// Queues a datagram until its departure. If the queue is full, discards it and records that numbers may be
    /// missing.
    fn push(&mut self, sent: Sent) {
        if self.late.len() >= LATE {
            // Otherwise the numbers of the discarded datagram would appear to be lost.
            self.numbers.miss();
            return;
        }
        let place = self.late.partition_point(|other| other.at <= sent.at);
        self.late.insert(place, sent);
    }

    /// Removes and returns the next datagram that has departed by `now`.
    fn pop(&mut self, now: Time) -> Option<Sent> {
        self.late.pop_front_if(|sent| sent.at <= now)
    }
}

impl Streams {
    /// Records a datagram that the proxy sent. `index` is its position among the datagrams that the event sent.
    pub(crate) fn on_sent(
        &mut self,
        (at, session): (Time, SessionId),
        datagram: &Datagram,
        (index, packet): (usize, &Packet<'_>),
    ) {
        let Some(stream) = self.sessions.get_mut(session.0) else {
            return;
        };
        for seq in packet.chunks_of_control().filter_map(|chunk| chunk.header.vital) {
            stream.may_take(datagram, seq);
        }
        if let Some(given) = given_token(packet) {
            stream.on_given(datagram, given);
        }
        let chunks = packet.chunks();
        let numbers = chunks.filter_map(|chunk| Some((chunk.header.vital?, chunk.header.resend)));
        let sent = Sent {
            at,
            ack: packet.header.ack,
            numbers: numbers.collect(),
            is_packed: packet.header.flags.contains(Flags::COMPRESSION),
            doubt: match (stream.is_void, stream.is_doubtful) {
                _ if datagram.received().is_none() => Doubt::None,
                (true, _) => Doubt::Dropped,
                (false, true) => Doubt::Form,
                (false, false) => Doubt::None,
            },
        };
        stream.on_sent(datagram, index, sent);
        self.expect_silence(session);
    }
}

impl Stream {
    /// Records the number of a message in a control packet. Only some releases read such messages.
    fn may_take(&mut self, datagram: &Datagram, seq: Seq) {
        let (own, _) = self.both(datagram.dir);
        if datagram.leg != Some(datagram.dir.sender()) {
            own.heard.numbers.may_have(seq);
            own.acks.forwarded(seq);
        }
        if datagram.received().is_some() {
            own.numbers.may_have(seq);
        }
    }

    /// Records the token that a handshake packet gives to its receiver, which writes that token from then on.
    fn on_given(&mut self, datagram: &Datagram, given: Token) {
        let is_opening = !self.is_online;
        let (_, other) = self.both(datagram.dir);
        // A server that received an earlier CONNECT writes its token, not the `TKEN` of a retransmitted one.
        let replaces = is_opening && given != Token::TKEN;
        if datagram.leg != Some(datagram.dir.sender()) && (replaces || other.token.is_none()) {
            other.token = Some(given);
        }
    }

    fn on_sent(&mut self, datagram: &Datagram, index: usize, sent: Sent) {
        let (at, dir) = (sent.at, datagram.dir);
        self.catch_up(at);
        if datagram.leg == Some(dir.sender()) {
            return;
        }
        let mut transits = datagram.link.iter();
        let mut of_it = transits
            .by_ref()
            .filter(|transit| usize::from(transit.datagram) == index)
            .peekable();
        if of_it.peek().is_none() {
            return self.record(dir, &sent);
        }
        let (own, _) = self.both(dir);
        for transit in of_it.filter(|transit| transit.lost.is_none()) {
            let doubt = if transit.corrupted.is_empty() {
                Doubt::None
            } else {
                Doubt::Dropped
            };
            own.heard.push(Sent {
                at: at + transit.delay,
                doubt: doubt.max(sent.doubt),
                ..sent.clone()
            });
        }
        self.catch_up(at);
    }

    /// Records all delayed datagrams that have departed by `now`.
    pub(super) fn catch_up(&mut self, now: Time) {
        for dir in [Dir::C2s, Dir::S2c] {
            while let Some(sent) = self.both(dir).0.heard.pop(now) {
                self.record(dir, &sent);
            }
        }
    }

    fn record(&mut self, dir: Dir, sent: &Sent) {
        let (own, other) = self.both(dir);
        other.silence.on_sent(sent.at);
        other.pace.other_sent(sent.at);
        let mut new = None;
        for (seq, is_resent) in &sent.numbers {
            if sent.doubt == Doubt::Dropped {
                own.heard.numbers.may_have(*seq);
                continue;
            }
            let placing = own.heard.numbers.record(*seq, *is_resent, sent.at);
            let is_ahead = matches!(placing.order, Order::Ahead(_));
            own.heard.network.is_rough |= is_ahead;
            own.heard.network.has_repeats |= is_resent;
            let counts = sent.doubt == Doubt::None;
            own.acks.sent(*seq, sent.at, counts, is_ahead);
            own.inflation.sent(*seq, sent.at, sent.is_packed, counts);
            new = Some(*seq).filter(|_| !is_resent).or(new);
        }
        match sent.doubt {
            Doubt::None => other.own.on_ack_sent(sent.ack, new, sent.at),
            Doubt::Form => other.own.on_doubtful_ack(sent.ack, sent.at),
            Doubt::Dropped => {}
        }
    }
}
