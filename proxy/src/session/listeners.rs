//! The listen sockets, each in front of one port of the server's host, and the message that asks for more of them.
//!
//! DDNet's `redirect` sends a client to another port of the host that it dialled, which is the proxy's. So that the
//! client stays behind it, the port is replaced: by that of the listen socket in front of the server that was meant.
//! Servers redirect to their own port too, for a client to connect again.
//!
//! Law: one listen socket for each port, opened when a redirect first names it, at most [`MAX_LISTENERS`] beside the
//! first, and kept. Beyond that redirects pass as they are.

use std::{collections::BTreeMap, net::SocketAddr};

use teetap_wire::{Layer, MessageId, Proto, identify, varint};

use super::{ListenerId, Route, compose::fits, outbox::Outbox};

/// Listen sockets that redirects may ask for, beside the first.
const MAX_LISTENERS: usize = 8;

/// `redirect@ddnet.org`: one int, the port (DDNet 17.2 and later, protocol_ex_msgs.h).
const REDIRECT: MessageId = MessageId {
    layer: Layer::System,
    id: 0,
    uuid: Some(0x4efe_406a_7774_33f1_bfde_1806_ff6d_1528_u128.to_be_bytes()),
};

/// Where DDNet's client connects to when no port is named (client.cpp, `Connect`).
const DEFAULT_PORT: u16 = 8303;

/// All of them.
#[derive(Debug)]
pub(crate) struct Listeners {
    /// The server of the start.
    server: SocketAddr,
    sockets: BTreeMap<ListenerId, Listener>,
    last: u32,
}

#[derive(Debug)]
struct Listener {
    /// Port of the server behind it.
    port: u16,
    state: State,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum State {
    Opening,
    Open(SocketAddr),
    Failed(Box<str>),
}

/// What is in front of a port of the server's host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Front {
    /// A listen socket of ours with this port.
    Open(u16),
    /// Soon.
    Opening,
    /// Nothing of ours, for this reason.
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

    /// The server behind a listen socket.
    pub(crate) fn server(&self, listener: ListenerId) -> SocketAddr {
        let mut server = self.server;
        if let Some(listener) = self.sockets.get(&listener) {
            server.set_port(listener.port);
        }
        server
    }

    /// The port of a listen socket that a redirect asked for.
    pub(crate) fn port(&self, listener: ListenerId) -> Option<u16> {
        match self.sockets.get(&listener)?.state {
            State::Open(local) if listener != ListenerId::FIRST => Some(local.port()),
            _ => None,
        }
    }

    /// What is in front of a port; where there is nothing yet a listen socket is asked for.
    pub(crate) fn seek(&mut self, port: u16, out: &mut Outbox) -> Front {
        if let Some(listener) = self.of(port) {
            return match &listener.state {
                State::Open(local) => Front::Open(local.port()),
                State::Opening => Front::Opening,
                State::Failed(error) => Front::None(error.clone()),
            };
        }
        if self.sockets.len() > MAX_LISTENERS {
            let why = format!("redirects have asked for {MAX_LISTENERS} other ports already");
            return Front::None(why.into());
        }
        self.last += 1;
        let id = ListenerId(self.last);
        let state = State::Opening;
        self.sockets.insert(id, Listener { port, state });
        out.listen(id, port);
        Front::Opening
    }

    /// It is open, at this address; gives the server behind it. `None` = nobody waits for it.
    pub(crate) fn opened(&mut self, id: ListenerId, local: SocketAddr) -> Option<SocketAddr> {
        let listener = self.sockets.get_mut(&id)?;
        if listener.state != State::Opening {
            return None;
        }
        listener.state = State::Open(local);
        Some(self.server(id))
    }

    /// It could not be opened. False = nobody waits for it.
    pub(crate) fn failed(&mut self, id: ListenerId, error: &str) -> bool {
        let waits = |listener: &&mut Listener| listener.state == State::Opening;
        let Some(listener) = self.sockets.get_mut(&id).filter(waits) else {
            return false;
        };
        listener.state = State::Failed(error.into());
        true
    }

    /// Those that could not be opened may be asked for again, once nobody waits: a datagram that waits for two would ask for
    /// them in turn for ever.
    pub(crate) fn forget_failed(&mut self) {
        let mut all = self.sockets.values();
        if all.all(|listener| listener.state != State::Opening) {
            self.sockets
                .retain(|_, listener| !matches!(listener.state, State::Failed(_)));
        }
    }

    fn of(&self, port: u16) -> Option<&Listener> {
        self.sockets.values().find(|listener| listener.port == port)
    }
}

/// The port in a redirect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Redirect {
    port: u16,
    /// Where its int stands in the message, and how many bytes it takes.
    at: usize,
    len: usize,
}

impl Redirect {
    fn parse(data: &[u8]) -> Option<Self> {
        if !may_be_redirect(data) {
            return None;
        }
        let (id, at) = identify(data)?;
        if id != REDIRECT {
            return None;
        }
        // Without an int the client does nothing.
        let int = varint::decode(data.get(at..)?)?;
        // The client's address has 16 bits for it, whatever the int is.
        let [.., high, low] = int.value.to_be_bytes();
        let port = match u16::from_be_bytes([high, low]) {
            0 => DEFAULT_PORT,
            port => port,
        };
        let len = int.len;
        Some(Self { port, at, len })
    }
}

/// Whether a message is one of the system with a UUID, or has an id with bytes that it does not need: nearly all are not.
pub(crate) fn may_be_redirect(data: &[u8]) -> bool {
    data.first().is_some_and(|first| first & 0x7f == 1)
}

/// The port that a message redirects a client to; `None` = it is no redirect.
pub(crate) fn redirect_port(data: &[u8]) -> Option<u16> {
    Redirect::parse(data).map(|redirect| redirect.port)
}

/// A redirect with the port of our own listen socket; `None` = it stays as it is. Bytes behind the port, which no client
/// reads, stay as far as they fit.
pub(crate) fn redirected(proto: Proto, data: &[u8], listeners: &Listeners) -> Option<Vec<u8>> {
    let Redirect { port, at, len } = Redirect::parse(data)?;
    let State::Open(local) = listeners.of(port)?.state else {
        return None;
    };
    let mut edited = data.get(..at)?.to_vec();
    varint::encode(i32::from(local.port()), &mut edited);
    edited.extend_from_slice(data.get(at + len..)?);
    while !fits(proto, edited.len()) {
        edited.pop();
    }
    (edited != data).then_some(edited)
}

#[cfg(test)]
#[path = "listeners_tests.rs"]
mod tests;
