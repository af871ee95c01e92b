//! The opening of a session, as seen by rules and link lines.

use std::net::SocketAddr;

/// A session that opens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Opening {
    /// Seed of the run, from which every random decision is derived.
    pub seed: u64,
    /// Number of the session, from 1.
    pub session: u32,
    /// Time at which the session opened, in microseconds since the start of the run.
    pub at: u64,
    /// True if no message of the session was missed.
    pub is_new: bool,
    /// Address of the client; `None` outside of sessions.
    pub client: Option<SocketAddr>,
}
