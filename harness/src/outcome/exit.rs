//! The result of a run or a command, as an exit code.

use teetap_inspect::EndingBy;
use teetap_rules::End;

use crate::child;

/// The result of a run or a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// Success, a closed stdout included.
    Ok,
    /// The command of `run`, or the demo, failed; a message matched --fail-on; a rule failed; a replay or two sessions differ.
    Failed,
    /// The command line is wrong.
    Usage,
    /// The network failed, or something could not be started.
    Network,
    /// The expression of --until has not matched.
    Timeout,
    /// A recording is damaged.
    Damaged,
    /// A bug.
    Internal,
    /// The action `exit` of a rule, with a code from 10 to 99.
    Rule(u8),
    /// A signal with this number.
    Signal(u8),
}

impl Exit {
    /// Returns the result of a run that a message or a rule ended.
    #[must_use]
    pub(super) const fn from_ending(by: &EndingBy) -> Self {
        match by {
            EndingBy::Until | EndingBy::Rule(_, End::Exit(0)) => Self::Ok,
            EndingBy::FailOn | EndingBy::Rule(_, End::Fail(_) | End::Unmet(_)) => Self::Failed,
            EndingBy::Rule(_, End::Exit(code)) => Self::Rule(*code),
        }
    }

    /// Returns the result of a run whose command ended.
    #[must_use]
    pub const fn of_command(end: child::End) -> Self {
        if end.is_success() { Self::Ok } else { Self::Failed }
    }

    /// Returns the exit code of the process: 128+n for signal n.
    #[must_use]
    pub const fn code(self) -> u8 {
        match self {
            Self::Ok => 0,
            Self::Failed => 1,
            Self::Usage => 2,
            Self::Network => 3,
            Self::Timeout => 4,
            Self::Damaged => 5,
            Self::Internal => 6,
            Self::Rule(code) => code,
            Self::Signal(number) => 128 + (number & 0x7f),
        }
    }
}
