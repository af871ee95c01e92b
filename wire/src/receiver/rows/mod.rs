//! The checks, by topic. The lists in `table.rs` put them in order.

pub(super) mod chunk;
pub(super) mod control;
pub(super) mod framing;
pub(super) mod session;
pub(super) mod slot;

use super::Verdict;
use super::case::{Case, Check};

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
) -> Check {
    Check {
        name,
        text,
        source,
        verdict,
        stops: true,
        trips,
    }
}

/// A row after which the receiver continues with the datagram.
const fn step(
    name: &'static str,
    verdict: Verdict,
    source: &'static str,
    text: &'static str,
    trips: fn(&Case<'_>) -> bool,
) -> Check {
    Check {
        name,
        text,
        source,
        verdict,
        stops: false,
        trips,
    }
}
