//! Joins of each client on each server that it can communicate with.

use std::time::Duration;

use teetap_wire::Proto;
use teetap_wire::snap::Fate;

use super::{BAD, FINE, To, World, config};
use crate::Variant::{Ddnet, Ddnet7, V6, V7, V65};
use crate::{ClientEvent, End, ServerConfig, ServerEvent, Variant};

/// Number of seeds for each pair.
const SEEDS: u64 = 200;
/// Number of lines of chat that each client sends.
const LINES: usize = 3;

/// Returns the settings of a server that accepts these variants.
fn server(variants: &[Variant], challenges: bool) -> ServerConfig {
    let mut config = ServerConfig::new(7);
    config.variants = variants.to_vec();
    config.challenges = challenges;
    config
}

/// A client, a server, and the protocol that they agree on.
struct Pair {
    client: Variant,
    server: ServerConfig,
    proto: Proto,
    /// True if a datagram of the handshake is sent only once. If it is lost, the games do not join either.
    is_fragile: bool,
}

/// Lets clients play on a server that accepts these variants, over a bad line with each seed.
fn play_on(served: &[Variant], challenges: bool, clients: &[(Variant, Proto, bool)]) {
    for (client, proto, is_fragile) in clients {
        let pair = Pair {
            client: *client,
            server: server(served, challenges),
            proto: *proto,
            is_fragile: *is_fragile,
        };
        for seed in 0..SEEDS {
            play(&pair, seed);
        }
    }
}

/// Lets a client of a pair and a client of 0.7 play over a bad line, and checks the messages that both clients
/// and the server received.
fn play(pair: &Pair, seed: u64) {
    let mut settings = pair.server.clone();
    // The server accepts 0.7 too, so that the second client is a player to chat with.
    if !settings.variants.contains(&Variant::Ddnet7) && !settings.variants.contains(&Variant::V7) {
        settings.variants.push(Variant::V7);
    }
    let clients = vec![config(pair.client, 0), config(Variant::V7, 1)];
    let conditions = if pair.is_fragile { FINE } else { BAD };
    let mut world = World::new(settings, clients, conditions, seed);
    let what = format!("{} on {:?}, seed {seed}", pair.client, pair.server.variants);
    if pair.is_fragile {
        let is_online = |world: &World| {
            world
                .client_events
                .iter()
                .all(|events| events.contains(&ClientEvent::Online))
                && world.server.clients().count() == 2
        };
        assert!(world.run_until(10, is_online), "{what}: no handshake");
        world.link.conditions = BAD;
    }
    let joined = world.run_until(60, |world| world.clients.iter().all(crate::Client::has_joined));
    let ends: Vec<_> = world.client_events.iter().map(|events| events.last()).collect();
    assert!(joined, "{what}: not joined: {ends:?}");
    assert_eq!(world.clients[0].proto(), pair.proto, "{what}");
    let mut said = Vec::new();
    for line in 0..LINES {
        for client in 0..2 {
            let text = format!("line {line} of {client}");
            let now = world.now;
            world.clients[client].say(now, &text).unwrap();
            said.push(text);
        }
        let next = world.now + Duration::from_millis(300);
        while world.step(next) {}
    }
    let is_heard = |world: &World| (0..2).all(|client| world.chat(client).len() >= said.len());
    assert!(world.run_until(60, is_heard), "{what}: chat was lost");
    for client in 0..2 {
        let heard = world.chat(client);
        for speaker in ["of 0", "of 1"] {
            let of = |lines: &[String]| -> Vec<String> {
                let lines = lines.iter().filter(|line| line.ends_with(speaker));
                lines.cloned().collect()
            };
            assert_eq!(
                of(&heard),
                of(&said),
                "{what}: {client} did not receive each line once, in order"
            );
        }
    }
    for events in &world.client_events {
        let damaged = events.iter().find(|event| {
            matches!(
                event,
                ClientEvent::Snapshot {
                    fate: Fate::Broken | Fate::BadCrc,
                    ..
                }
            )
        });
        assert_eq!(damaged, None, "{what}");
    }
    let inputs: Vec<_> = world.server.clients().map(|client| client.inputs).collect();
    assert!(inputs.iter().all(|count| *count > 10), "{what}: {inputs:?}");
    leave(&mut world, &what);
}

/// Closes the clients and checks that the server noticed the end of the first one.
fn leave(world: &mut World, what: &str) {
    let now = world.now;
    for client in &mut world.clients {
        client.close(now, "enough seen");
    }
    assert!(
        world.run_until(15, |world| world.server.is_empty()),
        "{what}: a client stays"
    );
    assert_eq!(
        world.client_events[0].last(),
        Some(&ClientEvent::Ended(End::Left)),
        "{what}"
    );
    let left = world.server_events.iter().find_map(|event| match event {
        ServerEvent::Left { client, reason } if client.name == "player 0" => Some(reason.as_str()),
        _ => None,
    });
    // A CLOSE is sent only once. If it is lost, the server ends the client for silence or missing acks.
    let reason = left.unwrap_or_else(|| panic!("{what}: the server did not see the end"));
    let is_close = reason == "enough seen";
    assert!(
        is_close || reason == "Timeout" || reason.starts_with("Too weak"),
        "{what}: {reason}"
    );
}

#[test]
fn a_server_serves_every_variant_at_once() {
    let clients = [
        (V6, Proto::V6, false),
        (V65, Proto::V65, false),
        (Ddnet, Proto::Ddnet, true),
        (V7, Proto::V7, false),
        (Ddnet7, Proto::V7, true),
    ];
    play_on(&[V6, V65, Ddnet, V7], false, &clients);
}

