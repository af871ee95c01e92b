//! A player and its dummy: two independent sessions of one IP address. DDNet's server gives both the same
//! token.

use std::net::SocketAddr;

use teetap_kit::{
    link::{Conditions, MS, SECOND},
    peer::{Options, Peer, Policy, Server, State},
    world::{World, client_addr, hub},
};
use teetap_proxy::session::SessionId;

use crate::stage::{GREETING, Pair, has};

/// The player, which is the first client, and its dummy.
struct Both {
    pair: Pair,
    world: World,
    lines: u32,
}

fn newcomer(pair: Pair, index: usize, seed: u64) -> Peer {
    let limits = false;
    let saying = Options::saying(format!("hello of {index}").as_bytes());
    let options = Options { limits, ..saying };
    Peer::client(pair.client, options, seed)
}

impl Both {
    /// Returns a stage in which the player has joined, and then its dummy.
    fn joined(pair: Pair, seed: u64) -> Self {
        let options = Options::endless();
        let policy = Policy {
            options,
            ..Policy::greets(GREETING)
        };
        let server = Server::new(pair.server, policy, seed);
        let world = World::new(hub(seed, None, true), server, Conditions::GOOD, seed);
        let mut both = Self {
            pair,
            world,
            lines: 0,
        };
        for index in 0..2 {
            let peer = newcomer(pair, index, seed + index as u64);
            both.world.add(peer, Conditions::GOOD, seed + index as u64);
            both.connect(index);
        }
        assert_ne!(client_addr(0), client_addr(1));
        assert_eq!(client_addr(0).ip(), client_addr(1).ip());
        both
    }

    fn connect(&mut self, index: usize) {
        let now = self.world.now;
        self.world.clients[index].peer.connect(now);
        self.world.run(SECOND);
        assert!(
            has(&self.world.clients[index].peer, GREETING),
            "{:?} {index}",
            self.pair
        );
    }

    fn session(&mut self, index: usize) -> Option<SessionId> {
        self.world.hub().unwrap().session_of(client_addr(index))
    }

    /// Returns the server's slot of one of the clients.
    fn slot(&self, index: usize) -> (SocketAddr, &Peer) {
        let hello = format!("hello of {index}").into_bytes();
        let mut slots = self.world.server.peers().filter(|(_, slot)| has(slot, &hello));
        let slot = slots.next().unwrap();
        assert!(slots.next().is_none(), "{:?} {index}", self.pair);
        slot
    }

    /// Sends a new message in each direction of a session. Returns both.
    fn say(&mut self, index: usize) -> [Vec<u8>; 2] {
        self.lines += 1;
        let now = self.world.now;
        let texts = ["up", "down"].map(|way| format!("{way} {index} {}", self.lines).into_bytes());
        let (addr, _) = self.slot(index);
        let slot = self.world.server.peer_mut(addr).unwrap();
        let ends = [&mut self.world.clients[index].peer, slot];
        for (end, text) in ends.into_iter().zip(&texts) {
            assert!(end.send_vital(text, now));
            end.flush(now);
        }
        texts
    }

    /// Checks that the messages of a session reach only its own other side.
    fn assert_plays(&mut self, index: usize, within: u64) {
        let [up, down] = self.say(index);
        self.world.run(within);
        let place = format!("{:?} {index}", self.pair);
        assert!(
            has(self.slot(index).1, &up) && has(&self.world.clients[index].peer, &down),
            "{place}"
        );
        let (clients, mut slots) = (self.world.clients.iter(), self.world.server.peers());
        let received = clients.filter(|client| has(&client.peer, &down)).count();
        let read = slots.by_ref().filter(|(_, slot)| has(slot, &up)).count();
        assert_eq!((received, read), (1, 1), "{place}");
    }
}

#[test]
fn a_dummy_comes_and_goes_beside_its_player() {
    for pair in Pair::ALL {
        let mut both = Both::joined(pair, 1);
        let session = both.session(0);
        for index in [0, 1, 0, 1] {
            both.assert_plays(index, SECOND);
        }
        assert_ne!(session, both.session(1));
        if pair.has_lone_accept() {
            assert_eq!(
                both.slot(0).1.tokens(),
                both.slot(1).1.tokens(),
                "the server's is the address's"
            );
        }
        let now = both.world.now;
        both.world.clients[1].peer.close("", now);
        both.world.run(SECOND);
        let ends: Vec<&State> = both
            .world
            .server
            .finished
            .iter()
            .map(|(_, slot)| slot.state())
            .collect();
        assert!(
            matches!(ends[..], [State::Closed { by_peer: true, .. }]),
            "{pair:?}: {ends:?}"
        );
        both.assert_plays(0, SECOND);
        both.world.clients[1].peer = newcomer(pair, 1, 77);
        both.connect(1);
        for index in [0, 1] {
            both.assert_plays(index, SECOND);
        }
        assert_eq!(both.session(0), session, "{pair:?}");
        // The player and its dummy leave.
        let now = both.world.now;
        for client in &mut both.world.clients {
            client.peer.close("", now);
        }
        both.world.run(5 * SECOND);
        assert_eq!(both.world.server.peers().count(), 0, "{pair:?}");
        assert_eq!(
            (both.world.hub().unwrap().sessions(), both.world.sockets.len()),
            (0, 0),
            "{pair:?}"
        );
    }
}

#[test]
fn both_play_on_a_bad_line() {
    for pair in Pair::ALL {
        for seed in 0..10 {
            let mut both = Both::joined(pair, seed);
            both.world.set_conditions(Conditions::bad(0.1));
            let mut lines: [Vec<[Vec<u8>; 2]>; 2] = Default::default();
            for _ in 0..50 {
                for index in [0, 1] {
                    lines[index].push(both.say(index));
                }
                both.world.run(60 * MS);
            }
            both.world.set_conditions(Conditions::GOOD);
            // At the end of a burst, one message per second is repaired.
            both.world.run(60 * SECOND);
            for (index, lines) in lines.iter().enumerate() {
                let vitals = |peer: &Peer, start: &str| -> Vec<Vec<u8>> {
                    let vitals = peer.delivered.iter().filter(|message| message.vital);
                    let texts = vitals.map(|message| message.data.clone());
                    texts.filter(|text| text.starts_with(start.as_bytes())).collect()
                };
                let [ups, downs] =
                    [0, 1].map(|way| lines.iter().map(|both| both[way].clone()).collect::<Vec<_>>());
                assert_eq!(
                    vitals(both.slot(index).1, "up"),
                    ups,
                    "{pair:?} seed {seed} {index}"
                );
                let client = &both.world.clients[index].peer;
                assert_eq!(vitals(client, "down"), downs, "{pair:?} seed {seed} {index}");
            }
        }
    }
}
