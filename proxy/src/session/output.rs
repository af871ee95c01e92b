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
    /// Open a new socket, connected to a server; answer with `UpstreamOpened` or `UpstreamFailed`. Datagrams
    /// to send on it may follow in the same drain.
    OpenUpstream {
        /// Number for the socket.
        upstream: UpstreamId,
        /// Port of the server, on the host of [`Route::server`].
        port: u16,
    },
    /// Open an additional listen socket, at the IP address of the first one and any free port; answer with
    /// `ListenerOpened` or `ListenerFailed`. It stays open until the end of the run.
    OpenListener {
        /// Number for the socket.
        listener: ListenerId,
        /// Port of the server behind the listen socket, on the host of [`Route::server`].
        port: u16,
    },
    /// Send a datagram from a listen socket.
    ToClient {
        /// The listen socket.
        listener: ListenerId,
        /// Address of the client.
        addr: SocketAddr,
        /// Bytes of the datagram.
        bytes: &'a [u8],
    },
    /// Send a datagram from an upstream socket.
    ToServer {
        /// The upstream socket.
        upstream: UpstreamId,
        /// Bytes of the datagram.
        bytes: &'a [u8],
    },
    /// Close a socket. The datagrams to send on it precede this output.
    CloseUpstream(UpstreamId),
    /// Publish an event to the watchers. Boxed, so that an output is small to move for each datagram.
    Event(Box<Event>),
}
