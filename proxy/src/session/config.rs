//! The configuration of the core.

use std::{fmt, time::Duration};

use teetap_wire::Proto;

#[cfg(doc)]
use super::Hub;

/// The configuration of a [`Hub`].
#[derive(Clone, Debug)]
pub struct Config {
    /// What all random decisions of rules are derived from; shown, so that they can be repeated.
    pub seed: u64,
    /// The secret that all tokens of the proxy are derived from; from the operating system in a live run, never shown.
    pub secret: [u8; 16],
    /// The one protocol that clients may ask for; `None` = all.
    pub proto: Option<Proto>,
    /// How long a receiver may leave a message unacked that the proxy answers for; `None` = as long as the peers'
    /// own kind does, 10 s, DDNet 100 s.
    pub patience: Option<Duration>,
    /// Which events are made: making one costs an allocation on the data path.
    pub events: Events,
}

/// Which events are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Events {
    /// None: there is no watcher.
    Nothing,
    /// States of sessions, notices, and of the traffic only what is odd about it.
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
