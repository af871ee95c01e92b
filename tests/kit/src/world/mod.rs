//! Clients, lossy hops, the session core or a bare wire in the middle, and a server, in virtual time; also servers on
//! other ports of the same host, as targets of redirects.
//!
//! The middle is either the [`Hub`] under test or a wire that forwards datagrams unchanged. The peers and the hops
//! are the same, so that the effects of the proxy can be told apart from the effects of the network.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use teetap_proxy::session::{
    Command, CommandId, Event, Hub, Input, ListenerId, Output, SessionId, Time, UpstreamId,
};
use teetap_rules::Made;

use crate::link::{Conditions, Hop, MS};
use crate::peer::{Peer, Server};

pub use self::network::{Loss, Network, Place, Sent};
pub use self::setup::{client_addr, config, hub, listen_addr, route, upstream_addr};
pub use self::transcript::transcript;

mod network;
mod setup;
mod transcript;

/// Interval at which the peers check their timers, in microseconds.
pub const TICK: u64 = 10 * MS;

/// The part between the clients and the server.
#[derive(Debug)]
pub enum Middle {
    /// The session core.
    Hub(Box<Hub>),
    /// No proxy: every client reaches the server from its own address.
    Wire,
}

/// A client and its hops to the middle.
#[derive(Debug)]
pub struct Client {
    /// The address of the client.
    pub addr: SocketAddr,
    /// The listen socket to which the client sends; it ignores datagrams from any other.
    pub listener: ListenerId,
    /// The scripted peer.
    pub peer: Peer,
    /// The hop from the client to the middle.
    pub up: Hop<(ListenerId, Vec<u8>)>,
    /// The hop from the middle to the client.
    pub down: Hop<(ListenerId, Vec<u8>)>,
}

