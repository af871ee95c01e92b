//! A message in its session.

use std::{net::SocketAddr, sync::Arc};

use teetap_wire::{
    Code, Dir, Flags, Note, Proto, Seq, Side,
    control::is_almost_tken,
    def::{Class, Def},
};

use crate::eval::{DoneAction, Identity, Maker, Subject};

/// A message in its session, or a datagram without a readable message; not decoded yet.
#[derive(Clone, Copy, Debug)]
pub struct MessageView<'a> {
    /// Time in microseconds since the start of the run.
    pub at: u64,
    /// Number of the session; `None` for connless messages.
    pub session: Option<u32>,
    /// Protocol of the session.
    pub proto: Proto,
    /// Direction of the message.
    pub dir: Dir,
    /// Class of the id; never [`Class::Object`]. `None` for a datagram without a readable message.
    pub class: Option<Class>,
    /// Id on the wire.
    pub id: Identity,
    /// Definition; `None` if the id is unknown.
    pub def: Option<&'a Def>,
    /// Length of the id before the fields, in bytes.
    pub body: usize,
    /// Bytes of the id and the fields.
    pub data: &'a [u8],
    /// Sequence number from the sender; `None` if the message is not vital.
    pub seq: Option<Seq>,
    /// Sequence number with which the message was forwarded.
    pub seq_out: Option<Seq>,
    /// Resend bit of the chunk header.
    pub resend: bool,
    /// True if the receiver accepts the message, now or later: it is neither a repeat nor refused.
    pub delivered: bool,
    /// True if this copy is known to be the first copy received, even if it has the resend flag because an earlier
    /// copy was lost.
    pub first: bool,
    /// True if the receiver may have accepted an earlier copy, whether or not this copy has the resend flag.
    pub again: bool,
    /// The only leg of a control message; `None` if it was sent from leg to leg.
    pub leg: Option<Side>,
    /// Client of a connless message; the client of other messages is known from their session.
    pub client: Option<SocketAddr>,
    /// Packet that contains the message.
    pub packet: PacketView<'a>,
    /// What teetap did to the message; `None` while rules decide.
    pub done: Option<DoneView<'a>>,
}

/// What teetap did to a message.
#[derive(Clone, Copy, Debug, Default)]
pub struct DoneView<'a> {
    /// The action on the message.
    pub deed: DoneAction,
    /// Who made the message.
    pub maker: Maker,
    /// Names of the rules that acted on the message.
    pub rules: &'a [Arc<str>],
    /// Marks that rules gave the message.
    pub marks: &'a [Arc<str>],
    /// The effect of link lines on its datagram.
    pub link: LinkView,
}

/// The effect of link lines on a datagram and its duplicates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkView {
    /// True if the datagram and all its duplicates were lost.
    pub is_lost: bool,
    /// The longest delay, in microseconds.
    pub delay: u64,
    /// True if bits were flipped.
    pub is_corrupted: bool,
    /// True if a duplicate was sent.
    pub is_duplicated: bool,
    /// True if the datagram was sent ahead of earlier ones.
    pub is_reordered: bool,
}

impl DoneView<'_> {
    /// Returns true if a rule, a person or the link acted on the message.
    #[must_use]
    pub fn is_touched(&self) -> bool {
        let is_passed = matches!(
            self.deed,
            DoneAction::Pass | DoneAction::Repeat | DoneAction::Known | DoneAction::Gap | DoneAction::Discard
        );
        !is_passed
            || !self.rules.is_empty()
            || matches!(self.maker, Maker::Rule | Maker::User)
            || self.link != LinkView::default()
    }
}

/// A packet that contains a message.
#[derive(Clone, Copy, Debug, Default)]
pub struct PacketView<'a> {
    /// Length of the datagram in bytes; `None` if no peer sent it.
    pub size: Option<usize>,
    /// Ack in the header.
    pub ack: Option<Seq>,
    /// Number of chunks that the header announces.
    pub chunks: Option<u8>,
    /// Flags in the header.
    pub flags: Flags,
    /// Oddities of the datagram.
    pub notes: &'a [Note],
    /// Number of the datagram in the recording or run, from 1; `None` if it has none.
    pub frame: Option<u64>,
}

impl MessageView<'_> {
    /// Returns the subject for expressions.
    #[must_use]
    pub const fn subject(&self) -> Subject<'_> {
        Subject {
            class: self.class,
            id: self.id,
            def: self.def,
        }
    }

    /// Returns true if the message is a chunk: neither a control nor a connless message.
    #[must_use]
    pub const fn is_chunk(&self) -> bool {
        matches!(self.class, Some(Class::System | Class::Game))
    }

    /// Returns true if the message shows that its sender is a DDNet client or server: a client's version, or an engine
    /// message that only DDNet servers send.
    #[must_use]
    pub fn shows_ddnet(&self) -> bool {
        let is_extended = self.class == Some(Class::System) && matches!(self.id, Identity::Uuid(_));
        let is_known = |def: &Def| self.dir == Dir::S2c || *def.name == *"client_version";
        is_extended && self.def.is_some_and(is_known)
    }

    /// Returns the note for a CONNECT or its reply whose magic is almost DDNet's, so that the receiver treats it as a
    /// message of another version.
    #[must_use]
    pub fn odd_magic(&self) -> Option<Note> {
        let is_connect = self.class == Some(Class::Control) && matches!(self.id, Identity::Number(1 | 2));
        let is_six = matches!(self.proto, Proto::V6 | Proto::V65);
        let rest = self.data.get(1..).filter(|_| is_connect && is_six)?;
        let code = Code::UnexpectedBytes;
        is_almost_tken(rest).then_some(Note {
            code,
            at: 1,
            len: rest.len().min(4),
        })
    }

    /// Returns true if the recording truncates the message. Chunks are recorded completely or not at all.
    #[must_use]
    pub fn is_cut(&self) -> bool {
        let mut notes = self.packet.notes.iter();
        !self.is_chunk() && notes.any(|note| note.code == Code::CutByCapture)
    }
}
