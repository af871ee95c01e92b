//! The sockets of the data thread. Carries out the core's outputs: sends datagrams, opens and closes sockets.
//!
//! Law: this module never calls the core. Events of a socket (it is open, the network reported an error) are
//! queued as [`SocketEvent`] until the driver passes them to the core.

use std::{
    collections::{BTreeMap, VecDeque},
    io,
    net::{SocketAddr, UdpSocket},
    sync::Arc,
};

use super::{
    client_addresses::ClientAddresses,
    listen,
    outbox::{Outbox, Sent},
    readiness::{Readiness, Source, Which},
    udp,
};
use crate::session::{Event, ListenerId, Output, UpstreamId};

/// The counters of the sockets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Datagrams that were not sent: the queue was full, the kernel refused them, or there was no socket.
    pub unsent: u64,
    /// Errors that the network or the kernel reported, including ICMP.
    pub errors: u64,
}

/// An event of a socket.
#[derive(Debug)]
pub(super) enum SocketEvent {
    /// An upstream socket is open, at this local address.
    Opened(UpstreamId, SocketAddr),
    /// An upstream socket could not be opened.
    Failed(UpstreamId, io::Error),
    /// The network reported an error on an upstream socket.
    Unreachable(UpstreamId, io::Error),
    /// A listen socket is open, at this address.
    ListenerOpened(ListenerId, SocketAddr),
    /// A listen socket could not be opened.
    ListenerFailed(ListenerId, io::Error),
}

/// A socket with its queue.
#[derive(Debug)]
struct QueuedSocket {
    socket: UdpSocket,
    outbox: Outbox,
}

/// All sockets of a proxy.
#[derive(Debug)]
pub(super) struct Sockets {
    target: SocketAddr,
    /// Local addresses of the upstream sockets; `None` if the system chooses.
    addresses: Option<ClientAddresses>,
    readiness: Arc<Readiness>,
    /// The first listen socket; `listen_ipv6` is true if all listen sockets use IPv6.
    listen: QueuedSocket,
    listen_ipv6: bool,
    /// The other listen sockets.
    redirects: BTreeMap<ListenerId, QueuedSocket>,
    upstreams: BTreeMap<UpstreamId, QueuedSocket>,
    /// News that the driver has to pass to the core.
    pub(super) news: VecDeque<SocketEvent>,
    /// The counters.
    pub(super) counters: Counters,
}

impl Sockets {
    /// Registers the sockets of a proxy: `listen` is the socket to which clients send, `target` the server.
    ///
    /// # Errors
    /// If the socket cannot be watched.
    pub(super) fn new(
        listen: UdpSocket,
        target: SocketAddr,
        addresses: Option<ClientAddresses>,
        readiness: Arc<Readiness>,
    ) -> io::Result<Self> {
        readiness.add(Source::Socket(Which::Listen(ListenerId::FIRST)), &listen)?;
        Ok(Self {
            target,
            addresses,
            readiness,
            listen_ipv6: listen.local_addr().is_ok_and(|addr| addr.is_ipv6()),
            listen: QueuedSocket::new(listen),
            redirects: BTreeMap::new(),
            upstreams: BTreeMap::new(),
            news: VecDeque::new(),
            counters: Counters::default(),
        })
    }

    /// Receives a datagram from a client.
    ///
    /// # Errors
    /// Returns the error of the kernel; `WouldBlock` if there is no datagram.
    pub(super) fn receive_from_client(
        &self,
        listener: ListenerId,
        buffer: &mut [u8],
    ) -> io::Result<(usize, SocketAddr)> {
        let line = match listener {
            ListenerId::FIRST => Some(&self.listen),
            _ => self.redirects.get(&listener),
        };
        let (len, addr) = udp::receive_from(&line.ok_or(io::ErrorKind::WouldBlock)?.socket, buffer)?;
        Ok((len, udp::canonical(addr)))
    }

    /// Receives a datagram from the server. The socket is connected, so the sender is known.
    ///
    /// # Errors
    /// Returns the error of the kernel; `WouldBlock` if there is no datagram or the socket is closed.
    pub(super) fn receive_from_server(&self, upstream: UpstreamId, buffer: &mut [u8]) -> io::Result<usize> {
        let line = self.upstreams.get(&upstream);
        udp::receive(&line.ok_or(io::ErrorKind::WouldBlock)?.socket, buffer)
    }

    /// Carries out an output of the core. Events are appended to `events`, to be published after all
    /// datagrams are sent.
    pub(super) fn carry_out(&mut self, output: Output<'_>, events: &mut Vec<Event>) {
        match output {
            Output::ToServer { upstream, bytes } => self.send_to_server(upstream, bytes),
            Output::ToClient {
                listener,
                addr,
                bytes,
            } => self.send_to_client(listener, addr, bytes),
            Output::Event(event) => events.push(*event),
            Output::OpenUpstream { upstream, port } => self.open(upstream, port),
            Output::OpenListener { listener, port } => self.listen(listener, port),
            Output::CloseUpstream(id) => self.close(id),
        }
    }

