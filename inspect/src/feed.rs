//! Events decoded once for all watchers.
//!
//! Law: one inflation and at most one decode per message, however many watch. Everything that takes all events of a session
//! (contexts, snapshots, the memory of filters) is here, so a watcher that falls behind loses only the events that it missed.

use std::{fmt, sync::Arc};

use teetap_proxy::session::{Event, Time};

use crate::{Ending, Reading, course::Join, subscribers::Selected};

/// An event with its decoded datagram.
pub struct DecodedEvent {
    /// The event.
    pub event: Event,
    /// The decoded datagram; `None` if there is none, or no watcher shows any of it.
    pub reading: Option<Reading>,
    /// The time at which its session began, from which filters count `t`; `None` outside of sessions.
    pub since: Option<Time>,
    /// The name of the session's own player, if the state of the session changes and the name is known.
    pub player: Option<String>,
    /// True if a message of the event, or its datagram, passes the filter, or there is no filter.
    pub selected: bool,
    /// The subscriptions that the event is for.
    pub subscribers: Selected,
    /// The number of messages of the event that pass the filter; a datagram without one counts as one.
    pub matches: u64,
    /// The cause of the end of the run, here or before.
    pub ending: Option<Arc<Ending>>,
    /// The join that the event has ended.
    pub joined: Option<Arc<Join>>,
}

impl fmt::Debug for DecodedEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DecodedEvent")
            .field("event", &self.event)
            .field("matches", &self.matches)
            .finish_non_exhaustive()
    }
}
