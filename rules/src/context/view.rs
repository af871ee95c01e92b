//! A message in its session.

use std::net::SocketAddr;

use teetap_wire::{
    Code, Dir, Flags, Note, Proto, Seq, Side,
    control::is_almost_tken,
    def::{Class, Def},
};

use crate::eval::{Identity, Subject};

/// A message in its session, or a datagram without a readable one, not decoded yet.
#[derive(Clone, Copy, Debug)]
pub struct MessageView<'a> {
    /// The time in microseconds since the start of the run.
    pub at: u64,
    /// The number of the session; `None` for connless messages.
    pub session: Option<u32>,
    /// The protocol of the session.
    pub proto: Proto,
    /// The direction.
    pub dir: Dir,
    /// The class of the id; not [`Class::Object`]. `None` for a datagram without a readable message.
    pub class: Option<Class>,
    /// The id.
    pub id: Identity,
    /// The definition; `None` if the id is unknown.
    pub def: Option<&'a Def>,
    /// The length of the id before the fields, in bytes.
    pub body: usize,
    /// The id and the fields.
    pub data: &'a [u8],
    /// The sequence number from its sender; `None` if it is not vital.
    pub seq: Option<Seq>,
    /// The sequence number under which it was forwarded.
    pub seq_out: Option<Seq>,
    /// The resend bit of the chunk header.
    pub resend: bool,
    /// True if the receiver accepts it, now or later: it is not a repeat and was not refused.
    pub delivered: bool,
    /// True if it is known to be the first copy, even if it is marked as a resend: the one before it was lost.
    pub first: bool,
    /// True if it is known not to be the first copy that its receiver may take, even if it is not marked as a resend.
    pub again: bool,
    /// The one leg of a control message; `None` if it went from leg to leg.
    pub leg: Option<Side>,
    /// The client of a connless message; that of others is known from their session.
    pub client: Option<SocketAddr>,
    /// The packet that contains it.
    pub packet: PacketView<'a>,
}

/// The packet that contains a message.
#[derive(Clone, Copy, Debug, Default)]
pub struct PacketView<'a> {
    /// The length of the datagram in bytes; `None` if no peer sent it.
    pub size: Option<usize>,
    /// The ack in the header.
    pub ack: Option<Seq>,
    /// The number of chunks that the header announces.
    pub chunks: Option<u8>,
    /// The flags in the header.
    pub flags: Flags,
    /// The oddities of the datagram.
    pub notes: &'a [Note],
    /// The number of the datagram in the recording or run, from 1; `None` if it has none.
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

    /// Returns true if it is a chunk: neither a control nor a connless message.
    #[must_use]
    pub const fn is_chunk(&self) -> bool {
        matches!(self.class, Some(Class::System | Class::Game))
    }

    /// Returns true if it shows that its sender is of DDNet: the version of a client, or a message of the engine that only
    /// servers of DDNet send.
    #[must_use]
    pub fn shows_ddnet(&self) -> bool {
        let is_extended = self.class == Some(Class::System) && matches!(self.id, Identity::Uuid(_));
        let is_known = |def: &Def| self.dir == Dir::S2c || *def.name == *"client_version";
        is_extended && self.def.is_some_and(is_known)
    }

    /// Returns the note of a CONNECT, or of its answer, that has almost the magic of DDNet, so that its receiver takes it for one
    /// of another version.
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

    /// Returns true if the recording lacks its end. Chunks are recorded completely, or not at all.
    #[must_use]
    pub fn is_cut(&self) -> bool {
        let mut notes = self.packet.notes.iter();
        !self.is_chunk() && notes.any(|note| note.code == Code::CutByCapture)
    }
}
