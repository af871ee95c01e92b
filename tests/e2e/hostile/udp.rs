//! Scripted peers on real sockets: a client and a server, driven by one loop.

use std::collections::VecDeque;
use std::io::ErrorKind;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use teetap_kit::codec::Variant;
use teetap_kit::hostile::{LARGEST, Shown};
use teetap_kit::peer::{Options, Peer, Policy, Server};

/// Maximum wait for anything that must happen.
const PATIENCE: Duration = Duration::from_secs(20);
/// Number of hostile datagrams sent before all peers may read: the kernel's buffers are not tested here.
const AT_ONCE: usize = 16;

/// The client and the server.
pub(crate) struct Udp {
    begun: Instant,
    client: Peer,
    client_socket: UdpSocket,
    server: Server,
    server_socket: UdpSocket,
    buffer: Vec<u8>,
    talks: u32,
    /// The path between the client and the proxy or server.
    way: Way,
    /// The last datagrams that the client and the server sent.
    pub(crate) last_up: Vec<u8>,
    pub(crate) last_down: Vec<u8>,
}

/// A path that delays datagrams.
#[derive(Default)]
struct Way {
    /// The delay in each direction.
    delay: Duration,
    up: VecDeque<(Instant, Vec<u8>)>,
    down: VecDeque<(Instant, Vec<u8>)>,
}

/// Removes and returns the first datagram that is due.
fn due(line: &mut VecDeque<(Instant, Vec<u8>)>) -> Option<Vec<u8>> {
    line.pop_front_if(|(at, _)| *at <= Instant::now())
        .map(|(_, bytes)| bytes)
}

fn socket() -> Result<UdpSocket> {
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).context("a socket for a scripted peer")?;
    socket.set_nonblocking(true)?;
    Ok(socket)
}

impl Udp {
    pub(crate) fn new(client: Variant, server: Variant) -> Result<Self> {
        Ok(Self {
            begun: Instant::now(),
            client: Peer::client(client, Options::saying(b"hello"), 3),
            client_socket: socket()?,
            server: Server::new(server, Policy::greets(b"greeting"), 4),
            server_socket: socket()?,
            buffer: vec![0; LARGEST],
            talks: 0,
            way: Way::default(),
            last_up: Vec::new(),
            last_down: Vec::new(),
        })
    }

    /// Creates a distant client, and a server with room for a flood.
    pub(crate) fn far(client: Variant, server: Variant, delay: Duration) -> Result<Self> {
        let policy = Policy {
            max_clients: 1_000_000,
            max_clients_per_ip: 1_000_000,
            ..Policy::greets(b"greeting")
        };
        let way = Way {
            delay,
            ..Way::default()
        };
        Ok(Self {
            server: Server::new(server, policy, 4),
            way,
            ..Self::new(client, server)?
        })
    }

    /// Returns the time until both ends have received a message from each other; the client connects to `by`.
    pub(crate) fn join_time(&mut self, by: SocketAddr) -> Result<Duration> {
        self.client_socket.connect(by)?;
        self.client.connect(self.now());
        let begun = Instant::now();
        let has = |peer: &Peer, text: &[u8]| peer.delivered.iter().any(|one| one.data == text);
        loop {
            self.run(Duration::from_millis(1))?;
            let is_known = self.server.peers().any(|(_, slot)| has(slot, b"hello"));
            if is_known && has(&self.client, b"greeting") {
                return Ok(begun.elapsed());
            }
            ensure!(
                begun.elapsed() < PATIENCE,
                "not joined (client {:?}, the server has its message: {is_known})",
                self.client.state()
            );
        }
    }

    pub(crate) fn server_addr(&self) -> Result<SocketAddr> {
        Ok(self.server_socket.local_addr()?)
    }

    fn now(&self) -> u64 {
        u64::try_from(self.begun.elapsed().as_micros()).unwrap_or(u64::MAX)
    }

    /// Joins through the proxy.
    pub(crate) fn join(&mut self, proxy: SocketAddr) -> Result<()> {
        self.client_socket.connect(proxy)?;
        self.client.connect(self.now());
        self.talk()?;
        self.talk()
    }

    /// Runs both ends for `time`.
    pub(crate) fn run(&mut self, time: Duration) -> Result<()> {
        let end = Instant::now() + time;
        loop {
            self.step()?;
            if Instant::now() >= end {
                return Ok(());
            }
            thread::sleep(Duration::from_millis(1));
        }
    }

