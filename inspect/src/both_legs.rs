//! A datagram on both legs: as received on one leg, and as sent on the other leg.
//!
//! Law: only headers are parsed, and messages are not decoded. Values are created on demand, for rows that are shown.

use std::fmt;

use teetap_proxy::session::{Datagram, EventKind};
use teetap_wire::{Dir, Flags, HeaderView, Packet, PacketError, Proto, Scratch, Seq, Side, Token};

use crate::{DecodedEvent, transit::Transits};

/// A datagram on both legs.
#[derive(Clone, Debug)]
pub struct BothLegs {
    /// The direction.
    pub dir: Dir,
    /// The datagram on the client leg; `None` if it was not there.
    pub client: Option<OnLeg>,
    /// The datagram on the server leg; `None` if it was not there.
    pub server: Option<OnLeg>,
    /// True if the proxy did not forward it, although it belongs to both legs.
    pub is_stopped: bool,
    /// True if link lines lost it and all its duplicates.
    pub is_lost: bool,
    /// The effects of link lines in words; empty if there are none.
    pub link: String,
}

/// A datagram on one leg.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OnLeg {
    /// The token.
    pub token: Option<Token>,
    /// The ack.
    pub ack: Option<Seq>,
    /// Sequence numbers of its first and last vital message.
    pub seqs: Option<(Seq, Seq)>,
    /// The flags of the header.
    pub flags: Flags,
    /// Size in bytes.
    pub len: usize,
    /// Number of datagrams; more than 1 if the proxy split the datagram.
    pub datagrams: usize,
}

impl BothLegs {
    /// Returns the datagram of an event on both legs; `None` if the event is about something else.
    #[must_use]
    pub fn from_event(decoded: &DecodedEvent, scratch: &mut Scratch) -> Option<Self> {
        let EventKind::Datagram(datagram) = &decoded.event.what else {
            return None;
        };
        let [seqs, seqs_out] = match &decoded.reading {
            Some(reading) => reading.seqs(),
            None => [None; 2],
        };
        let received = datagram.received();
        let came = received.map(|bytes| OnLeg {
            seqs,
            ..OnLeg::read(datagram.proto, bytes, datagram.packet(scratch))
        });
        let left = match (datagram.is_unchanged(), came) {
            (true, Some(came)) => Some(came),
            _ => left(datagram, scratch).map(|left| OnLeg {
                seqs: seqs_out,
                ..left
            }),
        };
        let is_stopped = datagram.leg.is_none() && came.is_some() && left.is_none();
        let link = Transits::from_datagram(datagram);
        let (from, to) = (datagram.dir.sender(), datagram.dir.receiver());
        // A datagram between the proxy and one peer is on one leg only.
        let came = came.filter(|_| datagram.leg.is_none_or(|leg| leg == from));
        let left = left.filter(|_| datagram.leg.is_none_or(|leg| leg == to));
        let (client, server) = match datagram.dir {
            Dir::C2s => (came, left),
            Dir::S2c => (left, came),
        };
        Some(Self {
            dir: datagram.dir,
            client,
            server,
            is_stopped,
            is_lost: link.are_lost(),
            link: link.words(),
        })
    }

    /// Returns the datagram on the leg of a side.
    #[must_use]
    pub const fn leg(&self, side: Side) -> Option<&OnLeg> {
        match side {
            Side::Client => self.client.as_ref(),
            Side::Server => self.server.as_ref(),
        }
    }

    /// Returns how the proxy shifted the sequence number and the ack.
    #[must_use]
    pub fn shift(&self) -> Shift {
        let (came, left) = (self.leg(self.dir.sender()), self.leg(self.dir.receiver()));
        let (Some(came), Some(left)) = (came, left) else {
            return Shift::default();
        };
        let seq = came
            .seqs
            .zip(left.seqs)
            .map(|((came, _), (left, _))| steps(came, left));
        let ack = came.ack.zip(left.ack).map(|(came, left)| steps(came, left));
        Shift {
            seq: seq.unwrap_or(0),
            ack: ack.unwrap_or(0),
        }
    }
}

/// Returns the first datagram that was sent.
fn left(datagram: &Datagram, scratch: &mut Scratch) -> Option<OnLeg> {
    let mut sent = datagram.sent();
    let first = sent.next()?;
    Some(OnLeg {
        datagrams: 1 + sent.count(),
        ..OnLeg::read(
            datagram.proto,
            first,
            Some(Packet::parse(datagram.proto, first, scratch)),
        )
    })
}

