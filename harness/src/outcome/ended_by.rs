//! The end of a run: its cause and its exit code.
//!
//! Law: a run has one cause, and its exit code follows from it. A message or rule that ends the run counts even if it
//! is decoded after something else ended the run, so that the result does not depend on timing.

use std::{borrow::Cow, fmt, sync::Arc};

use teetap_inspect::{
    Ending, EndingBy,
    jsonl::{EndedByBody, EndingBody, RuleEndingBody},
};
use teetap_proxy::words::Word;
use teetap_rules::End;
use teetap_wire::Dir;

use super::exit::Exit;
use crate::child;

/// Cause of the end of a run.
#[derive(Clone, Debug)]
pub enum EndedBy {
    /// A signal with this number.
    Signal(u8),
    /// A message or a rule.
    Ending(Arc<Ending>),
    /// The time limit.
    Timeout,
    /// The command of `run` ended.
    Command,
    /// The command `stop` of the control socket or the screen.
    Control,
    /// Stdin was closed.
    StdinClosed,
    /// Stdout was closed.
    StdoutClosed,
    /// The demo ended.
    Demo,
    /// The user left the terminal UI.
    User,
    /// The data thread crashed.
    Crash,
}

impl EndedBy {
    /// Returns the cause as part of the `summary` line of the JSON output.
    #[must_use]
    pub(super) fn body(&self) -> EndedByBody<'_> {
        match self {
            Self::Signal(signal) => EndedByBody::Signal { signal: *signal },
            Self::Ending(ending) => ending_body(ending),
            Self::Timeout => EndedByBody::Timeout,
            Self::Command => EndedByBody::Command,
            Self::Control => EndedByBody::Control,
            Self::StdinClosed => EndedByBody::StdinClosed,
            Self::StdoutClosed => EndedByBody::StdoutClosed,
            Self::Demo => EndedByBody::Demo,
            Self::User => EndedByBody::User,
            Self::Crash => EndedByBody::Crash,
        }
    }
}

impl fmt::Display for EndedBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Signal(1) => f.write_str("SIGHUP"),
            Self::Signal(2) => f.write_str("SIGINT"),
            Self::Signal(15) => f.write_str("SIGTERM"),
            Self::Signal(number) => write!(f, "signal {number}"),
            Self::Ending(ending) => write!(f, "{}: {ending}", ending.by),
            Self::Timeout => f.write_str("--timeout"),
            Self::Command => f.write_str("the end of the command"),
            Self::Control => f.write_str("the command stop"),
            Self::StdinClosed => f.write_str("closed stdin"),
            Self::StdoutClosed => f.write_str("closed stdout"),
            Self::Demo => f.write_str("the end of the demo"),
            Self::User => f.write_str("the user"),
            Self::Crash => f.write_str("a crash"),
        }
    }
}

fn ending_body(ending: &Ending) -> EndedByBody<'_> {
    let (at, session) = (ending.at.as_secs_f64(), ending.session.map(|session| session.0));
    let message = ending.message.as_ref();
    let (dir, message) = message
        .map(|(dir, message)| (Word(*dir), Cow::Borrowed(&**message)))
        .unzip();
    let of_message = || EndingBody {
        at,
        session,
        dir: dir.unwrap_or(Word(Dir::C2s)),
        message: message.clone().unwrap_or_default(),
    };
    match &ending.by {
        EndingBy::Until => EndedByBody::Until(of_message()),
        EndingBy::FailOn => EndedByBody::FailOn(of_message()),
        EndingBy::Rule(rule, end) => {
            let body = |why: Option<&'_ str>| RuleEndingBody {
                at,
                session,
                rule: Cow::Owned(rule.to_string()),
                why: why.map(|why| Cow::Owned(why.to_owned())),
                dir,
                message: message.clone(),
            };
            match end {
                End::Fail(why) => EndedByBody::Fail(body(Some(why))),
                End::Unmet(why) => EndedByBody::Expect(body(Some(why))),
                End::Exit(_) => EndedByBody::Exit(body(None)),
            }
        }
    }
}

/// Facts at the end of a run, after its last messages.
#[derive(Clone, Copy, Debug, Default)]
pub struct Last<'a> {
    /// Message or rule that ends the run; `None` if there was none.
    pub ending: Option<&'a Arc<Ending>>,
    /// True if the run waited for a message that was not received.
    pub waits: bool,
    /// How the command ended; `None` if the run has no command.
    pub cmd: Option<child::End>,
}

/// Returns the final cause and exit code of a run. `ended_by` and `exit` are the cause and the exit code that the
/// main loop determined.
#[must_use]
pub fn decide(ended_by: EndedBy, exit: Exit, last: Last<'_>) -> (EndedBy, Exit) {
    let is_timeout = matches!(ended_by, EndedBy::Timeout);
    let is_final = matches!(
        ended_by,
        EndedBy::Signal(_) | EndedBy::StdoutClosed | EndedBy::User | EndedBy::Crash
    );
    // A message does not turn a failed demo into a success.
    let may_be_met = is_timeout || matches!(ended_by, EndedBy::Command) || exit == Exit::Ok;
    match (last.ending, last.cmd) {
        _ if is_final => (ended_by, exit),
        (Some(ending), _) if ending.by != EndingBy::Until || may_be_met => by_ending(ending),
        // The command ended just when the time was over.
        (None, Some(cmd)) if is_timeout && !cmd.is_stopped => {
            decide(EndedBy::Command, Exit::of_command(cmd), last)
        }
        (None, Some(_)) if is_timeout => (ended_by, Exit::Timeout),
        (None, _) if exit == Exit::Ok && last.waits => (ended_by, Exit::Timeout),
        _ => (ended_by, exit),
    }
}

/// Returns the end of a run by a message or a rule.
#[must_use]
pub fn by_ending(ending: &Arc<Ending>) -> (EndedBy, Exit) {
    (EndedBy::Ending(Arc::clone(ending)), Exit::from_ending(&ending.by))
}

/// Returns the end of a run by a signal.
#[must_use]
pub const fn by_signal(number: u8) -> (EndedBy, Exit) {
    (EndedBy::Signal(number), Exit::Signal(number))
}
