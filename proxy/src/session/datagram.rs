//! The datagram of an event: its bytes as received and as sent, and the fate of its chunks.

use std::{fmt, net::SocketAddr, num::NonZeroU32, sync::Arc, time::Duration};

use teetap_rules::{RuleId, impair::Lost};
use teetap_wire::{Dir, Inflated, MAX_DATAGRAM, Notes, Packet, PacketError, Proto, Scratch, Seq, Side};

#[cfg(doc)]
use super::ids::ListenerId;
use super::ids::UpstreamId;
use crate::words::Words;

/// One datagram of a session.
#[derive(Clone, Debug)]
pub struct Datagram {
    /// The direction.
    pub dir: Dir,
    /// Protocol of its bytes.
    pub proto: Proto,
    /// The origin of the datagram.
    pub origin: Origin,
    /// The leg of a datagram that is on one leg only: a handshake, a refused datagram, or one of the proxy itself. `None` if it was
    /// forwarded from one leg to the other.
    pub leg: Option<Side>,
    /// The ordinal in its session and direction, from 1, among the datagrams of peers; 0 if no peer sent it.
    pub ordinal: u64,
    /// The addresses.
    pub ends: Ends,
    /// The received bytes, then the sent ones if they are kept, then the inflated payload if it is known.
    bytes: Box<[u8]>,
    /// The length of the received bytes; 0 if nothing was received.
    received: u16,
    sent: Sent,
    /// The result of inflating the received bytes, read as `proto`.
    inflated: Option<Inflated>,
    /// The fate of each chunk, in order. Empty if each was forwarded unchanged under its own number.
    pub placed: Box<[Placed]>,
    /// The effects of link lines on the sent datagrams. Empty if each was sent at once, once and unchanged.
    pub link: Box<[Transit]>,
    /// Oddities.
    pub notes: Notes,
}

/// The sent datagrams.
#[derive(Clone, Debug)]
enum Sent {
    /// The received datagram, whose bytes are kept once.
    AsReceived,
    /// One datagram of this length.
    One(u16),
    /// One datagram for each length.
    All(Box<[u16]>),
}

