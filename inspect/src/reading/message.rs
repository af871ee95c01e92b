//! A message of a reading.
//!
//! Law: typed. Text, JSON and trees are made of it when they are shown, by [`Reading`], which has the bytes.

use std::{borrow::Cow, ops::Range, sync::Arc};

use teetap_proxy::session::{Action, Datagram, Origin};
use teetap_rules::context::Players;
use teetap_wire::{
    Code, MessageId, Note, Seq, Severity, connless,
    def::{Def, Records, Row, Secrets, Source},
    message, printable,
    snap::{Completed, Diagnosis, Retained},
};

use super::Reading;
use crate::{Style, gist, snapshot::ItemBytes};

/// The kind of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layer {
    /// Handshake, keepalive, close.
    Control,
    /// A system message, of the engine.
    System,
    /// A game message.
    Game,
    /// Outside a connection.
    Connless,
    /// A chunk whose id cannot be read.
    Unreadable,
}

/// A message. [`Reading`] shows it.
#[derive(Clone, Debug)]
pub struct Message {
    /// The layer that the message belongs to.
    pub layer: Layer,
    /// The id; `None` when it cannot be read.
    pub id: Option<i32>,
    /// The id of an extended message.
    pub uuid: Option<[u8; 16]>,
    /// The definition of its fields; `None` when its id is not known. An unknown UUID has the definition of its envelope.
    pub def: Option<&'static Def>,
    /// The name; `None` when its id or UUID is not known.
    pub name: Option<&'static str>,
    /// Vital: resent until acked.
    pub vital: bool,
    /// Marked as a resend.
    pub resend: bool,
    /// Sequence number given by its sender.
    pub seq: Option<Seq>,
    /// Sequence number under which it left.
    pub seq_out: Option<Seq>,
    /// The sequence number that was expected of a message ahead of a missing one.
    pub expected_seq: Option<Seq>,
    /// The peer, rule, person or proxy that made it.
    pub origin: Origin,
    /// The decision about it.
    pub done: Done,
    /// The names of the rules that touched it, as far as they are known.
    pub rules: Vec<Arc<str>>,
    /// The marks that rules gave it.
    pub marks: Box<[Arc<str>]>,
    /// First byte of its data in the inflated payload of its packet, or in its datagram if it is connless.
    pub at: usize,
    /// The notes of the message.
    pub notes: Vec<Note>,
    /// The receiver has shown that it is of DDNet.
    pub(crate) for_ddnet: bool,
    /// The message passes the filter.
    pub shown: bool,
    /// A filter that it passes reads notes: harmless ones, and those of its datagram, stand on its line too.
    pub reads_notes: bool,
    /// The subscriptions whose filters it passes, a bit for each.
    pub(crate) subscribers: u64,
    /// The fields are decoded: the message is shown, or another watcher shows everything.
    pub(crate) decoded: bool,
    /// The range of its data in the bytes of the reading.
    pub(crate) data: Range<usize>,
    /// The range of its fields in the records of the reading.
    pub(crate) records: Range<usize>,
    /// The players of its session when it came; `None` where its gist shows none.
    pub(crate) players: Option<Arc<Players>>,
    /// The snapshot completed by it.
    pub(crate) snapshot: Option<Box<Retained<'static>>>,
    /// The same with its changes since the snapshot before it; `None` where these are not followed.
    pub(crate) since: Option<Box<Retained<'static>>>,
    /// The reasons why its snapshot is wrong; `None` unless it is and the message is shown.
    pub(crate) diagnosis: Option<Box<Diagnosis>>,
    /// The sizes of its items, by their types.
    pub(crate) items: Box<[ItemBytes]>,
}

/// The outcome of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Done {
    /// The core decided about this message.
    Placed(Action),
    /// The whole datagram was not sent on.
    Discarded,
    /// The whole datagram was refused: its note says why its receiver would drop it.
    Refused,
    /// The message is between the proxy and one peer, and goes no further.
    Ended,
}

