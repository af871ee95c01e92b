//! The schema of events, version 2: objects and their fields. The same types write and read them.
//!
//! JSON lines have all fields. A capture has the same events without the fields that can be derived from the bytes of
//! its packets: fields documented as "only in lines" are missing there.

mod answer;
mod control;
mod finding;
mod handling;
mod join;
mod report;
mod summary;
mod traffic;

use std::{borrow::Cow, net::SocketAddr};

use serde::{Deserialize, Serialize};

pub use answer::AnswerBody;
pub use control::{ListedBody, ResultBody, RuleBody, StatsBody};
pub(super) use finding::FindingBody;
pub use finding::FindingsBody;

pub use handling::{MadeBody, PlacedBody, TransitBody, transits};
pub use join::{JoinBody, StepBody};
pub use report::{GapBody, LogBody, NoticeBody, WaitingBody};
pub use summary::{
    EndedByBody, EndingBody, LineEffect, RecordingBody, RuleEffect, RuleEndingBody, SummaryBody,
};
pub(super) use summary::{ReplayBody, Summary, TallyBody};
pub(super) use traffic::{ActionBody, AfterBody, HeaderBody, MessageBody, NoteBody, ParentBody};
pub use traffic::{DatagramBody, SessionBody};

/// The version of the schema.
pub const VERSION: u8 = 2;

/// The oldest version that can be read. In version 1 notices are `log` lines without `program`.
pub const OLDEST: u8 = 1;

/// A line as it is written.
#[derive(Serialize)]
pub(super) struct JsonLine<'a> {
    pub(super) v: u8,
    pub(super) t: f64,
    pub(super) event: &'static str,
    /// The outer `None` omits the field, for a kind of event without a session. The inner `None` writes null, for an
    /// event that belongs to no session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) session: Option<Option<u32>>,
    #[serde(flatten)]
    pub(super) body: &'a Body<'a>,
}

/// The common fields of any line, read first. They decide which of the types below has the other fields.
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
    /// Present if the line has bytes.
    #[serde(default)]
    pub(super) hex: Option<serde::de::IgnoredAny>,
    #[serde(default)]
    pub(super) hex_out: Option<serde::de::IgnoredAny>,
}

/// Defines [`Body`] from a table: the name of each event, its fields, and whether it may belong to a session.
macro_rules! events {
    ($($(#[$doc:meta])* $name:literal $variant:ident($body:ty) $of_session:literal;)*) => {
        /// The fields of an event.
        #[derive(Serialize)]
        #[serde(untagged)]
        pub(super) enum Body<'a> {
            $($(#[$doc])* $variant($body),)*
        }

        impl<'a> Body<'a> {
            /// Returns the name of the event.
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

            /// Parses the fields of an event from its line; `None` for an event of a later version.
            ///
            /// # Errors
            /// Fails if the line is not JSON, or a field is missing or has another type.
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
    /// The start of a run or a recording.
    "start" Start(StartBody<'a>) false;
    /// A state change of a session.
    "session" Session(SessionBody<String>) true;
    /// One message of a datagram.
    "message" Message(MessageBody<'a>) true;
    /// A datagram.
    "datagram" Datagram(DatagramBody) true;
    /// A report that is not traffic.
    "notice" Notice(NoticeBody<'a>) true;
    /// The answer to a command.
    "answer" Answer(AnswerBody) true;
    /// A report of teetap itself.
    "log" Log(LogBody<'a>) false;
    /// A gap in the events.
    "gap" Gap(GapBody) false;
    /// An oddity that a peer showed at least once in a session.
    "finding" Finding(FindingBody<'a>) true;
    /// The result of a replay.
    "replay" Replay(ReplayBody<'a>) false;
    /// The end of the output.
    "summary" Summary(Summary<'a>) false;
}

/// The start of a run or a recording.
#[derive(Serialize, Deserialize)]
pub(super) struct StartBody<'a> {
    /// The version of teetap that made the run.
    pub(super) version: Cow<'a, str>,
    /// Null in recordings of other programs, like the next three fields.
    pub(super) seed: Option<u64>,
    /// As the user wrote it.
    pub(super) target: Option<Cow<'a, str>>,
    /// The address of the target.
    pub(super) server: Option<SocketAddr>,
    pub(super) listen: Option<SocketAddr>,
    /// Start of the run or recording, in UTC as of RFC 3339.
    pub(super) wall_clock: Cow<'a, str>,
    /// The recording that is being shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) file: Option<Cow<'a, str>>,
}
