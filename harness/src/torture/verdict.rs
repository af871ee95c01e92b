//! The verdict about a cell: joined, joined but faulty, failed, or not tried.

use std::{fmt, time::Duration};

use teetap_wire::Severity;

use super::{
    cell::{Cell, Fault},
    run::Run,
    watch::{Cause, ClientFinding, Watched},
};
use crate::child;

/// Exit codes above this value are signals.
const SIGNAL: i32 = 128;

/// The verdict about a run of the client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The client joined, this long after its first request.
    Joined(Duration),
    /// The client joined, but lost a message, received no more snapshots, or did something else wrong.
    Faulty(Duration, Severity),
    /// The client did not join in time, or exited with success before it joined.
    Never,
    /// The client exited with this code; 128+n for signal n.
    Ended(i32),
    /// The server refused the client for a while, so that the fault was not tried.
    Refused,
    /// The fault did not occur.
    Untried,
}

/// A verdict with its reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judged {
    /// The verdict.
    pub verdict: Verdict,
    /// Sentence that explains the verdict; `None` for a client that joined.
    pub why: Option<String>,
    /// Last line that the client printed; `None` if the client joined or printed nothing.
    pub said: Option<String>,
}

impl Verdict {
    /// Returns the time after which the client joined; `None` if it did not join.
    #[must_use]
    pub(super) const fn joined(&self) -> Option<Duration> {
        match self {
            Self::Joined(time) | Self::Faulty(time, _) => Some(*time),
            Self::Never | Self::Ended(_) | Self::Refused | Self::Untried => None,
        }
    }

    /// Returns true for a verdict that a client which survives the fault does not get.
    #[must_use]
    pub const fn is_bad(&self) -> bool {
        matches!(
            self,
            Self::Never | Self::Ended(_) | Self::Faulty(_, Severity::Error)
        )
    }

    /// Returns the name for scripts. A join is late if it took longer than the joins without a fault.
    #[must_use]
    pub const fn name(&self, is_late: bool) -> &'static str {
        match self {
            Self::Joined(_) if is_late => "late",
            Self::Joined(_) => "joined",
            Self::Faulty(..) => "faulty",
            Self::Never => "never",
            Self::Ended(code) if *code > SIGNAL => "crashed",
            Self::Ended(_) => "exited",
            Self::Refused => "refused",
            Self::Untried => "untried",
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = |time: &Duration| time.as_secs_f64();
        match self {
            Self::Joined(time) => write!(f, "joined after {:.2} s", seconds(time)),
            Self::Faulty(time, _) => write!(f, "joined after {:.2} s, but", seconds(time)),
            Self::Never => f.write_str("never joined"),
            Self::Ended(code) => write!(f, "the client ended with {}", child::End::with(*code)),
            Self::Refused => f.write_str("refused by the server"),
            Self::Untried => f.write_str("not tried"),
        }
    }
}

impl Judged {
    /// Judges a run. `known` contains the codes of findings that the client has without a fault, too.
    pub(super) fn from_run(run: &Run, cell: Option<&Cell>, known: &[&str]) -> Self {
        let watched = &run.watched;
        let (verdict, why) = verdict(watched, cell, known);
        let said = run
            .said
            .clone()
            .filter(|_| !matches!(verdict, Verdict::Joined(_) | Verdict::Untried));
        Self { verdict, why, said }
    }
}

fn verdict(watched: &Watched, cell: Option<&Cell>, known: &[&str]) -> (Verdict, Option<String>) {
    let ended = watched.code().filter(|_| watched.cause() == Some(Cause::Client));
    // The server drops a CONNECT that the fault corrupts.
    let is_spoilt = |cell: &Cell| cell.fault == Fault::Corrupt && cell.step.name == "ctrl.connect";
    let limit = watched.limit().filter(|_| !cell.is_some_and(is_spoilt));
    let untried = cell.and_then(|cell| untried(watched, cell));
    let found = watched
        .findings
        .iter()
        .find(|found| is_of_fault(found, cell, known));
    if let Some(limit) = limit {
        return (Verdict::Refused, Some(limit.why.to_owned()));
    }
    match (watched.joined(), ended) {
        (_, Some(code)) if code != 0 => (Verdict::Ended(code), failure(watched, found)),
        (None, _) => (Verdict::Never, failure(watched, found)),
        (Some(_), _) if untried.is_some() => (Verdict::Untried, untried.map(str::to_owned)),
        (Some(time), _) => match flaw(watched, found) {
            Some((severity, why)) => (Verdict::Faulty(time, severity), Some(why)),
            None => (Verdict::Joined(time), None),
        },
    }
}

/// Returns true for a finding that the client does not have without a fault, and that a delay by teetap does not
/// explain.
fn is_of_fault(found: &ClientFinding, cell: Option<&Cell>, known: &[&str]) -> bool {
    let is_delayed = cell.is_some_and(|cell| matches!(cell.fault, Fault::Delay | Fault::Swap));
    !known.contains(&found.code) && (found.is_error || !is_delayed)
}

/// Returns the sentence about a client that did not join, or exited.
fn failure(watched: &Watched, found: Option<&ClientFinding>) -> Option<String> {
    if !watched.has_client() {
        return Some("no datagram came from the client".to_owned());
    }
    let place = match watched.joined() {
        Some(time) => Some(format!("it had joined after {:.2} s", time.as_secs_f64())),
        None => watched.why(),
    };
    let found = found.map(|found| found.text.clone());
    let parts: Vec<String> = place.into_iter().chain(found).collect();
    (!parts.is_empty()).then(|| parts.join("; "))
}

/// Returns the reason why a fault did not occur; `None` if it did.
fn untried(watched: &Watched, cell: &Cell) -> Option<&'static str> {
    match cell.fault {
        _ if !watched.has_hit() => Some("the message was not sent"),
        Fault::Swap if !watched.is_overtaken => Some("nothing was sent after it that could overtake it"),
        _ => None,
    }
}

/// Returns the fault of a client that joined; `None` if it has none.
fn flaw(watched: &Watched, found: Option<&ClientFinding>) -> Option<(Severity, String)> {
    if watched.cause() == Some(Cause::Timeout) {
        // The run waits for a snapshot some time after the first one.
        let found = found.map_or(String::new(), |found| format!("; {}", found.text));
        let why = format!("it stayed deaf: no snapshot came to it later{found}");
        return Some((Severity::Error, why));
    }
    let found = found?;
    let severity = if found.is_error {
        Severity::Error
    } else {
        Severity::Warning
    };
    Some((severity, found.text.clone()))
}

#[cfg(test)]
#[path = "verdict_tests.rs"]
mod tests;
