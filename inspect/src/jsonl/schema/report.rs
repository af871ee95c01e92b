//! Reports besides the traffic: of the core, of the program, and of missing events.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use teetap_proxy::{
    session::{Answer, CommandId, Level, Notice},
    words::Word,
};

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

/// The answer to a command.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct AnswerBody {
    /// The number of the command, as its sender gave it.
    id: u64,
    /// False when it was refused.
    done: bool,
    /// The reason why it was refused; null when it was done.
    why: Option<Cow<'static, str>>,
}

impl AnswerBody {
    /// Returns the fields of an answer.
    #[must_use]
    pub fn new(answer: &Answer) -> Self {
        Self {
            id: answer.id.0,
            done: answer.result.is_ok(),
            why: answer.result.clone().err(),
        }
    }

    /// Returns the answer.
    #[must_use]
    pub fn answer(self) -> Answer {
        Answer {
            id: CommandId(self.id),
            result: if self.done {
                Ok(())
            } else {
                Err(self.why.unwrap_or_default())
            },
        }
    }
}

/// A report of the program.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LogBody<'a> {
    pub(in crate::jsonl) level: Word<Level>,
    pub(in crate::jsonl) text: Cow<'a, str>,
    /// Of version 1, where notices are `log` lines without it.
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

    /// Returns the notice that a line of version 1 is.
    pub(in crate::jsonl) fn notice(self) -> Notice {
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
    /// The number of missing events.
    pub lost: u64,
}
