//! Messages that are not decoded yet, and where they were seen.

use teetap_proxy::session::{Action, Datagram, MadeHow, Origin, SessionId, Time, Transit};
use teetap_rules::{
    context::{DoneView, LinkView, MessageView, PacketView},
    eval::{DoneAction, Identity, Maker},
};
use teetap_wire::{
    Dir, HeaderView, MessageId, Note, Packet, Proto, Seq, Side,
    def::{Class, Def, Found},
    message,
};

use crate::{
    reading::{Handling, Layer, MessageOutcome},
    transit::Transits,
};

/// Where a message was seen.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SeenAt<'a> {
    pub(crate) at: Time,
    pub(crate) session: Option<SessionId>,
    pub(crate) proto: Proto,
    pub(crate) dir: Dir,
    pub(crate) leg: Option<Side>,
    pub(crate) packet: PacketView<'a>,
    /// What teetap did to the datagram.
    pub(crate) done: DoneView<'a>,
}

/// A chunk that is not decoded yet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Chunk<'a> {
    pub(crate) seq: Option<Seq>,
    /// Sequence number with which it was forwarded.
    pub(crate) seq_out: Option<Seq>,
    pub(crate) resend: bool,
    /// True if the receiver accepts it, now or later.
    pub(crate) delivered: bool,
    /// True for the first copy that the receiver may accept, false for another copy; `None` if unknown.
    pub(crate) first: Option<bool>,
    pub(crate) data: &'a [u8],
    /// The definition of its message; `None` if the message is unknown.
    pub(crate) known: Option<Found<'static>>,
}

/// Returns the effect of link lines on a datagram and its duplicates.
pub(crate) fn link_view(link: &[Transit], is_lost: bool) -> LinkView {
    let longest = link.iter().map(|transit| transit.delay).max().unwrap_or_default();
    LinkView {
        is_lost,
        delay: u64::try_from(longest.as_micros()).unwrap_or(u64::MAX),
        is_corrupted: link.iter().any(|transit| !transit.corrupted.is_empty()),
        is_duplicated: link.iter().any(|transit| transit.duplicate),
        is_reordered: link.iter().any(|transit| transit.reordered),
    }
}

/// Returns the maker of a message with this origin.
pub(crate) const fn maker(origin: Origin) -> Maker {
    match origin {
        Origin::Peer => Maker::Peer,
        Origin::Rule => Maker::Rule,
        Origin::User => Maker::User,
        Origin::Proxy => Maker::Proxy,
    }
}

/// Returns what the handling of a message says about it, besides the link.
pub(crate) fn done_view(handling: &Handling, link: LinkView) -> DoneView<'_> {
    let of_action = |action| match action {
        Action::Pass => DoneAction::Pass,
        Action::Edit => DoneAction::Edit,
        Action::Corrupt => DoneAction::Corrupt,
        Action::Repeat => DoneAction::Repeat,
        Action::Known => DoneAction::Known,
        Action::Gap => DoneAction::Gap,
        Action::Drop => DoneAction::Drop,
        Action::Lose => DoneAction::Lose,
        Action::Hold if handling.delay.is_some() => DoneAction::Delay,
        Action::Hold => DoneAction::Hold,
        Action::Refuse => DoneAction::Refuse,
    };
    let deed = match (handling.made, handling.done) {
        (Some((MadeHow::Inject, _)), _) => DoneAction::Inject,
        (Some((MadeHow::Copy, _)), _) => DoneAction::Copy,
        (Some((MadeHow::Release, _)), _) => DoneAction::Release,
        (None, MessageOutcome::Placed(action)) => of_action(action),
        (None, MessageOutcome::Discarded) => DoneAction::Discard,
        (None, MessageOutcome::Refused | MessageOutcome::Ended) => DoneAction::Pass,
    };
    DoneView {
        deed,
        maker: maker(handling.origin),
        rules: &handling.rules,
        marks: &handling.marks,
        link,
    }
}

