//! Everything that can happen to the core.

use std::{net::SocketAddr, sync::Arc};

use teetap_rules::{Made, Program};
use teetap_wire::Side;

#[cfg(doc)]
use super::Output;
use super::ids::{ListenerId, SessionId, UpstreamId};

/// Something that happened.
pub enum Input<'a> {
    /// A datagram on a listen socket.
    FromClient {
        /// The listen socket.
        listener: ListenerId,
        /// Who sent it.
        addr: SocketAddr,
        /// Its bytes.
        bytes: &'a [u8],
    },
    /// A datagram on an upstream socket (which is connected, so it is the server's).
    FromServer {
        /// The socket.
        upstream: UpstreamId,
        /// Its bytes.
        bytes: &'a [u8],
    },
    /// The socket asked for with [`Output::OpenUpstream`] is open.
    UpstreamOpened {
        /// The socket.
        upstream: UpstreamId,
        /// Its own address.
        local: SocketAddr,
    },
    /// The socket could not be opened.
    UpstreamFailed {
        /// The socket.
        upstream: UpstreamId,
        /// What the operating system said.
        error: &'a str,
    },
    /// The socket asked for with [`Output::OpenListener`] is open.
    ListenerOpened {
        /// The socket.
        listener: ListenerId,
        /// Its own address.
        local: SocketAddr,
    },
    /// The socket could not be opened.
    ListenerFailed {
        /// The socket.
        listener: ListenerId,
        /// What the operating system said.
        error: &'a str,
    },
    /// The network reported an error on an upstream socket (ICMP port unreachable and the like).
    Unreachable {
        /// The socket.
        upstream: UpstreamId,
        /// What the operating system said.
        error: &'a str,
    },
    /// Time has passed.
    Timeout,
    /// New rules; `None` = none.
    Program(Option<Arc<Program>>),
    /// A person, or the end of the program, wants something.
    Command(Command),
}

/// What a person can ask for.
#[derive(Clone, Debug)]
pub enum Command {
    /// Send one more message.
    Inject {
        /// In which session.
        session: SessionId,
        /// What.
        message: Made,
    },
    /// Let go what rules hold under this key.
    Release {
        /// In which session.
        session: SessionId,
        /// The key that [`teetap_rules::Fate::Hold`] named.
        key: u64,
    },
    /// Have the server send a complete snapshot, for watchers that do not know the one that later ones differ from.
    Resync {
        /// In which session.
        session: SessionId,
    },
    /// The end of the run: every session is closed on both legs and gone at once.
    Shutdown {
        /// The reason that the peers show; empty = none.
        reason: Box<[u8]>,
    },
    /// Close one or both legs with a reason.
    Close {
        /// Which session; `None` = all.
        session: Option<SessionId>,
        /// Which leg is sent the CLOSE; `None` = both.
        side: Option<Side>,
        /// The reason that the peers show; empty = none.
        reason: Box<[u8]>,
    },
}
