//! The schema of events, version 2: the objects and their fields, written and read by the same types.
//!
//! JSON lines hold all of it. A capture holds the same events without what the bytes of its packets say: the fields that a
//! type calls "of lines" are missing there.

mod answer;
mod control;
mod finding;
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
pub use join::{JoinBody, StepBody};
pub use report::{GapBody, LogBody, NoticeBody, WaitingBody};
pub use summary::{
    EndedByBody, EndingBody, LineEffect, PerDir, RecordingBody, RuleEffect, RuleEndingBody, SummaryBody,
};
pub(super) use summary::{ReplayBody, Summary, TallyBody};
pub(super) use traffic::{ActionBody, HeaderBody, MessageBody, NoteBody, ParentBody, PlacedBody};
pub use traffic::{DatagramBody, SessionBody, TransitBody, transits};

/// The version of the schema.
pub const VERSION: u8 = 2;

/// The oldest version that is read. In it notices are `log` lines without `program`.
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
            /// The line is not JSON, or a field is missing or of another type.
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
    /// The answer to a command.
    "answer" Answer(AnswerBody) true;
    /// A report of the program.
    "log" Log(LogBody<'a>) false;
    /// Events are missing.
    "gap" Gap(GapBody) false;
    /// An oddity that a peer showed once or more often in a session.
    "finding" Finding(FindingBody<'a>) true;
    /// The result of a replay.
    "replay" Replay(ReplayBody<'a>) false;
    /// The end.
    "summary" Summary(Summary<'a>) false;
}

/// The beginning of a run or of a recording.
#[derive(Serialize, Deserialize)]
pub(super) struct StartBody<'a> {
    /// The version of the program that made the run.
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
