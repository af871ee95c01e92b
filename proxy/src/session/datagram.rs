//! Datagrams in events: the received bytes, the sent bytes, and the action on each chunk.

use std::{net::SocketAddr, num::NonZeroU32, sync::Arc, time::Duration};

use teetap_rules::{RuleId, impair::Lost};
use teetap_wire::{Dir, Inflated, MAX_DATAGRAM, Notes, Packet, PacketError, Proto, Scratch, Seq, Side};

#[cfg(doc)]
use super::ids::ListenerId;
use super::ids::UpstreamId;

/// A datagram of a session.
#[derive(Clone, Debug)]
pub struct Datagram {
    /// The direction.
    pub dir: Dir,
    /// Protocol of the bytes.
    pub proto: Proto,
    /// The origin of the datagram.
    pub origin: Origin,
    /// The leg of a datagram that is on one leg only: part of a handshake, refused, or sent by the proxy
    /// itself. `None` if the datagram was forwarded from one leg to the other.
    pub leg: Option<Side>,
    /// Ordinal among the datagrams that the peer of this direction sent in the session, from 1; 0 if no peer
    /// sent it.
    pub ordinal: u64,
    /// The addresses of the datagram.
    pub ends: Ends,
    /// The received bytes, then the sent bytes unless the datagram was passed unchanged, then the inflated
    /// payload if it is known.
    bytes: Box<[u8]>,
    /// The length of the received bytes; 0 if nothing was received.
    received: u16,
    sent: Sent,
    /// The result of inflating the received bytes, read as `proto`.
    inflated: Option<Inflated>,
    /// Record of each chunk, in order. Empty if each chunk was forwarded unchanged under its own sequence
    /// number.
    pub placed: Box<[Placed]>,
    /// Record of each message in the sent datagrams that the proxy sent by itself: made by a rule or a user, or
    /// released.
    pub made: Box<[MadeAt]>,
    /// Effects of link lines on the sent datagrams. Empty if each datagram was sent immediately, once and
    /// unchanged.
    pub link: Box<[Transit]>,
    /// Oddities of the datagram.
    pub notes: Notes,
}

/// The sent datagrams.
#[derive(Clone, Debug)]
enum Sent {
    /// The received datagram was sent unchanged; its bytes are stored once.
    AsReceived,
    /// One datagram of this length.
    One(u16),
    /// A datagram for each length.
    All(Box<[u16]>),
}

impl Datagram {
    /// Joins the received and the sent bytes into one event. Keeps only the 1400 received bytes that
    /// receivers read, so that a flood of the largest datagrams does not fill the memory. A note says that
    /// the datagram was longer.
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

    /// Returns the event of a datagram that a peer sent and the proxy forwarded. Includes the inflated
    /// payload if the packet has one.
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
            // A token at the end of the inflated payload is also in the header.
            let token = packet.header.token.map_or([0; 4], |token| token.0);
            let tail = inflated.map_or(0, |inflated| inflated.len.saturating_sub(packet.payload.len()));
            bytes.extend_from_slice(token.get(..tail).unwrap_or_default());
        }
        let mut lens = sent.map(|part| short(part.len()));
        let sent = match (lens.next(), lens.next()) {
            (Some(only), None) => Sent::One(only),
            (first, second) => Sent::All(first.into_iter().chain(second).chain(lens).collect()),
        };
        Self::build(dir, proto, origin, (bytes, received.len(), sent, inflated))
    }

    /// Returns the event of a datagram that a peer sent and that was forwarded unchanged. `clear` is its
    /// inflated payload, if the caller has it.
    #[must_use]
    pub fn passed(dir: Dir, proto: Proto, received: &[u8], clear: Option<(&[u8], Inflated)>) -> Self {
        let received = readable(received);
        let (clear, inflated) = clear.unzip();
        let bytes = [received, clear.unwrap_or_default()].concat();
        let all = (bytes, received.len(), Sent::AsReceived, inflated);
        Self::build(dir, proto, Origin::Peer, all)
    }

    fn build(
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
            made: Box::default(),
            link: Box::default(),
            notes: Notes::default(),
        }
    }

    /// Returns the bytes that a peer sent, at most 1400; `None` if no peer sent the datagram.
    #[must_use]
    pub fn received(&self) -> Option<&[u8]> {
        self.bytes
            .get(..usize::from(self.received))
            .filter(|bytes| !bytes.is_empty())
    }

    /// Returns the number of bytes that the datagram owns.
    #[cfg(feature = "io")]
    pub(crate) fn owned(&self) -> usize {
        self.bytes.len()
    }

    /// Returns the datagrams that were sent because of this one, in order; none if it was refused or
    /// dropped. The bytes are as they were before the link; [`Self::link`] records which datagrams were
    /// delayed, changed or lost.
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

    /// Returns true if the datagram is known to have been sent exactly as it was received.
    #[must_use]
    pub fn is_unchanged(&self) -> bool {
        matches!(self.sent, Sent::AsReceived)
    }

    /// Parses the received datagram like [`Packet::parse`]; `None` if no peer sent the datagram. Reuses the
    /// inflated payload if the event has it.
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

