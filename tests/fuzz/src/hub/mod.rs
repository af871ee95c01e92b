//! One session core between clients of all kinds and a server. The input controls the peers, strangers, packet loss,
//! rules, commands and the clock.
//!
//! In addition to the checks of [`Watch`]: without interference, neither peer drops a datagram of the core because of an
//! ack ahead of its own numbers, a wrong token or a malformed packet, and a DDNet slot is never reset by a new join.

mod actions;
mod rules;

use std::collections::{BTreeMap, BTreeSet};
use std::net::{Ipv4Addr, SocketAddr};

use teetap_kit::codec::{Variant, extended};
use teetap_kit::link::{MS, Queue};
use teetap_kit::peer::{Counters, Options, Peer, Policy, Server};
use teetap_proxy::session::{ClientAddr, Input as To, ListenerId, UpstreamId};

use crate::{
    input::Input,
    watch::{Sent, Watch, listen, local},
};

/// Maximum actions per input.
const MAX_ACTIONS: usize = 400;
/// Maximum ticks of 10 ms per input.
const MAX_TICKS: usize = 3_000;
/// Delay of every datagram in microseconds.
const DELAY: u64 = 5 * MS;
/// Number of addresses that may have a client.
const CLIENTS: usize = 4;

/// A datagram in transit.
#[derive(Clone, Debug)]
enum Flight {
    FromClient(ClientAddr, Vec<u8>),
    ToClient(ClientAddr, Vec<u8>),
    ToServer(UpstreamId, Vec<u8>),
    FromServer(UpstreamId, Vec<u8>),
}

/// A core under test, with a server, its clients and the datagrams that are in transit between them.
#[derive(Debug)]
struct Arena {
    watch: Watch,
    server: Server,
    clients: BTreeMap<SocketAddr, Peer>,
    /// The listen socket of each client that has followed a redirect.
    behind: BTreeMap<SocketAddr, ListenerId>,
    /// Addresses of clients that a stranger, a loss or a restart has interfered with.
    touched: BTreeSet<SocketAddr>,
    /// True if the server leg was interfered with: datagrams in the server's name, losses, leaps of the clock.
    touched_server: bool,
    lines: Queue<Flight>,
    /// Number of datagrams that will be lost next.
    losses: u32,
    /// The last datagram that the core sent to each address.
    received: BTreeMap<SocketAddr, Vec<u8>>,
    last_sent: Option<(UpstreamId, Vec<u8>)>,
    last_reply: Option<(UpstreamId, Vec<u8>)>,
    now: u64,
    ticks: usize,
    seed: u64,
}

/// Runs the actions of an input, then checks the peers.
pub fn hub(data: &[u8]) {
    let mut input = Input::new(data);
    let server = [
        Variant::V6,
        Variant::V65,
        Variant::Ddnet,
        Variant::V7,
        Variant::Ddnet,
    ][input.below(5)];
    let mut arena = Arena::new(server);
    for _ in 0..MAX_ACTIONS {
        if input.is_empty() || arena.ticks >= MAX_TICKS {
            break;
        }
        arena.act(&mut input);
    }
    arena.run(20);
    arena.check();
    arena.everybody_vanishes();
}

/// Returns the address of a client, or of a stranger if `number` is [`CLIENTS`] or above.
fn address(number: usize) -> SocketAddr {
    if number < CLIENTS {
        let port = u16::try_from(4000 + number).unwrap_or(0);
        return SocketAddr::from((Ipv4Addr::new(10, 1, 0, 1), port));
    }
    let [.., high, low] = number.to_be_bytes();
    SocketAddr::from((Ipv4Addr::new(10, 2 + high % 2, low, 1), 5000 + u16::from(high)))
}

impl Arena {
    fn new(server: Variant) -> Self {
        let policy = Policy {
            greeting: vec![b"map".to_vec(), b"ready".to_vec()],
            max_clients: 16,
            ..Policy::default()
        };
        Self {
            watch: Watch::default(),
            server: Server::new(server, policy, 1),
            clients: BTreeMap::new(),
            behind: BTreeMap::new(),
            touched: BTreeSet::new(),
            touched_server: false,
            lines: Queue::default(),
            losses: 0,
            received: BTreeMap::new(),
            last_sent: None,
            last_reply: None,
            now: 0,
            ticks: 0,
            seed: 0,
        }
    }

    /// Starts a client at an address. A previous client there ends without a CLOSE.
    fn start(&mut self, addr: SocketAddr, variant: Variant) {
        self.seed += 1;
        let mut peer = Peer::client(variant, Options::saying(b"hello"), self.seed);
        peer.connect(self.now);
        if self.clients.insert(addr, peer).is_some() {
            self.touched.insert(addr);
            self.touched_server = true;
        }
    }

    /// Advances the time by `ticks` of 10 ms.
    fn run(&mut self, ticks: usize) {
        for _ in 0..ticks {
            self.ticks += 1;
            self.collect();
            let end = self.now + 10 * MS;
            while let Some(at) = self.next_moment().filter(|at| *at <= end) {
                self.now = self.now.max(at);
                self.deliver();
                self.collect();
            }
            self.now = end;
            for peer in self.clients.values_mut() {
                peer.update(end);
            }
            self.server.update(end);
        }
    }

    fn next_moment(&self) -> Option<u64> {
        let due = self.watch.hub().deadline().map(|at| at.0);
        self.lines.next_time().into_iter().chain(due).min()
    }

