//! One run: a client and a server that talk over bad hops, and the messages that arrive.

use teetap_kit::{
    codec::Variant,
    link::{Conditions, Random, SECOND},
    peer::{Counters, Options, Peer, Policy, Server},
    rules::{BOTH, compiled, made, program},
    world::{self, Middle, World, client_addr, config, route},
};
use teetap_proxy::session::{Config, Hub, Input};
use teetap_wire::Dir;

use crate::compare::check;
use crate::dice::{Dice, Kind};

/// The first message of a client. The server has a slot once it has received this.
const HELLO: &[u8] = b"hello";

/// Time without a received message after which a run ends.
const QUIET: u64 = 20 * SECOND;

/// The plan of a run.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) variant: Variant,
    /// True to run without a proxy.
    pub(crate) bare: bool,
    pub(crate) kinds: Vec<Kind>,
    /// The time at which the rules start; `None` for the start of the run.
    pub(crate) rules_from: Option<u64>,
    /// The time at which a message is injected into each direction of a session without rules; `None` for no
    /// injection.
    pub(crate) inject_at: Option<u64>,
    /// Link lines from the start of the run; empty for none.
    pub(crate) link: &'static str,
    pub(crate) conditions: Conditions,
    /// True if the server sends a map, and the client requests it.
    pub(crate) download: bool,
    /// True to send many messages, so that numbers wrap several times.
    pub(crate) burst: bool,
    /// True to collect a transcript.
    pub(crate) trace: bool,
    /// True if the peers give up like real ones.
    pub(crate) limits: bool,
    /// Time for which messages are sent, and the additional time for which the run may continue, both in
    /// microseconds.
    pub(crate) talk: u64,
    pub(crate) settle: u64,
}

