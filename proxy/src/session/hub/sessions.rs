//! The sessions of a hub, and the owners of addresses and sockets.

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

/// The sessions of one client address: the current one, and a candidate that may replace it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Slot {
    pub(super) current: Option<SessionId>,
    pub(super) candidate: Option<SessionId>,
}

/// All sessions, including half-open and just closed ones.
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

    /// Returns the session that owns an upstream socket; `None` if a relay owns it, or nobody.
    pub(super) fn of_upstream(&self, upstream: UpstreamId) -> Option<SessionId> {
        match self.owners.get(&upstream) {
            Some(Owner::Session(id)) => Some(*id),
            Some(Owner::Relay(_)) | None => None,
        }
    }

    pub(super) fn slot(&self, client: ClientAddr) -> Slot {
        self.slots.get(&client).copied().unwrap_or_default()
    }

    /// Returns the current sessions of an address, on all listen sockets.
    pub(super) fn at(&self, addr: std::net::SocketAddr) -> impl Iterator<Item = SessionId> {
        let at = |listener| ClientAddr { addr, listener };
        let slots = self.slots.range(at(ListenerId::FIRST)..=at(ListenerId(u32::MAX)));
        slots.filter_map(|(_, slot)| slot.current)
    }

    /// Removes a session. If it was current, its candidate replaces it; the caller has to report the
    /// promotion of the returned candidate.
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
        // Another session of the client that shared the socket now owns it.
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
