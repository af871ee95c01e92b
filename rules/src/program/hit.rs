//! The messages on which rules acted.

use crate::verdict::Message;

/// A message on which a rule acted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hit {
    /// Microseconds since the start of the run.
    pub at: u64,
    /// Number of the session.
    pub session: u32,
}

impl Hit {
    /// Returns the hit on a message.
    pub(super) const fn on(message: &Message<'_>) -> Self {
        Self {
            at: message.at,
            session: message.session,
        }
    }
}
