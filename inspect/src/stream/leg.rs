//! The datagrams as they were sent to each peer.
//!
//! Law: a leg is what a capture between the proxy and its peer would show. A message lost by a rule or link line was
//! not sent on the leg, a datagram delayed by the link was sent when it left the proxy, and sequence numbers are those
//! of the leg. Therefore a run, its recording and a capture of the leg alone have the same notes. In a capture of
//! another program both legs have the same datagrams.
//!
//! Bounded: at most [`LATE`] datagrams delayed by the link.

use std::collections::VecDeque;

use teetap_proxy::session::{Datagram, SessionId, Time};
use teetap_wire::{Dir, Flags, Packet, Seq};

use super::{
    Network, Stream, Streams,
    numbers::{Numbers, Order},
};

/// Maximum number of datagrams kept while link lines delay them.
const LATE: usize = 256;

/// The datagrams of one direction as they were sent to the receiver.
#[derive(Debug, Default)]
pub(super) struct Heard {
    /// The order of the vital messages.
    pub(super) numbers: Numbers,
    /// Signs of a bad network among the datagrams.
    pub(super) network: Network,
    /// The datagrams delayed by the link, by departure time.
    late: VecDeque<Sent>,
}

/// A datagram sent to a peer.
#[derive(Clone, Debug)]
struct Sent {
    at: Time,
    ack: Seq,
    /// Sequence numbers of the vital messages, each with its resend flag.
    numbers: Vec<(Seq, bool)>,
    is_packed: bool,
    doubt: Doubt,
}

/// Why a peer may not read a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Doubt {
    /// No reason.
    None,
    /// Some receivers drop the datagram or a part of it.
    Form,
    /// The receiver drops the datagram, as far as the tracker knows.
    Dropped,
}

impl Heard {
    /// Creates an empty record for a session seen from its start.
    pub(super) fn from_the_start() -> Self {
        Self {
            numbers: Numbers::from_the_start(),
            ..Self::default()
        }
    }

    /// Keeps a datagram until its departure.
    fn push(&mut self, sent: Sent) {
        if self.late.len() >= LATE {
            // Without this the datagram would look lost.
            self.numbers.miss();
            return;
        }
        let place = self.late.partition_point(|other| other.at <= sent.at);
        self.late.insert(place, sent);
    }

    /// Returns the next datagram that has departed by `now`.
    fn pop(&mut self, now: Time) -> Option<Sent> {
        self.late.pop_front_if(|sent| sent.at <= now)
    }
}

impl Streams {
    /// Records the datagram at this index among those that an event has sent.
    pub(crate) fn heard(
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
        stream.heard(datagram, index, sent);
        self.expect_silence(session);
    }
}

impl Stream {
    /// Records a message in a control packet, which only some releases read.
    fn may_take(&mut self, datagram: &Datagram, seq: Seq) {
        let (own, _) = self.both(datagram.dir);
        if datagram.leg != Some(datagram.dir.sender()) {
            own.heard.numbers.may_have(seq);
            own.acks.gave(seq);
        }
        if datagram.received().is_some() {
            own.numbers.may_have(seq);
        }
    }

    fn heard(&mut self, datagram: &Datagram, index: usize, sent: Sent) {
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
            return self.take(dir, &sent);
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

    /// Records the datagrams that have left the link by `now`.
    pub(super) fn catch_up(&mut self, now: Time) {
        for dir in [Dir::C2s, Dir::S2c] {
            while let Some(sent) = self.both(dir).0.heard.pop(now) {
                self.take(dir, &sent);
            }
        }
    }

    fn take(&mut self, dir: Dir, sent: &Sent) {
        let (own, other) = self.both(dir);
        other.silence.heard(sent.at);
        let mut new = None;
        for (seq, is_resent) in &sent.numbers {
            if sent.doubt == Doubt::Dropped {
                own.heard.numbers.may_have(*seq);
                continue;
            }
            let placing = own.heard.numbers.take(*seq, *is_resent, sent.at);
            let is_ahead = matches!(placing.order, Order::Ahead(_));
            own.heard.network.is_rough |= is_ahead;
            own.heard.network.has_repeats |= is_resent;
            let counts = sent.doubt == Doubt::None;
            own.acks.sent(*seq, sent.at, counts, is_ahead);
            own.inflation.sent(*seq, sent.at, sent.is_packed, counts);
            new = Some(*seq).filter(|_| !is_resent).or(new);
        }
        if sent.doubt == Doubt::None {
            other.own.shown(sent.ack, new, sent.at);
        }
    }
}
