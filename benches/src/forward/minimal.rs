//! The minimal forwarder: epoll, plain receives and sends, and no allocation per datagram.

use std::io::ErrorKind;
use std::net::SocketAddr;

use anyhow::Result;
use nix::sys::epoll::EpollEvent;

use super::sockets::{LISTEN, Sockets};
use crate::net::LARGEST;

/// Maximum number of datagrams read from the listen socket before the upstream sockets are read.
const BURST: usize = 32;

struct Forwarder {
    sockets: Sockets<SocketAddr>,
    buffer: Vec<u8>,
}

pub(super) fn run(listen: SocketAddr, target: SocketAddr) -> Result<()> {
    let mut forwarder = Forwarder {
        sockets: Sockets::open(listen, target)?,
        buffer: vec![0; LARGEST],
    };
    let mut events = [EpollEvent::empty(); 64];
    loop {
        for event in forwarder.sockets.wait(&mut events)? {
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
            let (len, from) = match self.sockets.listen.recv_from(&mut self.buffer) {
                Ok(received) => received,
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                // An ICMP error from a client that has left.
                Err(_) => continue,
            };
            if let Some(bytes) = self.buffer.get(..len) {
                self.sockets.send_up(from, bytes)?;
            }
        }
        Ok(())
    }

    /// Receives one datagram. Epoll reports the socket again if there are more, which is rare.
    fn receive_from_server(&mut self, index: usize) {
        let Some((client, upstream)) = self.sockets.upstream(index) else {
            return;
        };
        if let Ok(len) = upstream.recv(&mut self.buffer)
            && let Some(bytes) = self.buffer.get(..len)
        {
            let _dropped = self.sockets.listen.send_to(bytes, client);
        }
    }
}
