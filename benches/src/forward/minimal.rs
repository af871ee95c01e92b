//! The minimal forwarder: epoll, plain receives and sends, nothing allocated per datagram.

use std::collections::HashMap;
use std::io::ErrorKind;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};

use anyhow::Result;
use nix::errno::Errno;
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};

use crate::net::{LARGEST, plain};

/// Datagrams read from the listen socket before the upstream sockets have their turn.
const BURST: usize = 32;

/// The value by which epoll reports the listen socket; an upstream socket is reported by its index.
const LISTEN: u64 = u64::MAX;

struct Forwarder {
    target: SocketAddr,
    epoll: Epoll,
    listen: UdpSocket,
    upstreams: Vec<(SocketAddr, UdpSocket)>,
    indices: HashMap<SocketAddr, usize>,
    buffer: Vec<u8>,
}

pub(super) fn run(listen: SocketAddr, target: SocketAddr) -> Result<()> {
    let mut forwarder = Forwarder {
        target,
        epoll: Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?,
        listen: plain(listen)?,
        upstreams: Vec::new(),
        indices: HashMap::new(),
        buffer: vec![0; LARGEST],
    };
    let readable = EpollEvent::new(EpollFlags::EPOLLIN, LISTEN);
    forwarder.epoll.add(&forwarder.listen, readable)?;
    let mut events = [EpollEvent::empty(); 64];
    loop {
        let count = match forwarder.epoll.wait(&mut events, EpollTimeout::NONE) {
            Ok(count) => count,
            Err(Errno::EINTR) => 0,
            Err(error) => return Err(error.into()),
        };
        for event in events.iter().take(count) {
            match usize::try_from(event.data()) {
                Ok(index) if event.data() != LISTEN => forwarder.receive_from_server(index),
                _ => forwarder.receive_from_clients()?,
            }
        }
    }
}

impl Forwarder {
    fn receive_from_clients(&mut self) -> Result<()> {
        for _ in 0..BURST {
            let (len, from) = match self.listen.recv_from(&mut self.buffer) {
                Ok(received) => received,
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                // An ICMP error of a client that has left.
                Err(_) => continue,
            };
            let index = match self.indices.get(&from) {
                Some(index) => *index,
                None => self.open(from)?,
            };
            if let (Some((_, upstream)), Some(bytes)) = (self.upstreams.get(index), self.buffer.get(..len)) {
                // Like the network, it may drop.
                let _dropped = upstream.send(bytes);
            }
        }
        Ok(())
    }

    /// One datagram: epoll names the socket again when there are more, and mostly there are none.
    fn receive_from_server(&mut self, index: usize) {
        let Some((client, upstream)) = self.upstreams.get(index) else {
            return;
        };
        if let Ok(len) = upstream.recv(&mut self.buffer)
            && let Some(bytes) = self.buffer.get(..len)
        {
            let _dropped = self.listen.send_to(bytes, client);
        }
    }

    fn open(&mut self, client: SocketAddr) -> Result<usize> {
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
