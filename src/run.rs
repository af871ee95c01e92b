//! Facts about a run at its start and at its end.

use std::{borrow::Cow, fmt, net::SocketAddr, path::Path, sync::Arc, time::SystemTime};

use teetap_capture::Run;
use teetap_engine::recording::{Outcome, header};
use teetap_harness::child;
use teetap_inspect::{
    Ending, EndingBy,
    jsonl::{EndedByBody, EndingBody, RuleEndingBody},
    judge::Findings,
};
use teetap_proxy::{io::Ended, session::Time, words::Word};
use teetap_rules::{End, Report};
use teetap_wire::Dir;

use crate::{
    exit::Exit,
    output::{Joins, Times},
};

/// Facts at the start.
#[derive(Clone, Debug)]
pub(crate) struct Start {
    pub(crate) seed: u64,
    /// The server as the user wrote it.
    pub(crate) target: String,
    pub(crate) server: SocketAddr,
    pub(crate) listen: SocketAddr,
    /// The address that clients of this machine connect to: differs from `listen` when that is every address.
    pub(crate) connect: SocketAddr,
    pub(crate) wall: SystemTime,
}

/// Facts at the end.
#[derive(Clone, Debug)]
pub(crate) struct Summary {
    pub(crate) at: Time,
    /// `None` when the data thread crashed.
    pub(crate) ended: Option<Ended>,
    /// Events that this output missed.
    pub(crate) lost: u64,
    /// Datagrams that the kernel dropped before they were read.
    pub(crate) kernel_drops: u64,
    pub(crate) seed: u64,
    /// The address that clients of this machine connect to.
    pub(crate) connect: SocketAddr,
    /// The line for a shell that repeats the run.
    pub(crate) repeat: String,
    /// True if the rules changed during the run, which that line does not repeat.
    pub(crate) rules_changed: bool,
    pub(crate) exit: Exit,
    pub(crate) ended_by: EndedBy,
    /// The end of the command of `run`.
    pub(crate) cmd: Option<child::End>,
    pub(crate) recording: Option<Outcome>,
    /// The joins of the sessions.
    pub(crate) joins: Joins,
    /// The clock of the lines above the summary.
    pub(crate) times: Times,
    /// The findings; `None` where not all events were decoded whole.
    pub(crate) findings: Option<Findings>,
}

/// The cause of the end of a run.
#[derive(Clone, Debug)]
pub(crate) enum EndedBy {
    /// A signal, by its number.
    Signal(u8),
    /// A message or a rule.
    Ending(Arc<Ending>),
    /// The time limit.
    Timeout,
    /// The command of `run` ended.
    Command,
    /// Nothing reads stdout any more.
    StdoutClosed,
    /// The demo was over.
    Demo,
    /// The user left the terminal UI.
    User,
    /// The data thread crashed.
    Crash,
}

impl Summary {
    /// Returns the rules and link lines with their effects; `None` when the data thread crashed.
    pub(crate) fn report(&self) -> Option<&Report> {
        self.ended.as_ref().map(|ended| &ended.report)
    }
}

impl Summary {
    /// Returns the cause of the end as text.
    pub(crate) fn cause(&self) -> String {
        match &self.ended_by {
            EndedBy::Ending(ending) => format!("{}: {}", ending.by, self.times.ending(ending)),
            other => other.to_string(),
        }
    }
}

impl EndedBy {
    /// Returns it as JSON.
    pub(crate) fn body(&self) -> EndedByBody<'_> {
        match self {
            Self::Signal(signal) => EndedByBody::Signal { signal: *signal },
            Self::Ending(ending) => ending_body(ending),
            Self::Timeout => EndedByBody::Timeout,
            Self::Command => EndedByBody::Command,
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

/// Facts at the start of a printed recording.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Opened<'a> {
    pub(crate) file: &'a Path,
    /// The time at which it begins.
    pub(crate) wall: SystemTime,
    /// The run, in recordings of teetap.
    pub(crate) run: Option<&'a Run>,
}

impl Start {
    /// Returns what a recording holds of it.
    pub(crate) fn recorded(&self) -> Run {
        header(self.seed, &self.target, (self.server, self.listen), self.wall)
    }
}
