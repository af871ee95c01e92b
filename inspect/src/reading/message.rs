//! A message of a reading.
//!
//! Law: a message contains typed data, not text. [`Reading`], which has the bytes, renders it as text, JSON or a tree
//! on demand.

use std::{borrow::Cow, ops::Range, sync::Arc, time::Duration};

use teetap_proxy::session::{Action, Datagram, MadeHow, Origin};
use teetap_rules::context::Players;
use teetap_wire::{
    Code, MessageId, Note, Seq, Severity, connless,
    def::{Def, Records, Secrets, Source, TreeRow},
    message, printable,
    snap::{Completed, Diagnosis, Retained},
};

use super::Reading;
use crate::{
    Style,
    after::{After, Before},
    gist,
    snapshot::ItemBytes,
};

/// The kind of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layer {
    /// Handshake, keepalive or close.
    Control,
    /// A system message of the engine.
    System,
    /// A game message.
    Game,
    /// A message outside a connection.
    Connless,
    /// A chunk whose id cannot be read.
    Unreadable,
}

/// A message. [`Reading`] has its bytes and renders it.
#[derive(Clone, Debug)]
pub struct Message {
    /// The layer that the message belongs to.
    pub layer: Layer,
    /// The id; `None` if it cannot be read.
    pub id: Option<i32>,
    /// The UUID of an extended message.
    pub uuid: Option<[u8; 16]>,
    /// The definition of the fields; `None` if the id is unknown. An unknown UUID has the definition of its envelope.
    pub def: Option<&'static Def>,
    /// The name; `None` if the id or UUID is unknown.
    pub name: Option<&'static str>,
    /// The header of the chunk, as sent by the peer and by the proxy.
    pub transport: Transport,
    /// The decision of the core about the message.
    pub handling: Handling,
    /// The watchers that show the message.
    pub visibility: Visibility,
    /// The ranges of the message in the bytes and records of the reading.
    pub ranges: Ranges,
    /// The notes of the message.
    pub notes: Vec<Note>,
    /// True if the receiver is known to be DDNet.
    pub(crate) for_ddnet: bool,
    /// The players of the session when the message was received; `None` if its gist names no players.
    pub(crate) players: Option<Arc<Players>>,
    /// The snapshot completed by the message.
    pub completed: CompletedSnapshot,
    /// The message as its receiver got it; `None` if it got the same bytes or none, or if the message is not decoded.
    pub after: Option<Arc<After>>,
}

/// The vital flags and sequence numbers of a message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Transport {
    /// True for a vital message, which is resent until acked.
    pub vital: bool,
    /// True if the chunk has the resend flag.
    pub resend: bool,
    /// Sequence number given by the sender; `None` if the message is not vital or no peer sent it.
    pub seq: Option<Seq>,
    /// Sequence number under which the message was sent.
    pub seq_out: Option<Seq>,
    /// The expected sequence number, for a message that is ahead of it.
    pub expected_seq: Option<Seq>,
}

/// The decision of the core about a message.
#[derive(Clone, Debug)]
pub struct Handling {
    /// The origin of the message: a peer, a rule, the user or the proxy.
    pub origin: Origin,
    /// The outcome of the message.
    pub done: MessageOutcome,
    /// Names of the rules that acted on the message, as far as they are known.
    pub rules: Vec<Arc<str>>,
    /// Marks that rules set on the message.
    pub marks: Box<[Arc<str>]>,
    /// Why the proxy sent the message by itself, and the time for which it held the message; `None` for a message of a
    /// peer, or if unknown.
    pub made: Option<(MadeHow, Duration)>,
    /// The time for which a rule delays the message; `None` if it is not delayed.
    pub delay: Option<Duration>,
}

impl Default for Handling {
    /// Returns the handling of a message of a peer that is forwarded.
    fn default() -> Self {
        Self {
            origin: Origin::Peer,
            done: MessageOutcome::Placed(Action::Pass),
            rules: Vec::new(),
            marks: Box::default(),
            made: None,
            delay: None,
        }
    }
}

/// The watchers that show a message.
#[derive(Clone, Copy, Debug, Default)]
pub struct Visibility {
    /// True if the message passes the filter.
    pub shown: bool,
    /// True if the message passes a filter that tests notes. The line of the message then also shows harmless notes,
    /// and the notes of its datagram.
    pub reads_notes: bool,
    /// Bitmask of the subscriptions whose filters the message passes.
    pub(crate) subscribers: u64,
    /// True if the fields are decoded, because a watcher shows the message.
    pub(crate) decoded: bool,
}

