//! The schema of events, version 2: the objects and their fields, written and read by the same types.
//!
//! JSON lines hold all of it. A capture holds the same events without what the bytes of its packets say: the fields that a
//! type calls "of lines" are missing there.

use std::{borrow::Cow, net::SocketAddr};

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use teetap_proxy::{
    io::input_log::Hex,
    session::{Action, Datagram, Level, Notice, Origin, Placed, SessionChange, State, What},
    words::Word,
};
use teetap_wire::{Code, Dir, Note, Notes, Place, Proto, Seq, Side};

/// The version of the schema.
pub const VERSION: u8 = 2;

/// The oldest version that is read. Its notices are `log` lines without `program`.
pub const OLDEST: u8 = 1;

/// One line, as it is written.
#[derive(Serialize)]
pub(super) struct Line<'a> {
    pub(super) v: u8,
    pub(super) t: f64,
    pub(super) event: &'static str,
    /// The inner `None`: null, for an event of no session. The outer one: an event that has none by its kind.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) session: Option<Option<u32>>,
    #[serde(flatten)]
    pub(super) body: &'a Body<'a>,
}

/// The beginning of any line, as it is read: which of the types below its other fields are.
#[derive(Deserialize)]
pub(super) struct Head<'a> {
    pub(super) v: u8,
    pub(super) t: f64,
    #[serde(borrow)]
    pub(super) event: Cow<'a, str>,
    #[serde(default)]
    pub(super) session: Option<u32>,
    #[serde(default)]
    pub(super) layer: Option<Cow<'a, str>>,
    /// Present if there are bytes.
    #[serde(default)]
    pub(super) hex: Option<serde::de::IgnoredAny>,
    #[serde(default)]
    pub(super) hex_out: Option<serde::de::IgnoredAny>,
}

