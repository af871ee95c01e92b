//! A message as it is seen in its session.

use teetap_wire::{
    Code, Dir, Note, Proto, Seq,
    def::{Class, Def},
};

use crate::eval::{Identity, Subject};

/// A message as it is seen in its session, not decoded yet.
#[derive(Clone, Copy, Debug)]
pub struct MessageView<'a> {
    /// Microseconds since the start of the run.
    pub at: u64,
    /// Number of its session; `None` for connless messages.
    pub session: Option<u32>,
    /// Protocol of the session.
    pub proto: Proto,
    /// Where it goes.
    pub dir: Dir,
    /// The class of its id; not [`Class::Object`].
    pub class: Class,
    /// Its id.
    pub id: Identity,
    /// Its definition; `None` when the id is not known.
    pub def: Option<&'a Def>,
    /// Bytes of id before the fields.
    pub body: usize,
    /// Id and fields.
    pub data: &'a [u8],
    /// Sequence number of its sender; `None` when it is not vital.
    pub seq: Option<Seq>,
    /// Sequence number under which it left.
    pub seq_out: Option<Seq>,
    /// Bit of the chunk header.
    pub resend: bool,
    /// Its receiver takes it, now or later: it is not a repeat, and was not refused.
    pub delivered: bool,
    /// The packet around it.
    pub packet: PacketView<'a>,
}

/// The packet around a message.
#[derive(Clone, Copy, Debug, Default)]
pub struct PacketView<'a> {
    /// Bytes of the datagram; `None` when no peer sent it.
    pub size: Option<usize>,
    /// Ack of its header.
    pub ack: Option<Seq>,
    /// Chunks that its header announces.
    pub chunks: Option<u8>,
    /// Its payload is compressed.
    pub compressed: bool,
    /// Oddities of the datagram.
    pub notes: &'a [Note],
}

impl MessageView<'_> {
    /// The subject of an expression.
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
        matches!(self.class, Class::System | Class::Game)
    }

    /// Returns true if its end was not recorded. Chunks are there whole, or not at all.
    #[must_use]
    pub fn is_cut(&self) -> bool {
        let mut notes = self.packet.notes.iter();
        !self.is_chunk() && notes.any(|note| note.code == Code::CutByCapture)
    }
}