impl Datagram {
    /// Joins the received and the sent bytes into one event. Of the received bytes it keeps the 1400 that receivers read, so that a
    /// flood of the largest datagrams does not fill the memory; a note says that the datagram was longer.
    #[must_use]
    pub fn new<'a>(
        dir: Dir,
        proto: Proto,
        origin: Origin,
        received: &'a [u8],
        sent: impl Iterator<Item = &'a [u8]> + Clone,
    ) -> Self {
        Self::joined(dir, proto, origin, received, sent, None)
    }

    /// Returns the event of a datagram that a peer sent and the proxy forwarded, with its inflated payload.
    pub(crate) fn relayed<'a>(
        dir: Dir,
        packet: &Packet<'_>,
        received: &'a [u8],
        sent: impl Iterator<Item = &'a [u8]> + Clone,
    ) -> Self {
        Self::joined(dir, packet.proto, Origin::Peer, received, sent, Some(packet))
    }

    fn joined<'a>(
        dir: Dir,
        proto: Proto,
        origin: Origin,
        received: &'a [u8],
        sent: impl Iterator<Item = &'a [u8]> + Clone,
        packet: Option<&Packet<'_>>,
    ) -> Self {
        let received = readable(received);
        let inflated = packet.and_then(|packet| packet.inflated);
        let clear = packet.filter(|_| inflated.is_some());
        let total = received.len() + sent.clone().map(<[u8]>::len).sum::<usize>();
        let mut bytes = Vec::with_capacity(total + inflated.map_or(0, |inflated| inflated.len));
        bytes.extend_from_slice(received);
        sent.clone().for_each(|part| bytes.extend_from_slice(part));
        if let Some(packet) = clear {
            bytes.extend_from_slice(packet.payload);
            // A token at its end is in the header as well.
            let token = packet.header.token.map_or([0; 4], |token| token.0);
            let tail = inflated.map_or(0, |inflated| inflated.len.saturating_sub(packet.payload.len()));
            bytes.extend_from_slice(token.get(..tail).unwrap_or_default());
        }
        let mut lens = sent.map(|part| short(part.len()));
        let sent = match (lens.next(), lens.next()) {
            (Some(only), None) => Sent::One(only),
            (first, second) => Sent::All(first.into_iter().chain(second).chain(lens).collect()),
        };
        Self::of(dir, proto, origin, (bytes, received.len(), sent, inflated))
    }

    /// Returns the event of a datagram that a peer sent and that was forwarded unchanged. `clear` is its inflated payload, if the
    /// caller has it.
    #[must_use]
    pub fn passed(dir: Dir, proto: Proto, received: &[u8], clear: Option<(&[u8], Inflated)>) -> Self {
        let received = readable(received);
        let (clear, inflated) = clear.unzip();
        let bytes = [received, clear.unwrap_or_default()].concat();
        let all = (bytes, received.len(), Sent::AsReceived, inflated);
        Self::of(dir, proto, Origin::Peer, all)
    }

    fn of(
        dir: Dir,
        proto: Proto,
        origin: Origin,
        (bytes, received, sent, inflated): (Vec<u8>, usize, Sent, Option<Inflated>),
    ) -> Self {
        Self {
            dir,
            proto,
            origin,
            leg: None,
            ordinal: 0,
            ends: Ends::default(),
            bytes: bytes.into_boxed_slice(),
            received: short(received),
            sent,
            inflated,
            placed: Box::default(),
            link: Box::default(),
            notes: Notes::default(),
        }
    }

    /// Returns the bytes as a peer sent them, at most 1400; `None` if no peer sent the datagram.
    #[must_use]
    pub fn received(&self) -> Option<&[u8]> {
        self.bytes
            .get(..usize::from(self.received))
            .filter(|bytes| !bytes.is_empty())
    }

    /// Returns the number of bytes that it owns.
    #[cfg(feature = "io")]
    pub(crate) fn owned(&self) -> usize {
        self.bytes.len()
    }

    /// Returns the datagrams that were sent because of it, in order; none if it was refused or swallowed. These are the bytes before
    /// the link: [`Self::link`] says which were sent later, changed, or not at all.
    pub fn sent(&self) -> impl Iterator<Item = &[u8]> + Clone {
        let behind = self.bytes.get(usize::from(self.received)..).unwrap_or_default();
        let (mut rest, lens): (&[u8], &[u16]) = match &self.sent {
            Sent::AsReceived => (&self.bytes, std::slice::from_ref(&self.received)),
            Sent::One(len) => (behind, std::slice::from_ref(len)),
            Sent::All(lens) => (behind, lens),
        };
        lens.iter().filter_map(move |len| {
            let (part, behind) = rest.split_at_checked(usize::from(*len))?;
            rest = behind;
            Some(part)
        })
    }

    /// Returns true if the datagram is known to be sent exactly as it was received.
    #[must_use]
    pub fn is_unchanged(&self) -> bool {
        matches!(self.sent, Sent::AsReceived)
    }

    /// Parses the received datagram as [`Packet::parse`] does; `None` when no peer sent it. A payload that was
    /// inflated before is not inflated again.
    pub fn packet<'a>(&'a self, scratch: &'a mut Scratch) -> Option<Result<Packet<'a>, PacketError>> {
        let received = self.received()?;
        let clear = self.inflated.and_then(|inflated| {
            let start = self.bytes.len().checked_sub(inflated.len)?;
            Some((self.bytes.get(start..)?, inflated))
        });
        Some(match clear {
            Some((clear, inflated)) => Packet::parse_inflated(self.proto, received, clear, inflated),
            None => Packet::parse(self.proto, received, scratch),
        })
    }
}

