//! The lines of a journal.
//!
//! Law: the names here are the format.

use serde::{Deserialize, Serialize};
use teetap_rules::{By, Decision, Drawn, impair::Impact, impair::Lost};
use teetap_wire::Dir;

use crate::words::Word;

/// The version of the format.
pub const VERSION: u32 = 1;

/// The first line of a journal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Header {
    /// The version of the format.
    pub journal: u32,
    /// Version of teetap.
    pub version: String,
    /// The seed of the run.
    pub seed: u64,
    /// The text of the rules.
    pub rules: String,
}

/// The last line of a journal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct End {
    /// `complete`, or the reason why the journal ends before the run.
    pub end: String,
    /// Number of decisions in the journal.
    pub decisions: u64,
}

/// A line between the first and the last one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum JournalRecord {
    /// A decision.
    Decision(DecisionLine),
    /// The rules were replaced.
    Rules(RulesLine),
    /// A client entered the game.
    Entered(EntryLine),
}

/// A client that requests to enter the game, the last step of a join.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EntryLine {
    /// Seconds since the start.
    pub t: f64,
    /// Number of the session.
    pub session: u32,
    /// Microseconds since the session was opened.
    pub entered_us: u64,
}

/// Rules that were set during the run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RulesLine {
    /// Seconds since the start.
    pub t: f64,
    /// The text of the rules; `None` if all rules were removed.
    pub rules: Option<String>,
}

/// A decision of a rule or of a link line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DecisionLine {
    /// Seconds since the start.
    pub t: f64,
    /// Number of the session.
    pub session: u32,
    /// The direction; absent for a rule that acts at times.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dir: Option<Word<Dir>>,
    /// Name of the rule, or its text; absent for a link line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<Box<str>>,
    /// Text of the link line; absent for a rule.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link: Option<Box<str>>,
    /// For a rule: the name of the message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<Box<str>>,
    /// For a rule: the number of the message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ordinal: Option<u64>,
    /// For a link line: the number of the datagram.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub datagram: Option<u64>,
    /// For a link line: true if the datagram is outside a connection.
    #[serde(default, skip_serializing_if = "is_default")]
    pub connless: bool,
    /// The actions in words, for people. A repetition uses the other fields.
    pub action: Box<str>,
    /// For a rule: the delays that were drawn, in microseconds.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub delay_us: Vec<u64>,
    /// For a rule: the bytes that each `corrupt` changed, as offset and flipped bits.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub corrupted: Vec<Vec<(u32, u8)>>,
    /// For a link line: the number of the copy; absent for the datagram itself.
    #[serde(default, skip_serializing_if = "is_default")]
    pub copy: u8,
    /// For a link line: true for the duplicate that it made.
    #[serde(default, skip_serializing_if = "is_default")]
    pub duplicate: bool,
    /// For a link line: the cause of a loss.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost: Option<Word<Lost>>,
    /// For a link line: the delay in nanoseconds.
    #[serde(default, skip_serializing_if = "is_default")]
    pub delay_ns: u64,
    /// For a link line: true if the datagram overtook others.
    #[serde(default, skip_serializing_if = "is_default")]
    pub overtakes: bool,
    /// For a link line: the index of the flipped bit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flip: Option<u32>,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

impl DecisionLine {
    /// Returns the journal line of a decision.
    #[must_use]
    pub fn new(decision: &Decision) -> Self {
        let Decision { at, session, dir, by } = decision;
        let mut line = Self {
            t: seconds(*at),
            session: *session,
            dir: dir.map(Word),
            rule: None,
            link: None,
            message: None,
            ordinal: None,
            datagram: None,
            connless: false,
            action: Box::default(),
            delay_us: Vec::new(),
            corrupted: Vec::new(),
            copy: 0,
            duplicate: false,
            lost: None,
            delay_ns: 0,
            overtakes: false,
            flip: None,
        };
        match by {
            By::Rule {
                rule,
                message,
                ordinal,
                actions,
                drawn,
            } => {
                line.rule = Some(rule.clone());
                line.message = Some(message.clone());
                line.ordinal = Some(*ordinal);
                line.action.clone_from(actions);
                line.delay_us.clone_from(&drawn.delays);
                line.corrupted.clone_from(&drawn.corrupted);
            }
            By::Link {
                line: text,
                datagram,
                connless,
                impact,
            } => {
                line.link = Some(text.clone());
                line.datagram = Some(*datagram);
                line.connless = *connless;
                line.action = words(impact).into();
                line.copy = impact.copy;
                line.duplicate = impact.duplicate;
                line.lost = impact.lost.map(Word);
                line.delay_ns = impact.delay;
                line.overtakes = impact.overtakes;
                line.flip = impact.flip;
            }
        }
        line
    }

    /// Returns the decision of the line.
    ///
    /// # Errors
    /// If the line belongs neither to a rule nor to a link line.
    pub(crate) fn decision(&self) -> Result<Decision, &'static str> {
        let by = match (self, &self.rule, &self.link) {
            (
                Self {
                    message: Some(message),
                    ordinal: Some(ordinal),
                    datagram: None,
                    ..
                },
                Some(rule),
                None,
            ) => By::Rule {
                rule: rule.clone(),
                message: message.clone(),
                ordinal: *ordinal,
                actions: self.action.clone(),
                drawn: Drawn {
                    delays: self.delay_us.clone(),
                    corrupted: self.corrupted.clone(),
                },
            },
            (
                Self {
                    datagram: Some(datagram),
                    message: None,
                    ordinal: None,
                    dir: Some(_),
                    ..
                },
                None,
                Some(link),
            ) => By::Link {
                line: link.clone(),
                datagram: *datagram,
                connless: self.connless,
                impact: Impact {
                    copy: self.copy,
                    duplicate: self.duplicate,
                    lost: self.lost.map(|lost| lost.0),
                    delay: self.delay_ns,
                    overtakes: self.overtakes,
                    flip: self.flip,
                    ..Impact::default()
                },
            },
            _ => return Err("expected a decision of a rule or of a link line"),
        };
        Ok(Decision {
            at: micros(self.t),
            session: self.session,
            dir: self.dir.map(|dir| dir.0),
            by,
        })
    }
}

/// Returns the effect of a link line as the names of actions.
fn words(impact: &Impact) -> String {
    let words = [
        (impact.lost.is_some(), "lose"),
        (impact.duplicate, "dup"),
        (impact.overtakes, "reorder"),
        (impact.flip.is_some(), "corrupt"),
        (impact.delay > 0 && impact.lost.is_none(), "delay"),
    ];
    let words = words.iter().filter(|(is_there, _)| *is_there);
    words.map(|(_, word)| *word).collect::<Vec<_>>().join(", ")
}

/// Converts microseconds to seconds.
#[expect(
    clippy::cast_precision_loss,
    reason = "exact below 2^53 microseconds, 285 years"
)]
pub(super) fn seconds(micros: u64) -> f64 {
    micros as f64 / 1e6
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the cast saturates"
)]
fn micros(seconds: f64) -> u64 {
    (seconds * 1e6).round() as u64
}