#[test]
fn a_server_without_tokens_serves_all_of_0_6() {
    let clients = [V6, V65, Ddnet].map(|client| (client, Proto::V6, false));
    play_on(&[V6], false, &clients);
}

#[test]
fn a_server_of_0_6_5_lets_clients_without_its_tokens_prove_their_address() {
    let clients = [
        (V6, Proto::V6, true),
        (V65, Proto::V65, false),
        (Ddnet, Proto::V6, true),
    ];
    play_on(&[V65], true, &clients);
}

#[test]
fn a_server_of_ddnet_serves_0_6_and_0_7() {
    let clients = [
        // This server accepts the second client, of 0.7, only once.
        (V65, Proto::V6, true),
        (Ddnet, Proto::Ddnet, true),
        (V7, Proto::V7, true),
        (Ddnet7, Proto::V7, true),
    ];
    play_on(&[V6, Ddnet, Ddnet7], false, &clients);
}

#[test]
fn a_variant_that_a_server_does_not_serve_gets_no_answer() {
    for (client, variants) in [
        (Variant::V7, [Variant::V6, Variant::Ddnet]),
        (Variant::Ddnet, [Variant::V7, Variant::V65]),
        (Variant::V6, [Variant::V7, Variant::V65]),
    ] {
        let clients = vec![config(client, 0)];
        let mut world = World::new(server(&variants, false), clients, FINE, 1);
        world.run_for(20);
        assert!(
            world.server_events.is_empty(),
            "{client}: {:?}",
            world.server_events
        );
        let end = world.client_events[0].pop();
        // Only the client of 0.7 gives up.
        let failed = ClientEvent::Ended(End::Failed("no answer from the server".to_owned()));
        assert_eq!(end, Some(failed).filter(|_| client == Variant::V7), "{client}");
    }
}

/// Returns true for a control message with this id, at the payload position of each variant.
fn is_control(datagram: &[u8], id: u8) -> bool {
    let seven = datagram.first() == Some(&0x04);
    let six = datagram.first().is_some_and(|first| first & 0xf0 == 0x10);
    seven && datagram.get(7) == Some(&id) || six && datagram.get(3) == Some(&id)
}

#[test]
fn a_lost_datagram_that_is_sent_once_ends_the_join_as_in_the_games() {
    let ddnet = server(&[Variant::V6, Variant::Ddnet, Variant::Ddnet7], false);
    type Passes = fn(To, &[u8]) -> bool;
    let lost: [(Variant, Passes, &str); 3] = [
        // DDNet 16.4 network_conn.cpp: ACCEPT is sent when CONNECTACCEPT is received, and never again.
        (
            Variant::Ddnet,
            |to, datagram| !(to == To::Server(0) && is_control(datagram, 3)),
            "Timeout",
        ),
        // DDNet 18.5 network_conn.cpp, `Connect7`: the token is requested once.
        (
            Variant::Ddnet7,
            |to, datagram| !(to == To::Server(0) && is_control(datagram, 5)),
            "no answer from the server",
        ),
        // DDNet sends the ACCEPT of 0.7 only once, and does not answer a repeated CONNECT.
        (
            Variant::V7,
            |to, datagram| !(to == To::Client(0) && is_control(datagram, 2)),
            "no answer from the server",
        ),
    ];
    for (variant, passes, reason) in lost {
        let mut world = World::new(ddnet.clone(), vec![config(variant, 0)], FINE, 1);
        world.passes = passes;
        world.run_for(120);
        let end = world.client_events[0].last();
        let failed = ClientEvent::Ended(End::Failed(reason.to_owned()));
        assert_eq!(end, Some(&failed), "{variant}");
    }
}

#[test]
fn a_full_server_refuses_every_variant() {
    for variant in Variant::ALL {
        let mut settings = server(&Variant::ALL, false);
        settings.slots = 1;
        let clients = vec![config(variant, 0), config(variant, 1)];
        let mut world = World::new(settings, clients, FINE, 3);
        world.run_for(5);
        let refusals = |events: &Vec<ClientEvent>| {
            let full = "This server is full";
            events.iter().any(|event| {
                matches!(event, ClientEvent::Ended(End::Refused(reason) | End::Closed(reason)) if reason == full)
            })
        };
        let refused = world
            .client_events
            .iter()
            .filter(|events| refusals(events))
            .count();
        assert_eq!(refused, 1, "{variant}: {:?}", world.client_events);
        assert_eq!(world.server.clients().count(), 1, "{variant}");
    }
}

#[test]
fn sixteen_players_of_0_6_need_snapshots_in_parts() {
    let clients = (0..16).map(|client| config(Variant::V6, client)).collect();
    let mut world = World::new(ServerConfig::new(1), clients, FINE, 1);
    let joined = world.run_until(20, |world| world.clients.iter().all(crate::Client::has_joined));
    assert!(joined);
    world.run_for(5);
    let mut parts = 0;
    for (client, events) in world.clients.iter().zip(&world.client_events) {
        assert_eq!(client.players(), 16);
        for event in events {
            if let ClientEvent::Message(message) = event
                && let Some(message) = message.read(Proto::V6, teetap_wire::Dir::S2c)
            {
                parts += usize::from(message.name() == "snap");
            }
            assert!(!matches!(
                event,
                ClientEvent::Snapshot {
                    fate: Fate::Broken | Fate::BadCrc | Fate::NoBase,
                    ..
                }
            ));
        }
    }
    assert!(parts > 16, "{parts}");
}
