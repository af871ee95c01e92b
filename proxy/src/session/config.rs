//! The configuration of the core.

use std::{fmt, time::Duration};

use teetap_wire::{Proto, def::Registry};

#[cfg(doc)]
use super::Hub;

/// The configuration of a [`Hub`].
#[derive(Clone, Debug)]
pub struct Config {
    /// The seed of all random decisions of rules; shown, so that they can be repeated.
    pub seed: u64,
    /// The key from which the proxy derives its tokens; from the operating system in a live run, never shown.
    pub secret: [u8; 16],
    /// The one protocol that clients may ask for; `None` = all.
    pub proto: Option<Proto>,
    /// The time for which a receiver may leave a message in custody unacked; `None` = as long as the peers'
    /// own kind does, 10 s, DDNet 100 s.
    pub patience: Option<Duration>,
    /// True if the loss of a message that its sender never repeats is repaired: DDNet's ACCEPT.
    pub heals: bool,
    /// The events to emit: each costs an allocation on the data path.
    pub events: Events,
    /// The definitions through which the core reads messages.
    pub registry: &'static Registry,
}

/// The events to emit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Events {
    /// No events: there are no watchers.
    Nothing,
    /// States of sessions, notices, and of the traffic only what is odd about the part that the session reads: of a
    /// large 0.7 payload often just the headers.
    Odd,
    /// All.
    All,
}

impl fmt::Display for Events {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Nothing => "nothing",
            Self::Odd => "odd",
            Self::All => "all",
        })
    }
}
