//! The sessions of a hub, and whose each address and socket is.

use std::collections::BTreeMap;

use crate::session::{
    ids::{ClientAddr, ListenerId, SessionId, UpstreamId},
    link::Link,
};

/// The owner of an upstream socket.
#[derive(Clone, Copy, Debug)]
pub(super) enum Owner {
    Session(SessionId),
    Relay(ClientAddr),
}

/// The sessions of one client address: the living one, and one that may take its place.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Slot {
    pub(super) current: Option<SessionId>,
    pub(super) candidate: Option<SessionId>,
}

/// All sessions, half-open ones and those that were just closed included.
#[derive(Default)]
pub(super) struct Sessions {
    pub(super) links: BTreeMap<SessionId, Link>,
    pub(super) slots: BTreeMap<ClientAddr, Slot>,
    pub(super) owners: BTreeMap<UpstreamId, Owner>,
    last_session: u32,
    last_upstream: u32,
}

impl Sessions {
    pub(super) fn next_id(&mut self) -> SessionId {
        self.last_session += 1;
        SessionId(self.last_session)
    }

    pub(super) fn next_upstream(&mut self, owner: Owner) -> UpstreamId {
        self.last_upstream += 1;
        let upstream = UpstreamId(self.last_upstream);
        self.owners.insert(upstream, owner);
        upstream
    }

    /// The session that an upstream socket belongs to, when it is not that of a relay.
    pub(super) fn of_upstream(&self, upstream: UpstreamId) -> Option<SessionId> {
        match self.owners.get(&upstream) {
            Some(Owner::Session(id)) => Some(*id),
            Some(Owner::Relay(_)) | None => None,
        }
    }

    pub(super) fn slot(&self, client: ClientAddr) -> Slot {
        self.slots.get(&client).copied().unwrap_or_default()
    }

    /// The living sessions of an address, behind any listen socket.
    pub(super) fn at(&self, addr: std::net::SocketAddr) -> impl Iterator<Item = SessionId> {
        let at = |listener| ClientAddr { addr, listener };
        let slots = self.slots.range(at(ListenerId::FIRST)..=at(ListenerId(u32::MAX)));
        slots.filter_map(|(_, slot)| slot.current)
    }

    /// Takes a session out. The candidate beside it takes its place; its promotion has to be reported.
    pub(super) fn remove(&mut self, id: SessionId) -> Option<(Link, Option<SessionId>)> {
        let link = self.links.remove(&id)?;
        let upstream = link.upstream();
        let addr = link.client_addr();
        let mut promoted = None;
        if let Some(slot) = self.slots.get_mut(&addr) {
            if slot.candidate == Some(id) {
                slot.candidate = None;
            }
            if slot.current == Some(id) {
                slot.current = slot.candidate.take();
                promoted = slot.current;
            }
            if slot.current.is_none() {
                self.slots.remove(&addr);
            }
        }
        // The other session of the client may have the same socket, which is its own now.
        let Slot { current, candidate } = self.slot(addr);
        let mut others = [current, candidate].into_iter().flatten();
        let heir = others.find(|other| {
            self.links
                .get(other)
                .is_some_and(|other| other.upstream() == upstream)
        });
        match heir.and_then(|heir| self.links.get_mut(&heir)) {
            Some(heir) => {
                heir.set_shares_socket(false);
                self.owners.insert(upstream, Owner::Session(heir.id()));
            }
            None => {
                self.owners.remove(&upstream);
            }
        }
        Some((link, promoted))
    }
}
