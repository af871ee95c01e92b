//! Whether a message of a join reaches its receiver, and the reason if it does not.

use std::{fmt, time::Duration};

use teetap_proxy::session::{Action, Datagram};
use teetap_rules::impair::Lost;
use teetap_wire::{
    Code, Property,
    receiver::{MessageVerdict, checks_ranges},
};

use super::{REQUEST, flaw::Flaw};
use crate::{
    Reading,
    meant::second_message,
    reading::{Layer, Message, MessageOutcome},
    track::Fact,
};

/// Minimum length of a version, as in `0.6`.
const VERSION: usize = 3;

/// The fate of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// The receiver gets the message.
    Arrives,
    /// The message has no effect, because an earlier copy was delivered or a later copy will be.
    Nothing,
    /// The receiver does not get the message or drops it.
    Lost(LossReason),
}

/// The reason why a message has no effect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum LossReason {
    /// The receiver drops the whole datagram.
    Datagram(Code),
    /// The receiver drops the message. The text has the received and expected values, if known.
    Message(Code, Option<String>),
    /// The message of the map download is flawed.
    Map(Flaw),
    /// The message follows the named one in its chunk.
    Second(&'static str),
    /// An `info` without a password.
    NoPassword,
    /// The named rules dropped the message, or suppressed this transmission of it.
    Rule(String),
    /// The named rules hold the message.
    Held(String),
    /// A link line lost the datagram of the message.
    Link(Lost),
    /// The message is in the wrong kind of chunk (vital or not), too early or too late. The text names the message that
    /// must precede it; empty if there is none.
    Verdict(MessageVerdict, &'static str),
}

impl LossReason {
    /// Returns the note with the same meaning, if there is one.
    pub(super) const fn note(&self) -> Option<Code> {
        match self {
            Self::Datagram(code) | Self::Message(code, _) => Some(*code),
            Self::Verdict(MessageVerdict::NeedsVital, _) => Some(Code::NotVital),
            Self::Verdict(MessageVerdict::NeedsNotVital, _) => Some(Code::UnexpectedVital),
            Self::Second(_) | Self::NoPassword => None,
            Self::Verdict(..) | Self::Map(_) | Self::Rule(_) | Self::Held(_) | Self::Link(_) => None,
        }
    }

    /// Returns true if a rule or a link line dropped or holds the message, so that no peer is at fault.
    pub(super) const fn is_of_proxy(&self) -> bool {
        matches!(self, Self::Rule(_) | Self::Held(_) | Self::Link(_))
    }
}

impl fmt::Display for LossReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Datagram(code) => write!(
                f,
                "was sent in a datagram that its receiver drops ({})",
                code.name()
            ),
            Self::Message(code @ Code::WrongId, Some(values)) => {
                write!(f, "was sent with a wrong id ({}: {values})", code.name())
            }
            Self::Message(code, None) => write!(f, "was sent, but its receiver drops it ({})", code.name()),
            Self::Message(code, Some(values)) => {
                write!(
                    f,
                    "was sent, but its receiver drops it ({}: {values})",
                    code.name()
                )
            }
            Self::Map(flaw) => flaw.fmt(f),
            Self::Second(first) => write!(
                f,
                "was sent in the chunk of {first}, but receivers read one message in each chunk"
            ),
            Self::NoPassword => f.write_str(
                "ends after the version, but DDNet 20 ignores an info without a password, which may be empty",
            ),
            Self::Rule(names) => write!(f, "was sent, but was dropped ({names})"),
            Self::Link(lost) => write!(f, "was sent, but the link lost it ({lost})"),
            Self::Held(names) => write!(f, "was sent, but is held ({names})"),
            Self::Verdict(verdict, other) => match verdict {
                MessageVerdict::NeedsVital => {
                    f.write_str("was sent in a chunk that is not vital and is ignored")
                }
                MessageVerdict::NeedsNotVital => f.write_str("was sent in a vital chunk and is ignored"),
                MessageVerdict::TooEarly | MessageVerdict::AnswersOnly => {
                    write!(f, "was sent too early, before {other}, and is ignored")
                }
                _ => f.write_str("was sent too late and is ignored"),
            },
        }
    }
}

/// Returns the names of the rules that act on a message, such as `slow; chat`. `a rule` if none is named.
fn rules(message: &Message) -> String {
    let names: Vec<&str> = message.handling.rules.iter().map(|name| &**name).collect();
    match names.is_empty() {
        true => "a rule".to_owned(),
        false => names.join("; "),
    }
}

