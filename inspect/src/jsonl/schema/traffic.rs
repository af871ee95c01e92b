//! Sessions, datagrams and their messages.

use std::{borrow::Cow, net::SocketAddr, time::Duration};

use super::handling::{MadeBody, PlacedBody, TransitBody, transits};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use teetap_proxy::{
    io::input_log::Hex,
    session::{Datagram, EventKind, Origin, SessionChange, State},
    words::{self, Word},
};
use teetap_wire::{Code, Dir, Note, Notes, Proto, RangeOf, Side};

use crate::Values;

/// A state change of a session. `R` is the form of the reason: text in lines, hex in captures.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SessionBody<R> {
    state: Word<State>,
    proto: Word<Proto>,
    client: SocketAddr,
    /// The server after a redirect; absent if it is still the server of the `start` line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    server: Option<SocketAddr>,
    upstream: Option<SocketAddr>,
    /// The side that ended the session; null if the proxy did.
    by: Option<Word<Side>>,
    reason: Option<R>,
    /// Name of the player, if known. Only in lines.
    #[serde(default)]
    name: Option<String>,
}

impl<R> SessionBody<R> {
    /// Returns the fields of a state change; `form` converts the reason.
    pub fn new(change: &SessionChange, name: Option<String>, form: impl FnOnce(&[u8]) -> R) -> Self {
        let SessionChange {
            state,
            proto,
            client,
            server,
            upstream,
            by,
            reason,
        } = change;
        Self {
            state: Word(*state),
            proto: Word(*proto),
            client: *client,
            server: *server,
            upstream: *upstream,
            by: by.map(Word),
            reason: reason.as_deref().map(form),
            name,
        }
    }

    /// Returns the state change; `form` converts the reason.
    pub fn change(self, form: impl FnOnce(R) -> Box<[u8]>) -> EventKind {
        EventKind::Session(SessionChange {
            state: self.state.0,
            proto: self.proto.0,
            client: self.client,
            server: self.server,
            upstream: self.upstream,
            by: self.by.map(|side| side.0),
            reason: self.reason.map(form),
        })
    }
}

/// One message.
#[derive(Serialize, Deserialize)]
pub(in crate::jsonl) struct MessageBody<'a> {
    pub(in crate::jsonl) dir: Word<Dir>,
    /// Null outside a connection.
    pub(in crate::jsonl) proto: Option<Word<Proto>>,
    /// `control`, `system`, `game` or `connless`; null if the id cannot be read.
    pub(in crate::jsonl) layer: Option<Cow<'a, str>>,
    pub(in crate::jsonl) id: Option<i32>,
    pub(in crate::jsonl) uuid: Option<Cow<'a, str>>,
    pub(in crate::jsonl) name: Option<Cow<'a, str>>,
    pub(in crate::jsonl) vital: bool,
    pub(in crate::jsonl) resend: bool,
    /// Sequence number given by the sender.
    pub(in crate::jsonl) seq: Option<u16>,
    /// Sequence number with which the message was forwarded; null if it was not forwarded or is not vital.
    pub(in crate::jsonl) seq_out: Option<u16>,
    /// Ordinal of the datagram in the session and direction; null if no peer sent it.
    pub(in crate::jsonl) datagram: Option<u64>,
    /// Number of the datagram in the capture; missing for other inputs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::jsonl) frame: Option<u64>,
    /// Size of the id and fields, in bytes.
    pub(in crate::jsonl) size: usize,
    /// Decoded fields; null if they are not decoded.
    pub(in crate::jsonl) fields: Option<Box<RawValue>>,
    /// Scales of the fields: the value of a field is its number divided by its scale. Missing if no field is scaled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::jsonl) scale: Option<Box<RawValue>>,
    pub(in crate::jsonl) notes: Vec<NoteBody>,
    /// The snapshot completed by this message; its items with `-v`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::jsonl) snap: Option<Box<RawValue>>,
    pub(in crate::jsonl) actions: Vec<ActionBody<'a>>,
    pub(in crate::jsonl) origin: Word<Origin>,
    /// The leg of a message between the proxy and one peer; null for other messages.
    pub(in crate::jsonl) leg: Option<Word<Side>>,
    /// Effects of link lines on the datagram; missing if there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(in crate::jsonl) link: Vec<TransitBody>,
    /// The message as its receiver got it; missing if it got the same bytes or none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::jsonl) sent: Option<AfterBody>,
    /// Delay of the message by a rule; missing if it is not delayed.
    #[serde(default, skip_serializing_if = "Duration::is_zero", with = "words::seconds")]
    pub(in crate::jsonl) delay_s: Duration,
    /// Time for which the message was held; missing if it was not held.
    #[serde(default, skip_serializing_if = "Duration::is_zero", with = "words::seconds")]
    pub(in crate::jsonl) waited_s: Duration,
    /// Address of the client, for a message outside a connection.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::jsonl) client: Option<SocketAddr>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::jsonl) hex: Option<Hex>,
    /// The datagrams sent at once, for a message outside a connection.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::jsonl) hex_out: Option<Vec<Hex>>,
    /// The decision of the rules about a message outside a connection, with `-vv`; missing if no rule acted on it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::jsonl) placed: Option<Box<PlacedBody>>,
    /// The record of a message outside a connection that a rule sent later, or again, with `-vv`; missing for other
    /// messages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::jsonl) made: Option<Box<MadeBody>>,
}

