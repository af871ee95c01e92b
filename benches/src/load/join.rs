//! Joining: real handshakes by the test kit's peers. The traffic then continues with their tokens and numbers.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags};
use teetap_kit::peer::{Options, Peer, Policy, Server};

use super::{LARGEST, Lane, Latencies, Load, SERVER, Session, Tally};
use crate::net::Socket;
use crate::traffic::{Direction, Traffic};

/// Number of clients that join at the same time.
const AT_ONCE: usize = 32;
/// Time limit for a batch of clients.
const PATIENCE: Duration = Duration::from_secs(10);
/// Interval at which the peers run their timers.
const UPDATE_EVERY: Duration = Duration::from_millis(50);
/// First byte of the clients' first message, as in a real one.
const INFO: u8 = 3;

/// The server's first message.
const GREETING: &[u8] = b"\x05the map";

/// The parts of a load.
#[derive(Debug)]
pub(crate) struct Plan<'a> {
    /// The messages to send.
    pub(crate) traffic: &'a Traffic,
    /// The number of sessions.
    pub(crate) sessions: usize,
    /// True if sockets have timestamps, for latencies.
    pub(crate) stamped: bool,
}

impl<'a> Plan<'a> {
    /// Creates a plan with this many sessions of this traffic, without timestamps.
    pub(crate) fn new(traffic: &'a Traffic, sessions: usize) -> Self {
        let stamped = false;
        Self {
            traffic,
            sessions,
            stamped,
        }
    }
}

/// A client that is joining.
struct Client {
    socket: Socket,
    peer: Peer,
}

struct Joining {
    start: Instant,
    updated: Instant,
    socket: Socket,
    server: Server,
    clients: Vec<Client>,
    buffer: Vec<u8>,
}

/// Joins all sessions through `subject`, whose target is the server socket.
pub(crate) fn join(plan: &Plan<'_>, server: Socket, subject: SocketAddr) -> Result<Load> {
    let options = Options::endless();
    let policy = Policy {
        max_clients: usize::MAX,
        max_clients_per_ip: usize::MAX,
        options: options.clone(),
        // Like a real server, which answers with its map.
        ..Policy::greets(GREETING)
    };
    let mut joining = Joining {
        start: Instant::now(),
        updated: Instant::now(),
        socket: server,
        server: Server::new(plan.traffic.variant(), policy, 1),
        clients: Vec::new(),
        buffer: vec![0; LARGEST],
    };
    for index in 0..plan.sessions {
        let socket = Socket::open(plan.stamped)?;
        socket.udp().connect(subject)?;
        let options = Options {
            hello: Some(hello(index)),
            ..options.clone()
        };
        let mut peer = Peer::client(plan.traffic.variant(), options, u64::try_from(index)? + 2);
        peer.connect(joining.now());
        joining.clients.push(Client { socket, peer });
        if (index + 1) % AT_ONCE == 0 || index + 1 == plan.sessions {
            joining.finish_batch()?;
        }
    }
    joining.settle()?;
    joining.into_load(plan)
}

impl Client {
    /// Returns true if the client has received the answer to its first message.
    fn was_greeted(&self) -> bool {
        !self.peer.delivered.is_empty()
    }
}

impl Joining {
    /// Returns the microseconds since the start, plus one second, because 0 means "never" to the peers.
    fn now(&self) -> u64 {
        let since = self.start.elapsed() + Duration::from_secs(1);
        u64::try_from(since.as_micros()).unwrap_or(u64::MAX)
    }

    fn finish_batch(&mut self) -> Result<()> {
        let begun = Instant::now();
        while !self.clients.iter().all(Client::was_greeted) {
            let online = self
                .clients
                .iter()
                .filter(|client| client.peer.is_online())
                .count();
            ensure!(
                begun.elapsed() < PATIENCE,
                "of {} clients {online} came online; the server's side: {:?}",
                self.clients.len(),
                self.server.counters
            );
            self.pump(AT_ONCE)?;
        }
        Ok(())
    }

