//! The list of a hub's sessions, from which a user chooses one.

use std::net::SocketAddr;

use teetap_wire::Proto;

use super::{Hub, SessionId, Time};
use crate::session::State;

/// A session that is not closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Listed {
    /// The session.
    pub id: SessionId,
    /// The state of the session.
    pub state: State,
    /// The protocol of its legs.
    pub proto: Proto,
    /// The client's address.
    pub client: SocketAddr,
    /// The time at which the session was opened.
    pub opened: Time,
}

impl Hub {
    /// Returns the sessions in the order of their numbers, without candidates.
    #[must_use]
    pub fn list(&self) -> Vec<Listed> {
        let links = self.sessions.links.values();
        links
            .filter(|link| !link.is_candidate())
            .map(|link| Listed {
                id: link.id(),
                state: link.state(),
                proto: link.proto(),
                client: link.client_addr().addr,
                opened: link.opened_at(),
            })
            .collect()
    }
}
