//! The listen address, to which clients connect.

use std::{
    io,
    net::{Ipv4Addr, SocketAddr, UdpSocket},
};

use super::{log_file::LogError, udp};

/// The default port of the game.
pub const DEFAULT_PORT: u16 = 8303;

/// Number of ports to try, from [`DEFAULT_PORT`] on.
const TRIES: u16 = 100;

/// The address that the proxy listens on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Listen {
    /// 127.0.0.1:8303, or the next free port after it.
    Default,
    /// Exactly this address; port 0 means any free port.
    At(SocketAddr),
}

impl From<SocketAddr> for Listen {
    fn from(address: SocketAddr) -> Self {
        Self::At(address)
    }
}

/// The reason why a proxy did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// Another program uses the address.
    #[error(
        "{0} is taken by another program: choose another address with --listen, or port 0 for any free one"
    )]
    Taken(SocketAddr),
    /// The address cannot be used.
    #[error("cannot listen on {addr}: {error}")]
    Bind {
        /// The address.
        addr: SocketAddr,
        /// The error of the operating system.
        error: io::Error,
    },
    /// Other programs use all ports that are tried by default.
    #[error("127.0.0.1 has no free port from {DEFAULT_PORT} to {last}: choose one with --listen", last = DEFAULT_PORT + TRIES - 1)]
    NoFreePort,
    /// The listen address is also the server's address, so the proxy would send to itself.
    #[error(
        "the server's address {target} is the one that teetap would listen on ({listen}): the proxy would send to itself; choose another one with --listen"
    )]
    Loop {
        /// The server.
        target: SocketAddr,
        /// The listen address.
        listen: SocketAddr,
    },
    /// The server is not at an IPv4 address of the loopback interface, so sessions cannot have addresses of their
    /// own.
    #[error(
        "cannot give each client an address of its own: that needs a server at 127.0.0.1 or another 127.x.y.z, not {ip}; leave out --client-addresses",
        ip = .0.ip()
    )]
    NoClientAddresses(SocketAddr),
    /// The input log or the journal cannot be created.
    #[error(transparent)]
    Log(#[from] LogError),
    /// The operating system provided no thread, timer or random bytes.
    #[error("cannot start: {0}")]
    System(#[from] io::Error),
}

impl Listen {
    /// Opens the listen socket of a proxy for the server `target`.
    ///
    /// # Errors
    /// [`StartError::Taken`], [`StartError::Bind`], [`StartError::NoFreePort`], [`StartError::Loop`].
    pub(super) fn open(self, target: SocketAddr) -> Result<UdpSocket, StartError> {
        match self {
            Self::At(addr) if is_same(addr, target) => Err(StartError::Loop { target, listen: addr }),
            Self::At(addr) => udp::bind(addr).map_err(|error| match error.kind() {
                io::ErrorKind::AddrInUse => StartError::Taken(addr),
                _ => StartError::Bind { addr, error },
            }),
            Self::Default => next_free(target),
        }
    }
}

fn next_free(target: SocketAddr) -> Result<UdpSocket, StartError> {
    for port in DEFAULT_PORT..DEFAULT_PORT + TRIES {
        let addr = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        // The port of the server is skipped, since the server may not have started yet.
        if is_same(addr, target) {
            continue;
        }
        match udp::bind(addr) {
            Ok(socket) => return Ok(socket),
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => {}
            Err(error) => return Err(StartError::Bind { addr, error }),
        }
    }
    Err(StartError::NoFreePort)
}

/// Opens an additional listen socket for the server `target`, at the IP address of the first one and any free
/// port. `ours` has the addresses of all open listen sockets.
///
/// # Errors
/// Returns the error of the operating system; `AddrInUse` if `target` is one of these addresses or the
/// address of the new socket.
pub(super) fn beside(first: SocketAddr, ours: &[SocketAddr], target: SocketAddr) -> io::Result<UdpSocket> {
    let own = || io::Error::new(io::ErrorKind::AddrInUse, "this is the proxy's own listen address");
    if ours.iter().any(|listen| is_same(*listen, target)) {
        return Err(own());
    }
    let socket = udp::bind(SocketAddr::new(first.ip(), 0))?;
    // The server may not have started yet, so that the free port is its own.
    if is_same(socket.local_addr()?, target) {
        return Err(own());
    }
    Ok(socket)
}

/// Returns true if a datagram to `target` would arrive at a socket bound to `listen`.
fn is_same(listen: SocketAddr, target: SocketAddr) -> bool {
    if listen.port() != target.port() || listen.port() == 0 {
        return false;
    }
    let (listen, target) = (listen.ip().to_canonical(), target.ip().to_canonical());
    listen == target
        || target.is_unspecified() && listen.is_loopback()
        // Bound to all addresses: the target is this machine if its address can be bound.
        || listen.is_unspecified() && UdpSocket::bind((target, 0)).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn addr(text: &str) -> SocketAddr {
        text.parse().unwrap()
    }

    #[test]
    fn a_proxy_never_listens_where_it_sends_to() {
        for (listen, target, same) in [
            ("127.0.0.1:8303", "127.0.0.1:8303", true),
            ("127.0.0.1:8303", "127.0.0.1:8304", false),
            ("127.0.0.1:8303", "127.0.0.2:8303", false),
            ("0.0.0.0:8303", "127.0.0.1:8303", true),
            ("0.0.0.0:8303", "192.0.2.1:8303", false),
            ("127.0.0.1:8303", "0.0.0.0:8303", true),
            ("127.0.0.1:8303", "[::ffff:127.0.0.1]:8303", true),
            ("127.0.0.1:0", "127.0.0.1:0", false),
        ] {
            assert_eq!(is_same(addr(listen), addr(target)), same, "{listen} {target}");
        }
    }

    #[test]
    fn the_default_leaves_the_port_of_a_local_server_alone() {
        let target = addr("127.0.0.1:8303");
        let socket = Listen::Default.open(target).unwrap();
        assert_ne!(socket.local_addr().unwrap(), target);
    }

    #[test]
    fn one_more_has_the_same_ip_and_is_never_in_front_of_itself() {
        let first = udp::bind(addr("127.0.0.2:0")).unwrap().local_addr().unwrap();
        let other = addr("127.0.0.2:9");
        let ours = [first, other];
        let socket = beside(first, &ours, addr("127.0.0.1:9")).unwrap();
        let local = socket.local_addr().unwrap();
        assert_eq!(local.ip(), first.ip());
        assert!(local.port() != 0 && local.port() != first.port());
        for own in ours {
            let error = beside(first, &ours, own).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::AddrInUse);
        }
    }

    #[test]
    fn an_explicit_address_that_is_taken_is_an_error() {
        let first = udp::bind(addr("127.0.0.1:0")).unwrap();
        let taken = first.local_addr().unwrap();
        let error = Listen::At(taken).open(addr("127.0.0.1:9")).unwrap_err();
        assert!(matches!(error, StartError::Taken(addr) if addr == taken));
    }
}
