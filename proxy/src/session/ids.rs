//! Numbers of sessions and sockets, and the addresses around them.

use std::net::SocketAddr;

#[cfg(doc)]
use super::Hub;

/// Number of a session, from 1, in the order in which the sessions were opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(
    feature = "io",
    derive(serde::Serialize, serde::Deserialize),
    serde(transparent)
)]
pub struct SessionId(pub u32);

/// Number of an upstream socket, from 1; never reused in a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UpstreamId(pub u32);

/// Number of a listen socket: 0 for the first one, from 1 for sockets that redirects requested; never reused
/// in a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ListenerId(pub u32);

impl ListenerId {
    /// The listen socket that is open from the start.
    pub const FIRST: Self = Self(0);
}

/// Address of a client and the listen socket that it uses. The same address may use several listen sockets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClientAddr {
    /// The client's address.
    pub addr: SocketAddr,
    /// The listen socket.
    pub listener: ListenerId,
}

impl From<SocketAddr> for ClientAddr {
    /// Returns a client of the first listen socket.
    fn from(addr: SocketAddr) -> Self {
        Self {
            addr,
            listener: ListenerId::FIRST,
        }
    }
}

/// The addresses that a [`Hub`] starts with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Route {
    /// The address of the first listen socket, to which clients connect.
    pub listen: SocketAddr,
    /// Address of the server. A redirect changes only the port.
    pub server: SocketAddr,
}