    /// Sends the queued datagrams of a socket that has room.
    pub(super) fn flush(&mut self, which: Which) {
        let line = match which {
            Which::Listen(ListenerId::FIRST) => Some(&mut self.listen),
            Which::Listen(id) => self.redirects.get_mut(&id),
            Which::Upstream(id) => self.upstreams.get_mut(&id),
        };
        let Some(line) = line else { return };
        self.counters.unsent += line.outbox.flush(&line.socket);
        if line.outbox.is_empty() && self.readiness.watch_room(which, &line.socket, false).is_err() {
            self.counters.errors += 1;
        }
    }

    /// Fills in the local address of the upstream socket in an event, if the core does not know it.
    pub(super) fn name(&self, event: &mut Event) {
        if let Some(ends) = event.ends_mut()
            && ends.local.is_none()
        {
            let line = ends.upstream.and_then(|id| self.upstreams.get(&id));
            ends.local = line.and_then(|line| line.socket.local_addr().ok());
        }
    }

    /// Returns true if no socket has queued datagrams.
    pub(super) fn is_idle(&self) -> bool {
        let mut others = self.redirects.values().chain(self.upstreams.values());
        self.listen.outbox.is_empty() && others.all(|line| line.outbox.is_empty())
    }

    fn send_to_server(&mut self, upstream: UpstreamId, bytes: &[u8]) {
        let Some(line) = self.upstreams.get_mut(&upstream) else {
            // The socket could not be opened, which the core learns from the news.
            self.counters.unsent += 1;
            return;
        };
        match line.outbox.send(&line.socket, None, bytes) {
            Sent::Now(None) | Sent::Queued => {}
            Sent::Now(Some(error)) => {
                self.counters.errors += 1;
                self.news.push_back(SocketEvent::Unreachable(upstream, error));
            }
            Sent::First => line.wait_for_room(Which::Upstream(upstream), &self.readiness, &mut self.counters),
            Sent::Dropped => self.counters.unsent += 1,
            Sent::Failed(error) => {
                self.counters.unsent += 1;
                self.counters.errors += 1;
                self.news.push_back(SocketEvent::Unreachable(upstream, error));
            }
        }
    }

    fn send_to_client(&mut self, listener: ListenerId, addr: SocketAddr, bytes: &[u8]) {
        let addr = udp::native(addr, self.listen_ipv6);
        let line = match listener {
            ListenerId::FIRST => Some(&mut self.listen),
            _ => self.redirects.get_mut(&listener),
        };
        let Some(line) = line else {
            self.counters.unsent += 1;
            return;
        };
        match line.outbox.send(&line.socket, Some(addr), bytes) {
            Sent::Now(_) | Sent::Queued => {}
            Sent::First => {
                line.wait_for_room(Which::Listen(listener), &self.readiness, &mut self.counters);
            }
            Sent::Dropped | Sent::Failed(_) => self.counters.unsent += 1,
        }
    }

    fn open(&mut self, id: UpstreamId, port: u16) {
        let source = Source::Socket(Which::Upstream(id));
        let server = self.server(port);
        let socket = match self.addresses {
            Some(addresses) => udp::connect_from(addresses.of(id), server),
            None => udp::connect(server),
        };
        let opened = socket.and_then(|socket| {
            self.readiness.add(source, &socket)?;
            Ok((socket.local_addr()?, socket))
        });
        self.news.push_back(match opened {
            Ok((local, socket)) => {
                self.upstreams.insert(id, QueuedSocket::new(socket));
                SocketEvent::Opened(id, local)
            }
            Err(error) => SocketEvent::Failed(id, error),
        });
    }

    /// Opens an additional listen socket for a port of the server's host.
    fn listen(&mut self, id: ListenerId, port: u16) {
        let source = Source::Socket(Which::Listen(id));
        let others = self.redirects.values().chain([&self.listen]);
        let ours: Vec<SocketAddr> = others.flat_map(|line| line.socket.local_addr()).collect();
        let first = self.listen.socket.local_addr();
        let opened = first.and_then(|first| {
            let socket = listen::beside(first, &ours, self.server(port))?;
            self.readiness.add(source, &socket)?;
            Ok((socket.local_addr()?, socket))
        });
        self.news.push_back(match opened {
            Ok((local, socket)) => {
                self.redirects.insert(id, QueuedSocket::new(socket));
                SocketEvent::ListenerOpened(id, local)
            }
            Err(error) => SocketEvent::ListenerFailed(id, error),
        });
    }

    /// Returns the address of the server at this port.
    fn server(&self, port: u16) -> SocketAddr {
        let mut server = self.target;
        server.set_port(port);
        server
    }

    fn close(&mut self, id: UpstreamId) {
        if let Some(mut line) = self.upstreams.remove(&id) {
            // The queued datagrams precede the close: this is the last chance to send them.
            self.counters.unsent += line.outbox.flush(&line.socket) + line.outbox.give_up();
        }
    }
}

impl QueuedSocket {
    fn new(socket: UdpSocket) -> Self {
        Self {
            socket,
            outbox: Outbox::default(),
        }
    }

    /// Watches the socket for room to send. If the system cannot do that, drops the queued datagrams.
    fn wait_for_room(&mut self, which: Which, readiness: &Readiness, counters: &mut Counters) {
        if readiness.watch_room(which, &self.socket, true).is_err() {
            counters.errors += 1;
            counters.unsent += self.outbox.give_up();
        }
    }
}

#[cfg(test)]
#[path = "sockets_tests.rs"]
mod tests;