impl OnLeg {
    /// Returns the sequence numbers of the vital messages: `217`, `217-219`, or an empty text.
    #[must_use]
    pub fn numbers(&self) -> String {
        Self::numbers_of(self.seqs)
    }

    /// Formats the sequence numbers of a first and last message in the same way.
    #[must_use]
    pub fn numbers_of(seqs: Option<(Seq, Seq)>) -> String {
        match seqs {
            None => String::new(),
            Some((first, last)) if first == last => first.to_string(),
            Some((first, last)) => format!("{first}-{last}"),
        }
    }

    /// Parses the header of a datagram. Its token may be at the end of the inflated payload.
    fn read(proto: Proto, bytes: &[u8], packet: Option<Result<Packet<'_>, PacketError>>) -> Self {
        let header = HeaderView::new(proto, bytes);
        let tail = packet.and_then(Result::ok).and_then(|packet| packet.header.token);
        Self {
            token: header.token().or(tail),
            ack: header.ack(),
            seqs: None,
            flags: header.flags(),
            len: bytes.len(),
            datagrams: 1,
        }
    }
}

/// Returns the steps from one sequence number to another, from -511 to 512.
fn steps(from: Seq, to: Seq) -> i32 {
    let ahead = i32::from(from.distance_to(to));
    if ahead > 512 { ahead - 1024 } else { ahead }
}

/// How the numbers differ between the legs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shift {
    /// Steps from the received to the forwarded sequence number.
    pub seq: i32,
    /// Steps from the received to the forwarded ack.
    pub ack: i32,
}

impl Shift {
    /// Returns true if the numbers are the same on both legs.
    #[must_use]
    pub const fn is_none(self) -> bool {
        self.seq == 0 && self.ack == 0
    }
}

impl fmt::Display for Shift {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut lead = "";
        for (name, steps) in [("seq", self.seq), ("ack", self.ack)] {
            if steps != 0 {
                write!(f, "{lead}{name}{steps:+}")?;
                lead = " ";
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use teetap_proxy::session::{Action, Event, Origin, Placed, Time};
    use teetap_wire::def::Registry;

    use super::*;
    use crate::{Decoder, testing};

    /// The 0.7 `ready` message.
    const READY: &[u8] = b"\x25";

    fn both_legs(datagram: Datagram) -> BothLegs {
        let event = Event {
            at: Time(0),
            session: None,
            what: EventKind::Datagram(datagram),
        };
        let decoded = Decoder::new(Registry::builtin()).decode(event);
        BothLegs::from_event(&decoded, &mut Scratch::new()).unwrap()
    }

    #[test]
    fn numbers_and_acks_of_both_legs_are_mapped() {
        let came = testing::chunks(1020, false, &[(Some(7), READY), (Some(8), READY)]);
        let left = testing::chunks(3, false, &[(Some(5), READY), (Some(6), READY)]);
        let sent = [&*left];
        let mut datagram = Datagram::new(Dir::S2c, Proto::V7, Origin::Peer, &came, sent.into_iter());
        datagram.placed = [5, 6]
            .map(|seq| Placed::new(Some(Seq::new(seq)), Action::Pass))
            .into();
        let both_legs = both_legs(datagram);
        let (server, client) = (both_legs.server.unwrap(), both_legs.client.unwrap());
        assert_eq!((server.numbers(), client.numbers()), ("7-8".into(), "5-6".into()));
        assert_eq!(
            (server.ack, client.ack),
            (Some(Seq::new(1020)), Some(Seq::new(3)))
        );
        assert_eq!((server.token, server.len), (Some(Token(*b"tokn")), came.len()));
        assert_eq!(both_legs.shift(), Shift { seq: -2, ack: 7 });
        assert_eq!(both_legs.shift().to_string(), "seq-2 ack+7");
    }

    #[test]
    fn what_ends_at_the_proxy_is_on_one_leg() {
        let came = testing::chunks(1, false, &[(None, READY)]);
        let mut datagram = Datagram::new(Dir::C2s, Proto::V7, Origin::Peer, &came, std::iter::empty());
        datagram.leg = Some(Side::Client);
        let both_legs = both_legs(datagram);
        assert!(both_legs.client.is_some() && both_legs.server.is_none());
        assert_eq!(both_legs.shift().to_string(), "");
    }
}
