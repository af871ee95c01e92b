//! Decodes events once for all watchers.
//!
//! Law: each datagram is inflated once and each message is decoded at most once, for any number of watchers. All state
//! that depends on every event of a session (contexts, snapshots, the state of filters) is in the decoder, so that a
//! watcher that falls behind loses only the events that it missed.

use std::{fmt, sync::Arc};

use teetap_proxy::session::{Event, Time};

use crate::{
    Ending, Reading, Values,
    joins::Join,
    subscribers::Selected,
    track::{OpenAtEnd, Unanswered},
};

/// An event with its decoded datagram.
pub struct DecodedEvent {
    /// The event.
    pub event: Event,
    /// The decoded datagram; `None` if the event has no datagram, or no watcher shows part of it.
    pub reading: Option<Reading>,
    /// Start of the session, from which filters count `t`; `None` outside of sessions.
    pub since: Option<Time>,
    /// Name of the session's own player, for a state change; `None` if unknown, and for other events.
    pub player: Option<String>,
    /// True if a message of the event or its datagram passes the filter, or if there is no filter.
    pub selected: bool,
    /// The subscriptions that want the event.
    pub subscribers: Selected,
    /// Number of messages in the event that pass the filter. A datagram without messages counts as one message.
    pub matches: u64,
    /// True if a message of the event lets a flight recorder write a file.
    pub saves: bool,
    /// The cause of the end of the run, from this or an earlier event.
    pub ending: Option<Arc<Ending>>,
    /// The join that ended with this event.
    pub joined: Option<Arc<Join>>,
    /// The last datagrams and the unacked messages of a session that ends with this event.
    pub(crate) open_at_end: Option<Box<OpenAtEnd>>,
    /// What the peers of a session that ends with the event have never answered.
    pub(crate) unanswered: Vec<Unanswered>,
    /// How the map that the client refuses with the event differs from the standard map of its name.
    pub(crate) other_map: Option<Values>,
}

impl fmt::Debug for DecodedEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DecodedEvent")
            .field("event", &self.event)
            .field("matches", &self.matches)
            .finish_non_exhaustive()
    }
}