/// Returns the names of the rules that changed a message, and an empty text if the link changed it. `None` if its receiver
/// got it as it was sent.
pub(super) fn changed_by(message: &Message) -> Option<String> {
    let after = message.after.as_ref()?;
    Some(match after.is_by_link {
        true => String::new(),
        false => rules(message),
    })
}

/// Returns the fate of a message on its way to the receiver. Does not check whether the receiver accepts such messages
/// at this stage of the join.
pub(super) fn delivery_of(message: &Message, datagram: &Datagram, reading: &Reading) -> Fate {
    match message.handling.done {
        MessageOutcome::Placed(Action::Drop | Action::Lose) => {
            return Fate::Lost(LossReason::Rule(rules(message)));
        }
        MessageOutcome::Placed(Action::Hold) => return Fate::Lost(LossReason::Held(rules(message))),
        MessageOutcome::Placed(Action::Known | Action::Refuse) | MessageOutcome::Discarded => {
            return Fate::Nothing;
        }
        MessageOutcome::Placed(
            Action::Gap | Action::Pass | Action::Edit | Action::Corrupt | Action::Repeat,
        )
        | MessageOutcome::Refused
        | MessageOutcome::Ended => {}
    }
    if let Some(lost) = lost(datagram) {
        return Fate::Lost(LossReason::Link(lost));
    }
    let of_datagram = datagram.notes.iter();
    let mut notes = of_datagram.chain(reading.notes.iter().copied());
    if let Some(note) = notes.find(|note| note.code.has(Property::DropsDatagram)) {
        return Fate::Lost(LossReason::Datagram(note.code));
    }
    let mut notes = message.notes.iter();
    let is_checked = message
        .name
        .is_some_and(|name| message.layer == Layer::Game && checks_ranges(datagram.proto, name));
    // A server of 0.6 reads a missing part number as 0 (`CServer::ProcessClientPacket` in server.cpp).
    let is_read = |code| code == Code::MissingField && message.name == Some(REQUEST);
    let drops = |code: Code| code.has(Property::DropsMessage) && !is_read(code);
    match notes.find(|note| drops(note.code) || is_checked && note.code == Code::OutOfRange) {
        Some(note) => {
            let values = reading.detail(note).map(|detail| detail.fact.to_string());
            Fate::Lost(LossReason::Message(note.code, values))
        }
        None if message.handling.done == MessageOutcome::Placed(Action::Gap) => Fate::Nothing,
        None => Fate::Arrives,
    }
}

/// Returns the name of the message that the sender meant, and the reason, if the message was sent under a wrong id.
pub(super) fn meant(message: &Message, reading: &Reading) -> Option<(&'static str, LossReason)> {
    let code = Code::WrongId;
    let mut notes = message.notes.iter();
    let detail = reading.detail(notes.find(|note| note.code == code)?)?;
    let Fact::OtherId(other) = &detail.fact else {
        return None;
    };
    let values = Some(detail.fact.to_string());
    Some((other.name, LossReason::Message(code, values)))
}

/// Returns the name of the message that the bytes after a message are; `None` if they are no whole message.
pub(super) fn second(message: &Message, datagram: &Datagram, reading: &Reading) -> Option<&'static str> {
    let mut notes = message.notes.iter();
    let note = notes.find(|note| note.code == Code::SurplusBytes)?;
    let surplus = reading.data(message).get(note.at..note.at + note.len)?;
    second_message(datagram.proto, datagram.dir, surplus)
}

/// Returns true for an `info` that ends after its version.
pub(super) fn lacks_password(message: &Message, reading: &Reading) -> bool {
    let version = reading
        .data(message)
        .get(1..)
        .and_then(|body| body.strip_suffix(&[0]));
    let is_one = version.is_some_and(|version| version.len() >= VERSION && !version.contains(&0));
    message.name == Some("info") && is_one
}

/// Returns the reason if link lines lost all copies of a datagram; `None` if at least one copy was sent.
pub(super) fn lost(datagram: &Datagram) -> Option<Lost> {
    let first = datagram.link.first()?.lost;
    let mut transits = datagram.link.iter();
    first.filter(|_| transits.all(|transit| transit.lost.is_some()))
}

/// Returns the delay of the earliest copy of a datagram by link lines; `None` if a copy was sent without delay.
pub(super) fn delay(datagram: &Datagram) -> Option<Duration> {
    let left = datagram.link.iter().filter(|transit| transit.lost.is_none());
    left.map(|transit| transit.delay)
        .min()
        .filter(|delay| !delay.is_zero())
}
