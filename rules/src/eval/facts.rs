//! What is known of the message that an expression is asked about.
//!
//! Law: the caller tells, and tells only what it is asked: fields are decoded when the first one is wanted.

use std::borrow::Cow;
use std::cell::{Cell, OnceCell};
use std::ops::ControlFlow;

use teetap_wire::def::{Class, Decoded, Def, Id, Record, Source, Value};
use teetap_wire::{Code, Dir, Proto};

/// What sort of message it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Identity {
    /// A number: control, system and game messages.
    Number(i32),
    /// A UUID: extended messages.
    Uuid([u8; 16]),
    /// Neither: connless messages.
    Other,
}

/// The message in question.
#[derive(Debug, Clone, Copy)]
pub struct Subject<'r> {
    /// Where it belongs; not [`Class::Object`].
    pub class: Class,
    /// What identifies it on the wire.
    pub id: Identity,
    /// How it is defined: what the registry found. `None`: unknown.
    pub def: Option<&'r Def>,
}

/// Something that a message is or is not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flag {
    /// `vital`: a chunk that is acked and resent.
    Vital,
    /// `resend`: the bit of the chunk header.
    Resend,
    /// `compressed`: the packet around it.
    Compressed,
    /// `unknown`: it has no definition.
    Unknown,
    /// `malformed`: it has a note of severity error.
    Malformed,
}

/// A number of the packet around the message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PacketFact {
    /// `pkt.size`: bytes of the datagram.
    Size,
    /// `pkt.ack`: of its header.
    Ack,
    /// `pkt.chunks`: as many as its header announces.
    Chunks,
    /// `pkt.seq`: of the chunk, as its sender numbered it. Only vital ones have it.
    Seq,
}

/// A number of the session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionFact {
    /// `sess.id`: from 1.
    Id,
    /// `sess.rtt`: microseconds from the last vital message to the client until its ack.
    Rtt,
}

/// `sess.state`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionState {
    /// The handshake goes on.
    Opening,
    /// Both legs are connected.
    Online,
    /// A close was seen.
    Closing,
    /// Nothing more will come.
    Closed,
}

/// A number of the snapshot that the message completes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SnapFact {
    /// `snap.tick`
    Tick,
    /// `snap.crc_ok`: 1 or 0.
    CrcOk,
    /// `snap.parts`: messages that it came in.
    Parts,
}

/// The fields of a message or snapshot item.
#[derive(Debug, Clone, Copy)]
pub struct Fields<'a> {
    /// How they are defined.
    pub def: &'a Def,
    /// What was read.
    pub decoded: &'a Decoded,
    /// What it was read from.
    pub source: Source<'a>,
}

impl<'a> Fields<'a> {
    /// The bytes of text, or of raw bytes, without a NUL behind them. Only text that is packed into ints is copied.
    #[must_use]
    pub fn bytes(&self, record: &Record) -> Cow<'a, [u8]> {
        self.def.bytes(record, self.source)
    }

    /// Whether any text of the message is `wanted`.
    pub(super) fn any_text(&self, mut wanted: impl FnMut(&[u8]) -> bool) -> bool {
        let texts = self
            .decoded
            .records()
            .iter()
            .filter(|record| matches!(record.value, Value::Text(_)));
        texts.into_iter().any(|record| wanted(&self.bytes(record)))
    }
}

/// Everything an expression may ask about one message of one session.
pub trait Facts {
    /// The protocol of the session.
    fn proto(&self) -> Proto;

    /// Where the message goes.
    fn dir(&self) -> Dir;

    /// Which message it is.
    fn subject(&self) -> Subject<'_>;

    /// The bytes of the message, its id included.
    fn data(&self) -> &[u8];

    /// Its fields. `None`: it has no definition.
    fn fields(&self) -> Option<Fields<'_>>;

    /// Whether it is one of these.
    fn flag(&self, flag: Flag) -> bool;

    /// Whether there is a note with this code about the message or the packet around it; without a code: any note of
    /// severity warning or error.
    fn lint(&self, code: Option<Code>) -> bool;

    /// A number of the packet.
    fn packet(&self, fact: PacketFact) -> Option<i64>;

    /// A number of the session.
    fn session(&self, fact: SessionFact) -> Option<i64>;

    /// The state of the session.
    fn state(&self) -> SessionState;

    /// The name of the player, once it is known.
    fn player(&self) -> Option<&[u8]>;

    /// Microseconds since the session began.
    fn time(&self) -> u64;

    /// It is a copy of a message that the expression was asked about before, and is not counted again.
    fn repeated(&self) -> bool {
        false
    }

    /// A number of the snapshot that the message completes. `None`: it completes none.
    fn snap(&self, _fact: SnapFact) -> Option<i64> {
        None
    }

    /// Calls `each` with the id and the fields of the item `id`, or of all items, of the type `object` in the snapshot
    /// that the message completes, until it breaks.
    fn items(
        &self,
        _object: &Id,
        _id: Option<u16>,
        _each: &mut dyn FnMut(u16, &Fields<'_>) -> ControlFlow<()>,
    ) {
    }
}

/// The fields of one message, decoded at first use.
pub struct Lazy<'a> {
    def: Option<&'a Def>,
    data: &'a [u8],
    body: usize,
    spare: Cell<Decoded>,
    decoded: OnceCell<Decoded>,
}

impl<'a> Lazy<'a> {
    /// The message in `data`, whose id takes `body` bytes. `buffer` is used again, so that nothing is allocated.
    #[must_use]
    pub const fn new(def: Option<&'a Def>, data: &'a [u8], body: usize, buffer: Decoded) -> Self {
        Self {
            def,
            data,
            body,
            spare: Cell::new(buffer),
            decoded: OnceCell::new(),
        }
    }

    /// The fields.
    #[must_use]
    pub fn fields(&self) -> Option<Fields<'_>> {
        let def = self.def?;
        let decoded = self.decoded.get_or_init(|| {
            let mut decoded = self.spare.take();
            decoded.read(def, self.data, self.body);
            decoded
        });
        let source = Source::Bytes(self.data);
        Some(Fields { def, decoded, source })
    }

    /// The buffer, for the next message.
    #[must_use]
    pub fn into_buffer(self) -> Decoded {
        self.decoded
            .into_inner()
            .unwrap_or_else(|| self.spare.into_inner())
    }
}
