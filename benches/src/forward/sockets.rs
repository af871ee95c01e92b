//! The sockets of the forwarders that use epoll: one for all clients, and an upstream socket for each client.

use std::collections::HashMap;
use std::hash::Hash;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};

use anyhow::Result;
use nix::errno::Errno;
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};

use crate::net::plain;

/// The value by which epoll reports the listen socket; an upstream socket is reported by its index.
pub(super) const LISTEN: u64 = u64::MAX;

/// The sockets of a forwarder. `A` is the address of a client in the form of its system calls.
pub(super) struct Sockets<A> {
    pub(super) listen: UdpSocket,
    target: SocketAddr,
    epoll: Epoll,
    upstreams: Vec<(A, UdpSocket)>,
    indices: HashMap<A, usize>,
}

impl<A: Copy + Eq + Hash> Sockets<A> {
    pub(super) fn open(listen: SocketAddr, target: SocketAddr) -> Result<Self> {
        let listen = plain(listen)?;
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?;
        epoll.add(&listen, EpollEvent::new(EpollFlags::EPOLLIN, LISTEN))?;
        Ok(Self {
            listen,
            target,
            epoll,
            upstreams: Vec::new(),
            indices: HashMap::new(),
        })
    }

    /// Waits until sockets are readable, and returns their events, up to the length of `events`.
    pub(super) fn wait<'e>(&self, events: &'e mut [EpollEvent]) -> Result<&'e [EpollEvent]> {
        let count = match self.epoll.wait(events, EpollTimeout::NONE) {
            Ok(count) => count,
            Err(Errno::EINTR) => 0,
            Err(error) => return Err(error.into()),
        };
        Ok(events.get(..count).unwrap_or_default())
    }

    /// Returns the upstream socket with this index, and its client; `None` if there is none.
    pub(super) fn upstream(&self, index: usize) -> Option<&(A, UdpSocket)> {
        self.upstreams.get(index)
    }

    /// Sends a datagram of a client to the server, by a new socket if the client has none.
    pub(super) fn send_up(&mut self, client: A, bytes: &[u8]) -> Result<()> {
        let index = match self.indices.get(&client) {
            Some(index) => *index,
            None => self.connect(client)?,
        };
        if let Some((_, upstream)) = self.upstreams.get(index) {
            // Like the network, the forwarder may drop datagrams.
            let _dropped = upstream.send(bytes);
        }
        Ok(())
    }

    fn connect(&mut self, client: A) -> Result<usize> {
        let upstream = plain((Ipv4Addr::UNSPECIFIED, 0).into())?;
        upstream.connect(self.target)?;
        let index = self.upstreams.len();
        let readable = EpollEvent::new(EpollFlags::EPOLLIN, u64::try_from(index)?);
        self.epoll.add(&upstream, readable)?;
        self.upstreams.push((client, upstream));
        self.indices.insert(client, index);
        Ok(index)
    }
}
