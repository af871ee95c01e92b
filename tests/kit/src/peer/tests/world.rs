//! A client and a server on a direct line, good or bad: every vital message arrives once and in order.

use super::*;
use crate::link::{Conditions, Hop, Random};

const STEP: u64 = 10 * MS;

struct World {
    client: Peer,
    server: Server,
    up: Hop<Vec<u8>>,
    down: Hop<Vec<u8>>,
    random: Random,
    now: u64,
    sent: [Vec<Vec<u8>>; 2],
    number: u32,
}

impl World {
    /// Joined over a good line; single-shot handshake packets that get lost are not the matter here.
    fn joined(client: Variant, server: Variant, options: Options, seed: u64) -> Self {
        let policy = Policy {
            options: options.clone(),
            ..Policy::default()
        };
        let hello = Options {
            hello: Some(b"info".to_vec()),
            ..options
        };
        let mut world = Self {
            client: Peer::client(client, hello, seed),
            server: Server::new(server, policy, seed),
            up: Hop::new(Conditions::GOOD, seed ^ 0x55),
            down: Hop::new(Conditions::GOOD, seed ^ 0xaa),
            random: Random::new(seed),
            now: 0,
            sent: [vec![b"info".to_vec()], Vec::new()],
            number: 0,
        };
        world.client.connect(0);
        while world
            .server
            .peer(client_address())
            .is_none_or(|slot| slot.delivered.is_empty())
        {
            world.step();
            assert!(world.now < 3 * SECOND, "{client:?} never joined {server:?}");
        }
        world
    }

    fn step(&mut self) {
        self.now += STEP;
        let now = self.now;
        while let Some(bytes) = self.up.receive(now) {
            self.server.receive(client_address(), &bytes, now);
        }
        while let Some(bytes) = self.down.receive(now) {
            self.client.receive(&bytes, now);
        }
        self.client.update(now);
        self.server.update(now);
        for bytes in self.client.outgoing.drain(..) {
            self.up.send(bytes, now);
        }
        for (_, bytes) in self.server.take_outgoing() {
            self.down.send(bytes, now);
        }
    }

    /// Both ends send vital messages in random groups, mixed with others.
    fn talk(&mut self, chance: f64, most: u64) {
        for side in 0..2 {
            let Self {
                client,
                server,
                random,
                number,
                sent,
                now,
                ..
            } = self;
            let Some(peer) = (if side == 0 {
                Some(client)
            } else {
                server.peer_mut(client_address())
            }) else {
                return;
            };
            if !random.chance(chance) {
                continue;
            }
            for _ in 0..=random.below(most) {
                if peer.unacked() < 250 {
                    *number += 1;
                    let message = number.to_be_bytes().to_vec();
                    peer.send_vital(&message, *now);
                    sent[side].push(message);
                }
            }
            peer.send_nonvital(b"input", *now);
            if random.chance(0.8) {
                peer.flush(*now);
            }
        }
    }

    fn slot(&self) -> &Peer {
        self.server.peer(client_address()).expect("the slot is gone")
    }

    fn is_quiet(&self) -> bool {
        self.client.unacked() + self.slot().unacked() == 0 && self.now > 30 * SECOND
    }

    fn check(&self, label: &str) {
        for (from, to, sent) in [
            (&self.client, self.slot(), &self.sent[0]),
            (self.slot(), &self.client, &self.sent[1]),
        ] {
            let arrived: Vec<_> = to
                .delivered
                .iter()
                .filter(|message| message.vital)
                .map(|message| &message.data)
                .collect();
            assert!(
                arrived.iter().copied().eq(sent),
                "{label}: {} of {}",
                arrived.len(),
                sent.len()
            );
            let Counters {
                ahead,
                wrong_token,
                malformed,
                missing_chunks,
                trailing,
                ..
            } = to.counters;
            assert_eq!(
                [ahead, wrong_token, malformed, missing_chunks, trailing],
                [0; 5],
                "{label}"
            );
            assert!(from.is_online(), "{label}: {:?}", from.state());
        }
        assert_eq!(self.server.counters.rejoins, 0);
    }
}

/// The pairs of client and server, and of both kinds of 0.7.
const PAIRS: [(Variant, Variant); 7] = [
    (Variant::V6, Variant::V6),
    (Variant::V65, Variant::V65),
    (Variant::Ddnet, Variant::Ddnet),
    (Variant::V7, Variant::V7),
    (Variant::V7, Variant::D7),
    (Variant::D7, Variant::D7),
    (Variant::V65, Variant::V6),
];

