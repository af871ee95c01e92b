//! Facts about a message that an expression can use.
//!
//! Law: the caller provides facts only on request. Fields are decoded when the first one is needed.

use std::borrow::Cow;
use std::cell::{Cell, OnceCell};
use std::net::SocketAddr;
use std::ops::{ControlFlow, Range};

use teetap_wire::def::{Class, Decoded, Def, Id, Record, Source, Type, Value};
use teetap_wire::{Code, Dir, Proto, Side};

/// Id of a message in a comparable form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Identity {
    /// A number: control, system and game messages.
    Number(i32),
    /// A UUID: extended messages.
    Uuid([u8; 16]),
    /// No id: connless messages.
    Other,
}

/// The current message, or the datagram without one.
#[derive(Debug, Clone, Copy)]
pub struct Subject<'r> {
    /// Class; never [`Class::Object`]. `None` for a datagram without a readable message.
    pub class: Option<Class>,
    /// Id on the wire.
    pub id: Identity,
    /// Definition from the registry; `None` if it is unknown.
    pub def: Option<&'r Def>,
}

/// A property that a message has or does not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flag {
    /// `vital`: a chunk that is acked and resent.
    Vital,
    /// `resend`: the resend bit of the chunk header.
    Resend,
    /// `compressed`: the packet that contains it is compressed.
    Compressed,
    /// `unknown`: the message has no definition.
    Unknown,
    /// `malformed`: the message has a note with severity error.
    Malformed,
}

/// A number of the packet that contains the message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PacketFact {
    /// `pkt.size`: the length of the datagram in bytes.
    Size,
    /// `pkt.ack`: the ack in the header.
    Ack,
    /// `pkt.chunks`: the number of chunks that the header announces.
    Chunks,
    /// `pkt.seq`: the sequence number of the chunk, as sent. Only vital chunks have one.
    Seq,
    /// `pkt.flags`: the bits of [`Flags`](teetap_wire::Flags).
    Flags,
    /// `pkt.resend`: 1 if the header requests a resend, or 0.
    Resend,
    /// `frame`: the number of the datagram in the recording or run, from 1.
    Frame,
}

/// A number of the session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionFact {
    /// `sess.id`: the number of the session, from 1.
    Id,
    /// `sess.rtt`: the microseconds from the last vital message to the client until its ack.
    Rtt,
}

impl SessionFact {
    /// Returns true if the fact depends on earlier messages of the session.
    pub(super) const fn needs_history(self) -> bool {
        match self {
            Self::Id => false,
            Self::Rtt => true,
        }
    }
}

/// A fact about what teetap did to a message. Only filters can read it, because rules decide before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DoneFact {
    /// `touched`: 1 if a rule, a person or the link acted on the message, or 0.
    Touched,
    /// `action`: a number of [`DoneAction`].
    Action,
    /// `origin`: a number of [`Maker`].
    Origin,
    /// `link.lost`: 1 if link lines lost the datagram and all its duplicates, or 0.
    Lost,
    /// `link.delay`: the microseconds by which link lines delayed the datagram.
    Delay,
    /// `link.corrupted`: 1 if link lines flipped bits of the datagram, or 0.
    Corrupted,
    /// `link.duplicated`: 1 if link lines sent a duplicate of the datagram, or 0.
    Duplicated,
    /// `link.reordered`: 1 if link lines sent the datagram ahead of earlier ones, or 0.
    Reordered,
}

/// The action on a message, `action`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum DoneAction {
    /// Forwarded.
    #[default]
    Pass,
    /// Forwarded with other bytes.
    Edit,
    /// Forwarded with flipped bits.
    Corrupt,
    /// A retransmission, forwarded with the same bytes as before.
    Repeat,
    /// A retransmission that the receiver no longer needs.
    Known,
    /// Ahead of a missing message.
    Gap,
    /// Dropped by a rule.
    Drop,
    /// This transmission is suppressed by a rule.
    Lose,
    /// Held.
    Hold,
    /// Held for a time that a rule gives.
    Delay,
    /// Not accepted, because too many messages are held.
    Refuse,
    /// Made by a rule or a person.
    Inject,
    /// A copy of a message, made by a rule.
    Copy,
    /// Released after it was held.
    Release,
    /// The whole datagram was not forwarded.
    Discard,
}

/// Who made a message, `origin`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Maker {
    /// A peer.
    #[default]
    Peer,
    /// A rule.
    Rule,
    /// A person.
    User,
    /// The proxy.
    Proxy,
}

/// The state of a session, `sess.state`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionState {
    /// The handshake is in progress.
    Opening,
    /// Both legs are connected.
    Online,
    /// A CLOSE was seen.
    Closing,
    /// The session has ended.
    Closed,
}

/// A number of the snapshot that the message completes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SnapFact {
    /// `snap.tick`: the tick of the snapshot.
    Tick,
    /// `snap.crc_ok`: 1 or 0.
    CrcOk,
    /// `snap.parts`: the number of messages in which the snapshot was sent.
    Parts,
}

/// The fields of a message or snapshot item.
#[derive(Debug, Clone, Copy)]
pub struct Fields<'a> {
    /// The definition.
    pub def: &'a Def,
    /// The decoded fields.
    pub decoded: &'a Decoded,
    /// Bytes or ints from which the fields were decoded.
    pub source: Source<'a>,
}

