//! Events that are not traffic: notices, logs, and gaps.

use std::{borrow::Cow, num::NonZeroU32};

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use teetap_proxy::{
    io::input_log::Hex,
    session::{HeldId, HeldMessage, Level, Notice, SessionId},
    words::Word,
};
use teetap_wire::{
    Dir, Proto,
    def::{Decoded, Records, Registry, Secrets, Source},
};

use crate::jsonl::time::{micros, seconds};

/// A notice: its kind and values, with its level and text.
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
        Self::from_notice(Cow::Borrowed(notice))
    }

    /// Returns the fields of a notice as a viewer may see it.
    #[must_use]
    pub(crate) fn of_viewer(notice: &'a Notice, secrets: Secrets) -> Self {
        Self::from_notice(notice.seen_with(secrets))
    }

    fn from_notice(notice: Cow<'a, Notice>) -> Self {
        Self {
            level: Word(notice.level()),
            text: notice.to_string().into(),
            notice,
        }
    }

    /// Returns the notice. A kind of a later version keeps its level and its text.
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

/// A message that the proxy holds.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct WaitingBody {
    /// The number of its session.
    session: u32,
    dir: Word<Dir>,
    /// The protocol of the session.
    proto: Word<Proto>,
    /// Id of the held message in the session and direction.
    held: NonZeroU32,
    vital: bool,
    /// The name or the text of the rule that holds the message; null if it waits for an earlier message.
    rule: Option<Box<str>>,
    /// Time at which the message is released automatically; null if it is released as soon as possible.
    until: Option<f64>,
    /// True if its bytes were replaced.
    edited: bool,
    /// Id and fields.
    hex: Hex,
    /// Name of the message; `None` if it is not decoded or unknown.
    #[serde(skip_deserializing, skip_serializing_if = "Option::is_none")]
    name: Option<Box<str>>,
    /// The decoded fields; `None` like `name`.
    #[serde(skip_deserializing, skip_serializing_if = "Option::is_none")]
    fields: Option<Box<RawValue>>,
}

impl WaitingBody {
    /// Returns a held message with its name and fields, decoded with these definitions.
    #[must_use]
    pub(super) fn decoded(message: &HeldMessage, registry: &Registry, secrets: Secrets) -> Self {
        let mut body = Self::from(message);
        let found = registry.known_message(message.proto, message.dir, &message.data);
        if let Some(found) = found {
            let (mut decoded, mut json) = (Decoded::new(), String::new());
            decoded.read(found.def, &message.data, found.body);
            let source = Source::Bytes(&message.data);
            Records::new(decoded.records()).json(found.def, source, secrets, &mut json);
            body.name = Some(found.def.name.to_string().into());
            body.fields = RawValue::from_string(json).ok();
        }
        body
    }
}

impl From<&HeldMessage> for WaitingBody {
    fn from(message: &HeldMessage) -> Self {
        Self {
            session: message.session.0,
            dir: Word(message.dir),
            proto: Word(message.proto),
            held: message.held.0,
            vital: message.vital,
            rule: message.rule.clone(),
            until: message.until.map(seconds),
            edited: message.edited,
            hex: Hex(message.data.clone()),
            name: None,
            fields: None,
        }
    }
}

impl From<WaitingBody> for HeldMessage {
    fn from(body: WaitingBody) -> Self {
        Self {
            session: SessionId(body.session),
            dir: body.dir.0,
            proto: body.proto.0,
            held: HeldId(body.held),
            vital: body.vital,
            rule: body.rule,
            until: body.until.map(micros),
            edited: body.edited,
            data: body.hex.0,
        }
    }
}

/// A report of teetap itself.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LogBody<'a> {
    pub(in crate::jsonl) level: Word<Level>,
    pub(in crate::jsonl) text: Cow<'a, str>,
    /// False for a notice of version 1, which is a `log` line without this field.
    #[serde(default, skip_serializing)]
    pub(in crate::jsonl) program: bool,
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

    /// Returns the notice in a `log` line of version 1.
    pub(in crate::jsonl) fn notice(self) -> Notice {
        Notice::Other {
            kind: None,
            level: self.level.0,
            text: self.text.into(),
        }
    }
}

/// A gap in the events.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct GapBody {
    /// Number of missing events.
    pub lost: u64,
}