impl Visibility {
    /// Returns true if the run or a subscriber wants the message.
    pub(crate) const fn is_wanted(&self) -> bool {
        self.shown || self.subscribers != 0
    }
}

/// The ranges of a message in a reading.
#[derive(Clone, Debug, Default)]
pub struct Ranges {
    /// Offset of the data in the inflated payload of the packet, or in the datagram if the message is connless.
    pub at: usize,
    /// Range of the data in the bytes of the reading.
    pub(crate) data: Range<usize>,
    /// Range of the fields in the records of the reading.
    pub(crate) records: Range<usize>,
}

impl Ranges {
    /// Returns the range of the data in the inflated payload of the packet, or in the datagram if the message is
    /// connless.
    #[must_use]
    pub fn range(&self) -> Range<usize> {
        self.at..self.at + self.data.len()
    }
}

/// The snapshot completed by a message; empty if the message completes none, or snapshots are not followed.
#[derive(Clone, Debug, Default)]
pub struct CompletedSnapshot {
    /// The snapshot.
    pub(crate) snapshot: Option<Box<Retained<'static>>>,
    /// The same snapshot with the changes since the previous snapshot; `None` if those changes are not followed.
    pub(crate) since: Option<Box<Retained<'static>>>,
    /// The cause of an invalid snapshot; `None` unless the snapshot is invalid and the message is shown.
    pub(crate) diagnosis: Option<Box<Diagnosis>>,
    /// Sizes of the snapshot's items by type; empty unless measured.
    pub(crate) items: Box<[ItemBytes]>,
    /// The error of the snapshot as the receiver gets it, if the received snapshot is valid.
    pub(crate) error_as_sent: Option<Code>,
}

impl CompletedSnapshot {
    /// Returns the snapshot; `None` if the message completes none, or snapshots are not followed.
    #[must_use]
    pub fn view(&self) -> Option<Completed<'_>> {
        self.snapshot.as_deref().map(Retained::view)
    }

    /// Returns the completed snapshot with the changes that a style shows: since the previous snapshot, or relative to
    /// its delta base.
    #[must_use]
    pub(crate) fn changes(&self, style: Style) -> Option<Completed<'_>> {
        let since = self.since.as_deref().filter(|_| style.since);
        since.map(Retained::view).or_else(|| self.view())
    }

    /// Returns the text of the snapshot, which may be compared with its base or with the previous snapshot. If only the
    /// snapshot as sent is invalid, the text says so: `crc ok → wrong`.
    #[must_use]
    pub fn text(&self, snapshot: &Completed<'_>) -> String {
        let text = snapshot.to_string();
        match (self.error_as_sent, text.strip_suffix("crc ok")) {
            (None, _) => text,
            (Some(Code::SnapBadCrc), Some(_)) => text + " → wrong",
            (Some(Code::SnapBadCrc), None) => text + ", as sent crc wrong",
            (Some(_), _) => text + ", as sent broken",
        }
    }

    /// Returns the diagnosis behind a note about the snapshot; `None` for other notes, or if the cause is unknown.
    #[must_use]
    pub fn diagnosis(&self, code: Code) -> Option<&Diagnosis> {
        let codes = [
            Code::SnapBadCrc,
            Code::SnapNoBase,
            Code::UnexpectedBytes,
            Code::SnapTruncated,
            Code::SnapBadItem,
            Code::SnapItemResized,
            Code::SnapTooLarge,
        ];
        self.diagnosis.as_deref().filter(|_| codes.contains(&code))
    }

    /// Returns the sizes of the snapshot's items by type; empty unless measured.
    #[must_use]
    pub(crate) fn items(&self) -> &[ItemBytes] {
        &self.items
    }

    /// Returns the memory held by the snapshot, in bytes.
    fn held(&self) -> usize {
        // The event of the previous snapshot counts the memory of that snapshot.
        let snapshot = self.snapshot.as_ref();
        size_of_val(&*self.items)
            + self.diagnosis.as_ref().map_or(0, |diagnosis| diagnosis.held())
            + snapshot.map_or(0, |snapshot| size_of::<Retained<'_>>() + snapshot.held())
    }
}

