//! One walk.

mod actions;

use std::{fmt::Write as _, sync::Arc, time::Duration};

use teetap_kit::{
    codec::Variant,
    link::{Conditions, MS, Random, SECOND},
    peer::{Options, Peer, Policy, Refusal, Server},
    world::{Middle, World, client_addr, config, route},
};
use teetap_proxy::session::{Config, Events, Hub, Input};
use teetap_wire::Proto;

use crate::{
    diary::{Diary, Text},
    log::Recording,
    messages::Snapshots,
    rules::program,
};

/// Number of actions of a walk.
const ACTIONS: u64 = 50;

/// The part of the core to which a walk keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    /// All actions.
    Mixed,
    /// Sessions begin, are answered, restart and end; little is said.
    Handshakes,
    /// The peers talk in a session that lasts.
    Talk,
    /// All actions, with pauses in which limits are reached.
    Slow,
}

/// Number of clients at any time.
const CLIENTS: u64 = 2;

/// Maximum number of earlier datagrams kept for replays.
const REMEMBERED: usize = 30;

pub(crate) struct Walk {
    client: Variant,
    server: Variant,
    mode: Mode,
    random: Random,
    world: World,
    text: Text,
    commands: u64,
    snapshots: Snapshots,
    /// The input log of a recorded walk.
    recording: Option<Recording>,
    /// True if more clients connect than there is room for.
    is_flooded: bool,
}

fn proto(variant: Variant) -> Proto {
    if variant.is_seven() { Proto::V7 } else { Proto::V6 }
}

impl Walk {
    pub(crate) fn new(client: Variant, server: Variant, seed: u64, is_recorded: bool) -> Self {
        let mode =
            [Mode::Mixed, Mode::Handshakes, Mode::Talk, Mode::Slow][usize::try_from(seed % 4).unwrap()];
        let is_flooded = seed % 16 == 5;
        let seed = seed << 8 | (client as u64) << 4 | server as u64;
        let mut random = Random::new(seed);
        let patience =
            [None, None, Some(Duration::from_millis(1500))][usize::try_from(random.below(3)).unwrap()];
        let config = Config {
            heals: random.chance(0.4),
            proto: random.chance(0.04).then_some(proto(client)),
            events: if random.chance(0.15) {
                Events::Odd
            } else {
                Events::All
            },
            ..config(seed, patience, true)
        };
        let (log, recording) = is_recorded.then(|| Recording::start(&config)).unzip();
        let policy = Policy {
            challenges: random.chance(0.3),
            max_clients: if random.chance(0.1) { 1 } else { 64 },
            refusal: random.chance(0.05).then_some(Refusal::WrongPassword),
            ..Policy::greets(b"greeting")
        };
        let middle = Middle::Hub(Box::new(Hub::new(config, route())));
        let mut world = World::new(
            middle,
            Server::new(server, policy.clone(), seed),
            Conditions::GOOD,
            seed,
        );
        world.others.insert(8304, Server::new(server, policy, seed + 1));
        world.network.sent = Some(Vec::new());
        world.spares_accept = random.chance(0.5);
        let text = Text::default();
        world.witness = Some(Box::new(Diary {
            text: Arc::clone(&text),
            log,
        }));
        let mut walk = Self {
            client,
            server,
            mode,
            random,
            world,
            text,
            commands: 0,
            snapshots: Snapshots::default(),
            recording,
            is_flooded,
        };
        for number in 0..CLIENTS {
            let mut peer = walk.peer(client);
            if number == 0 || walk.mode == Mode::Talk {
                peer.connect(0);
            }
            walk.world.add(peer, Conditions::GOOD, seed + number);
        }
        walk
    }

    fn peer(&mut self, variant: Variant) -> Peer {
        let options = Options {
            joins: self.random.chance(0.5),
            limits: self.random.chance(0.8),
            ..Options::saying(b"hello")
        };
        Peer::client(variant, options, self.random.bits())
    }

    /// Returns a random one of these items.
    fn one<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.below(items.len())]
    }

    fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.random.below(bound as u64)).unwrap()
    }

    /// Runs the walk. Returns all inputs and outputs of the core as text.
    pub(crate) fn run(mut self) -> String {
        if self.random.chance(0.4) {
            let program = program(&mut self.random);
            self.world.input(Input::Program(program));
        }
        if self.is_flooded {
            self.flood();
        }
        if self.mode == Mode::Talk {
            self.world.run(300 * MS);
        }
        let join = self.one(&[0, 0, 10, 20, 30, 40, 50, 60, 70, 90, 120, 500, 500, 500]);
        self.world.run(join * MS);
        for _ in 0..ACTIONS {
            self.act();
            let pause = self.pause();
            self.world.run(pause);
            self.state();
        }
        self.world.input(Input::Shutdown { reason: b"the end" });
        self.state();
        drop(self.world);
        let mut text = Arc::into_inner(self.text).unwrap().into_inner().unwrap();
        if let Some(recording) = self.recording {
            text += &recording.finish(&mut self.random);
        }
        text
    }

    fn pause(&mut self) -> u64 {
        match self.random.below(100) {
            0..=39 => 0,
            40..=69 => 10 * MS,
            70..=81 if self.mode == Mode::Handshakes => 530 * MS,
            70..=84 => 50 * MS,
            85..=94 => 150 * MS,
            _ if self.mode == Mode::Slow => self.one(&[
                600 * MS,
                1600 * MS,
                2100 * MS,
                5 * SECOND,
                11 * SECOND,
                16 * SECOND,
            ]),
            95..=98 => 600 * MS,
            _ => 2100 * MS,
        }
    }

    /// Records the state of the core, and forgets what the world has recorded.
    fn state(&mut self) {
        let sent = self.world.network.sent.as_mut().unwrap();
        let surplus = sent.len().saturating_sub(REMEMBERED);
        sent.drain(..surplus);
        let surplus = self.world.events.len().saturating_sub(REMEMBERED);
        self.world.events.drain(..surplus);
        let hub = self.world.hub().unwrap();
        let current: Vec<_> = (0..3).map(|number| hub.session_of(client_addr(number))).collect();
        let state = (hub.deadline(), hub.sessions(), hub.stats(), current);
        writeln!(self.text.lock().unwrap(), "= {state:?}").unwrap();
    }
}
