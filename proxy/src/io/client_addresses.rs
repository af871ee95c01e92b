//! An address for each session towards a server on the loopback interface, so that the server does not count all
//! players as one.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use super::listen::StartError;
use crate::session::UpstreamId;

/// Addresses with the same first three bytes: the last byte is 1 to 254.
const LAST_BYTES: u32 = 254;

/// Chooses the local addresses of upstream sockets.
///
/// The second and third byte are those of the listen port, so that proxies in front of one server choose different
/// addresses: 127.32.111.1, 127.32.111.2 ... for port 8303 (0x206f).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ClientAddresses {
    port: u16,
}

impl ClientAddresses {
    /// Returns the addresses for a proxy that listens on `port`.
    ///
    /// # Errors
    /// [`StartError::NoClientAddresses`] if the server is not at an IPv4 address of the loopback interface.
    pub(super) fn new(port: u16, target: SocketAddr) -> Result<Self, StartError> {
        match target.ip() {
            IpAddr::V4(ip) if ip.is_loopback() => Ok(Self { port }),
            _ => Err(StartError::NoClientAddresses(target)),
        }
    }

    /// Returns the local address of an upstream socket. From the 255th socket on the addresses of the next port
    /// follow.
    pub(super) fn of(self, upstream: UpstreamId) -> IpAddr {
        let index = upstream.0.saturating_sub(1);
        // From 1, because servers treat 127.0.0.1 as their own machine, which they never ban.
        let network = (u32::from(self.port.max(1)) - 1 + index / LAST_BYTES) % u32::from(u16::MAX) + 1;
        let bits = u32::from(Ipv4Addr::new(127, 0, 0, 1)) + (network << 8) + index % LAST_BYTES;
        Ipv4Addr::from_bits(bits).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn addr(text: &str) -> SocketAddr {
        text.parse().unwrap()
    }

    #[test]
    fn each_socket_of_each_proxy_has_an_address_of_its_own() {
        let server = addr("127.0.0.1:8303");
        let of = |port, id| {
            ClientAddresses::new(port, server)
                .unwrap()
                .of(UpstreamId(id))
                .to_string()
        };
        for (port, id, expected) in [
            (8303, 1, "127.32.111.1"),
            (8303, 2, "127.32.111.2"),
            (8303, 254, "127.32.111.254"),
            (8303, 255, "127.32.112.1"),
            (8304, 1, "127.32.112.1"),
            (1, 1, "127.0.1.1"),
            (65535, 254, "127.255.255.254"),
            (65535, 255, "127.0.1.1"),
            (65535, u32::MAX, "127.5.10.15"),
        ] {
            assert_eq!(of(port, id), expected, "port {port}, socket {id}");
        }
    }

    #[test]
    fn only_servers_at_a_loopback_address_of_ipv4_have_them() {
        for target in ["127.0.0.1:8303", "127.9.8.7:1"] {
            assert!(ClientAddresses::new(8303, addr(target)).is_ok(), "{target}");
        }
        for target in [
            "192.0.2.1:8303",
            "0.0.0.0:8303",
            "[::1]:8303",
            "[::ffff:127.0.0.1]:8303",
        ] {
            let error = ClientAddresses::new(8303, addr(target)).unwrap_err().to_string();
            assert!(error.contains(&format!("not {}", addr(target).ip())), "{error}");
        }
    }
}
