//! The server of the demo, which speaks 0.7 and DDNet's 0.6 and remembers players that left.
//!
//! Law: the server uses no socket and no clock.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::time::Duration;

use teetap_peer::{Server, ServerConfig, ServerEvent, Variant};

use super::report::PlayerReport;

/// Maximum number of past players in the report.
const REMEMBERED: usize = 64;

/// The server and its past players.
#[derive(Debug)]
pub(super) struct DemoHost {
    server: Server,
    left: VecDeque<PlayerReport>,
}

impl DemoHost {
    /// Returns a server without clients. Its tokens are derived from the secret.
    pub(super) fn new(secret: u64) -> Self {
        let mut config = ServerConfig::new(secret);
        config.variants = vec![Variant::Ddnet, Variant::V7];
        "teetap demo".clone_into(&mut config.name);
        "Welcome to the demo.".clone_into(&mut config.motd);
        Self {
            server: Server::new(config),
            left: VecDeque::new(),
        }
    }

    /// Handles a datagram.
    pub(super) fn handle(&mut self, now: Duration, from: SocketAddr, datagram: &[u8]) {
        self.server.handle(now, from, datagram);
        self.events();
    }

    /// Runs timers, the world and snapshots.
    pub(super) fn tick(&mut self, now: Duration) {
        self.server.tick(now);
        self.events();
    }

    /// Returns the next datagram to send, with its receiver.
    pub(super) fn poll_transmit(&mut self) -> Option<(SocketAddr, Vec<u8>)> {
        self.server.poll_transmit()
    }

    /// Returns true if no client is connected.
    pub(super) fn is_empty(&self) -> bool {
        self.server.is_empty()
    }

    /// Closes every connection.
    pub(super) fn shut_down(&mut self, now: Duration) {
        self.server.shut_down(now);
    }

    /// Returns all players that are or were connected.
    pub(super) fn players(&self) -> Vec<PlayerReport> {
        let present = self
            .server
            .clients()
            .map(|client| PlayerReport::new(client, None));
        self.left.iter().cloned().chain(present).collect()
    }

    fn events(&mut self) {
        while let Some(event) = self.server.poll_event() {
            if let ServerEvent::Left { client, reason } = event {
                self.left.push_back(PlayerReport::new(client, Some(reason)));
                if self.left.len() > REMEMBERED {
                    self.left.pop_front();
                }
            }
        }
    }
}
