//! The datagrams as they were sent to each peer.
//!
//! Law: a leg is as a capture between the proxy and its peer would show it. A message that a rule or a link line lost was not sent on it,
//! a datagram that the link delays was sent when it left, and numbers are those of the leg. So a run, its recording and a capture of the
//! leg alone have the same notes. In a capture of other programs both legs are the same datagrams.
//!
//! Bounded: [`LATE`] datagrams that the link delays.

use std::collections::VecDeque;

use teetap_proxy::session::{Datagram, SessionId, Time};
use teetap_wire::{Dir, Flags, Packet, Seq};

use super::{
    Network, Stream, Streams,
    numbers::{Numbers, Order},
};

/// The most datagrams on their way through link lines that are known.
const LATE: usize = 256;

/// The datagrams of one direction as they were sent to its receiver.
#[derive(Debug, Default)]
pub(super) struct Heard {
    /// The vital messages.
    pub(super) numbers: Numbers,
    /// The signs of a bad network in them.
    pub(super) network: Network,
    /// The datagrams that the link delays, by the time at which they leave.
    late: VecDeque<Sent>,
}

/// A datagram that was sent to a peer.
#[derive(Clone, Debug)]
struct Sent {
    at: Time,
    ack: Seq,
    /// The vital messages, each with its resend flag.
    numbers: Vec<(Seq, bool)>,
    is_packed: bool,
    doubt: Doubt,
}

/// The reason why a peer may not read a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Doubt {
    /// There is none.
    None,
    /// Some receivers drop it, or a part of it.
    Form,
    /// The receiver drops it, as far as the tracker knows.
    Dropped,
}

impl Heard {
    /// An empty record from the start of a session.
    pub(super) fn from_the_start() -> Self {
        Self {
            numbers: Numbers::from_the_start(),
            ..Self::default()
        }
    }

    /// Keeps a datagram until it leaves.
    fn push(&mut self, sent: Sent) {
        if self.late.len() >= LATE {
            // It would be taken for lost.
            self.numbers.miss();
            return;
        }
        let place = self.late.partition_point(|other| other.at <= sent.at);
        self.late.insert(place, sent);
    }

    /// Returns the next datagram that has left by now.
    fn pop(&mut self, now: Time) -> Option<Sent> {
        self.late.pop_front_if(|sent| sent.at <= now)
    }
}

impl Streams {
    /// Records the datagram with this index among those that an event has sent.
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

    /// Records the datagrams that the link has let go by now.
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
