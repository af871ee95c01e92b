//! The identity of a session, known from its first datagram.

use std::net::SocketAddr;

use teetap_wire::{Proto, Token};

use crate::session::{ClientAddr, SessionId, Time, UpstreamId, tokens::Tokens};

/// The client of a session, and the tokens with which the session starts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Opened {
    pub(crate) id: SessionId,
    pub(crate) client: ClientAddr,
    /// The server behind the listen socket that received the client's first datagram.
    pub(crate) server: SocketAddr,
    /// The port of that listen socket; `None` for the first listen socket.
    pub(crate) listen_port: Option<u16>,
    pub(crate) upstream: UpstreamId,
    /// The protocol of the client's request.
    pub(crate) requested: Proto,
    /// The token in the client's request (0.6.5 and 0.7).
    pub(crate) client_token: Option<Token>,
    /// The proxy's token on the client leg.
    pub(crate) token: Token,
    /// The proxy's token on the server leg.
    pub(crate) own: Token,
    /// Source of further tokens.
    pub(crate) tokens: Tokens,
    pub(crate) at: Time,
    /// True while the session is a candidate: it connects beside the client's current session and is not reported yet.
    pub(crate) is_candidate: bool,
    /// Local address of the upstream socket, if the session shares the socket with another session of the client. The server
    /// then sees one address for both sessions, as it would without the proxy.
    pub(crate) shared: Option<SocketAddr>,
    pub(crate) standing: Standing,
}

/// The trust in a client before it is online. The limit on half-open sessions applies to each standing separately. If sockets
/// run out, the least trusted session is ended first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Standing {
    /// The address may be forged.
    Unproved,
    /// The client has sent a packet after the handshake, without a token.
    Responded,
    /// The client has sent a packet with a token of the proxy.
    Proved,
}
