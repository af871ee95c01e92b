//! Every kind of client at every kind of server: a client that can join directly can join through the proxy in the same
//! protocol, and a client that cannot fails in the same way.

use teetap_kit::{
    codec::Variant,
    link::{Conditions, SECOND},
    peer::{Options, Peer, Policy, Server},
    world::{Middle, World, client_addr, hub},
};

use crate::stage::{GREETING, HELLO, has};

/// Servers, and whether they require a proof from clients without tokens.
const SERVERS: [(Variant, bool); 6] = [
    (Variant::V6, false),
    (Variant::V65, false),
    (Variant::V65, true),
    (Variant::Ddnet, false),
    (Variant::Ddnet, true),
    (Variant::V7, false),
];

/// The outcome for a client: the packet layouts that it and its slot use, and the messages that either side
/// received.
#[derive(Debug, PartialEq, Eq)]
struct Outcome {
    formats: Option<(Variant, Variant)>,
    received: [bool; 2],
    slots: u64,
}

fn meet(client: Variant, (server, challenges): (Variant, bool), middle: Middle) -> (Outcome, World) {
    let policy = Policy {
        challenges,
        ..Policy::greets(GREETING)
    };
    let mut world = World::new(middle, Server::new(server, policy, 5), Conditions::GOOD, 5);
    let joins = true;
    let options = Options {
        joins,
        ..Options::saying(HELLO)
    };
    world.add(Peer::client(client, options, 5), Conditions::GOOD, 5);
    world.clients[0].peer.connect(0);
    world.run(4 * SECOND);
    let peer = &world.clients[0].peer;
    let slot = world.server.peers().next().map(|(_, slot)| slot);
    let outcome = Outcome {
        formats: slot
            .filter(|slot| peer.is_online() && slot.is_online())
            .map(|slot| (peer.format(), slot.format())),
        received: [slot.is_some_and(|slot| has(slot, HELLO)), has(peer, GREETING)],
        slots: world.server.counters.opened,
    };
    (outcome, world)
}

#[test]
fn who_gets_in_straight_gets_in_through_the_proxy() {
    let mut joined = 0;
    for client in Variant::ALL {
        for server in SERVERS {
            let (straight, _) = meet(client, server, Middle::Wire);
            let (through, mut world) = meet(client, server, hub(5, None, true));
            assert_eq!(through, straight, "{client:?} {server:?}");
            joined += usize::from(through.formats.is_some());
            let session = world.hub().unwrap().session_of(client_addr(0));
            if through.formats.is_some() {
                assert!(
                    session.is_some() && through.received == [true; 2],
                    "{client:?} {server:?}"
                );
                continue;
            }
            // No client learns that there is a server, and nothing is left when the client gives up.
            let counters = world.clients[0].peer.counters;
            let answers = u64::from(client.is_seven()) * u64::from(counters.received > 0);
            assert!(
                !world.clients[0].peer.is_online() && counters.received == answers,
                "{client:?} {server:?}: {counters:?}"
            );
            world.clients[0].peer = Peer::client(client, Options::default(), 6);
            world.run(20 * SECOND);
            assert_eq!(
                (world.hub().unwrap().sessions(), world.sockets.len()),
                (0, 0),
                "{client:?} {server:?}"
            );
        }
    }
    // 0.6.0 to 0.6.4, 0.6.5 and DDNet at 0.6.4's; the same and by a proof at 0.6.5's; all at DDNet's, twice; both of 0.7.
    assert_eq!(joined, 3 + 1 + 3 + 5 + 5 + 2);
}
