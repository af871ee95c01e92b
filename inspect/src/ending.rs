//! The message that ends a run or the reading of a recording, or the rule that ends a run.

use std::fmt;

use teetap_proxy::session::{Event, EventKind, Notice, SessionId, Time};
use teetap_rules::End;
use teetap_wire::Dir;

use crate::row::arrow;

/// The end of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ending {
    /// The cause.
    pub by: EndingBy,
    /// The time.
    pub at: Time,
    /// The session; `None` if the message is outside of sessions.
    pub session: Option<SessionId>,
    /// Direction and name of the message as shown in lines; `None` for a rule without a condition.
    pub message: Option<(Dir, String)>,
}

/// The cause of the end of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EndingBy {
    /// The expression `--until` matched.
    Until,
    /// The expression `--fail-on` matched.
    FailOn,
    /// A rule, by its name, with the result that it gives to the run.
    Rule(Box<str>, End),
}

impl Ending {
    /// Returns the ending that this event reports for a rule; `None` for other events.
    pub(crate) fn of_rule(event: &Event) -> Option<Self> {
        let EventKind::Notice(notice) = &event.what else {
            return None;
        };
        let (rule, end, dir, message) = match notice {
            Notice::AssertionFailed {
                rule,
                expected,
                why,
                dir,
                message,
            } => {
                let end = if *expected { End::Unmet } else { End::Fail };
                (rule, end(why.clone()), dir, message)
            }
            Notice::ExitRequested {
                rule,
                exit,
                dir,
                message,
            } => (rule, End::Exit(*exit), dir, message),
            _ => return None,
        };
        let message = dir.as_ref().zip(message.as_deref());
        Some(Self {
            by: EndingBy::Rule(rule.clone(), end),
            at: event.at,
            session: event.session,
            message: message.map(|(dir, message)| (dir.0, message.to_owned())),
        })
    }

    /// Returns true if a rule ended the run.
    #[must_use]
    pub const fn is_by_rule(&self) -> bool {
        matches!(self.by, EndingBy::Rule(..))
    }
}

impl fmt::Display for EndingBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Until => f.write_str("--until"),
            Self::FailOn => f.write_str("--fail-on"),
            Self::Rule(rule, End::Fail(why) | End::Unmet(why)) => write!(f, "rule {rule:?}: {why}"),
            Self::Rule(rule, End::Exit(_)) => write!(f, "rule {rule:?}"),
        }
    }
}

impl fmt::Display for Ending {
    /// Formats the message with its place, such as `sv_chat s→c in session 1 at 3.204 s`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some((dir, message)) = &self.message {
            write!(f, "{message} {} ", arrow(*dir, None))?;
        }
        if let Some(session) = self.session {
            write!(f, "in session {} ", session.0)?;
        }
        write!(f, "at {:.3} s", self.at.as_secs_f64())
    }
}