impl Done {
    /// Returns the outcome of a message that the core did not decide about.
    pub(crate) fn whole(datagram: &Datagram) -> Self {
        let is_error = |note: Note| note.code.severity() == Severity::Error;
        match (datagram.leg, datagram.sent().next()) {
            (Some(_), None) if datagram.notes.iter().any(is_error) => Self::Refused,
            (Some(_), _) => Self::Ended,
            (None, None) => Self::Discarded,
            (None, Some(_)) => Self::Placed(Action::Pass),
        }
    }

    /// Returns the word shown for it; `None` when it was passed on or ended here.
    #[must_use]
    pub fn word(self) -> Option<String> {
        match self {
            Self::Placed(Action::Pass) | Self::Ended => None,
            Self::Placed(action) => Some(action.to_string()),
            Self::Discarded => Some("discard".to_owned()),
            Self::Refused => Some("refused".to_owned()),
        }
    }
}

impl Message {
    /// Returns the number of bytes of memory that it holds, the snapshot included.
    pub(super) fn held(&self) -> usize {
        // The snapshot before it has an event of its own.
        let snapshot = self.snapshot.as_ref();
        self.notes.capacity() * size_of::<Note>()
            + size_of_val(&*self.items)
            + self.diagnosis.as_ref().map_or(0, |diagnosis| diagnosis.held())
            + snapshot.map_or(0, |snapshot| size_of::<Retained<'_>>() + snapshot.held())
    }

    /// A message of a peer that is passed on, not decoded.
    pub(crate) fn new(layer: Layer, def: Option<&'static Def>) -> Self {
        Self {
            layer,
            id: None,
            uuid: None,
            def,
            name: def.map(|def| &*def.name),
            vital: false,
            resend: false,
            seq: None,
            seq_out: None,
            expected_seq: None,
            origin: Origin::Peer,
            done: Done::Placed(Action::Pass),
            rules: Vec::new(),
            marks: Box::default(),
            at: 0,
            notes: Vec::new(),
            shown: false,
            for_ddnet: false,
            reads_notes: false,
            subscribers: 0,
            decoded: false,
            data: 0..0,
            records: 0..0,
            players: None,
            snapshot: None,
            since: None,
            diagnosis: None,
            items: Box::default(),
        }
    }

    /// Returns the snapshot completed by it; `None` where snapshots are not followed.
    #[must_use]
    pub fn snapshot(&self) -> Option<Completed<'_>> {
        self.snapshot.as_deref().map(Retained::view)
    }

    /// Returns the snapshot completed by it, with the changes that a style shows: since the snapshot before it, or to its base.
    #[must_use]
    pub fn changes(&self, style: Style) -> Option<Completed<'_>> {
        let since = self.since.as_deref().filter(|_| style.since);
        since.map(Retained::view).or_else(|| self.snapshot())
    }

    /// Returns the reasons for a note about its snapshot, as far as they are known.
    #[must_use]
    pub fn diagnosis(&self, code: Code) -> Option<&Diagnosis> {
        let codes = [
            Code::SnapBadCrc,
            Code::SnapTruncated,
            Code::SnapBadItem,
            Code::SnapItemResized,
            Code::SnapTooLarge,
        ];
        self.diagnosis.as_deref().filter(|_| codes.contains(&code))
    }

    /// Returns the sizes of the items in the snapshot completed by it, by their types; none unless they are measured.
    #[must_use]
    pub fn items(&self) -> &[ItemBytes] {
        &self.items
    }

    /// Returns the word shown for its outcome, with the rules that touched it: "hold (slow)". `None` when it was passed on
    /// without a rule, or ended here.
    #[must_use]
    pub fn outcome(&self) -> Option<String> {
        let word = match (self.done.word(), self.expected_seq) {
            (Some(word), Some(seq)) => Some(format!("{word}: expected number {}", seq.get())),
            (word, _) => word,
        };
        if self.rules.is_empty() {
            return word;
        }
        let names: Vec<Cow<'_, str>> = self.rules.iter().map(|name| shortened(name)).collect();
        let word = word.unwrap_or_else(|| Action::Pass.to_string());
        Some(format!("{word} ({})", names.join("; ")))
    }

    /// Returns its place in the inflated payload of its packet, or in its datagram if it is connless.
    #[must_use]
    pub fn range(&self) -> Range<usize> {
        self.at..self.at + self.data.len()
    }

    /// Returns the name, or the id as text.
    pub(crate) fn label(&self, data: &[u8]) -> Cow<'static, str> {
        let layer = match (self.name, self.layer) {
            (Some(name), _) => return name.into(),
            (None, Layer::Control) => return format!("control.{}", self.id.unwrap_or_default()).into(),
            (None, Layer::Unreadable) => return "unreadable".into(),
            (None, Layer::Connless) if self.at == 0 => return "connless.raw".into(),
            (None, Layer::Connless) => return connless::tag(data).into(),
            (None, Layer::System) => message::Layer::System,
            (None, Layer::Game) => message::Layer::Game,
        };
        let (id, uuid) = (self.id.unwrap_or_default(), self.uuid);
        MessageId { layer, id, uuid }.to_string().into()
    }
}