    /// Handles the last datagrams without running the timers, which would send new ones.
    fn settle(&mut self) -> Result<()> {
        let begun = Instant::now();
        while begun.elapsed() < UPDATE_EVERY {
            self.updated = Instant::now();
            self.pump(usize::MAX)?;
        }
        Ok(())
    }

    /// Exchanges datagrams. Only the last `recent` clients are checked, except when the timers run.
    fn pump(&mut self, recent: usize) -> Result<()> {
        let now = self.now();
        let due = self.updated.elapsed() >= UPDATE_EVERY;
        let skipped = if due {
            0
        } else {
            self.clients.len().saturating_sub(recent)
        };
        if due {
            self.updated = Instant::now();
            self.server.update(now);
        }
        for client in self.clients.iter_mut().skip(skipped) {
            if due {
                client.peer.update(now);
            }
            while let Some(received) = client.socket.receive(&mut self.buffer, false)? {
                let bytes = self.buffer.get(..received.len).unwrap_or_default();
                client.peer.receive(bytes, now);
            }
            for bytes in client.peer.outgoing.drain(..) {
                client.socket.udp().send(&bytes)?;
            }
        }
        while let Some(received) = self.socket.receive(&mut self.buffer, true)? {
            let bytes = self.buffer.get(..received.len).unwrap_or_default();
            self.server.receive(from_port(received.port), bytes, now);
        }
        for (to, bytes) in self.server.take_outgoing() {
            self.socket.udp().send_to(&bytes, to)?;
        }
        Ok(())
    }

    fn into_load(self, plan: &Plan<'_>) -> Result<Load> {
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?;
        epoll.add(self.socket.udp(), EpollEvent::new(EpollFlags::EPOLLIN, SERVER))?;
        let slots: HashMap<&[u8], (SocketAddr, &Peer)> = self
            .server
            .peers()
            .filter_map(|(addr, peer)| Some((peer.delivered.first()?.data.as_slice(), (addr, peer))))
            .collect();
        let (mut sessions, mut by_port) = (Vec::new(), HashMap::new());
        for (index, client) in self.clients.into_iter().enumerate() {
            let (upstream, slot) = slots
                .get(hello(index).as_slice())
                .copied()
                .context("a client is not at the server")?;
            let ((own, written), (slot_own, slot_written)) = (client.peer.tokens(), slot.tokens());
            let (seq, ack, _) = client.peer.numbers();
            let (slot_seq, slot_ack, _) = slot.numbers();
            if slot.counters.rejoined > 0 {
                bail!("an ACCEPT was repeated inside a session");
            }
            let event = EpollEvent::new(EpollFlags::EPOLLIN, u64::try_from(index)?);
            epoll.add(client.socket.udp(), event)?;
            by_port.insert(upstream.port(), index);
            sessions.push(Session {
                client: client.socket,
                upstream,
                c2s: Lane::new(
                    plan.traffic.ready(Direction::C2s, written, slot_own),
                    seq,
                    slot_ack,
                ),
                s2c: Lane::new(
                    plan.traffic.ready(Direction::S2c, slot_written, own),
                    slot_seq,
                    ack,
                ),
            });
        }
        Ok(Load {
            server: self.socket,
            sessions,
            by_port,
            epoll,
            events: vec![EpollEvent::empty(); 64],
            buffer: vec![0; LARGEST],
            work: Vec::with_capacity(LARGEST),
            flying: 0,
            turn: 0,
            stamped: plan.stamped,
            latencies: Latencies::default(),
            tally: Tally::default(),
            strangers: Vec::new(),
        })
    }
}

/// Returns the first message of a client, by which its slot at the server is found.
fn hello(index: usize) -> Vec<u8> {
    let mut message = vec![INFO];
    message.extend(format!("session {index}").bytes());
    message.push(0);
    message
}

fn from_port(port: u16) -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], port))
}