impl<'a> SeenAt<'a> {
    /// Returns the context in which filters evaluate the messages of a packet. `notes` are the notes about the packet.
    pub(crate) fn packet(
        at: Time,
        session: Option<SessionId>,
        datagram: &Datagram,
        packet: &Packet<'_>,
        notes: &'a [Note],
    ) -> Self {
        let view = PacketView {
            size: datagram.received().map(<[u8]>::len),
            ack: Some(packet.header.ack),
            chunks: Some(packet.header.num_chunks),
            flags: packet.header.flags,
            notes,
            frame: datagram.ends.frame,
        };
        Self::datagram(at, session, datagram, view)
    }

    /// Returns the context in which filters evaluate a datagram without messages. Parses the header even if the payload is
    /// unreadable.
    pub(crate) fn bare(at: Time, session: Option<SessionId>, datagram: &Datagram, notes: &'a [Note]) -> Self {
        let size = datagram.received().map(<[u8]>::len);
        let bytes = datagram.received().or_else(|| datagram.sent().next());
        let header = HeaderView::new(datagram.proto, bytes.unwrap_or_default());
        let view = PacketView {
            size,
            ack: header.ack(),
            chunks: header.num_chunks(),
            flags: header.flags(),
            notes,
            frame: datagram.ends.frame,
        };
        Self::datagram(at, session, datagram, view)
    }

    fn datagram(at: Time, session: Option<SessionId>, datagram: &Datagram, packet: PacketView<'a>) -> Self {
        Self {
            at,
            session,
            proto: datagram.proto,
            dir: datagram.dir,
            leg: datagram.leg,
            packet,
            done: DoneView {
                deed: match MessageOutcome::whole(datagram) {
                    MessageOutcome::Discarded => DoneAction::Discard,
                    _ => DoneAction::Pass,
                },
                maker: maker(datagram.origin),
                link: match &*datagram.link {
                    [] => LinkView::default(),
                    link => link_view(link, Transits::from_datagram(datagram).are_lost()),
                },
                ..DoneView::default()
            },
        }
    }

    /// Returns this place for a message that was handled in this way.
    pub(crate) fn handled(self, handling: &'a Handling) -> Self {
        Self {
            done: done_view(handling, self.done.link),
            ..self
        }
    }

    /// Returns a view of a datagram without a readable message.
    pub(crate) fn whole(self) -> MessageView<'a> {
        MessageView {
            class: None,
            leg: self.leg,
            ..self.view(Class::Control, None, &[])
        }
    }

    /// Returns a view of the message in a chunk. `id` is `None` if unreadable, `known` if the message is unknown.
    pub(crate) fn message(
        self,
        id: Option<MessageId>,
        known: Option<Found<'a>>,
        data: &'a [u8],
    ) -> MessageView<'a> {
        let number = |id: MessageId| id.uuid.map_or(Identity::Number(id.id), Identity::Uuid);
        MessageView {
            class: Some(id.map_or(Class::System, |id| id.layer.into())),
            id: id.map_or(Identity::Other, number),
            body: known.map_or(0, |known| known.body),
            ..self.view(Class::System, known.map(|known| known.def), data)
        }
    }

    /// Returns a view of a message other than a chunk, seen here.
    pub(crate) fn view(self, class: Class, def: Option<&'a Def>, data: &'a [u8]) -> MessageView<'a> {
        MessageView {
            at: self.at.0,
            session: self.session.map(|session| session.0),
            proto: self.proto,
            dir: self.dir,
            class: Some(class),
            id: Identity::Other,
            def,
            body: 0,
            data,
            seq: None,
            seq_out: None,
            resend: false,
            delivered: false,
            first: false,
            again: false,
            leg: None,
            client: None,
            packet: self.packet,
            done: Some(self.done),
        }
    }
}

impl From<message::Layer> for Layer {
    fn from(layer: message::Layer) -> Self {
        match layer {
            message::Layer::System => Self::System,
            message::Layer::Game => Self::Game,
        }
    }
}
