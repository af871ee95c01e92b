//! The checks, by topic. The lists in `table.rs` put them in order.

pub(super) mod chunk;
pub(super) mod control;
pub(super) mod framing;
pub(super) mod session;
pub(super) mod slot;

use super::{Verdict, reading::Case};

/// One check of a release: when it applies, and what the release does then.
#[derive(Debug)]
pub struct Row {
    /// The kebab-case name.
    pub name: &'static str,
    /// When the row applies.
    pub text: &'static str,
    /// The file and function that it was read from, in `src/engine/shared/`.
    pub source: &'static str,
    /// The action of the receiver.
    pub verdict: Verdict,
    /// True if the receiver does nothing further with the datagram.
    pub stops: bool,
    pub(super) trips: fn(&Case<'_>) -> bool,
}

const UNPACK: &str = "network.cpp CNetBase::UnpackPacket";
const FEED: &str = "network_conn.cpp CNetConnection::Feed";
const SERVER: &str = "network_server.cpp CNetServer::Recv";
const CLIENT: &str = "network_client.cpp CNetClient::Recv";
const FETCH: &str = "network.cpp CNetRecvUnpacker::FetchChunk";

/// A row after which the receiver does nothing further with the datagram.
const fn last(
    name: &'static str,
    verdict: Verdict,
    source: &'static str,
    text: &'static str,
    trips: fn(&Case<'_>) -> bool,
) -> Row {
    Row {
        name,
        text,
        source,
        verdict,
        stops: true,
        trips,
    }
}

/// A row after which the receiver goes on.
const fn step(
    name: &'static str,
    verdict: Verdict,
    source: &'static str,
    text: &'static str,
    trips: fn(&Case<'_>) -> bool,
) -> Row {
    Row {
        name,
        text,
        source,
        verdict,
        stops: false,
        trips,
    }
}
