//! UDP sockets.
//!
//! Datagrams are sent and received with plain system calls. The functions of the C library are cancellation
//! points, which in a program with threads cost 2 % of the time of each datagram (measured).
//!
//! Listen and upstream sockets are non-blocking and have a large receive buffer: a server sends all snapshots
//! of a tick in one burst, and 4 MiB doubled the rate without loss (the kernel may grant less, see
//! `net.core.rmem_max`).

use std::{
    io,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket},
};

use rustix::{
    io::Errno,
    net::{RecvFlags, SendFlags},
};
use socket2::{Domain, Protocol, Socket, Type};

/// Requested size of the receive buffer in bytes.
const RECEIVE_BUFFER: usize = 4 << 20;

/// Returns a socket bound to `addr`. An unspecified IPv6 address also receives IPv4.
///
/// # Errors
/// Returns the error of the operating system; `AddrInUse` if the address is in use.
pub(super) fn bind(addr: SocketAddr) -> io::Result<UdpSocket> {
    let socket = open(addr)?;
    if addr.is_ipv6() {
        socket.set_only_v6(!addr.ip().is_unspecified())?;
    }
    socket.bind(&addr.into())?;
    Ok(socket.into())
}

/// Returns a socket on a new port of any local address, connected to `target`.
///
/// # Errors
/// See [`connect_from`].
pub(super) fn connect(target: SocketAddr) -> io::Result<UdpSocket> {
    let any: IpAddr = if target.is_ipv4() {
        Ipv4Addr::UNSPECIFIED.into()
    } else {
        Ipv6Addr::UNSPECIFIED.into()
    };
    connect_from(any, target)
}

/// Returns a socket on a new port of `local`, connected to `target`. Such a socket is cheaper to send on, reports
/// ICMP errors, and receives only from that address.
///
/// # Errors
/// Returns the error of the operating system: no descriptor, no port, no route.
pub(super) fn connect_from(local: IpAddr, target: SocketAddr) -> io::Result<UdpSocket> {
    let socket = open(target)?;
    socket.bind(&SocketAddr::new(local, 0).into())?;
    socket.connect(&target.into())?;
    Ok(socket.into())
}

/// Sends a datagram to `addr`, or to the connected address if `None`.
///
/// # Errors
/// Returns the error of the operating system; `WouldBlock` if there is no room.
pub(super) fn send(socket: &UdpSocket, addr: Option<SocketAddr>, bytes: &[u8]) -> io::Result<()> {
    match addr {
        Some(addr) => rustix::net::sendto(socket, bytes, SendFlags::empty(), &addr)?,
        None => rustix::net::send(socket, bytes, SendFlags::empty())?,
    };
    Ok(())
}

/// Receives a datagram on a connected socket. Returns its length.
///
/// # Errors
/// Returns the error of the operating system; `WouldBlock` if there is no datagram.
pub(super) fn receive(socket: &UdpSocket, buffer: &mut [u8]) -> io::Result<usize> {
    let (len, _) = rustix::net::recv(socket, buffer, RecvFlags::empty())?;
    Ok(len)
}

/// Receives a datagram. Returns its length and its sender.
///
/// # Errors
/// Returns the error of the operating system; `WouldBlock` if there is no datagram.
pub(super) fn receive_from(socket: &UdpSocket, buffer: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
    let (len, _, addr) = rustix::net::recvfrom(socket, buffer, RecvFlags::empty())?;
    let addr = addr.ok_or(io::ErrorKind::InvalidData)?;
    Ok((len, SocketAddr::try_from(addr)?))
}

/// Returns the usual form of an address: an IPv4 client of a dual-stack socket has an IPv4 address.
pub(super) fn canonical(addr: SocketAddr) -> SocketAddr {
    match addr {
        SocketAddr::V6(v6) => match v6.ip().to_ipv4_mapped() {
            Some(v4) => SocketAddr::new(v4.into(), v6.port()),
            None => addr,
        },
        SocketAddr::V4(_) => addr,
    }
}

/// Returns the form of an address that a socket of a family needs: the inverse of [`canonical`].
pub(super) fn native(addr: SocketAddr, ipv6: bool) -> SocketAddr {
    match addr {
        SocketAddr::V4(v4) if ipv6 => SocketAddr::new(v4.ip().to_ipv6_mapped().into(), v4.port()),
        _ => addr,
    }
}

fn open(family_of: SocketAddr) -> io::Result<Socket> {
    let socket = Socket::new(Domain::for_address(family_of), Type::DGRAM, Some(Protocol::UDP))?;
    socket.set_nonblocking(true)?;
    socket.set_recv_buffer_size(RECEIVE_BUFFER)?;
    Ok(socket)
}

/// Returns true if a socket could be opened after another one is closed: descriptors, ports or memory are
/// used up.
pub(super) fn is_exhausted(error: &io::Error) -> bool {
    const USED_UP: [Errno; 5] = [
        Errno::MFILE,
        Errno::NFILE,
        Errno::NOBUFS,
        // All ports of the address are in use.
        Errno::AGAIN,
        // There are too many sockets to watch.
        Errno::NOSPC,
    ];
    Errno::from_io_error(error).is_some_and(|error| USED_UP.contains(&error))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn addr(text: &str) -> SocketAddr {
        text.parse().unwrap()
    }

    #[test]
    fn mapped_addresses_go_both_ways() {
        assert_eq!(canonical(addr("[::ffff:10.1.2.3]:5")), addr("10.1.2.3:5"));
        assert_eq!(canonical(addr("[::1]:5")), addr("[::1]:5"));
        assert_eq!(native(addr("10.1.2.3:5"), true), addr("[::ffff:10.1.2.3]:5"));
        assert_eq!(native(addr("10.1.2.3:5"), false), addr("10.1.2.3:5"));
        assert_eq!(native(addr("[::1]:5"), true), addr("[::1]:5"));
    }

    #[test]
    fn a_taken_port_is_an_error() {
        let first = bind(addr("127.0.0.1:0")).unwrap();
        let again = bind(first.local_addr().unwrap()).unwrap_err();
        assert_eq!(again.kind(), io::ErrorKind::AddrInUse);
    }

    #[test]
    fn a_dual_stack_socket_receives_from_both_families() {
        let Ok(both) = bind(addr("[::]:0")) else {
            // A machine without IPv6 has no such socket to test.
            assert!(UdpSocket::bind("[::1]:0").is_err());
            return;
        };
        let port = both.local_addr().unwrap().port();
        both.set_nonblocking(false).unwrap();
        both.set_read_timeout(Some(std::time::Duration::from_secs(10)))
            .unwrap();
        let client = connect(addr(&format!("127.0.0.1:{port}"))).unwrap();
        client.send(b"x").unwrap();
        let (len, from) = both.recv_from(&mut [0; 8]).unwrap();
        assert_eq!((len, canonical(from).is_ipv4()), (1, true));
    }
}
