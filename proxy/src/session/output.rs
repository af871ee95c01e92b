//! The outputs of the core.

use std::net::SocketAddr;

#[cfg(doc)]
use super::Route;
use super::{
    event::Event,
    ids::{ListenerId, UpstreamId},
};

/// A task for the driver.
#[derive(Debug)]
pub enum Output<'a> {
    /// Open a fresh socket, connected to a server; answer with `UpstreamOpened` or `UpstreamFailed`.
    /// Datagrams for it may follow in the same drain.
    OpenUpstream {
        /// The socket.
        upstream: UpstreamId,
        /// The server's port, on the host of [`Route::server`].
        port: u16,
    },
    /// Open one more listen socket, at the IP address of the first and any free port; answer with `ListenerOpened` or
    /// `ListenerFailed`. It stays open to the end.
    OpenListener {
        /// The socket.
        listener: ListenerId,
        /// The port of the server that is to be behind it, on the host of [`Route::server`].
        port: u16,
    },
    /// Send from a listen socket.
    ToClient {
        /// The listen socket.
        listener: ListenerId,
        /// To whom.
        addr: SocketAddr,
        /// The value.
        bytes: &'a [u8],
    },
    /// Send from an upstream socket.
    ToServer {
        /// From which socket.
        upstream: UpstreamId,
        /// The value.
        bytes: &'a [u8],
    },
    /// Close a socket. What was to be sent on it has come before.
    CloseUpstream(UpstreamId),
    /// Publish to the watchers. Boxed, so that each datagram moves few bytes.
    Event(Box<Event>),
}