/// The outcome of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessageOutcome {
    /// The core decided about this message separately.
    Placed(Action),
    /// The whole datagram was not forwarded.
    Discarded,
    /// The whole datagram was refused: a note says why its receiver would drop it.
    Refused,
    /// The message is between the proxy and one peer and is not forwarded.
    Ended,
}

impl MessageOutcome {
    /// Returns the outcome of a message about which the core did not decide separately.
    pub(crate) fn whole(datagram: &Datagram) -> Self {
        let is_error = |note: Note| note.code.severity() == Severity::Error;
        match (datagram.leg, datagram.sent().next()) {
            (Some(_), None) if datagram.notes.iter().any(is_error) => Self::Refused,
            (Some(_), _) => Self::Ended,
            (None, None) => Self::Discarded,
            (None, Some(_)) => Self::Placed(Action::Pass),
        }
    }

    /// Returns the word shown for the outcome; `None` if the message was forwarded unchanged or ended at the proxy.
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
    /// Returns the memory held by the message and its snapshot, in bytes.
    pub(super) fn held(&self) -> usize {
        let after = self.after.as_ref().map_or(0, |after| after.held());
        self.notes.capacity() * size_of::<Note>() + self.completed.held() + after
    }

    /// Creates a message of a peer that is forwarded and not decoded.
    pub(crate) fn new(layer: Layer, def: Option<&'static Def>) -> Self {
        Self {
            layer,
            id: None,
            uuid: None,
            def,
            name: def.map(|def| &*def.name),
            transport: Transport::default(),
            handling: Handling::default(),
            visibility: Visibility::default(),
            ranges: Ranges::default(),
            notes: Vec::new(),
            for_ddnet: false,
            players: None,
            completed: CompletedSnapshot::default(),
            after: None,
        }
    }

    /// Returns the word shown for the outcome with the rules that acted on the message, such as `hold (slow)`. `None`
    /// if the message was forwarded without a rule, or ended at the proxy.
    #[must_use]
    pub fn outcome(&self) -> Option<String> {
        let word = match (self.handling.done.word(), self.transport.expected_seq) {
            (Some(word), Some(seq)) => Some(format!("{word}: expected number {}", seq.get())),
            (word, _) => word,
        };
        let word = match (self.handling.made, self.handling.delay) {
            (Some((how, waited)), _) => Some(made_word(how, waited)),
            (None, Some(delay)) => Some(format!("delay {}", delay_text(delay))),
            (None, None) => word,
        };
        if self.handling.rules.is_empty() {
            return word;
        }
        let names: Vec<Cow<'_, str>> = self.handling.rules.iter().map(|name| shortened(name)).collect();
        let word = word.unwrap_or_else(|| Action::Pass.to_string());
        Some(format!("{word} ({})", names.join("; ")))
    }

    /// Returns the name, or the id as text if the message has no name.
    pub(crate) fn label(&self, data: &[u8]) -> Cow<'static, str> {
        let layer = match (self.name, self.layer) {
            (Some(name), _) => return name.into(),
            (None, Layer::Control) => return format!("control.{}", self.id.unwrap_or_default()).into(),
            (None, Layer::Unreadable) => return "unreadable".into(),
            (None, Layer::Connless) if self.ranges.at == 0 => return "connless.raw".into(),
            (None, Layer::Connless) => return connless::tag(data).into(),
            (None, Layer::System) => message::Layer::System,
            (None, Layer::Game) => message::Layer::Game,
        };
        let (id, uuid) = (self.id.unwrap_or_default(), self.uuid);
        MessageId { layer, id, uuid }.to_string().into()
    }
}

/// Returns the words for a message that the proxy sent by itself, such as `released after 2.000 s`.
fn made_word(how: MadeHow, waited: Duration) -> String {
    let word = match how {
        MadeHow::Inject => "inject",
        MadeHow::Copy => "copy",
        MadeHow::Release => return format!("released after {:.3} s", waited.as_secs_f64()),
    };
    match waited.is_zero() {
        true => word.to_owned(),
        false => format!("{word} after {:.3} s", waited.as_secs_f64()),
    }
}

/// Returns a delay in milliseconds, such as `93 ms` or `0.25 ms`.
fn delay_text(delay: Duration) -> String {
    format!("{} ms", delay.as_secs_f64() * 1000.0)
}

/// Maximum length of a rule's name on a line, in characters. A rule without a name is called by its whole text.
const MAX_NAME: usize = 40;

