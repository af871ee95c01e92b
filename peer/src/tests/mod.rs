//! The peers in virtual time, over links that lose, delay, reorder and duplicate datagrams, and with the independent
//! peers of the kit.

use std::net::SocketAddr;
use std::time::Duration;

use teetap_kit::link::{Conditions, Hop, MS};

use crate::{Client, ClientConfig, ClientEvent, Server, ServerConfig, ServerEvent, Variant, token};

mod connection;
mod hostile;
mod joins;
mod maps;
mod oracle;
mod scripts;

/// The time step in tests that do not use deadlines.
const STEP: Duration = Duration::from_millis(5);

const FINE: Conditions = Conditions {
    delay: MS,
    jitter: 0,
    loss: 0.0,
    duplicate: 0.0,
};

/// A line that loses every tenth datagram, reorders datagrams, and duplicates some.
const BAD: Conditions = Conditions {
    delay: 5 * MS,
    jitter: 60 * MS,
    loss: 0.1,
    duplicate: 0.03,
};

/// Converts a time to microseconds, the unit of the kit's links.
fn micros(now: Duration) -> u64 {
    u64::try_from(now.as_nanos().div_ceil(1000)).unwrap()
}

/// The receiver of a datagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum To {
    Server(usize),
    Client(usize),
}

fn address(client: usize) -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], u16::try_from(client).unwrap()))
}

fn config(variant: Variant, client: usize) -> ClientConfig {
    ClientConfig::new(variant, token(77, client), format!("player {client}"))
}

/// A server, clients and the network between them. Time moves from one deadline to the next.
struct World {
    now: Duration,
    server: Server,
    clients: Vec<Client>,
    link: Hop<(To, Vec<u8>)>,
    server_events: Vec<ServerEvent>,
    client_events: Vec<Vec<ClientEvent>>,
    /// Filter that returns false for datagrams that get lost.
    passes: fn(To, &[u8]) -> bool,
}

impl World {
    fn new(server: ServerConfig, clients: Vec<ClientConfig>, conditions: Conditions, seed: u64) -> Self {
        Self {
            now: Duration::ZERO,
            server: Server::new(server),
            client_events: vec![Vec::new(); clients.len()],
            clients: clients.into_iter().map(Client::new).collect(),
            link: Hop::new(conditions, seed),
            server_events: Vec::new(),
            passes: |_, _| true,
        }
    }

    /// Moves to the next deadline, at most to `end`. Returns false if nothing happens until `end`.
    fn step(&mut self, end: Duration) -> bool {
        self.transmit();
        let clients = self.clients.iter().filter_map(Client::deadline);
        let link = self.link.next_time().map(Duration::from_micros);
        let next = clients.chain(self.server.deadline()).chain(link).min();
        let Some(next) = next.filter(|next| *next <= end) else {
            return false;
        };
        self.now = Duration::from_micros(micros(next.max(self.now)));
        while let Some((to, datagram)) = self.link.receive(micros(self.now)) {
            match to {
                To::Server(client) => self.server.handle(self.now, address(client), &datagram),
                To::Client(client) => self.clients[client].handle(self.now, &datagram),
            }
        }
        self.server.tick(self.now);
        for client in &mut self.clients {
            client.tick(self.now);
        }
        self.transmit();
        true
    }

    fn transmit(&mut self) {
        let now = micros(self.now);
        for (at, client) in self.clients.iter_mut().enumerate() {
            while let Some(datagram) = client.poll_transmit() {
                if (self.passes)(To::Server(at), &datagram) {
                    self.link.send((To::Server(at), datagram), now);
                }
            }
            self.client_events[at].extend(std::iter::from_fn(|| client.poll_event()));
        }
        while let Some((to, datagram)) = self.server.poll_transmit() {
            let to = To::Client(usize::from(to.port()));
            if (self.passes)(to, &datagram) {
                self.link.send((to, datagram), now);
            }
        }
        self.server_events
            .extend(std::iter::from_fn(|| self.server.poll_event()));
    }

    /// Runs until the condition holds. Returns false if it does not hold within this number of seconds.
    fn run_until(&mut self, seconds: u64, condition: impl Fn(&Self) -> bool) -> bool {
        let end = self.now + Duration::from_secs(seconds);
        for _ in 0..200_000 {
            if condition(self) {
                return true;
            }
            if !self.step(end) {
                self.now = end;
                return false;
            }
        }
        panic!("the peers do not let the time pass");
    }

    fn run_for(&mut self, seconds: u64) {
        self.run_until(seconds, |_| false);
    }

    /// Returns the lines of chat that a client received from players.
    fn chat(&self, client: usize) -> Vec<String> {
        let proto = self.clients[client].proto();
        let messages = self.client_events[client].iter().filter_map(|event| match event {
            ClientEvent::Message(message) => message.read(proto, teetap_wire::Dir::S2c),
            _ => None,
        });
        let of_players = messages.filter(|message| {
            message.name() == "sv_chat" && message.int("client_id").is_some_and(|id| id >= 0)
        });
        of_players.filter_map(|message| message.text("message")).collect()
    }
}