/// Makes [`Body`] of a table: the name of each event, whether it may belong to a session, and its fields.
macro_rules! events {
    ($($(#[$doc:meta])* $name:literal $variant:ident($body:ty) $of_session:literal;)*) => {
        /// The fields of an event.
        #[derive(Serialize)]
        #[serde(untagged)]
        pub(super) enum Body<'a> {
            $($(#[$doc])* $variant($body),)*
        }

        impl<'a> Body<'a> {
            /// The name of the event.
            pub(super) fn event(&self) -> &'static str {
                match self {
                    $(Self::$variant(_) => $name,)*
                }
            }

            /// Returns true if the event may belong to a session.
            pub(super) fn is_of_session(&self) -> bool {
                match self {
                    $(Self::$variant(_) => $of_session,)*
                }
            }

            /// Reads the fields of an event from its line; `None` for an event of a later version.
            ///
            /// # Errors
            /// Those of serde.
            pub(super) fn read(event: &str, line: &'a [u8]) -> serde_json::Result<Option<Self>> {
                Ok(Some(match event {
                    $($name => Self::$variant(serde_json::from_slice(line)?),)*
                    _ => return Ok(None),
                }))
            }
        }
    };
}

events! {
    /// The beginning of a run or of a recording.
    "start" Start(StartBody<'a>) false;
    /// A session changed its state.
    "session" Session(SessionBody<String>) true;
    /// One message of a datagram.
    "message" Message(MessageBody<'a>) true;
    /// A datagram.
    "datagram" Datagram(DatagramBody) true;
    /// A report besides the traffic.
    "notice" Notice(NoticeBody<'a>) true;
    /// A report of the program.
    "log" Log(LogBody<'a>) false;
    /// Events are missing.
    "gap" Gap(GapBody) false;
    /// The result of a replay.
    "replay" Replay(ReplayBody<'a>) false;
    /// The end.
    "summary" Summary(Summary<'a>) false;
}

/// The beginning of a run or of a recording.
#[derive(Serialize, Deserialize)]
pub(super) struct StartBody<'a> {
    /// Of the program that made the run.
    pub(super) version: Cow<'a, str>,
    /// Null, like the next three, in recordings of other programs.
    pub(super) seed: Option<u64>,
    /// As the user wrote it.
    pub(super) target: Option<Cow<'a, str>>,
    /// The address of the target.
    pub(super) server: Option<SocketAddr>,
    pub(super) listen: Option<SocketAddr>,
    /// Start of the run or of the recording, UTC, RFC 3339.
    pub(super) wall_clock: Cow<'a, str>,
    /// The recording that is shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) file: Option<Cow<'a, str>>,
}

/// A change of state. `R`: the form of the reason, text in lines and hex in captures.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SessionBody<R> {
    state: Word<State>,
    proto: Word<Proto>,
    client: SocketAddr,
    /// The server, where a redirect has led to another one than that of the `start` line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    server: Option<SocketAddr>,
    upstream: Option<SocketAddr>,
    /// The side that ended it; null when the proxy did.
    by: Option<Word<Side>>,
    reason: Option<R>,
    /// The player, when known. Of lines.
    #[serde(default)]
    name: Option<String>,
}

impl<R> SessionBody<R> {
    /// Returns the fields of a change; `form` makes the reason.
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

    /// Returns the change; `form` makes the reason.
    pub fn change(self, form: impl FnOnce(R) -> Box<[u8]>) -> What {
        What::Session(SessionChange {
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
pub(super) struct MessageBody<'a> {
    pub(super) dir: Word<Dir>,
    /// Null outside a connection.
    pub(super) proto: Option<Word<Proto>>,
    /// control, system, game or connless; null when the id cannot be read.
    pub(super) layer: Option<Cow<'a, str>>,
    pub(super) id: Option<i32>,
    pub(super) uuid: Option<Cow<'a, str>>,
    pub(super) name: Option<Cow<'a, str>>,
    pub(super) vital: bool,
    pub(super) resend: bool,
    /// As its sender numbered it.
    pub(super) seq: Option<u16>,
    /// As it was sent on; null when it was not, or is not vital.
    pub(super) seq_out: Option<u16>,
    /// Ordinal of its datagram in the session and direction; null when no peer sent it.
    pub(super) datagram: Option<u64>,
    /// Bytes of id and fields.
    pub(super) size: usize,
    /// Decoded fields; null when they are not decoded.
    pub(super) fields: Option<Box<RawValue>>,
    pub(super) notes: Vec<NoteBody>,
    /// The snapshot that it completes; its items with `-v`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) snap: Option<Box<RawValue>>,
    pub(super) actions: Vec<ActionBody<'a>>,
    pub(super) origin: Word<Origin>,
    /// The one leg it belongs to; null when it went through.
    pub(super) leg: Option<Word<Side>>,
    /// The client, outside a connection.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) client: Option<SocketAddr>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) hex: Option<Hex>,
    /// The datagrams that were sent on at once, outside a connection.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) hex_out: Option<Vec<Hex>>,
}

/// The datagram that a message belongs to.
#[derive(Deserialize)]
pub(super) struct ParentBody {
    pub(super) dir: Word<Dir>,
    pub(super) datagram: Option<u64>,
}

/// One oddity.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct NoteBody {
    pub(super) code: Cow<'static, str>,
    pub(super) at: usize,
    pub(super) len: usize,
    /// error, warning or info. Of lines, like the next two: the code says it.
    #[serde(default, skip_serializing_if = "str::is_empty")]
    severity: Cow<'static, str>,
    /// The bytes that the range counts in: datagram, payload (clear) or message.
    #[serde(default, skip_serializing_if = "str::is_empty")]
    place: Cow<'static, str>,
    #[serde(default, skip_serializing_if = "str::is_empty")]
    text: Cow<'static, str>,
}

impl NoteBody {
    /// Returns a note with what its code means.
    pub(super) fn explained(note: &Note) -> Self {
        let place = match note.code.place() {
            Place::Datagram => "datagram",
            Place::Payload => "payload",
            Place::Message => "message",
        };
        Self {
            severity: note.code.severity().name().into(),
            place: place.into(),
            text: note.code.text().into(),
            ..Self::plain(note)
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
        }
    }

    /// Returns the note; `None` for a code of a later version.
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
pub(super) struct ActionBody<'a> {
    /// Null when no rule did it.
    pub(super) rule: Option<Cow<'a, str>>,
    pub(super) action: Cow<'a, str>,
}

/// A datagram.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct DatagramBody {
    dir: Word<Dir>,
    proto: Word<Proto>,
    /// Ordinal in the session and direction; null when no peer sent it.
    ordinal: Option<u64>,
    origin: Word<Origin>,
    #[serde(default)]
    leg: Option<Word<Side>>,
    /// Always there in lines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) notes: Option<Vec<NoteBody>>,
    /// The action on each message, with the bytes; missing when all passed unchanged.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) placed: Vec<PlacedBody>,
    /// Of lines.
    #[serde(flatten)]
    pub(super) header: Option<HeaderBody>,
    /// As received. Of lines, with `-vv`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) hex: Option<Hex>,
    /// Each datagram that left because of it. Of lines, with `-vv`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) hex_out: Option<Vec<Hex>>,
    /// True if it was received, and the number of datagrams that left: the packets that follow in a capture.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    packets: Option<(bool, usize)>,
}

/// The part of a datagram that its bytes say.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct HeaderBody {
    /// Bytes as received; null when no peer sent it.
    pub(super) size: Option<usize>,
    /// Bytes of each datagram that left because of it.
    pub(super) sizes_out: Vec<usize>,
    /// control, resend, compression.
    pub(super) flags: Vec<Cow<'static, str>>,
    pub(super) ack: Option<u16>,
    pub(super) ack_out: Option<u16>,
    pub(super) chunks: u8,
    pub(super) token_ok: bool,
    /// Why its bytes cannot be read.
    pub(super) error: Option<Cow<'static, str>>,
}

impl DatagramBody {
    /// Returns the fields that the bytes do not say.
    pub(super) fn new(datagram: &Datagram) -> Self {
        Self {
            dir: Word(datagram.dir),
            proto: Word(datagram.proto),
            ordinal: Some(datagram.ordinal).filter(|ordinal| *ordinal > 0),
            origin: Word(datagram.origin),
            leg: datagram.leg.map(Word),
            notes: None,
            placed: Vec::new(),
            header: None,
            hex: None,
            hex_out: None,
            packets: None,
        }
    }

    /// Returns the fields of a datagram in a capture, which its packets follow.
    #[must_use]
    pub fn with_packets(datagram: &Datagram) -> Self {
        let notes: Vec<_> = datagram.notes.iter().map(|note| NoteBody::plain(&note)).collect();
        Self {
            notes: Some(notes).filter(|notes| !notes.is_empty()),
            placed: datagram.placed.iter().map(PlacedBody::new).collect(),
            packets: Some((datagram.received().is_some(), datagram.sent().count())),
            ..Self::new(datagram)
        }
    }

    /// The number of packets that follow in a capture.
    #[must_use]
    pub fn packets(&self) -> usize {
        let (received, sent) = self.packets.unwrap_or_default();
        usize::from(received).saturating_add(sent)
    }

    /// Returns the datagram with the bytes of its line.
    pub(super) fn datagram(&self) -> What {
        let received: &[u8] = self.hex.as_ref().map_or(&[], |hex| &hex.0);
        let sent = self.hex_out.as_deref().unwrap_or_default();
        self.with_bytes(received, sent.iter().map(|hex| &*hex.0))
    }

    /// Returns the datagram with the bytes of its packets; `None` when they are too few.
    #[must_use]
    pub fn with_bytes_of(&self, packets: &[Box<[u8]>]) -> Option<What> {
        let (was_received, _) = self.packets?;
        let (received, sent) = packets.split_at_checked(usize::from(was_received))?;
        let received: &[u8] = received.first().map_or(&[], |bytes| bytes);
        Some(self.with_bytes(received, sent.iter().map(|bytes| &**bytes)))
    }

    fn with_bytes<'b>(&self, received: &'b [u8], sent: impl Iterator<Item = &'b [u8]> + Clone) -> What {
        let mut datagram = Datagram::new(self.dir.0, self.proto.0, self.origin.0, received, sent);
        datagram.leg = self.leg.map(|side| side.0);
        datagram.ordinal = self.ordinal.unwrap_or_default();
        datagram.placed = self.placed.iter().map(PlacedBody::placed).collect();
        let mut notes = Notes::new();
        let known = self.notes.iter().flatten().filter_map(NoteBody::note);
        known.for_each(|note| notes.push(note));
        datagram.notes = notes;
        What::Datagram(datagram)
    }
}

/// The action on one message of a datagram.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct PlacedBody {
    action: Word<Action>,
    seq_out: Option<u16>,
}

impl PlacedBody {
    pub(super) fn new(placed: &Placed) -> Self {
        Self {
            action: Word(placed.action),
            seq_out: placed.seq_out.map(Seq::get),
        }
    }

    fn placed(&self) -> Placed {
        Placed::new(self.seq_out.map(Seq::new), self.action.0)
    }
}

/// A notice: its kind and values, and what they mean.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct NoticeBody<'a> {
    #[serde(flatten)]
    notice: Cow<'a, Notice>,
    level: Word<Level>,
    text: Cow<'a, str>,
}

impl<'a> NoticeBody<'a> {
    /// Returns the fields of a notice.
    #[must_use]
    pub fn new(notice: &'a Notice) -> Self {
        Self {
            notice: Cow::Borrowed(notice),
            level: Word(notice.level()),
            text: notice.to_string().into(),
        }
    }

    /// Returns the notice. A kind of a later version keeps its level and its sentence.
    #[must_use]
    pub fn notice(self) -> Notice {
        let mut notice = self.notice.into_owned();
        if let Notice::Other { level, text, .. } = &mut notice {
            *level = self.level.0;
            *text = self.text.into();
        }
        notice
    }
}

/// A report of the program.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LogBody<'a> {
    pub(super) level: Word<Level>,
    pub(super) text: Cow<'a, str>,
    /// Of version 1, where notices are `log` lines without it.
    #[serde(default, skip_serializing)]
    pub(super) program: bool,
}

impl<'a> LogBody<'a> {
    /// Returns the fields of a report.
    #[must_use]
    pub fn new(level: Level, text: &'a str) -> Self {
        Self {
            level: Word(level),
            text: text.into(),
            program: true,
        }
    }

    /// Returns the level and the text.
    #[must_use]
    pub fn parts(self) -> (Level, String) {
        (self.level.0, self.text.into_owned())
    }

    /// Returns the notice that a line of version 1 is.
    pub(super) fn notice(self) -> Notice {
        Notice::Other {
            kind: None,
            level: self.level.0,
            text: self.text.into(),
        }
    }
}

/// Events are missing.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct GapBody {
    /// How many.
    pub lost: u64,
}

/// The end of a run, or of a recording that was shown.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
pub(super) enum Summary<'a> {
    Run(SummaryBody<'a>),
    Recording(TallyBody),
}

/// The end of a run.
#[derive(Serialize, Deserialize)]
pub struct SummaryBody<'a> {
    /// Null when the data thread crashed, like all counts below.
    pub sessions: Option<u64>,
    pub datagrams: Option<PerDir>,
    pub bytes: Option<PerDir>,
    pub refused: Option<u64>,
    pub unsent: Option<u64>,
    pub network_errors: Option<u64>,
    /// Datagrams that the kernel dropped because they came faster than they could be read.
    pub kernel_drops: u64,
    /// Events that are missing in this output.
    pub lost: u64,
    pub seed: u64,
    pub exit: u8,
    pub cmd_exit: Option<i32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recording: Option<RecordingBody<'a>>,
}

