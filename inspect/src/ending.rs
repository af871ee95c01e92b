//! The message that ends a run, or the reading of a recording.

use std::fmt;

use teetap_proxy::session::{SessionId, Time};
use teetap_wire::Dir;

use crate::row::arrow;

/// A message that matched an expression which ends the run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ending {
    /// The expression.
    pub by: EndingBy,
    /// The time of the message.
    pub at: Time,
    /// The session; `None` if the message is outside of sessions.
    pub session: Option<SessionId>,
    /// The direction of the message.
    pub dir: Dir,
    /// The name of the message as in lines.
    pub message: String,
}

/// An expression that ends a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndingBy {
    /// The expression for a message that is waited for.
    Until,
    /// The expression for a message that must not come.
    FailOn,
}

impl fmt::Display for Ending {
    /// Formats the message with its place: "sv_chat s→c in session 1 at 3.204 s".
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.message, arrow(self.dir, None))?;
        if let Some(session) = self.session {
            write!(f, " in session {}", session.0)?;
        }
        write!(f, " at {:.3} s", self.at.as_secs_f64())
    }
}