    /// Lets the peers read after every [`AT_ONCE`] hostile datagrams.
    pub(crate) fn pace(&mut self, number: usize) -> Result<()> {
        if number % AT_ONCE == AT_ONCE - 1 {
            self.run(Duration::from_millis(2))?;
        }
        Ok(())
    }

    fn step(&mut self) -> Result<()> {
        let now = self.now();
        while let Some((len, _)) = receive(&self.client_socket, &mut self.buffer)? {
            let bytes = self.buffer.get(..len).unwrap_or_default().to_vec();
            let at = Instant::now() + self.way.delay;
            self.way.down.push_back((at, bytes));
        }
        while let Some(bytes) = due(&mut self.way.down) {
            self.client.receive(&bytes, now);
        }
        while let Some((len, from)) = receive(&self.server_socket, &mut self.buffer)? {
            self.server
                .receive(from, self.buffer.get(..len).unwrap_or_default(), now);
        }
        self.client.update(now);
        self.server.update(now);
        for bytes in self.client.outgoing.drain(..) {
            let at = Instant::now() + self.way.delay;
            self.way.up.push_back((at, bytes));
        }
        while let Some(bytes) = due(&mut self.way.up) {
            self.client_socket.send(&bytes)?;
            self.last_up = bytes;
        }
        for (to, bytes) in self.server.take_outgoing() {
            self.server_socket.send_to(&bytes, to)?;
            self.last_down = bytes;
        }
        Ok(())
    }

    /// Returns the state that the client shows.
    pub(crate) fn shown_up(&self) -> Shown {
        Shown::of_peer(&self.client)
    }

    /// Returns the state that the server's slot shows.
    pub(crate) fn shown_down(&self) -> Result<Shown> {
        let slot = self.server.peers().map(|(_, peer)| Shown::of_peer(peer)).next();
        slot.context("the server has no slot")
    }

    /// Returns the proxy's own address towards the server.
    pub(crate) fn upstream(&self) -> Result<SocketAddr> {
        let slot = self.server.peers().map(|(addr, _)| addr).next();
        slot.context("the server has no slot")
    }

    /// Sends a datagram from the client's address.
    pub(crate) fn throw_up(&self, bytes: &[u8]) -> Result<()> {
        self.client_socket
            .send(bytes)
            .map(drop)
            .context("throw at the proxy")
    }

    /// Sends a datagram from the server's address.
    pub(crate) fn throw_down(&self, bytes: &[u8]) -> Result<()> {
        let to = self.upstream()?;
        self.server_socket
            .send_to(bytes, to)
            .map(drop)
            .context("throw at the proxy")
    }

    /// Lets both ends send a new message, and waits until both are received.
    pub(crate) fn talk(&mut self) -> Result<()> {
        self.talks += 1;
        let (up, down) = (format!("up {}", self.talks), format!("down {}", self.talks));
        let deadline = Instant::now() + PATIENCE;
        let mut sent = (false, false);
        let received = |peer: &Peer, text: &str| peer.delivered.iter().any(|one| one.data == text.as_bytes());
        loop {
            let now = self.now();
            if !sent.0 && self.client.send_vital(up.as_bytes(), now) {
                self.client.flush(now);
                sent.0 = true;
            }
            if let (false, Some((_, slot))) = (sent.1, self.server.peers_mut().next()) {
                sent.1 = slot.send_vital(down.as_bytes(), now);
                slot.flush(now);
            }
            self.run(Duration::from_millis(5))?;
            let up_received = self.server.peers().any(|(_, slot)| received(slot, &up));
            if up_received && received(&self.client, &down) {
                return Ok(());
            }
            ensure!(
                Instant::now() < deadline,
                "no talk (client {:?}, the server received: {up_received})",
                self.client.state()
            );
        }
    }
}

/// Returns a datagram if one is available.
fn receive(socket: &UdpSocket, buffer: &mut [u8]) -> Result<Option<(usize, SocketAddr)>> {
    match socket.recv_from(buffer) {
        Ok(received) => Ok(Some(received)),
        Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::ConnectionRefused) => {
            Ok(None)
        }
        Err(error) => Err(error.into()),
    }
}