    fn deliver(&mut self) {
        while let Some(flight) = self.lines.pop(self.now) {
            match flight {
                Flight::FromClient(ClientAddr { addr, listener }, bytes) => {
                    let bytes = &*bytes;
                    self.input(To::FromClient {
                        listener,
                        addr,
                        bytes,
                    });
                }
                Flight::FromServer(upstream, bytes) => self.server_sends(upstream, &bytes),
                Flight::ToClient(addr, bytes) => self.client_gets(addr, &bytes),
                Flight::ToServer(upstream, bytes) => {
                    self.server.receive(local(upstream), &bytes, self.now);
                }
            }
        }
        if self.watch.hub().deadline().is_some_and(|at| at.0 <= self.now) {
            self.input(To::Timeout);
        }
    }

    /// Delivers a datagram to a client if it comes from the listen socket that the client uses. Follows redirects.
    fn client_gets(&mut self, from: ClientAddr, bytes: &[u8]) {
        let ClientAddr { addr, listener } = from;
        let talks_to = self.behind.get(&addr).copied().unwrap_or_default();
        let Some(peer) = self.clients.get_mut(&addr).filter(|_| talks_to == listener) else {
            return;
        };
        let fresh = peer.receive(bytes, self.now).delivered;
        let variant = peer.variant();
        let messages = peer.delivered.iter().rev().take(fresh);
        let port = messages
            .filter_map(|message| extended::redirect_port(&message.data))
            .next();
        let open = |port| {
            let mut open = self.watch.listeners.iter().copied();
            open.find(|listener| listen(*listener).port() == port)
        };
        if let Some(listener) = port.and_then(open) {
            // The client sends a CLOSE first, as DDNet's does.
            self.leave(from);
            self.behind.insert(addr, listener);
            self.start(addr, variant);
        }
    }

    fn leave(&mut self, from: ClientAddr) {
        let Some(peer) = self.clients.get_mut(&from.addr) else {
            return;
        };
        peer.close("", self.now);
        let flights: Vec<Flight> = peer
            .outgoing
            .drain(..)
            .map(|bytes| Flight::FromClient(from, bytes))
            .collect();
        for flight in flights {
            self.send(flight);
        }
    }

    /// Delivers a datagram from any address to one of the listen sockets.
    fn client_sends(&mut self, addr: SocketAddr, bytes: &[u8]) {
        let listener = self.watch.some_listener(bytes.len());
        self.input(To::FromClient {
            listener,
            addr,
            bytes,
        });
    }

    fn server_sends(&mut self, upstream: UpstreamId, bytes: &[u8]) {
        self.input(To::FromServer { upstream, bytes });
    }

    fn input(&mut self, input: To<'_>) {
        self.input_at(self.now, input);
    }

    fn input_at(&mut self, at: u64, input: To<'_>) {
        for sent in self.watch.input(at, input) {
            let flight = match sent {
                Sent::Client(addr, bytes) => {
                    self.received.insert(addr.addr, bytes.clone());
                    Flight::ToClient(addr, bytes)
                }
                Sent::Server(upstream, bytes) => {
                    self.last_sent = Some((upstream, bytes.clone()));
                    Flight::ToServer(upstream, bytes)
                }
            };
            self.send(flight);
        }
    }

    fn send(&mut self, flight: Flight) {
        if self.losses > 0 {
            self.losses -= 1;
            return;
        }
        self.lines.push(self.now + DELAY, flight);
    }

    /// Sends the queued datagrams of all peers.
    fn collect(&mut self) {
        let mut flights = Vec::new();
        for (addr, peer) in &mut self.clients {
            let listener = self.behind.get(addr).copied().unwrap_or_default();
            let addr = *addr;
            let from = ClientAddr { addr, listener };
            let out = peer.outgoing.drain(..);
            flights.extend(out.map(|bytes| Flight::FromClient(from, bytes)));
        }
        for (to, bytes) in self.server.take_outgoing() {
            let upstream = self.watch.sockets.iter().copied().find(|up| local(*up) == to);
            if let Some(upstream) = upstream {
                self.last_reply = Some((upstream, bytes.clone()));
                flights.push(Flight::FromServer(upstream, bytes));
            }
        }
        for flight in flights {
            self.send(flight);
        }
    }

    /// Checks the counters of the peers that nothing interfered with.
    fn check(&self) {
        for (addr, peer) in &self.clients {
            if !self.touched.contains(addr) && !self.touched_server {
                assert!(is_well(&peer.counters), "{addr}: {:?}", peer.counters);
            }
        }
        if !self.touched_server && self.touched.is_empty() {
            let finished = self.server.finished.iter().map(|(addr, peer)| (*addr, peer));
            for (addr, peer) in self.server.peers().chain(finished) {
                assert!(is_well(&peer.counters), "slot of {addr}: {:?}", peer.counters);
            }
            assert_eq!(self.server.counters.rejoins, 0, "a slot was started afresh");
        }
    }

    /// Checks that all sessions and sockets are removed after all peers fall silent.
    fn everybody_vanishes(&mut self) {
        self.input(To::Program(None));
        for _ in 0..80 {
            self.now += 2_500 * MS;
            self.input(To::Timeout);
        }
        let left = self.watch.hub().sessions();
        assert!(
            left == 0 && self.watch.sockets.is_empty(),
            "{left} sessions and {} sockets for ever",
            self.watch.sockets.len()
        );
    }
}

/// True if the peer dropped no datagram because of an error of the core.
fn is_well(counters: &Counters) -> bool {
    counters.ahead == 0
        && counters.wrong_token == 0
        && counters.malformed == 0
        && counters.missing_chunks == 0
        && counters.rejoined == 0
}
