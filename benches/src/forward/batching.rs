//! The batching forwarder: like the minimal forwarder, with many datagrams per system call (`recvmmsg`, `sendmmsg`).
//!
//! Datagrams of clients are received in batches, and sent by one upstream socket for each client. Datagrams of the
//! server are received from these sockets, and sent in batches.

use std::io::{IoSlice, IoSliceMut};
use std::net::SocketAddr;
use std::os::fd::AsRawFd as _;

use anyhow::Result;
use nix::sys::epoll::EpollEvent;
use nix::sys::socket::{ControlMessage, MsgFlags, MultiHeaders, SockaddrIn, recvmmsg, sendmmsg};

use super::sockets::{LISTEN, Sockets};
use crate::net::LARGEST;

/// Maximum number of datagrams per call.
const BATCH: usize = 64;

struct Forwarder {
    sockets: Sockets<SockaddrIn>,
    buffers: Vec<Vec<u8>>,
    /// Headers for receiving only, because those for sending contain pointers to addresses that are invalid after the
    /// call.
    received: MultiHeaders<SockaddrIn>,
    sent: MultiHeaders<SockaddrIn>,
}

pub(super) fn run(listen: SocketAddr, target: SocketAddr) -> Result<()> {
    let mut forwarder = Forwarder {
        sockets: Sockets::open(listen, target)?,
        buffers: vec![vec![0; LARGEST]; BATCH],
        received: MultiHeaders::preallocate(BATCH, None),
        sent: MultiHeaders::preallocate(BATCH, None),
    };
    let mut events = [EpollEvent::empty(); BATCH];
    loop {
        let events = forwarder.sockets.wait(&mut events)?;
        if events.iter().any(|event| event.data() == LISTEN) {
            forwarder.receive_from_clients()?;
        }
        forwarder.receive_from_server(events)?;
    }
}

impl Forwarder {
    fn receive_from_clients(&mut self) -> Result<()> {
        let mut arrived = Vec::with_capacity(BATCH);
        {
            let mut slices: Vec<_> = self
                .buffers
                .iter_mut()
                .map(|buffer| [IoSliceMut::new(buffer)])
                .collect();
            let fd = self.sockets.listen.as_raw_fd();
            match recvmmsg(fd, &mut self.received, &mut slices, MsgFlags::MSG_DONTWAIT, None) {
                Ok(received) => arrived.extend(received.map(|datagram| (datagram.address, datagram.bytes))),
                // There is no datagram, or an ICMP error from a client that has left.
                Err(_) => return Ok(()),
            }
        }
        for (slot, (client, len)) in arrived.into_iter().enumerate() {
            let Some(client) = client else {
                continue;
            };
            if let Some(bytes) = self.buffers.get(slot).and_then(|buffer| buffer.get(..len)) {
                self.sockets.send_up(client, bytes)?;
            }
        }
        Ok(())
    }

    /// Receives one datagram from each readable upstream socket. Epoll reports the socket again if there are more.
    fn receive_from_server(&mut self, events: &[EpollEvent]) -> Result<()> {
        let (mut clients, mut lens) = (Vec::with_capacity(BATCH), Vec::with_capacity(BATCH));
        for event in events.iter().filter(|event| event.data() != LISTEN) {
            let upstream = self.sockets.upstream(usize::try_from(event.data())?);
            if let (Some((client, upstream)), Some(buffer)) = (upstream, self.buffers.get_mut(lens.len())) {
                // An error means that there is no datagram, or that the server has closed its socket.
                if let Ok(len) = upstream.recv(buffer) {
                    clients.push(Some(*client));
                    lens.push(len);
                }
            }
        }
        if lens.is_empty() {
            return Ok(());
        }
        let slices: Vec<_> = self
            .buffers
            .iter()
            .zip(lens)
            .map(|(buffer, len)| [IoSlice::new(buffer.get(..len).unwrap_or_default())])
            .collect();
        let (fd, none) = (self.sockets.listen.as_raw_fd(), [] as [ControlMessage<'_>; 0]);
        // Like the network, the forwarder may drop datagrams.
        let _dropped = sendmmsg(
            fd,
            &mut self.sent,
            &slices,
            &clients,
            none,
            MsgFlags::MSG_DONTWAIT,
        );
        Ok(())
    }
}