/// The number of a datagram and its addresses. Only addresses that may differ within a run are included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ends {
    /// Address of the client.
    pub client: Option<SocketAddr>,
    /// The upstream socket.
    pub upstream: Option<UpstreamId>,
    /// Local address of the upstream socket. The core learns it late; the driver that opens the socket fills
    /// it in.
    pub local: Option<SocketAddr>,
    /// Port of the listen socket that the client uses, unless it is the first one: see [`ListenerId`].
    pub listen_port: Option<u16>,
    /// Port of the server behind that listen socket.
    pub server_port: Option<u16>,
    /// Number of the datagram, from 1: in a live run among the datagrams that watchers see, in a capture
    /// among all its packets. `None` if unknown.
    pub frame: Option<u64>,
}

/// The origin of a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::Display, strum::EnumString, strum::VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum Origin {
    /// A peer sent it.
    Peer,
    /// A rule created or released its messages.
    Rule,
    /// A user injected or released its messages.
    User,
    /// The proxy created it: a handshake, a keepalive, or a retransmission of a message that the proxy has
    /// acked.
    Proxy,
}

/// Record of one chunk of a received datagram: its number, the action on it, and its place in the sent
/// datagrams.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placed {
    /// The sequence number under which the chunk was forwarded; `None` if it was not sent or is not vital.
    pub seq_out: Option<Seq>,
    /// The action on the message.
    pub action: Action,
    /// The rules that matched the message, in their order.
    pub rules: Box<[RuleId]>,
    /// The marks that rules gave the message.
    pub marks: Box<[Arc<str>]>,
    /// Place of the message in the datagrams that were sent with this event; `None` if not sent now, or
    /// unknown.
    pub sent: Option<SentAt>,
    /// The number under which the message is held; `None` if not held.
    pub held: Option<HeldId>,
    /// The time for which a rule delays the message; `None` if it is not delayed.
    pub delay: Option<Duration>,
    /// True for a retransmission of a message whose bits a rule has flipped.
    pub corrupted: bool,
}

impl Placed {
    /// Returns the record of a chunk that no rule touched, that is not held, and whose place in the sent
    /// datagrams is unknown.
    #[must_use]
    pub fn new(seq_out: Option<Seq>, action: Action) -> Self {
        Self {
            seq_out,
            action,
            rules: Box::default(),
            marks: Box::default(),
            sent: None,
            held: None,
            delay: None,
            corrupted: false,
        }
    }

    /// Returns true unless the chunk was merely forwarded, under whatever sequence number, and no rule
    /// touched it.
    pub(crate) fn is_odd(&self) -> bool {
        self.action != Action::Pass || !self.rules.is_empty()
    }

    /// Returns the record of a retransmission with the rules that touched it, after the rules that touched the first copy.
    pub(crate) fn touched_again(self, rules: Vec<RuleId>, marks: Vec<Arc<str>>) -> Self {
        let is_new = |rule: &RuleId| !self.rules.contains(rule);
        let rules = self.rules.iter().copied().chain(rules.into_iter().filter(is_new));
        let rules = rules.collect();
        self.touched(rules, marks)
    }