/// The place in which a datagram was seen: its number, and its addresses apart from those that the whole run has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ends {
    /// The client's.
    pub client: Option<SocketAddr>,
    /// Our socket towards the server.
    pub upstream: Option<UpstreamId>,
    /// The address of that socket. The core learns it late; the opener of the socket fills it in.
    pub local: Option<SocketAddr>,
    /// The port of the listen socket that the client came by, where that is not the first: see [`ListenerId`].
    pub listen_port: Option<u16>,
    /// The port of the server behind it.
    pub server_port: Option<u16>,
    /// The number of the datagram, from 1: in a live run among those that watchers see, in a capture among its packets,
    /// whatever they are. `None` where it is not known.
    pub frame: Option<u64>,
}

/// The origin of a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A peer sent it.
    Peer,
    /// A rule made its messages or let them go.
    Rule,
    /// A person did.
    User,
    /// The proxy needed it: handshake, keepalive, resend of what it owns.
    Proxy,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Peer => "peer",
            Self::Rule => "rule",
            Self::User => "user",
            Self::Proxy => "proxy",
        })
    }
}

impl Words for Origin {
    const ALL: &'static [Self] = &[Self::Peer, Self::Rule, Self::User, Self::Proxy];
}

/// The fate of one chunk of a received datagram.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placed {
    /// The number it was sent on with; `None` = not sent, or not vital.
    pub seq_out: Option<Seq>,
    /// The action.
    pub action: Action,
    /// The rules that touched it, in their order.
    pub rules: Box<[RuleId]>,
    /// The marks that rules gave it.
    pub marks: Box<[Arc<str>]>,
    /// Where its bytes are in what was sent with this event; `None` = not sent now, or not known.
    pub sent: Option<SentAt>,
    /// The number under which it is held; `None` = not held.
    pub held: Option<HeldId>,
}

impl Placed {
    /// A chunk that no rule touched; not held, and not looked for in what was sent.
    #[must_use]
    pub fn new(seq_out: Option<Seq>, action: Action) -> Self {
        Self {
            seq_out,
            action,
            rules: Box::default(),
            marks: Box::default(),
            sent: None,
            held: None,
        }
    }

    /// Returns true unless the chunk was only sent on, with whatever number, and no rule touched it.
    pub(crate) fn is_odd(&self) -> bool {
        self.action != Action::Pass || !self.rules.is_empty()
    }

    /// Returns it with the rules that touched the chunk, and its marks.
    pub(crate) fn touched(self, rules: Vec<RuleId>, marks: Vec<Arc<str>>) -> Self {
        Self {
            rules: rules.into(),
            marks: marks.into(),
            ..self
        }
    }
}

/// The place of a message in the datagrams that were sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SentAt {
    /// Index of the datagram in [`Datagram::sent`].
    pub datagram: u16,
    /// Offset of its first byte, behind the chunk header, in the clear payload of that datagram.
    pub at: u16,
    /// Length in bytes.
    pub len: u16,
}

/// The effect of link lines on a datagram, or on a duplicate of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Transit {
    /// Index of the datagram in [`Datagram::sent`].
    pub datagram: u16,
    /// True for a duplicate.
    pub duplicate: bool,
    /// Why it was lost; `None` = it left.
    pub lost: Option<Lost>,
    /// How much later than without the link it left.
    pub delay: Duration,
    /// True if it overtook those before it.
    pub reordered: bool,
    /// The bits that were flipped, counted from the lowest bit of the first byte.
    pub corrupted: Box<[u32]>,
}

impl Words for Lost {
    const ALL: &'static [Self] = &Self::ALL;
}

/// The number of a message that the proxy holds, from 1, never used twice in its session and direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(
    feature = "io",
    derive(serde::Serialize, serde::Deserialize),
    serde(transparent)
)]
pub struct HeldId(pub NonZeroU32);

/// The action taken on one message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Sent on.
    Pass,
    /// Sent on with other bytes.
    Edit,
    /// A retransmission of a message that was sent on before: sent on as it was then.
    Repeat,
    /// A retransmission that the receiver needs no more: left out.
    Known,
    /// Ahead of a message that is missing: left out, and requested again.
    Gap,
    /// Dropped by a rule.
    Drop,
    /// This transmission was suppressed by a rule.
    Lose,
    /// Waits in the proxy's custody.
    Hold,
    /// No room to hold it: left out and not acked; its sender sends it again.
    Refuse,
}