/// Observes the inputs and outputs of the hub.
pub trait HubObserver: std::fmt::Debug {
    /// Called before the hub handles `input`.
    fn input(&mut self, at: Time, input: &Input<'_>);
    /// Called for each output of the hub; the outputs of an input follow it.
    fn output(&mut self, output: &Output<'_>);
}

/// The whole simulation.
#[derive(Debug)]
pub struct World {
    /// Virtual time, microseconds.
    pub now: u64,
    /// The clients.
    pub clients: Vec<Client>,
    /// The middle.
    pub middle: Middle,
    /// The server.
    pub server: Server,
    /// Servers on other ports, by port.
    pub others: BTreeMap<u16, Server>,
    /// Datagrams from the middle to the server, with the address of the sender.
    pub up: Hop<(SocketAddr, Vec<u8>)>,
    /// Datagrams from the server to the middle, with the address of the receiver.
    pub down: Hop<(SocketAddr, Vec<u8>)>,
    /// The events of the hub, if it reports them.
    pub events: Vec<Event>,
    /// The observer of the hub.
    pub witness: Option<Box<dyn HubObserver>>,
    /// Upstream sockets that are open.
    pub sockets: Vec<UpstreamId>,
    /// Listen sockets that the hub has requested, with the ports of their servers.
    pub wanted_listeners: Vec<(ListenerId, u16)>,
    /// True if requested listen sockets are opened immediately; otherwise the test reports them itself.
    pub listens: bool,
    /// The server ports of upstream sockets, by the sockets' own addresses; sockets to the first server are not
    /// listed.
    elsewhere: BTreeMap<SocketAddr, u16>,
    /// True if the network neither loses nor duplicates DDNet's ACCEPT.
    pub spares_accept: bool,
    /// Records and loses datagrams before the conditions of the hops apply.
    pub network: Network,
}

/// Returns true for DDNet's ACCEPT with its token.
fn is_lone_accept(bytes: &[u8]) -> bool {
    matches!(bytes, [0x10, 0, 0, 3, _, _, _, _])
}

impl World {
    /// Creates a world with one server; the hops to it have these conditions.
    pub fn new(middle: Middle, server: Server, conditions: Conditions, seed: u64) -> Self {
        Self {
            now: 0,
            clients: Vec::new(),
            middle,
            server,
            others: BTreeMap::new(),
            up: Hop::new(conditions, seed ^ 0x1111),
            down: Hop::new(conditions, seed ^ 0x2222),
            events: Vec::new(),
            witness: None,
            sockets: Vec::new(),
            wanted_listeners: Vec::new(),
            listens: true,
            elsewhere: BTreeMap::new(),
            spares_accept: true,
            network: Network::default(),
        }
    }

    /// Adds a client whose hops to the middle have these conditions, and returns its index.
    pub fn add(&mut self, peer: Peer, conditions: Conditions, seed: u64) -> usize {
        let index = self.clients.len();
        self.clients.push(Client {
            addr: client_addr(index),
            listener: ListenerId::FIRST,
            peer,
            up: Hop::new(conditions, seed ^ 0x3333),
            down: Hop::new(conditions, seed ^ 0x4444),
        });
        index
    }

    /// Sets the conditions of every hop.
    pub fn set_conditions(&mut self, conditions: Conditions) {
        self.up.conditions = conditions;
        self.down.conditions = conditions;
        for client in &mut self.clients {
            client.up.conditions = conditions;
            client.down.conditions = conditions;
        }
    }

    /// Returns the hub; `None` on a wire.
    pub fn hub(&mut self) -> Option<&mut Hub> {
        match &mut self.middle {
            Middle::Hub(hub) => Some(hub),
            Middle::Wire => None,
        }
    }

    /// Runs the simulation for `duration` microseconds.
    pub fn run(&mut self, duration: u64) {
        let end = self.now + duration;
        while self.now < end {
            self.step();
        }
    }

    /// Runs the simulation for one tick.
    pub fn step(&mut self) {
        let end = self.now + TICK;
        self.collect();
        while let Some(at) = self.next_arrival().filter(|at| *at <= end) {
            self.now = self.now.max(at);
            self.deliver();
            self.collect();
        }
        self.now = end;
        for client in &mut self.clients {
            client.peer.update(end);
        }
        self.server.update(end);
        for server in self.others.values_mut() {
            server.update(end);
        }
        self.input(Input::Timeout);
        self.collect();
    }

    /// Passes an input to the hub; does nothing on a wire.
    pub fn input(&mut self, input: Input<'_>) {
        let now = self.now;
        if let Middle::Hub(hub) = &mut self.middle {
            if let Some(witness) = &mut self.witness {
                witness.input(Time(now), &input);
            }
            hub.handle(Time(now), input);
            self.drain();
        }
    }

    /// Passes the hub a datagram that its first listen socket received from any address.
    pub fn stranger_sends(&mut self, addr: SocketAddr, bytes: &[u8]) {
        let listener = ListenerId::FIRST;
        self.input(Input::FromClient {
            listener,
            addr,
            bytes,
        });
    }

    /// Passes the hub a datagram received from its server.
    pub fn server_sends(&mut self, upstream: UpstreamId, bytes: &[u8]) {
        self.input(Input::FromServer { upstream, bytes });
    }

    /// Passes a command to the hub.
    pub fn command(&mut self, command: Command) {
        let id = CommandId(1);
        self.input(Input::Command { id, command });
    }

    /// Commands the hub to inject a message.
    pub fn inject(&mut self, session: SessionId, message: Made) {
        let Made { dir, vital, data, .. } = message;
        self.command(Command::Inject {
            session,
            dir,
            vital,
            data: data.into(),
        });
    }

    /// Passes a datagram of a client to the middle immediately.
    pub fn client_sends(&mut self, index: usize, bytes: &[u8]) {
        let listener = self
            .clients
            .get(index)
            .map_or(ListenerId::FIRST, |client| client.listener);
        self.client_sent(index, client_addr(index), listener, bytes);
    }

    fn next_arrival(&mut self) -> Option<u64> {
        let hub = self.hub().and_then(|hub| hub.deadline()).map(|at| at.0);
        let clients = self
            .clients
            .iter()
            .flat_map(|client| [client.up.next_time(), client.down.next_time()]);
        clients
            .chain([self.up.next_time(), self.down.next_time(), hub])
            .flatten()
            .min()
    }

    fn deliver(&mut self) {
        let now = self.now;
        let mut arrived = Vec::new();
        for (index, client) in self.clients.iter_mut().enumerate() {
            while let Some((listener, bytes)) = client.down.receive(now) {
                if listener == client.listener {
                    client.peer.receive(&bytes, now);
                }
            }
            while let Some((listener, bytes)) = client.up.receive(now) {
                arrived.push((index, client.addr, listener, bytes));
            }
        }
        for (index, addr, listener, bytes) in arrived {
            self.client_sent(index, addr, listener, &bytes);
        }
        while let Some((from, bytes)) = self.up.receive(now) {
            let server = match self.elsewhere.get(&from) {
                None => Some(&mut self.server),
                Some(port) => self.others.get_mut(port),
            };
            if let Some(server) = server {
                server.receive(from, &bytes, now);
            }
        }
        while let Some((to, bytes)) = self.down.receive(now) {
            self.server_sent(to, &bytes);
        }
        if self
            .hub()
            .and_then(|hub| hub.deadline())
            .is_some_and(|at| at.0 <= now)
        {
            self.input(Input::Timeout);
        }
    }

    fn client_sent(&mut self, index: usize, addr: SocketAddr, listener: ListenerId, bytes: &[u8]) {
        match self.middle {
            Middle::Hub(_) => self.input(Input::FromClient {
                listener,
                addr,
                bytes,
            }),
            Middle::Wire => {
                let upstream = UpstreamId(u32::try_from(index).unwrap_or(0));
                let item = (upstream_addr(upstream), bytes.to_vec());
                if self.spares_accept && is_lone_accept(bytes) {
                    self.up.send_once(item, self.now);
                } else {
                    self.up.send(item, self.now);
                }
            }
        }
    }

    fn server_sent(&mut self, to: SocketAddr, bytes: &[u8]) {
        match self.middle {
            Middle::Hub(_) => {
                if let Some(upstream) = self.sockets.iter().copied().find(|up| upstream_addr(*up) == to) {
                    self.input(Input::FromServer { upstream, bytes });
                }
            }
            Middle::Wire => {
                let index = usize::from(to.port().saturating_sub(20_000));
                if let Some(client) = self.clients.get_mut(index) {
                    client.down.send((ListenerId::FIRST, bytes.to_vec()), self.now);
                }
            }
        }
    }

    /// Carries out the outputs of the hub.
    fn drain(&mut self) {
        let Middle::Hub(hub) = &mut self.middle else {
            return;
        };
        let (mut opened, mut wanted) = (Vec::new(), Vec::new());
        while let Some(output) = hub.poll() {
            if let Some(witness) = &mut self.witness {
                witness.output(&output);
            }
            match output {
                Output::OpenListener { listener, port } => wanted.push((listener, port)),
                Output::OpenUpstream { upstream, port } => {
                    self.sockets.push(upstream);
                    if port != route().server.port() {
                        self.elsewhere.insert(upstream_addr(upstream), port);
                    }
                    opened.push(upstream);
                }
                Output::CloseUpstream(upstream) => self.sockets.retain(|open| *open != upstream),
                Output::ToClient {
                    listener,
                    addr,
                    bytes,
                } => {
                    let passes = self.network.passes(self.now, Place::ToClient, addr, bytes);
                    let client = self.clients.iter_mut().find(|client| client.addr == addr);
                    if let Some(client) = client.filter(|_| passes) {
                        client.down.send((listener, bytes.to_vec()), self.now);
                    }
                }
                Output::ToServer { upstream, bytes } => {
                    assert!(
                        self.sockets.contains(&upstream),
                        "sent on a socket that is not open"
                    );
                    let item = (upstream_addr(upstream), bytes.to_vec());
                    if !self.network.passes(self.now, Place::ToServer, item.0, bytes) {
                        continue;
                    }
                    // A duplicated or lost ACCEPT breaks DDNet on a bare wire too; the tests of joins cover that.
                    if self.spares_accept && is_lone_accept(bytes) {
                        self.up.send_once(item, self.now);
                    } else {
                        self.up.send(item, self.now);
                    }
                }
                Output::Event(event) => self.events.push(*event),
            }
        }
        for upstream in opened {
            let local = upstream_addr(upstream);
            self.input(Input::UpstreamOpened { upstream, local });
        }
        self.wanted_listeners.extend(&wanted);
        let open = if self.listens { wanted } else { Vec::new() };
        for (listener, _) in open {
            let local = listen_addr(listener);
            self.input(Input::ListenerOpened { listener, local });
        }
    }

    /// Moves the datagrams that the peers want to send onto their hops.
    fn collect(&mut self) {
        let now = self.now;
        for client in &mut self.clients {
            for bytes in client.peer.outgoing.drain(..) {
                if !self.network.passes(now, Place::FromClient, client.addr, &bytes) {
                    continue;
                }
                let is_spared = self.spares_accept && is_lone_accept(&bytes);
                let item = (client.listener, bytes);
                if is_spared {
                    client.up.send_once(item, now);
                } else {
                    client.up.send(item, now);
                }
            }
        }
        let others = self.others.values_mut().flat_map(Server::take_outgoing);
        for (to, bytes) in self.server.take_outgoing().into_iter().chain(others) {
            if self.network.passes(now, Place::FromServer, to, &bytes) {
                self.down.send((to, bytes), now);
            }
        }
    }
}
