//! Tests of the peers in virtual time, over links that lose, delay, reorder and duplicate; and once over real sockets.

use std::net::SocketAddr;
use std::time::Duration;

use teetap_kit::link::{Conditions, Hop, MS};

use super::bot::Bot;
use super::player::Player;
use super::report::Report;
use super::server::DemoHost;

mod game;

/// Step of the virtual time.
const STEP: Duration = Duration::from_millis(5);

const FINE: Conditions = Conditions {
    delay: MS,
    jitter: 0,
    loss: 0.0,
    duplicate: 0.0,
};

/// Converts a time for the kit's links.
fn micros(now: Duration) -> u64 {
    u64::try_from(now.as_micros()).unwrap()
}

/// Way of a datagram: from a bot to the server, or from the server to a bot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum To {
    Server(usize),
    Bot(usize),
}

/// A server, bots and the network between them. `meddle` sees every datagram on arrival and may change it.
struct World<M: FnMut(To, Vec<u8>) -> Vec<u8>> {
    now: Duration,
    server: DemoHost,
    bots: Vec<Bot>,
    link: Hop<(To, Vec<u8>)>,
    meddle: M,
}

impl<M: FnMut(To, Vec<u8>) -> Vec<u8>> World<M> {
    fn new(players: &[Player], duration: Duration, conditions: Conditions, seed: u64, meddle: M) -> Self {
        let bots = players.iter().map(|player| Bot::new(*player, !seed, duration));
        Self {
            now: Duration::ZERO,
            server: DemoHost::new(seed),
            bots: bots.collect(),
            link: Hop::new(conditions, seed),
            meddle,
        }
    }

    fn step(&mut self) {
        self.now += STEP;
        while let Some((to, datagram)) = self.link.receive(micros(self.now)) {
            let datagram = (self.meddle)(to, datagram);
            match to {
                To::Server(bot) => self.server.handle(self.now, address(bot), &datagram),
                To::Bot(bot) => self.bots[bot].handle(self.now, &datagram),
            }
        }
        self.server.tick(self.now);
        for (at, bot) in self.bots.iter_mut().enumerate() {
            bot.tick(self.now);
            while let Some(datagram) = bot.poll_transmit() {
                self.link.send((To::Server(at), datagram), micros(self.now));
            }
        }
        while let Some((to, datagram)) = self.server.poll_transmit() {
            self.link
                .send((To::Bot(usize::from(to.port())), datagram), micros(self.now));
        }
    }

    /// Runs until every bot is done, and then until the server has given up clients whose quit was lost.
    fn run(mut self) -> Report {
        while !self.bots.iter().all(Bot::is_over) {
            assert!(self.now < Duration::from_secs(120), "the bots do not end");
            self.step();
        }
        let end = self.now + Duration::from_secs(12);
        while self.now < end {
            self.step();
        }
        Report {
            bots: self.bots.iter().map(|bot| bot.report().clone()).collect(),
            players: self.server.players(),
        }
    }
}

fn address(bot: usize) -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], u16::try_from(bot).unwrap()))
}
