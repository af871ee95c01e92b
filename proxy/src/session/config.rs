//! The configuration of the core.

use std::time::Duration;

use teetap_wire::{Proto, def::Registry};

#[cfg(doc)]
use super::Hub;

/// The configuration of a [`Hub`].
#[derive(Clone, Debug)]
pub struct Config {
    /// Seed of all random decisions of rules. It is displayed so that a run can be repeated.
    pub seed: u64,
    /// Key from which the proxy derives its tokens. A live run gets it from the operating system; it is never
    /// displayed.
    pub secret: [u8; 16],
    /// The only protocol that clients may request; `None` for all.
    pub proto: Option<Proto>,
    /// Maximum time until a receiver acks a message that the proxy has already acked to its sender. After
    /// that, the proxy ends the session. `None` for the limit of the session's protocol: 100 s in DDNet's
    /// protocol, 10 s in the others.
    pub patience: Option<Duration>,
    /// True if the proxy repairs the loss of a message that its sender never retransmits, such as DDNet's
    /// ACCEPT.
    pub heals: bool,
    /// The events to emit. Each event costs an allocation on the data path.
    pub events: Events,
    /// Message definitions that the core decodes with.
    pub registry: &'static Registry,
}

/// Which events the core emits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::Display, strum::EnumString)]
#[strum(serialize_all = "snake_case")]
pub enum Events {
    /// None: there are no watchers.
    Nothing,
    /// Session states, notices, and datagrams with an oddity in the part that the session parses. Of a large
    /// 0.7 payload the session often parses only the headers.
    Odd,
    /// All events.
    All,
}