impl Action {
    /// Returns true if the receiver takes the message, now or later: what is ahead of a gap, and what is refused, is
    /// sent again.
    #[must_use]
    pub const fn is_delivered(self) -> bool {
        !matches!(self, Self::Repeat | Self::Known | Self::Gap | Self::Refuse)
    }
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Pass => "pass",
            Self::Edit => "edit",
            Self::Repeat => "repeat",
            Self::Known => "known",
            Self::Gap => "gap",
            Self::Drop => "drop",
            Self::Lose => "lose",
            Self::Hold => "hold",
            Self::Refuse => "refuse",
        })
    }
}

impl Words for Action {
    const ALL: &'static [Self] = &[
        Self::Pass,
        Self::Edit,
        Self::Repeat,
        Self::Known,
        Self::Gap,
        Self::Drop,
        Self::Lose,
        Self::Hold,
        Self::Refuse,
    ];
}

/// Returns the part of a datagram that receivers read: the first 1400 bytes.
#[must_use]
pub fn readable(datagram: &[u8]) -> &[u8] {
    datagram.get(..MAX_DATAGRAM).unwrap_or(datagram)
}

fn short(len: usize) -> u16 {
    u16::try_from(len).unwrap_or(u16::MAX)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use teetap_wire::{Flags, Header, Seq, Token, Trailing, packet};

    use super::*;

    proptest! {
        /// A datagram reads the same whether it was inflated before or not, and all its parts are kept.
        #[test]
        fn what_was_inflated_before_is_read_alike(
            proto in prop::sample::select(&Proto::ALL[..]),
            flags in 0u8..4,
            compress in prop::option::of(Just(Trailing::Always)),
            payload in prop::collection::vec(0u8..40, 0..200),
            noise in prop::collection::vec(any::<u8>(), 0..4),
            sent in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..9), 0..4),
        ) {
            let header = Header {
                flags: Flags::from_bits_truncate(flags),
                ack: Seq::new(3),
                num_chunks: 2,
                token: Some(Token(*b"tokn")),
            };
            let mut bytes = Vec::new();
            packet::write(proto, &header, &payload, compress, &mut bytes);
            bytes.extend(noise);
            let (mut scratch, mut other) = (Scratch::new(), Scratch::new());
            let inflated = Packet::parse(proto, &bytes, &mut scratch).ok().and_then(|packet| packet.inflated);
            let clear = inflated.map(|inflated| (scratch.inflated(&inflated), inflated));
            let passed = Datagram::passed(Dir::C2s, proto, &bytes, clear);
            let plain = Datagram::new(Dir::C2s, proto, Origin::Peer, &bytes, std::iter::once(&*bytes));
            let (mut one, mut two) = (Scratch::new(), Scratch::new());
            prop_assert_eq!(
                format!("{:?}", passed.packet(&mut one)),
                format!("{:?}", Some(Packet::parse(proto, &bytes, &mut two)))
            );
            prop_assert_eq!(format!("{:?}", plain.packet(&mut other)), format!("{:?}", passed.packet(&mut one)));
            prop_assert!(passed.sent().eq(plain.sent()) && passed.received() == plain.received());
            // What crossed is read as it was read on the way.
            let (mut way, mut three) = (Scratch::new(), Scratch::new());
            if let Ok(packet) = Packet::parse(proto, &bytes, &mut way) {
                let parts = sent.iter().map(|part| &**part);
                let relayed = Datagram::relayed(Dir::C2s, &packet, &bytes, parts);
                prop_assert_eq!(format!("{:?}", relayed.packet(&mut three)), format!("{:?}", Some(Packet::parse(proto, &bytes, &mut two))));
                prop_assert!(relayed.sent().eq(&sent) && relayed.received() == Some(&bytes));
            }
            let many = Datagram::new(Dir::C2s, proto, Origin::Peer, &bytes, sent.iter().map(|part| &**part));
            prop_assert!(many.sent().eq(&sent) && many.received() == Some(&bytes));
        }
    }
}
