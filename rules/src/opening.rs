//! The opening of a session, as rules and link lines see it.

use std::net::SocketAddr;

/// A session that opens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Opening {
    /// The seed of the run: every random decision derives from it.
    pub seed: u64,
    /// The number of the session, from 1.
    pub session: u32,
    /// The time at which the session opened, in microseconds since the start of the run.
    pub at: u64,
    /// True if no message of the session was missed.
    pub is_new: bool,
    /// The address of the client; `None` outside of sessions.
    pub client: Option<SocketAddr>,
}