/// The maximum length of the name of a rule on a line, in characters: one without a name is called by its text.
const MAX_NAME: usize = 40;

fn shortened(name: &str) -> Cow<'_, str> {
    match name.char_indices().nth(MAX_NAME) {
        None => name.into(),
        Some((end, _)) => format!("{}…", name.get(..end).unwrap_or_default()).into(),
    }
}

/// Views of messages, made on demand.
impl Reading {
    /// Returns id and fields of a message, without the chunk header.
    #[must_use]
    pub fn data(&self, message: &Message) -> &[u8] {
        self.bytes.get(message.data.clone()).unwrap_or_default()
    }

    /// Returns the decoded fields of a message; none unless it is shown.
    #[must_use]
    pub fn records(&self, message: &Message) -> Records<'_> {
        Records::new(self.records.get(message.records.clone()).unwrap_or_default())
    }

    /// Returns a number of a message by the name of its field; `None` if it has no such field, or its fields are not decoded.
    #[must_use]
    pub fn int(&self, message: &Message, field: &str) -> Option<i64> {
        let path = message.def?.path(field).ok()?;
        self.records(message).find(&path)?.int()
    }

    /// Returns a text of a message by the name of its field, without control characters.
    #[must_use]
    pub fn text(&self, message: &Message, field: &str) -> Option<String> {
        let def = message.def?;
        let record = self.records(message).find(&def.path(field).ok()?)?;
        Some(printable(&def.bytes(record, Source::Bytes(self.data(message)))))
    }

    /// Returns the name of a message, or its id as text.
    #[must_use]
    pub fn label(&self, message: &Message) -> Cow<'static, str> {
        message.label(self.data(message))
    }

    /// Returns a message in one line; empty when its id is not known. A message that completes a snapshot shows the
    /// snapshot instead of its fields.
    #[must_use]
    pub fn gist(&self, message: &Message, secrets: Secrets) -> String {
        if let Some(snapshot) = message.snapshot() {
            return snapshot.to_string();
        }
        let Some(def) = message.def.filter(|_| message.decoded) else {
            return String::new();
        };
        let source = Source::Bytes(self.data(message));
        gist::line(
            self.records(message),
            def,
            source,
            secrets,
            message.players.as_deref(),
        )
    }

    /// Returns the fields of a message as a JSON object; `None` when its id is not known.
    #[must_use]
    pub fn json(&self, message: &Message, secrets: Secrets) -> Option<String> {
        let def = message.def.filter(|_| message.decoded)?;
        let mut out = String::new();
        let source = Source::Bytes(self.data(message));
        self.records(message).json(def, source, secrets, &mut out);
        Some(out)
    }

    /// Returns the scales of its fields as a JSON object; `None` if no field is scaled, or nothing is decoded.
    #[must_use]
    pub fn scales_json(&self, message: &Message) -> Option<String> {
        let def = message.def.filter(|_| message.decoded)?;
        self.records(message).scales_json(def)
    }

    /// Returns the fields of a message as the lines of a tree with byte ranges; none when its id is not known.
    pub fn tree<'r>(&'r self, message: &Message, secrets: Secrets) -> impl Iterator<Item = Row<'r>> + 'r {
        let records = self.records(message);
        let source = Source::Bytes(self.data(message));
        let def = message.def.filter(|_| message.decoded);
        def.into_iter()
            .flat_map(move |def| records.rows(def, source, secrets))
    }
}