/// The result of recording a run.
#[derive(Serialize, Deserialize)]
pub struct RecordingBody<'a> {
    pub file: Cow<'a, str>,
    /// Packets in the file: each datagram counts where it came in and where it left. Null when the recorder crashed.
    pub packets: Option<u64>,
    /// Packets that could not be written.
    pub missing: Option<u64>,
    /// Events that came faster than they could be recorded.
    pub lost: Option<u64>,
}

/// The end of a recording that was shown.
#[derive(Serialize, Deserialize)]
pub(super) struct TallyBody {
    pub(super) packets: u64,
    pub(super) sessions: u64,
    pub(super) datagrams: PerDir,
    pub(super) bytes: PerDir,
    /// UDP datagrams of other protocols.
    pub(super) not_understood: u64,
    pub(super) not_udp: u64,
    /// Parts of fragmented packets.
    pub(super) fragments: u64,
    /// Packets with headers that are cut off or contradict themselves.
    pub(super) broken: u64,
    /// Packets of the server leg that were left out because the client leg shows them.
    pub(super) doubled: u64,
    /// Events that are missing in the recording.
    pub(super) lost: u64,
    pub(super) exit: u8,
}

/// The result of a replay.
#[derive(Serialize, Deserialize)]
pub(super) struct ReplayBody<'a> {
    /// Version of the program that wrote the log.
    pub(super) version: Cow<'a, str>,
    pub(super) equal: bool,
    pub(super) inputs: u64,
    /// Datagrams received, and those sent as in the log.
    pub(super) received: u64,
    pub(super) sent: u64,
    /// The first difference: line of the log, ordinal of the output, and both outputs, null where there is none.
    pub(super) line: Option<u64>,
    pub(super) output: Option<usize>,
    pub(super) expected: Option<String>,
    pub(super) came: Option<String>,
    /// Why the log does not hold the whole run.
    pub(super) cut: Option<String>,
}

/// A count for each direction.
#[derive(Clone, Copy, Serialize, Deserialize)]
pub struct PerDir {
    pub c2s: u64,
    pub s2c: u64,
}