fn shortened(name: &str) -> Cow<'_, str> {
    match name.char_indices().nth(MAX_NAME) {
        None => name.into(),
        Some((end, _)) => format!("{}…", name.get(..end).unwrap_or_default()).into(),
    }
}

/// Views of messages, rendered on demand.
impl Reading {
    /// Returns a one-line summary of a message. If its receiver got other bytes, the summary shows what changed, such as
    /// `all: hello → goodbye`.
    #[must_use]
    pub fn summary(&self, message: &Message, secrets: Secrets) -> String {
        let gist = self.gist(message, secrets);
        match &message.after {
            None => gist,
            Some(after) if message.completed.view().is_some() => {
                after.of_snapshot(&self.before(message), &gist, secrets)
            }
            Some(after) => after.summary(&self.before(message), &gist, secrets),
        }
    }

    /// Returns a decoded message as it was received, to be compared with the message as sent.
    pub(crate) fn before<'a>(&'a self, message: &'a Message) -> Before<'a> {
        Before {
            def: message.def,
            data: self.data(message),
            records: self.records(message),
            notes: &message.notes,
            for_ddnet: message.for_ddnet,
            players: message.players.as_deref(),
        }
    }

    /// Returns the id and the fields of a message, without the chunk header.
    #[must_use]
    pub fn data(&self, message: &Message) -> &[u8] {
        self.bytes.get(message.ranges.data.clone()).unwrap_or_default()
    }

    /// Returns the decoded fields of a message; empty if the message is not decoded.
    #[must_use]
    pub fn records(&self, message: &Message) -> Records<'_> {
        Records::new(
            self.records
                .get(message.ranges.records.clone())
                .unwrap_or_default(),
        )
    }

    /// Returns the number in the named field of a message; `None` if there is no such field, or the fields are not
    /// decoded.
    #[must_use]
    pub(crate) fn int(&self, message: &Message, field: &str) -> Option<i64> {
        let path = message.def?.path(field).ok()?;
        self.records(message).find(&path)?.int()
    }

    /// Returns the text in the named field of a message without control characters; `None` if there is no such field,
    /// or the fields are not decoded.
    #[must_use]
    pub fn text(&self, message: &Message, field: &str) -> Option<String> {
        let def = message.def?;
        let record = self.records(message).find(&def.path(field).ok()?)?;
        Some(printable(&def.bytes(record, Source::Bytes(self.data(message)))))
    }

    /// Returns the name of a message, or its id as text if it has no name.
    #[must_use]
    pub fn label(&self, message: &Message) -> Cow<'static, str> {
        message.label(self.data(message))
    }

    /// Returns a one-line summary of a message; empty if its id is unknown. Summarizes the snapshot instead of the
    /// fields if the message completes a snapshot.
    #[must_use]
    pub fn gist(&self, message: &Message, secrets: Secrets) -> String {
        if let Some(snapshot) = message.completed.view() {
            return message.completed.text(&snapshot);
        }
        let Some(def) = message.def.filter(|_| message.visibility.decoded) else {
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

    /// Returns the fields of a message as a JSON object; `None` if its id is unknown or its fields are not decoded.
    #[must_use]
    pub fn json(&self, message: &Message, secrets: Secrets) -> Option<String> {
        let def = message.def.filter(|_| message.visibility.decoded)?;
        let mut out = String::new();
        let source = Source::Bytes(self.data(message));
        self.records(message).json(def, source, secrets, &mut out);
        Some(out)
    }

    /// Returns the scales of the fields as a JSON object; `None` if no field is scaled, or the fields are not decoded.
    #[must_use]
    pub(crate) fn scales_json(&self, message: &Message) -> Option<String> {
        let def = message.def.filter(|_| message.visibility.decoded)?;
        self.records(message).scales_json(def)
    }

    /// Returns the fields of a message as the lines of a tree with byte ranges; empty if its id is unknown or its
    /// fields are not decoded.
    pub(crate) fn tree<'r>(
        &'r self,
        message: &Message,
        secrets: Secrets,
    ) -> impl Iterator<Item = TreeRow<'r>> + 'r {
        let records = self.records(message);
        let source = Source::Bytes(self.data(message));
        let def = message.def.filter(|_| message.visibility.decoded);
        def.into_iter()
            .flat_map(move |def| records.rows(def, source, secrets))
    }
}
