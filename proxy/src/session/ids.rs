//! Numbers of sessions and sockets, and the addresses around them.

use std::net::SocketAddr;

#[cfg(doc)]
use super::Hub;

/// Number of a session, from 1, in order of their first datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(
    feature = "io",
    derive(serde::Serialize, serde::Deserialize),
    serde(transparent)
)]
pub struct SessionId(pub u32);

/// Number of an upstream socket, from 1; never used twice in a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UpstreamId(pub u32);

/// Number of a listen socket: 0 = the one of the start, from 1 those that redirects requested; never used twice in a
/// run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ListenerId(pub u32);

impl ListenerId {
    /// The one of the start.
    pub const FIRST: Self = Self(0);
}

/// The address of a client and its listen socket: the same address may use several.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClientAddr {
    /// The local address.
    pub addr: SocketAddr,
    /// The listen socket.
    pub listener: ListenerId,
}

impl From<SocketAddr> for ClientAddr {
    /// A client of the first listen socket.
    fn from(addr: SocketAddr) -> Self {
        Self {
            addr,
            listener: ListenerId::FIRST,
        }
    }
}

/// The addresses between which a [`Hub`] starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Route {
    /// The address of the first listen socket, to which clients connect.
    pub listen: SocketAddr,
    /// The server that is proxied. A redirect changes the port alone.
    pub server: SocketAddr,
}
