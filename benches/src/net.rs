//! Sockets of the load generator: non-blocking, with kernel receive timestamps if latencies are measured.
//!
//! Law: the kernel creates a timestamp when the datagram reaches the receiver's queue, so the generator can be busy
//! sending without an effect on the measurement.

use std::io::{self, ErrorKind, IoSliceMut};
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::os::fd::AsRawFd;
use std::time::{SystemTime, UNIX_EPOCH};

use nix::errno::Errno;
use nix::sys::socket::{ControlMessageOwned, MsgFlags, SockaddrIn, recvmsg, setsockopt, sockopt};
use nix::sys::time::TimeSpec;

/// Bytes of receive buffer that every socket here requests, as the proxy does.
pub(crate) const RECEIVE_BUFFER: usize = 4 << 20;

/// Number of bytes of the largest datagram that can be received.
pub(crate) const LARGEST: usize = 2048;

/// A socket on the loopback address.
#[derive(Debug)]
pub(crate) struct Socket {
    udp: UdpSocket,
    stamped: bool,
}

/// A received datagram.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Received {
    /// Number of bytes in the buffer, from its start.
    pub(crate) len: usize,
    /// Port of the sender; 0 if it was not requested.
    pub(crate) port: u16,
    /// Time at which the kernel received the datagram, in nanoseconds since 1970; 0 on a socket without timestamps.
    pub(crate) at: u64,
}

impl Socket {
    /// Opens a socket on a free port, with timestamps if `stamped` is true.
    pub(crate) fn open(stamped: bool) -> io::Result<Self> {
        let udp = plain((Ipv4Addr::LOCALHOST, 0).into())?;
        if stamped {
            setsockopt(&udp, sockopt::ReceiveTimestampns, &true)?;
        }
        Ok(Self { udp, stamped })
    }

    pub(crate) fn udp(&self) -> &UdpSocket {
        &self.udp
    }

    pub(crate) fn addr(&self) -> io::Result<SocketAddr> {
        self.udp.local_addr()
    }

    /// Returns the next datagram, with the sender's port if `named` is true; `None` if there is no datagram.
    pub(crate) fn receive(&self, buffer: &mut [u8], named: bool) -> io::Result<Option<Received>> {
        let received = if self.stamped {
            stamped(&self.udp, buffer)
        } else if named {
            self.udp.recv_from(buffer).map(|(len, from)| Received {
                len,
                port: from.port(),
                at: 0,
            })
        } else {
            self.udp.recv(buffer).map(|len| Received { len, port: 0, at: 0 })
        };
        match received {
            Ok(received) => Ok(Some(received)),
            Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// Binds a non-blocking socket with a large receive buffer.
pub(crate) fn plain(addr: SocketAddr) -> io::Result<UdpSocket> {
    let udp = UdpSocket::bind(addr)?;
    udp.set_nonblocking(true)?;
    setsockopt(&udp, sockopt::RcvBuf, &RECEIVE_BUFFER)?;
    Ok(udp)
}

/// Returns the nanoseconds since 1970, by the same clock as the timestamps.
pub(crate) fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

fn stamped(udp: &UdpSocket, buffer: &mut [u8]) -> io::Result<Received> {
    const ROOM: usize = nix::sys::socket::cmsg_space::<TimeSpec>();
    let mut control = [0; ROOM];
    let mut slices = [IoSliceMut::new(buffer)];
    let message = recvmsg::<SockaddrIn>(
        udp.as_raw_fd(),
        &mut slices,
        Some(&mut control),
        MsgFlags::empty(),
    )?;
    let mut at = None;
    for control in message.cmsgs()? {
        if let ControlMessageOwned::ScmTimestampns(stamp) = control {
            at = nanoseconds(stamp);
        }
    }
    Ok(Received {
        len: message.bytes,
        port: message.address.map_or(0, |from| from.port()),
        at: at.ok_or(Errno::ENODATA)?,
    })
}

fn nanoseconds(stamp: TimeSpec) -> Option<u64> {
    let seconds = u64::try_from(stamp.tv_sec()).ok()?;
    let rest = u64::try_from(stamp.tv_nsec()).ok()?;
    Some(seconds * 1_000_000_000 + rest)
}