    /// Returns the record with the rules that touched the chunk, and its marks.
    pub(crate) fn touched(self, rules: Vec<RuleId>, marks: Vec<Arc<str>>) -> Self {
        Self {
            rules: rules.into(),
            marks: marks.into(),
            ..self
        }
    }
}

/// Record of a message that the proxy sent by itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MadeAt {
    /// Place of the message in the datagrams that were sent with this event.
    pub sent: SentAt,
    /// Why the proxy sent the message.
    pub how: MadeHow,
    /// Name of the rule that made or held the message; `None` if there is none, or if it is unknown.
    pub rule: Option<Box<str>>,
    /// The number under which the message was held; `None` if it was not held.
    pub held: Option<HeldId>,
    /// The time for which the message was held; zero if it was not held.
    pub waited: Duration,
    /// True if the message was held, and a rule has flipped its bits.
    pub corrupted: bool,
}

/// Why the proxy sent a message by itself.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, strum::Display, strum::EnumString, strum::VariantArray,
)]
#[strum(serialize_all = "snake_case")]
pub enum MadeHow {
    /// A rule or a user made it.
    Inject,
    /// It is a copy of another message, which a rule made.
    Copy,
    /// It was held, and is released.
    #[default]
    Release,
}

/// The place of a message in the sent datagrams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SentAt {
    /// Index of the datagram in [`Datagram::sent`].
    pub datagram: u16,
    /// Offset of the first byte of the message, after the chunk header, in the clear payload of that
    /// datagram.
    pub at: u16,
    /// Length of the message in bytes.
    pub len: u16,
}

/// The effect of link lines on a datagram, or on a duplicate of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Transit {
    /// Index of the datagram in [`Datagram::sent`].
    pub datagram: u16,
    /// True for a duplicate.
    pub duplicate: bool,
    /// The reason of the loss; `None` if the datagram was sent.
    pub lost: Option<Lost>,
    /// The delay that the link added.
    pub delay: Duration,
    /// True if the datagram was sent ahead of earlier ones.
    pub reordered: bool,
    /// Index of each flipped bit, counted from the lowest bit of the first byte.
    pub corrupted: Box<[u32]>,
}

impl Transit {
    /// Flips the bits that the link flipped.
    pub fn damage(&self, bytes: &mut [u8]) {
        for bit in &self.corrupted {
            let at = usize::try_from(*bit / 8).ok();
            if let Some(byte) = at.and_then(|at| bytes.get_mut(at)) {
                *byte ^= 1 << (bit % 8);
            }
        }
    }
}

/// Number of a message that the proxy holds, from 1; never reused in its session and direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(
    feature = "io",
    derive(serde::Serialize, serde::Deserialize),
    serde(transparent)
)]
pub struct HeldId(pub NonZeroU32);

/// The action taken on one message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::Display, strum::EnumString, strum::VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum Action {
    /// Forwarded.
    Pass,
    /// Forwarded with other bytes.
    Edit,
    /// Forwarded with flipped bits.
    Corrupt,
    /// A retransmission of a message that was forwarded before: forwarded with the same bytes as then.
    Repeat,
    /// A retransmission that the receiver no longer needs: left out.
    Known,
    /// Ahead of a missing message: left out, and the missing message is requested again.
    Gap,
    /// Dropped by a rule.
    Drop,
    /// A rule suppressed this transmission.
    Lose,
    /// Held by the proxy, which has acked it.
    Hold,
    /// There is no room to hold it: left out and not acked, so its sender retransmits it.
    Refuse,
}

impl Action {
    /// Returns true for the copy on which the fate of the message was decided, even if a rule dropped it.
    /// False for later copies, and for messages that are ahead of a gap or refused, since their sender
    /// retransmits them.
    #[must_use]
    pub const fn is_delivered(self) -> bool {
        !matches!(self, Self::Repeat | Self::Known | Self::Gap | Self::Refuse)
    }
}

/// Returns the part of a datagram that receivers read: at most the first 1400 bytes.
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
        /// A datagram is parsed to the same packet whether it was inflated before or not, and all its parts
        /// are kept.
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
            // A relayed datagram is parsed to the same packet as when it was forwarded.
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