impl<'a> Fields<'a> {
    /// Returns the bytes of text or raw data without a final NUL. Only text that is packed into ints is copied.
    #[must_use]
    pub fn bytes(&self, record: &Record) -> Cow<'a, [u8]> {
        self.def.bytes(record, self.source)
    }

    /// Returns the secret range of [`Self::bytes`], which is everything for a number; `None` if nothing is secret.
    #[must_use]
    pub fn secret(&self, record: &Record) -> Option<Range<usize>> {
        let secret = self.decoded.view().secret(self.def, record, self.source)?;
        if let Source::Bytes(_) = self.source
            && !self.is_packed(record)
        {
            let start = record.at as usize;
            return Some(secret.start.saturating_sub(start)..secret.end.saturating_sub(start));
        }
        // The secret range counts ints, not bytes of the text, so that the whole text is secret.
        Some(0..usize::MAX)
    }

    fn is_packed(&self, record: &Record) -> bool {
        let field = self.def.field(record.field);
        field.is_some_and(|field| matches!(field.ty, Type::Packed(_)))
    }

    /// Returns true if `wanted` returns true for any text of the message.
    pub(super) fn any_text(&self, mut wanted: impl FnMut(&[u8]) -> bool) -> bool {
        let texts = self
            .decoded
            .records()
            .iter()
            .filter(|record| matches!(record.value, Value::Text(_)));
        texts.into_iter().any(|record| wanted(&self.bytes(record)))
    }
}

/// All facts about one message of one session that an expression can use.
pub trait Facts {
    /// Returns the protocol of the session.
    fn proto(&self) -> Proto;

    /// Returns the direction of the message.
    fn dir(&self) -> Dir;

    /// Returns the current message.
    fn subject(&self) -> Subject<'_>;

    /// Returns the bytes of the message, including its id.
    fn data(&self) -> &[u8];

    /// Returns the fields; `None` if the message has no definition.
    fn fields(&self) -> Option<Fields<'_>>;

    /// Returns true if the message has this property.
    fn flag(&self, flag: Flag) -> bool;

    /// Returns true if the message or its packet has a note with this code; without a code, any note with severity
    /// warning or error.
    fn lint(&self, code: Option<Code>) -> bool;

    /// Returns a number of the packet.
    fn packet(&self, fact: PacketFact) -> Option<i64>;

    /// Returns a number of the session.
    fn session(&self, fact: SessionFact) -> Option<i64>;

    /// Returns the state of the session.
    fn state(&self) -> SessionState;

    /// Returns a fact about what teetap did to the message; `None` if it is not known, as while rules decide.
    fn done(&self, _fact: DoneFact) -> Option<i64> {
        None
    }

    /// Returns true if a rule gave the message this mark; without a name, any mark.
    fn mark(&self, _name: Option<&str>) -> bool {
        false
    }

    /// Returns true if a rule that acted on the message has a `wanted` name; `None` if no rule acted on it.
    fn any_rule(&self, _wanted: &mut dyn FnMut(&[u8]) -> bool) -> Option<bool> {
        None
    }

    /// Returns the leg of a control message; `None` for other messages, and for a message that was sent from leg to
    /// leg.
    fn leg(&self) -> Option<Side> {
        None
    }

    /// Returns the address of the client; `None` if it is unknown.
    fn client(&self) -> Option<SocketAddr> {
        None
    }

    /// Returns the name of the player; `None` until it is known.
    fn player(&self) -> Option<&[u8]>;

    /// Returns the microseconds since the session began.
    fn time(&self) -> u64;

    /// Returns the number in a variable of rules; `None` until it is set.
    fn variable(&self, _at: u16) -> Option<i64> {
        None
    }

    /// Calls `read` with the text in a variable of rules, if it is set.
    fn variable_text(&self, _at: u16, _read: &mut dyn FnMut(&[u8])) {}

    /// Returns true if the expression has already seen another copy of the message. Copies are not counted again.
    fn repeated(&self) -> bool {
        false
    }

    /// Returns a number of the snapshot that the message completes; `None` if it completes none.
    fn snap(&self, _fact: SnapFact) -> Option<i64> {
        None
    }

    /// Calls `each` with the id and fields of items in the snapshot that the message completes: items of the type
    /// `object`, or only the one with `id`. Stops when `each` breaks.
    fn items(
        &self,
        _object: &Id,
        _id: Option<u16>,
        _each: &mut dyn FnMut(u16, &Fields<'_>) -> ControlFlow<()>,
    ) {
    }
}

/// Fields of one message, decoded at first use.
pub struct Lazy<'a> {
    def: Option<&'a Def>,
    data: &'a [u8],
    body: usize,
    spare: Cell<Decoded>,
    decoded: OnceCell<Decoded>,
}

impl<'a> Lazy<'a> {
    /// Creates the fields of the message in `data`, whose id has `body` bytes. Reuses `buffer`, so that nothing is
    /// allocated.
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

    /// Returns the fields, and decodes them at the first call; `None` without a definition.
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

    /// Returns the buffer for the next message.
    #[must_use]
    pub fn into_buffer(self) -> Decoded {
        self.decoded
            .into_inner()
            .unwrap_or_else(|| self.spare.into_inner())
    }
}