impl Default for Plan {
    fn default() -> Self {
        Self {
            variant: Variant::V7,
            bare: false,
            kinds: Vec::new(),
            rules_from: None,
            inject_at: None,
            link: "",
            conditions: Conditions::bad(0.1),
            download: false,
            burst: false,
            trace: false,
            limits: false,
            talk: 30 * SECOND,
            settle: 600 * SECOND,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// All intended messages arrived, in order, once.
    Complete,
    /// A peer gave up.
    Died,
    /// The session was never established.
    NeverJoined,
    /// Other messages arrived, or messages are missing.
    Wrong,
}

/// The outcome of a run.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) fate: Fate,
    pub(crate) why: String,
    /// The counters of the client and the server.
    pub(crate) counters: [Counters; 2],
    pub(crate) transcript: Vec<String>,
}

/// The messages that one side sent.
pub(crate) struct Side {
    name: &'static str,
    pub(crate) c2s: bool,
    pub(crate) sent: Vec<Vec<u8>>,
}

pub(crate) fn run(seed: u64, plan: &Plan) -> Outcome {
    let (dice, memo) = Dice::new(seed, &plan.kinds);
    let mut world = world(seed, plan);
    if !plan.link.is_empty() {
        world.input(Input::Program(Some(compiled(plan.link).unwrap())));
    }
    let mut dice = (!plan.kinds.is_empty()).then_some(dice);
    let mut random = Random::new(seed);
    let mut sides = sides();
    let mut injected = Vec::new();
    let mut transcript = Vec::new();
    let end = plan.talk + plan.settle;
    let mut done = false;
    let (mut last, mut since) = ((0, 0), 0);
    while world.now < end && !done {
        if dice.is_some() && world.now >= plan.rules_from.unwrap_or(0) {
            let rules = dice.take().unwrap();
            world.input(Input::Program(program(BOTH, move |_| rules.clone())));
        }
        if plan.inject_at.is_some_and(|at| at <= world.now) && injected.is_empty() {
            injected = inject(&mut world);
        }
        if world.now < plan.talk {
            if plan.download {
                send_map(&mut world, &mut sides);
            } else {
                talk(&mut world, &mut sides, &mut random, plan.burst);
            }
        }
        world.step();
        transcript.extend(world.events.drain(..).map(|event| world::transcript(&event)));
        if let Some(dead) = dead(&world) {
            return outcome(&world, Fate::Died, dead, transcript);
        }
        let now = progress(&world);
        if now != last {
            (last, since) = (now, world.now);
        }
        done = world.now > plan.talk && world.now - since > QUIET && is_settled(&world);
    }
    if !world.clients[0].peer.is_online() || server_peer(&world).is_none() {
        let why = format!("{:?}", world.clients[0].peer.state());
        return outcome(&world, Fate::NeverJoined, why, transcript);
    }
    match check(&world, &sides, &memo, &injected) {
        Ok(()) => outcome(&world, Fate::Complete, String::new(), transcript),
        Err(why) => outcome(&world, Fate::Wrong, why, transcript),
    }
}

/// Lets both sides talk until no more messages arrive. Returns their messages.
pub(crate) fn converse(seed: u64, plan: &Plan, world: &mut World) -> ([Side; 2], Fate) {
    let mut random = Random::new(seed);
    let mut sides = sides();
    let (mut last, mut since) = ((0, 0), 0);
    while world.now < plan.talk + plan.settle {
        if world.now < plan.talk {
            talk(world, &mut sides, &mut random, plan.burst);
        }
        world.step();
        if dead(world).is_some() {
            return (sides, Fate::Died);
        }
        let now = progress(world);
        if now != last {
            (last, since) = (now, world.now);
        }
        if world.now > plan.talk && world.now - since > QUIET && is_settled(world) {
            return (sides, Fate::Complete);
        }
    }
    let is_online = world.clients[0].peer.is_online() && server_peer(world).is_some();
    (sides, if is_online { Fate::Wrong } else { Fate::NeverJoined })
}

fn sides() -> [Side; 2] {
    let client = Side {
        name: "c",
        c2s: true,
        sent: vec![HELLO.to_vec()],
    };
    let server = Side {
        name: "s",
        c2s: false,
        sent: Vec::new(),
    };
    [client, server]
}

fn world(seed: u64, plan: &Plan) -> World {
    let middle = if plan.bare {
        Middle::Wire
    } else {
        let patience = (!plan.limits).then_some(std::time::Duration::MAX);
        // This test is not about the loss of datagrams that DDNet sends once.
        let config = Config {
            heals: true,
            ..config(seed, patience, plan.trace)
        };
        Middle::Hub(Box::new(Hub::new(config, route())))
    };
    world_with(seed, plan, middle)
}

/// Returns a world with a client that joins a server through this middle.
pub(crate) fn world_with(seed: u64, plan: &Plan, middle: Middle) -> World {
    let mut options = Options::saying(HELLO);
    let mut policy = Policy::default();
    (options.limits, policy.options.limits) = (plan.limits, plan.limits);
    let mut world = World::new(
        middle,
        Server::new(plan.variant, policy, seed),
        plan.conditions,
        seed,
    );
    let mut client = Peer::client(plan.variant, options, seed);
    client.connect(0);
    world.add(client, plan.conditions, seed);
    world
}

/// Sends messages from both sides at random.
fn talk(world: &mut World, sides: &mut [Side; 2], random: &mut Random, burst: bool) {
    let now = world.now;
    let [client_side, server_side] = sides;
    let server = world.server.peers_mut().next().map(|(_, peer)| peer);
    let client = &mut world.clients[0].peer;
    for (peer, side) in [(Some(client), client_side), (server, server_side)] {
        let Some(peer) = peer.filter(|peer| peer.is_online()) else {
            continue;
        };
        if !random.chance(if burst { 0.5 } else { 0.12 }) {
            continue;
        }
        let most = if burst { 20 } else { 3 };
        let count = [1, 1, 2, 5, most][usize::try_from(random.below(5)).unwrap()];
        for _ in 0..count {
            if peer.unacked() < 250 && peer.has_room(64) {
                let message = format!("{}{}", side.name, side.sent.len()).into_bytes();
                peer.send_vital(&message, now);
                side.sent.push(message);
            }
        }
        if random.chance(0.3) {
            peer.send_nonvital(b"n", now);
        }
        if random.chance(0.8) {
            peer.flush(now);
        }
    }
}

/// Sends large messages from the server, up to a window, and sometimes a request from the client.
fn send_map(world: &mut World, sides: &mut [Side; 2]) {
    const WINDOW: usize = 8;
    const PIECES: usize = 250;
    let now = world.now;
    let [client_side, server_side] = sides;
    let Some((_, server)) = world
        .server
        .peers_mut()
        .next()
        .filter(|(_, peer)| peer.is_online())
    else {
        return;
    };
    let size = [900, 1388][usize::from(server.variant() == Variant::V7)];
    while server.unacked() < WINDOW && server_side.sent.len() < PIECES {
        let mut message = format!("s{}", server_side.sent.len()).into_bytes();
        message.resize(size, 0xa5);
        server.send_vital(&message, now);
        server.flush(now);
        server_side.sent.push(message);
    }
    let client = &mut world.clients[0].peer;
    if client.is_online()
        && client.unacked() < WINDOW
        && client.delivered.len() / WINDOW > client_side.sent.len()
    {
        let message = format!("c{}", client_side.sent.len()).into_bytes();
        client.send_vital(&message, now);
        client.flush(now);
        client_side.sent.push(message);
    }
}

fn inject(world: &mut World) -> Vec<Vec<u8>> {
    let Some(session) = world.hub().and_then(|hub| hub.session_of(client_addr(0))) else {
        return Vec::new();
    };
    if !world.clients[0].peer.is_online() || !server_peer(world).is_some_and(Peer::is_online) {
        return Vec::new();
    }
    let texts = [Dir::C2s, Dir::S2c].map(|dir| {
        let text = format!("X{dir}").into_bytes();
        world.inject(session, made(dir, text.clone()));
        text
    });
    texts.to_vec()
}

/// Injects `count` messages while no datagram reaches the client, then restores the network. Returns the
/// messages that the client received.
pub(crate) fn inject_into_silence(plan: &Plan, count: usize) -> Vec<String> {
    let mut world = world(1, plan);
    world.run(SECOND);
    let session = world
        .hub()
        .and_then(|hub| hub.session_of(client_addr(0)))
        .expect("a session");
    world.clients[0].down.conditions.loss = 1.0;
    for n in 0..count {
        world.inject(session, made(Dir::S2c, format!("X{n}")));
    }
    world.run(3 * SECOND);
    world.clients[0].down.conditions.loss = 0.0;
    world.run(60 * SECOND);
    let client = &world.clients[0].peer;
    assert_eq!(
        client.counters.ahead + client.counters.malformed,
        0,
        "{:?}",
        client.counters
    );
    client
        .delivered
        .iter()
        .map(|message| String::from_utf8_lossy(&message.data).into_owned())
        .collect()
}

pub(crate) fn server_peer(world: &World) -> Option<&Peer> {
    world.server.peers().next().map(|(_, peer)| peer)
}

fn dead(world: &World) -> Option<String> {
    let client = &world.clients[0].peer;
    let finished = world.server.finished.first();
    if client.is_over() || finished.is_some() {
        return Some(format!(
            "client {:?}, server {:?}",
            client.state(),
            finished.map(|(_, peer)| peer.state())
        ));
    }
    None
}

/// Returns the number of messages that have arrived on either side.
fn progress(world: &World) -> (usize, usize) {
    (
        world.clients[0].peer.delivered.len(),
        server_peer(world).map_or(0, |peer| peer.delivered.len()),
    )
}

/// Returns true if neither peer waits for an ack. The proxy may still have messages in custody, therefore
/// [`QUIET`].
fn is_settled(world: &World) -> bool {
    let quiet = |peer: &Peer| peer.unacked() == 0;
    quiet(&world.clients[0].peer) && server_peer(world).is_some_and(quiet)
}

fn outcome(world: &World, fate: Fate, why: String, transcript: Vec<String>) -> Outcome {
    let server = world
        .server
        .finished
        .first()
        .map(|(_, peer)| peer)
        .or(server_peer(world));
    Outcome {
        fate,
        why,
        counters: [
            world.clients[0].peer.counters,
            server.map(|peer| peer.counters).unwrap_or_default(),
        ],
        transcript,
    }
}