/// A message as its receiver got it.
#[derive(Serialize, Deserialize)]
pub(in crate::jsonl) struct AfterBody {
    /// Null if the id is unknown.
    pub(in crate::jsonl) name: Option<String>,
    /// Size of the id and fields, in bytes.
    pub(in crate::jsonl) size: usize,
    /// Decoded fields; null if the id is unknown, or if a secret could be in them.
    pub(in crate::jsonl) fields: Option<Box<RawValue>>,
    /// Notes that the received message does not have.
    pub(in crate::jsonl) notes: Vec<NoteBody>,
    /// Flipped bits, counted from the lowest bit of the first byte of the message; missing if there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(in crate::jsonl) bits: Vec<usize>,
    /// The bytes. Only with `-vv`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::jsonl) hex: Option<Hex>,
}

/// Identifies the datagram of a message.
#[derive(Deserialize)]
pub(in crate::jsonl) struct ParentBody {
    pub(in crate::jsonl) dir: Word<Dir>,
    pub(in crate::jsonl) datagram: Option<u64>,
}

/// A note on a datagram or a message.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in crate::jsonl) struct NoteBody {
    pub(in crate::jsonl) code: Cow<'static, str>,
    pub(in crate::jsonl) at: usize,
    pub(in crate::jsonl) len: usize,
    /// `error`, `warning` or `info`. Only in lines, like the next two fields, because the code implies them.
    #[serde(default, skip_serializing_if = "str::is_empty")]
    severity: Cow<'static, str>,
    /// The bytes to which the range refers: `datagram`, `payload` (inflated) or `message`.
    #[serde(default, skip_serializing_if = "str::is_empty")]
    place: Cow<'static, str>,
    #[serde(default, skip_serializing_if = "str::is_empty")]
    text: Cow<'static, str>,
    /// The received and expected values, and what else is known; likely causes for an invalid snapshot. Only in lines,
    /// like the next two fields, which are parts of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    detail: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    got: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    expected: Option<String>,
    /// `proxy` for a note on a message as sent, which a rule or the link changed. Only in lines, like the next field.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    side: Option<Cow<'static, str>>,
    /// Name of the rule that changed the message; missing if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    rule: Option<String>,
}

impl NoteBody {
    /// Returns a note with the meaning of its code.
    pub(in crate::jsonl) fn explained(note: &Note, values: Option<&Values>) -> Self {
        let place = match note.code.place() {
            RangeOf::Datagram => "datagram",
            RangeOf::Payload => "payload",
            RangeOf::Message => "message",
        };
        Self {
            severity: note.code.severity().name().into(),
            place: place.into(),
            text: note.code.text().into(),
            detail: values.map(ToString::to_string),
            got: values.and_then(Values::got).map(ToOwned::to_owned),
            expected: values.and_then(Values::expected).map(ToOwned::to_owned),
            ..Self::plain(note)
        }
    }

    /// Returns the note as caused by the proxy, with the name of the rule if one caused it.
    pub(in crate::jsonl) fn of_proxy(self, rule: Option<String>) -> Self {
        Self {
            side: Some("proxy".into()),
            rule,
            ..self
        }
    }

    fn plain(note: &Note) -> Self {
        Self {
            code: note.code.name().into(),
            at: note.at,
            len: note.len,
            severity: Cow::default(),
            place: Cow::default(),
            text: Cow::default(),
            detail: None,
            got: None,
            expected: None,
            side: None,
            rule: None,
        }
    }

    /// Returns the note; `None` if the code is of a later version.
    fn note(&self) -> Option<Note> {
        let code = Code::ALL.iter().find(|code| code.name() == self.code)?;
        Some(Note {
            code: *code,
            at: self.at,
            len: self.len,
        })
    }
}

/// An action on a message.
#[derive(Serialize, Deserialize)]
pub(in crate::jsonl) struct ActionBody<'a> {
    /// Name of the rule; null if no rule acted.
    pub(in crate::jsonl) rule: Option<Cow<'a, str>>,
    pub(in crate::jsonl) action: Cow<'a, str>,
    /// Text of the mark; missing for other actions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::jsonl) mark: Option<Cow<'a, str>>,
}

