//! The addresses of a virtual world, and the hub in the middle.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use teetap_proxy::session::{Config, Events, Hub, ListenerId, Route, UpstreamId};
use teetap_wire::def::Registry;

use super::Middle;

/// Returns the address of the first server, and the hub's listen address in front of it.
pub fn route() -> Route {
    Route {
        listen: listen_addr(ListenerId::FIRST),
        server: SocketAddr::from(([10, 8, 0, 1], 8303)),
    }
}

/// Returns the address of a listen socket.
pub fn listen_addr(listener: ListenerId) -> SocketAddr {
    let port = u16::try_from(9_000 + listener.0 % 10_000).unwrap_or(0);
    SocketAddr::from(([10, 9, 0, 2], port))
}

/// Returns the address of an upstream socket as the server sees it.
pub fn upstream_addr(upstream: UpstreamId) -> SocketAddr {
    SocketAddr::from((
        Ipv4Addr::new(10, 9, 0, 1),
        u16::try_from(20_000 + upstream.0 % 40_000).unwrap_or(0),
    ))
}

/// Returns the address of the client with this index.
pub fn client_addr(index: usize) -> SocketAddr {
    SocketAddr::from((
        Ipv4Addr::new(10, 1, 0, 1),
        u16::try_from(40_000 + index % 20_000).unwrap_or(0),
    ))
}

/// Creates a hub for tests, see [`config`].
pub fn hub(seed: u64, patience: Option<Duration>, events: bool) -> Middle {
    Middle::Hub(Box::new(Hub::new(config(seed, patience, events), route())))
}

/// Creates a configuration for tests: a secret derived from the seed, any protocol, the built-in definitions.
pub fn config(seed: u64, patience: Option<Duration>, events: bool) -> Config {
    let secret = (u128::from(seed) << 64 | 7).to_be_bytes();
    Config {
        seed,
        secret,
        proto: None,
        patience,
        heals: false,
        events: if events { Events::All } else { Events::Nothing },
        registry: Registry::builtin(),
    }
}
