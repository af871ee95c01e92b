//! The peers in virtual time, over links that lose, delay, reorder and duplicate; and once over real sockets.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;

use super::bot::Bot;
use super::message::token;
use super::persona::Persona;
use super::report::Report;
use super::server::Server;

mod endpoint;
mod game;

/// Time moves by this.
const STEP: Duration = Duration::from_millis(5);

/// xorshift: the same numbers for the same seed.
struct Dice(u64);

impl Dice {
    fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    fn roll(&mut self, below: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % below
    }
}

/// What a link does to datagrams.
#[derive(Clone, Copy)]
struct Weather {
    /// Per cent.
    loss: u64,
    /// Milliseconds, at random for each datagram: more than between two datagrams reorders them.
    jitter: u64,
    /// Per cent.
    twice: u64,
}

const FINE: Weather = Weather {
    loss: 0,
    jitter: 1,
    twice: 0,
};

/// Datagrams under way, to `T`.
struct Link<T> {
    weather: Weather,
    dice: Dice,
    under_way: BTreeMap<(Duration, u64), (T, Vec<u8>)>,
    sent: u64,
}

impl<T: Copy> Link<T> {
    fn new(weather: Weather, seed: u64) -> Self {
        Self {
            weather,
            dice: Dice::new(seed),
            under_way: BTreeMap::new(),
            sent: 0,
        }
    }

    fn send(&mut self, now: Duration, to: T, datagram: Vec<u8>) {
        let copies = 1 + u64::from(self.dice.roll(100) < self.weather.twice);
        for _ in 0..copies {
            self.sent += 1;
            if self.dice.roll(100) >= self.weather.loss {
                let arrives = now + Duration::from_millis(1 + self.dice.roll(self.weather.jitter));
                self.under_way
                    .insert((arrives, self.sent), (to, datagram.clone()));
            }
        }
    }

    fn receive(&mut self, now: Duration) -> Option<(T, Vec<u8>)> {
        let (&key, _) = self
            .under_way
            .first_key_value()
            .filter(|((at, _), _)| *at <= now)?;
        self.under_way.remove(&key)
    }
}

/// Where a datagram goes: to the server from the bot, or to the bot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum To {
    Server(usize),
    Bot(usize),
}

/// A server, bots and the network between them. `meddle` sees every datagram that arrives and may change it.
struct World<M: FnMut(To, Vec<u8>) -> Vec<u8>> {
    now: Duration,
    server: Server,
    bots: Vec<Bot>,
    link: Link<To>,
    meddle: M,
}

impl<M: FnMut(To, Vec<u8>) -> Vec<u8>> World<M> {
    fn new(cast: &[Persona], duration: Duration, weather: Weather, seed: u64, meddle: M) -> Self {
        let bots = cast
            .iter()
            .map(|persona| Bot::new(*persona, token(!seed, persona.name), duration));
        Self {
            now: Duration::ZERO,
            server: Server::new(seed),
            bots: bots.collect(),
            link: Link::new(weather, seed),
            meddle,
        }
    }

    fn step(&mut self) {
        self.now += STEP;
        while let Some((to, datagram)) = self.link.receive(self.now) {
            let datagram = (self.meddle)(to, datagram);
            match to {
                To::Server(bot) => self.server.handle(self.now, address(bot), &datagram),
                To::Bot(bot) => self.bots[bot].handle(self.now, &datagram),
            }
        }
        self.server.tick(self.now);
        for (at, bot) in self.bots.iter_mut().enumerate() {
            bot.tick(self.now);
            while let Some(datagram) = bot.take() {
                self.link.send(self.now, To::Server(at), datagram);
            }
        }
        while let Some((to, datagram)) = self.server.take() {
            self.link
                .send(self.now, To::Bot(usize::from(to.port())), datagram);
        }
    }

    /// Until every bot is done, then long enough for the server to give up those it did not hear quit.
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