/// A datagram.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct DatagramBody {
    dir: Word<Dir>,
    proto: Word<Proto>,
    /// Ordinal in the session and direction; null if no peer sent it.
    ordinal: Option<u64>,
    origin: Word<Origin>,
    #[serde(default)]
    leg: Option<Word<Side>>,
    /// Never missing in lines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::jsonl) notes: Option<Vec<NoteBody>>,
    /// The action on each message, with its bytes; missing if all messages were forwarded unchanged.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(in crate::jsonl) placed: Vec<PlacedBody>,
    /// The messages that the proxy sent by itself; missing if there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(in crate::jsonl) made: Vec<MadeBody>,
    /// Effects of link lines on the sent datagrams; missing if there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    link: Vec<TransitBody>,
    /// Only in lines.
    #[serde(flatten)]
    pub(in crate::jsonl) header: Option<HeaderBody>,
    /// The bytes as received. Only in lines, with `-vv`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::jsonl) hex: Option<Hex>,
    /// Each datagram that was sent. Only in lines, with `-vv`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::jsonl) hex_out: Option<Vec<Hex>>,
    /// True if the datagram was received, and the number of datagrams sent: the packets that follow in a capture.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    packets: Option<(bool, usize)>,
}

/// Fields derived from the bytes of a datagram.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in crate::jsonl) struct HeaderBody {
    /// Number in the capture; missing for other inputs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::jsonl) frame: Option<u64>,
    /// Size as received, in bytes; null if no peer sent it.
    pub(in crate::jsonl) size: Option<usize>,
    /// Size of each sent datagram, in bytes.
    pub(in crate::jsonl) sizes_out: Vec<usize>,
    /// Any of `control`, `resend` and `compression`.
    pub(in crate::jsonl) flags: Vec<Cow<'static, str>>,
    pub(in crate::jsonl) ack: Option<u16>,
    pub(in crate::jsonl) ack_out: Option<u16>,
    pub(in crate::jsonl) chunks: u8,
    pub(in crate::jsonl) token_ok: bool,
    /// The reason why the bytes cannot be read; null if they can.
    pub(in crate::jsonl) error: Option<Cow<'static, str>>,
    /// The reason why the receiver cannot read the bytes, some of whose bits the link flipped; missing if it can.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::jsonl) error_out: Option<Cow<'static, str>>,
}

impl DatagramBody {
    /// Returns the fields that cannot be derived from the bytes.
    pub(in crate::jsonl) fn new(datagram: &Datagram) -> Self {
        Self {
            dir: Word(datagram.dir),
            proto: Word(datagram.proto),
            ordinal: Some(datagram.ordinal).filter(|ordinal| *ordinal > 0),
            origin: Word(datagram.origin),
            leg: datagram.leg.map(Word),
            notes: None,
            placed: Vec::new(),
            made: Vec::new(),
            link: transits(&datagram.link),
            header: None,
            hex: None,
            hex_out: None,
            packets: None,
        }
    }

    /// Returns the fields for a capture, in which the packets of the datagram follow.
    #[must_use]
    pub fn with_packets(datagram: &Datagram) -> Self {
        let notes: Vec<_> = datagram.notes.iter().map(|note| NoteBody::plain(&note)).collect();
        Self {
            notes: Some(notes).filter(|notes| !notes.is_empty()),
            placed: datagram.placed.iter().map(PlacedBody::new).collect(),
            made: datagram.made.iter().map(MadeBody::new).collect(),
            packets: Some((datagram.received().is_some(), datagram.sent().count())),
            ..Self::new(datagram)
        }
    }

    /// Returns the number of packets that follow in a capture.
    #[must_use]
    pub fn packets(&self) -> usize {
        let (received, sent) = self.packets.unwrap_or_default();
        usize::from(received).saturating_add(sent)
    }

    /// Returns the datagram with the bytes in its line.
    pub(in crate::jsonl) fn datagram(&self) -> EventKind {
        let received: &[u8] = self.hex.as_ref().map_or(&[], |hex| &hex.0);
        let sent = self.hex_out.as_deref().unwrap_or_default();
        self.with_bytes(received, sent.iter().map(|hex| &*hex.0))
    }

    /// Returns the datagram with the bytes of its packets; `None` if the packet counts or the received packet is
    /// missing.
    #[must_use]
    pub fn with_bytes_of(&self, packets: &[Box<[u8]>]) -> Option<EventKind> {
        let (was_received, _) = self.packets?;
        let (received, sent) = packets.split_at_checked(usize::from(was_received))?;
        let received: &[u8] = received.first().map_or(&[], |bytes| bytes);
        Some(self.with_bytes(received, sent.iter().map(|bytes| &**bytes)))
    }

    fn with_bytes<'b>(&self, received: &'b [u8], sent: impl Iterator<Item = &'b [u8]> + Clone) -> EventKind {
        let mut datagram = Datagram::new(self.dir.0, self.proto.0, self.origin.0, received, sent);
        datagram.leg = self.leg.map(|side| side.0);
        datagram.ordinal = self.ordinal.unwrap_or_default();
        datagram.ends.frame = self.header.as_ref().and_then(|header| header.frame);
        datagram.placed = self.placed.iter().map(PlacedBody::placed).collect();
        datagram.made = self.made.iter().map(MadeBody::made).collect();
        datagram.link = self.link.iter().map(TransitBody::transit).collect();
        let mut notes = Notes::new();
        let known = self.notes.iter().flatten().filter_map(NoteBody::note);
        known.for_each(|note| notes.push(note));
        datagram.notes = notes;
        EventKind::Datagram(datagram)
    }
}
