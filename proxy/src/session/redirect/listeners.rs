//! The listen sockets of the proxy, each for one port of the server's host.
//!
//! Law: there is one listen socket per port. It is opened when a redirect first names the port, and stays
//! open. There are at most [`MAX_LISTENERS`] beside the first; redirects to further ports are forwarded
//! unchanged.

use std::{collections::BTreeMap, net::SocketAddr};

use crate::session::{
    ids::{ListenerId, Route},
    outbox::Outbox,
};

/// Maximum number of listen sockets for redirects, beside the first.
const MAX_LISTENERS: usize = 8;

/// All listen sockets of the proxy.
#[derive(Debug)]
pub(crate) struct Listeners {
    /// Address of the server with which the run started.
    server: SocketAddr,
    sockets: BTreeMap<ListenerId, Listener>,
    last: u32,
}

#[derive(Debug)]
struct Listener {
    /// Port of the server for which this socket listens.
    port: u16,
    state: State,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum State {
    Opening,
    Open(SocketAddr),
    Failed(Box<str>),
}

/// Result of looking for the listen socket for a port of the server's host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ListenerState {
    /// A listen socket of the proxy with this port.
    Open(u16),
    /// The listen socket is being opened.
    Opening,
    /// There is no listen socket, for this reason.
    None(Box<str>),
}

impl Listeners {
    pub(crate) fn new(route: Route) -> Self {
        let first = Listener {
            port: route.server.port(),
            state: State::Open(route.listen),
        };
        Self {
            server: route.server,
            sockets: BTreeMap::from([(ListenerId::FIRST, first)]),
            last: 0,
        }
    }

    /// Returns the address of the server behind a listen socket.
    pub(crate) fn server(&self, listener: ListenerId) -> SocketAddr {
        let mut server = self.server;
        if let Some(listener) = self.sockets.get(&listener) {
            server.set_port(listener.port);
        }
        server
    }

    /// Returns the port of a listen socket that a redirect requested; `None` for the first one, or if it is
    /// not open.
    pub(crate) fn port(&self, listener: ListenerId) -> Option<u16> {
        match self.sockets.get(&listener)?.state {
            State::Open(local) if listener != ListenerId::FIRST => Some(local.port()),
            _ => None,
        }
    }

    /// Returns the listen socket for a port of the server's host. Requests one if there is none yet.
    pub(crate) fn seek(&mut self, port: u16, out: &mut Outbox) -> ListenerState {
        if let Some(listener) = self.by_server_port(port) {
            return match &listener.state {
                State::Open(local) => ListenerState::Open(local.port()),
                State::Opening => ListenerState::Opening,
                State::Failed(error) => ListenerState::None(error.clone()),
            };
        }
        if self.sockets.len() > MAX_LISTENERS {
            let why = format!("redirects have requested {MAX_LISTENERS} other ports already");
            return ListenerState::None(why.into());
        }
        self.last += 1;
        let id = ListenerId(self.last);
        let state = State::Opening;
        self.sockets.insert(id, Listener { port, state });
        out.listen(id, port);
        ListenerState::Opening
    }

    /// Records that a listen socket is open at this address. Returns the server behind it; `None` if no
    /// request is pending.
    pub(crate) fn opened(&mut self, id: ListenerId, local: SocketAddr) -> Option<SocketAddr> {
        let listener = self.sockets.get_mut(&id)?;
        if listener.state != State::Opening {
            return None;
        }
        listener.state = State::Open(local);
        Some(self.server(id))
    }

    /// Records that a listen socket could not be opened. Returns false if no request is pending.
    pub(crate) fn failed(&mut self, id: ListenerId, error: &str) -> bool {
        let waits = |listener: &&mut Listener| listener.state == State::Opening;
        let Some(listener) = self.sockets.get_mut(&id).filter(waits) else {
            return false;
        };
        listener.state = State::Failed(error.into());
        true
    }

    /// Allows failed listen sockets to be requested again once no request is pending. Otherwise a datagram
    /// that needs two would request them alternately forever.
    pub(crate) fn forget_failed(&mut self) {
        let mut all = self.sockets.values();
        if all.all(|listener| listener.state != State::Opening) {
            self.sockets
                .retain(|_, listener| !matches!(listener.state, State::Failed(_)));
        }
    }

    /// Returns the port of the open listen socket for a port of the server's host; `None` if there is none.
    pub(super) fn in_front_of(&self, port: u16) -> Option<u16> {
        match self.by_server_port(port)?.state {
            State::Open(local) => Some(local.port()),
            State::Opening | State::Failed(_) => None,
        }
    }

    fn by_server_port(&self, port: u16) -> Option<&Listener> {
        self.sockets.values().find(|listener| listener.port == port)
    }
}
