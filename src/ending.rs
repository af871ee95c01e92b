//! The end of a run: its cause and its exit code.
//!
//! Law: a run has one cause, and its exit code follows from it. A message or a rule that ended the run does so also where it is
//! decoded after something else ended it, so the result does not depend on who was faster.

use std::sync::Arc;

use teetap_harness::child;
use teetap_inspect::{Ending, EndingBy};

use crate::{exit::Exit, run::EndedBy};

/// Facts at the end of a run, once its last messages are known.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Last<'a> {
    /// The message or the rule that ends the run, if there was one.
    pub(crate) ending: Option<&'a Arc<Ending>>,
    /// True if a message was waited for and has not come.
    pub(crate) waits: bool,
    /// The end of the command.
    pub(crate) cmd: Option<child::End>,
}

/// Returns the cause of the end of a run and its exit code, from those that the loop of the run has seen.
pub(crate) fn decide(ended_by: EndedBy, exit: Exit, last: Last<'_>) -> (EndedBy, Exit) {
    let is_timeout = matches!(ended_by, EndedBy::Timeout);
    let is_final = matches!(
        ended_by,
        EndedBy::Signal(_) | EndedBy::StdoutClosed | EndedBy::User | EndedBy::Crash
    );
    // A demo that has failed is not saved by a message.
    let may_be_met = is_timeout || matches!(ended_by, EndedBy::Command) || exit == Exit::Ok;
    match (last.ending, last.cmd) {
        _ if is_final => (ended_by, exit),
        (Some(ending), _) if ending.by != EndingBy::Until || may_be_met => by_ending(ending),
        // It ended in the moment in which its time was over.
        (None, Some(cmd)) if is_timeout && !cmd.is_stopped => {
            decide(EndedBy::Command, Exit::of_command(cmd), last)
        }
        (None, Some(_)) if is_timeout => (ended_by, Exit::Timeout),
        (None, _) if exit == Exit::Ok && last.waits => (ended_by, Exit::Timeout),
        _ => (ended_by, exit),
    }
}

/// Returns the end of a run by a message or a rule.
pub(crate) fn by_ending(ending: &Arc<Ending>) -> (EndedBy, Exit) {
    (EndedBy::Ending(Arc::clone(ending)), Exit::of(&ending.by))
}

/// Returns the end of a run by a signal.
pub(crate) const fn by_signal(number: u8) -> (EndedBy, Exit) {
    (EndedBy::Signal(number), Exit::Signal(number))
}
