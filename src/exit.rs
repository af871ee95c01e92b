//! The end of a run: the table of exit codes, and the errors that carry one.
//!
//! Help and man page are made from [`TABLE`].

use std::fmt;

use teetap_capture::FileError;
use teetap_engine::{RunError, faults::FaultsError, rules::RulesError};
use teetap_harness::{child::ChildError, junit::ReportError};
use teetap_proxy::io::{LogError, StartError};

use crate::look::Look;

pub(crate) use teetap_harness::outcome::Exit;

/// Code and meaning, in order.
pub(crate) const TABLE: &[(&str, &str)] = &[
    ("0", "success"),
    (
        "1",
        "the command of `run` failed (its own code is cmd_exit in the summary), a message matched --fail-on, a rule failed the run (`fail`, `expect`), the demo failed, a replay differs, two sessions of diff differ, grep found nothing, judge found an error, fmt --check a file in another form, a torture cell that peers survive failed, a run refused a command of ctl, or shrink found nothing to look for",
    ),
    (
        "2",
        "usage: a wrong command line or filter, a file to read that does not exist, a file to write that exists and is not a recording of teetap",
    ),
    (
        "3",
        "network or start error: host not found, port taken, command not found, a file that cannot be written, a terminal that cannot be drawn on, no listener on the socket of ctl",
    ),
    (
        "4",
        "no message matched --until before --timeout or the end, or the command of `run` had not ended by --timeout",
    ),
    (
        "5",
        "a recording, input log or journal is damaged, or cannot be read",
    ),
    ("6", "internal error: a bug in teetap"),
    ("10-99", "the action `exit` of a rule"),
    ("128+n", "ended by signal n"),
];

/// Returns [`TABLE`] as text for help and man page.
pub(crate) fn table() -> String {
    TABLE
        .iter()
        .map(|(code, meaning)| format!("  {code:<6} {meaning}\n"))
        .collect()
}

/// An error with its exit code. All other errors are bugs and exit with [`Exit::Internal`].
#[derive(Debug)]
pub(crate) struct Failure {
    /// Result of the process.
    pub(crate) exit: Exit,
    text: String,
}

impl Failure {
    /// Returns the failure for a wrong command line.
    pub(crate) fn usage(text: impl fmt::Display) -> Self {
        Self::new(Exit::Usage, text)
    }

    /// Returns the failure for a run that did not start.
    pub(crate) fn run(error: RunError) -> Self {
        match error {
            RunError::Rules(error) => Self::rules(&error),
            RunError::Recording(error) => Self::recording(error),
            RunError::Start(StartError::NoClientAddresses(_) | StartError::Log(LogError::Exists { .. })) => {
                Self::usage(error)
            }
            RunError::Start(_) | RunError::Entropy(_) => Self::network(error),
        }
    }

    /// Returns the failure for a command that was not started.
    pub(crate) fn child(error: ChildError) -> Self {
        match error {
            ChildError::NoCommand => Self::usage(error),
            ChildError::Start { .. } => Self::network(error),
        }
    }

    /// Returns the failure for a JUnit report that cannot be written.
    pub(crate) fn report(error: ReportError) -> Self {
        match error {
            ReportError::System { .. } => Self::network(error),
            ReportError::Path { .. } => Self::usage(error),
        }
    }

    /// Returns the failure for rules that cannot be used.
    pub(crate) fn rules(error: &RulesError) -> Self {
        Self::usage(error.render(Look::get().err.diagnostics()))
    }

    /// Returns the failure for a journal whose faults cannot be repeated.
    pub(crate) fn faults(error: &FaultsError) -> Self {
        let text = error.render(Look::get().err.diagnostics());
        match error.is_damaged() {
            true => Self::damaged(text),
            false => Self::usage(text),
        }
    }

    /// Returns the failure for a recording whose file cannot be used.
    pub(crate) fn recording(error: FileError) -> Self {
        match error {
            FileError::Create { .. } => Self::network(error),
            _ => Self::usage(error),
        }
    }

    /// Returns the failure for an unsuccessful check or attempt.
    pub(crate) fn failed(text: impl fmt::Display) -> Self {
        Self::new(Exit::Failed, text)
    }

    /// Returns the failure for a damaged recording.
    pub(crate) fn damaged(text: impl fmt::Display) -> Self {
        Self::new(Exit::Damaged, text)
    }

    /// Returns the failure for a network error, or for something that could not be started.
    pub(crate) fn network(text: impl fmt::Display) -> Self {
        Self::new(Exit::Network, text)
    }

    fn new(exit: Exit, text: impl fmt::Display) -> Self {
        let text = text.to_string();
        Self { exit, text }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for Failure {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_is_in_the_table() {
        for exit in [
            Exit::Ok,
            Exit::Failed,
            Exit::Usage,
            Exit::Network,
            Exit::Timeout,
            Exit::Damaged,
            Exit::Internal,
        ] {
            let code = exit.code().to_string();
            assert!(TABLE.iter().any(|(listed, _)| *listed == code), "{exit:?}");
        }
        assert_eq!(Exit::Rule(17).code(), 17);
        assert_eq!(Exit::Signal(15).code(), 143);
    }
}
