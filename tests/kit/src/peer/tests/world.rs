//! A client and a server on a direct line, good or bad: every vital message is delivered once and in order.

use super::*;
use crate::link::{Conditions, Random};
use crate::world::{Middle, World, upstream_addr};
use teetap_proxy::session::UpstreamId;

/// A client and a server on one line, and the messages that each has sent.
struct Talk {
    world: World,
    random: Random,
    sent: [Vec<Vec<u8>>; 2],
    number: u32,
}

impl Talk {
    /// Joins over a good line, since lost handshake packets that are not repeated are not tested here.
    fn joined(client: Variant, server: Variant, options: Options, seed: u64) -> Self {
        let hello = Some(b"info".to_vec());
        let mut peer = Peer::client(
            client,
            Options {
                hello,
                ..options.clone()
            },
            seed,
        );
        let policy = Policy {
            options,
            ..Policy::default()
        };
        let server = Server::new(server, policy, seed);
        let mut world = World::new(Middle::Wire, server, Conditions::GOOD, seed);
        peer.connect(0);
        world.add(peer, Conditions::GOOD, seed);
        while world.server.peers().all(|(_, slot)| slot.delivered.is_empty()) {
            world.step();
            assert!(
                world.now < 3 * SECOND,
                "{client:?} never joined {:?}",
                world.server
            );
        }
        Self {
            world,
            random: Random::new(seed),
            sent: [vec![b"info".to_vec()], Vec::new()],
            number: 0,
        }
    }

    /// Sends random groups of vital messages from both ends, mixed with non-vital ones.
    fn talk(&mut self, chance: f64, most: u64) {
        let now = self.world.now;
        let client = &mut self.world.clients[0].peer;
        let slot = self.world.server.peers_mut().next().map(|(_, slot)| slot);
        for (peer, sent) in std::iter::once(client).chain(slot).zip(&mut self.sent) {
            if !self.random.chance(chance) {
                continue;
            }
            for _ in 0..=self.random.below(most) {
                if peer.unacked() < 250 {
                    self.number += 1;
                    let message = self.number.to_be_bytes().to_vec();
                    peer.send_vital(&message, now);
                    sent.push(message);
                }
            }
            peer.send_nonvital(b"input", now);
            if self.random.chance(0.8) {
                peer.flush(now);
            }
        }
    }

    fn client(&self) -> &Peer {
        &self.world.clients[0].peer
    }

    fn slot(&self) -> &Peer {
        self.world.server.peers().next().expect("the slot is gone").1
    }

    fn is_quiet(&self) -> bool {
        self.client().unacked() + self.slot().unacked() == 0 && self.world.now > 30 * SECOND
    }

    fn check(&self, label: &str) {
        for (from, to, sent) in [
            (self.client(), self.slot(), &self.sent[0]),
            (self.slot(), self.client(), &self.sent[1]),
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
        assert_eq!(self.world.server.counters.rejoins, 0);
    }
}

/// The tested pairs of client and server, including both kinds of 0.7.
const PAIRS: [(Variant, Variant); 7] = [
    (Variant::V6, Variant::V6),
    (Variant::V65, Variant::V65),
    (Variant::Ddnet, Variant::Ddnet),
    (Variant::V7, Variant::V7),
    (Variant::V7, Variant::D7),
    (Variant::D7, Variant::D7),
    (Variant::V65, Variant::V6),
];

fn run(pair: (Variant, Variant), loss: f64, seed: u64, options: Options) -> Talk {
    let mut talk = Talk::joined(pair.0, pair.1, options, seed);
    if loss > 0.0 {
        let world = &mut talk.world;
        (world.up.conditions, world.down.conditions) = (Conditions::bad(loss), Conditions::bad(loss));
    }
    // Several thousand messages: the numbers wrap several times.
    while talk.world.now < 20 * SECOND {
        talk.talk(0.5, 6);
        talk.world.step();
    }
    while !talk.is_quiet() && talk.world.now < 600 * SECOND {
        talk.world.step();
    }
    let end = talk.world.now / SECOND;
    talk.check(&format!("{pair:?} loss {loss} seed {seed} at {end} s"));
    talk
}

#[test]
fn a_good_line_delivers_without_any_repetition() {
    for pair in PAIRS {
        let talk = run(pair, 0.0, 1, Options::default());
        assert!(talk.sent[0].len() > 3 * 1024 && talk.sent[1].len() > 3 * 1024);
        for counters in [talk.client().counters, talk.slot().counters] {
            let Counters {
                behind,
                gaps,
                resend_requests,
                resent_chunks,
                ..
            } = counters;
            assert_eq!([behind, gaps, resend_requests], [0; 3], "{pair:?}");
            // The ack of the very last message may arrive with a keepalive, later than the sender's second.
            assert!(resent_chunks <= 1, "{pair:?} {resent_chunks}");
        }
        let nonvital = talk
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
            let talk = run(pair, 0.1, seed, patient());
            let counters = [talk.client().counters, talk.slot().counters];
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
        let talk = run((Variant::V7, Variant::V7), 0.1, seed, patient());
        (talk.world.now, talk.client().counters, talk.slot().counters)
    };
    assert_eq!(run(3), run(3));
    assert_ne!(run(3), run(4));
}

/// Many clients share one address of the server, and each session stays separate.
#[test]
fn a_server_keeps_its_clients_apart() {
    let server = Server::new(Variant::Ddnet, Policy::default(), 1);
    let mut world = World::new(Middle::Wire, server, Conditions::GOOD, 1);
    let variants = [
        Variant::Ddnet,
        Variant::V7,
        Variant::V6,
        Variant::D7,
        Variant::Ddnet,
    ];
    for (number, variant) in (0..).zip(variants) {
        let hello = Options::saying(format!("client {number}").as_bytes());
        let mut client = Peer::client(variant, hello, number);
        client.connect(0);
        world.add(client, Conditions::GOOD, number);
    }
    world.run(SECOND);
    let now = world.now;
    for (address, slot) in world.server.peers_mut() {
        slot.send_vital(format!("to {address}").as_bytes(), now);
        slot.flush(now);
    }
    world.run(2 * SECOND);
    assert_eq!(world.server.peers().count(), 5);
    for (number, client) in (0..).zip(&world.clients) {
        let address = upstream_addr(UpstreamId(number));
        assert_eq!(texts(&client.peer), [format!("to {address}")]);
        let slot = world.server.peer(address).unwrap();
        assert_eq!(texts(slot), [format!("client {number}")]);
    }
}