fn run(pair: (Variant, Variant), loss: f64, seed: u64, options: Options) -> World {
    let mut world = World::joined(pair.0, pair.1, options, seed);
    if loss > 0.0 {
        (world.up.conditions, world.down.conditions) = (Conditions::bad(loss), Conditions::bad(loss));
    }
    // Some thousand messages: the numbers wrap several times.
    while world.now < 20 * SECOND {
        world.talk(0.5, 6);
        world.step();
    }
    while !world.is_quiet() && world.now < 600 * SECOND {
        world.step();
    }
    world.check(&format!(
        "{pair:?} loss {loss} seed {seed} at {} s",
        world.now / SECOND
    ));
    world
}

#[test]
fn a_good_line_delivers_without_any_repetition() {
    for pair in PAIRS {
        let world = run(pair, 0.0, 1, Options::default());
        assert!(world.sent[0].len() > 3 * 1024 && world.sent[1].len() > 3 * 1024);
        for counters in [world.client.counters, world.slot().counters] {
            let Counters {
                behind,
                gaps,
                resend_requests,
                resent_chunks,
                ..
            } = counters;
            assert_eq!([behind, gaps, resend_requests], [0; 3], "{pair:?}");
            // The ack of the very last message may come with a keepalive, later than the sender's second.
            assert!(resent_chunks <= 1, "{pair:?} {resent_chunks}");
        }
        let nonvital = world
            .slot()
            .delivered
            .iter()
            .filter(|message| !message.vital)
            .count();
        assert!(nonvital > 900, "{nonvital}");
    }
}

#[test]
fn a_bad_line_delivers_everything_too() {
    for pair in PAIRS {
        for seed in 0..6 {
            let world = run(pair, 0.1, seed, patient());
            let counters = [world.client.counters, world.slot().counters];
            assert!(
                counters
                    .iter()
                    .all(|it| it.resent_chunks > 0 && it.gaps > 0 && it.resend_requests > 0)
            );
        }
    }
}

#[test]
fn a_bad_line_delivers_compressed_packets_too() {
    let packing = Packing::IfShorter(crate::huffman::Ending::Padded);
    for pair in PAIRS {
        run(pair, 0.05, 11, Options { packing, ..patient() });
    }
}

#[test]
fn the_same_seed_gives_the_same_run() {
    let run = |seed| {
        let world = run((Variant::V7, Variant::V7), 0.1, seed, patient());
        (world.now, world.client.counters, world.slot().counters)
    };
    assert_eq!(run(3), run(3));
    assert_ne!(run(3), run(4));
}

/// Many clients share one address of the server, and each session stays its own.
#[test]
fn a_server_keeps_its_clients_apart() {
    let mut server = Server::new(Variant::Ddnet, Policy::default(), 1);
    let variants = [
        Variant::Ddnet,
        Variant::V7,
        Variant::V6,
        Variant::D7,
        Variant::Ddnet,
    ];
    let address =
        |number: usize| SocketAddr::new(client_address().ip(), 7000 + u16::try_from(number).unwrap());
    let hello = |number| Options {
        hello: Some(format!("client {number}").into_bytes()),
        ..Options::default()
    };
    let mut clients: Vec<Peer> = variants
        .iter()
        .zip(0..)
        .map(|(variant, number)| Peer::client(*variant, hello(number), number))
        .collect();
    for client in &mut clients {
        client.connect(0);
    }
    for step in 0..300 {
        let now = step * STEP;
        for (number, client) in clients.iter_mut().enumerate() {
            client.update(now);
            for bytes in std::mem::take(&mut client.outgoing) {
                server.receive(address(number), &bytes, now);
            }
        }
        if step == 100 {
            for (address, slot) in server.peers_mut() {
                slot.send_vital(format!("to {}", address.port()).as_bytes(), now);
            }
        }
        server.update(now);
        for (to, bytes) in server.take_outgoing() {
            clients[usize::from(to.port() - 7000)].receive(&bytes, now);
        }
    }
    assert_eq!(server.peers().count(), 5);
    for (number, client) in clients.iter().enumerate() {
        assert_eq!(texts(client), [format!("to {}", 7000 + number)]);
        assert_eq!(
            texts(server.peer(address(number)).unwrap()),
            [format!("client {number}")]
        );
    }
}
