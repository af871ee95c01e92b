//! Scripts that skip, stop at and replace every step of both sides.

use teetap_wire::{Dir, Side};

use super::{FINE, World, config};
use crate::{
    Action, ClientConfig, ClientEvent, Map, MapFile, Message, Script, ServerConfig, ServerEvent, Step,
    Variant,
};

/// Returns true if the join of a variant includes a step.
fn has(variant: Variant, step: Step) -> bool {
    let seven = matches!(variant, Variant::V7 | Variant::Ddnet7);
    match step {
        Step::TokenRequest | Step::TokenReply => seven,
        Step::Accept => matches!(variant, Variant::V6 | Variant::Ddnet),
        _ => true,
    }
}

/// Returns true if a join never completes without a step.
fn is_needed(variant: Variant, step: Step) -> bool {
    match step {
        Step::Accept => variant == Variant::Ddnet,
        Step::Input => false,
        _ => true,
    }
}

fn settings(variant: Variant, step: Step, action: Action) -> (ServerConfig, ClientConfig) {
    let (mut server, mut client) = (ServerConfig::new(1), config(variant, 0));
    let file = MapFile::new(vec![7; 3000], None).unwrap();
    server.map = Map::new("made up", file.clone(), file);
    if variant == Variant::Ddnet7 {
        server.variants.insert(0, Variant::Ddnet7);
    }
    let script = Script::new().at(step, action);
    match step.side() {
        Side::Client => client.script = script,
        Side::Server => server.script = script,
    }
    (server, client)
}

fn world(variant: Variant, step: Step, action: Action) -> World {
    let (server, client) = settings(variant, step, action);
    World::new(server, vec![client], FINE, 1)
}

/// Returns every variant with every step of its join.
fn steps() -> impl Iterator<Item = (Variant, Step)> {
    let all = Variant::ALL
        .into_iter()
        .flat_map(|variant| Step::ALL.iter().map(move |step| (variant, *step)));
    all.filter(|(variant, step)| has(*variant, *step))
}

#[test]
fn a_skipped_step_ends_the_join_if_it_is_needed() {
    for (variant, step) in steps() {
        let mut world = world(variant, step, Action::Skip);
        let joined = world.run_until(8, |world| world.clients[0].has_joined());
        assert_eq!(joined, !is_needed(variant, step), "{variant}: {step:?}");
        if step == Step::Input {
            world.run_for(2);
            assert_eq!(world.server.clients().map(|client| client.inputs).sum::<u64>(), 0);
        }
    }
}

#[test]
fn a_join_can_be_driven_step_by_step() {
    for (variant, step) in steps() {
        // A server gives these answers before there is a client whose step could be released.
        let is_stateless = step == Step::TokenReply
            || step == Step::ConnectAccept && matches!(variant, Variant::V65 | Variant::Ddnet);
        if is_stateless {
            continue;
        }
        let mut world = world(variant, step, Action::Stop);
        let what = format!("{variant}: {step:?}");
        world.run_for(4);
        let stops = match step.side() {
            Side::Client => {
                let stopped = |event: &&ClientEvent| **event == ClientEvent::Stopped(step);
                world.client_events[0].iter().filter(stopped).count()
            }
            Side::Server => {
                let stopped = |event: &&ServerEvent| **event == ServerEvent::Stopped { client: 0, step };
                world.server_events.iter().filter(stopped).count()
            }
        };
        assert_eq!(stops, 1, "{what}");
        assert_eq!(world.clients[0].has_joined(), !is_needed(variant, step), "{what}");
        let now = world.now;
        let released = match step.side() {
            Side::Client => world.clients[0].proceed(now),
            Side::Server => world.server.proceed(now, 0),
        };
        assert_eq!(released, Some(step), "{what}");
        assert!(
            world.run_until(9, |world| world.clients[0].has_joined()),
            "{what}"
        );
        assert_eq!(world.clients[0].proceed(world.now), None, "{what}");
    }
}

#[test]
fn a_script_sends_other_messages_in_place_of_a_step() {
    for (variant, step) in steps() {
        // Without a connection, no message can be sent.
        if step < Step::Info {
            continue;
        }
        let other = Message::new(variant.proto(), "ping", []).unwrap();
        let mut world = world(variant, step, Action::Send(vec![other.clone(), other]));
        let joined = world.run_until(4, |world| world.clients[0].has_joined());
        assert_eq!(joined, !is_needed(variant, step), "{variant}: {step:?}");
        world.run_for(1);
        let proto = variant.proto();
        let pings = match step.side() {
            Side::Client => world
                .server_events
                .iter()
                .filter(|event| match event {
                    ServerEvent::Message { message, .. } => message
                        .read(proto, Dir::C2s)
                        .is_some_and(|message| message.name() == "ping"),
                    _ => false,
                })
                .count(),
            Side::Server => world.client_events[0]
                .iter()
                .filter(|event| match event {
                    ClientEvent::Message(message) => message
                        .read(proto, Dir::S2c)
                        .is_some_and(|message| message.name() == "ping"),
                    _ => false,
                })
                .count(),
        };
        assert!(pings >= 2, "{variant}: {step:?}: {pings} pings");
    }
}

#[test]
fn a_raw_datagram_is_sent_beside_the_connection() {
    let mut world = world(Variant::V6, Step::Connect, Action::Stop);
    world.run_for(1);
    assert!(world.server.is_empty());
    // A CONNECT that the test sends itself, for which the server assigns a slot.
    world.clients[0].transmit(b"\x10\0\0\x01".to_vec());
    world.run_for(1);
    assert_eq!(world.server.clients().count(), 1);
    assert!(world.run_until(9, |world| world.clients[0].has_joined()));
}

#[test]
fn a_map_of_a_wrong_size_ends_the_join() {
    for variant in Variant::ALL {
        let fields = [
            ("name", "odd".into()),
            ("crc", 1.into()),
            ("size", (1 << 30).into()),
        ];
        let seven = [("num_response_chunks_per_request", 8.into())];
        let seven = seven
            .into_iter()
            .filter(|_| variant.proto() == teetap_wire::Proto::V7);
        let change = Message::new(variant.proto(), "map_change", fields.into_iter().chain(seven)).unwrap();
        let mut world = world(variant, Step::MapChange, Action::Send(vec![change]));
        world.run_for(2);
        let failed = ClientEvent::Ended(crate::End::Failed("invalid map size".to_owned()));
        assert_eq!(world.client_events[0].last(), Some(&failed), "{variant}");
        assert!(world.server.is_empty(), "{variant}");
    }
}

#[test]
fn commands_of_the_server_reach_its_clients() {
    let clients = vec![config(Variant::V65, 0), config(Variant::Ddnet, 1)];
    let mut world = World::new(ServerConfig::new(1), clients, FINE, 1);
    assert!(world.run_until(9, |world| world.clients.iter().all(crate::Client::has_joined)));
    let now = world.now;
    world.server.say(now, "hello\0 and nothing more");
    let broadcast = Message::new(
        teetap_wire::Proto::V65,
        "sv_broadcast",
        [("message", "big".into())],
    );
    let id = |world: &World, name: &str| {
        let mut clients = world.server.clients();
        clients.find(|client| client.name == name).unwrap().id
    };
    let (first, second) = (id(&world, "player 0"), id(&world, "player 1"));
    world.server.send(now, first, &broadcast.unwrap()).unwrap();
    assert!(world.server.close(now, second, "kicked"));
    assert!(!world.server.close(now, second, "kicked"));
    let unknown = Message::new(teetap_wire::Proto::V65, "sv_nothing", []);
    assert_eq!(
        unknown.unwrap_err().to_string(),
        "0.6.5 has no message 'sv_nothing'"
    );
    world.run_for(1);
    let texts = |client: usize, name: &str| -> Vec<String> {
        let proto = world.clients[client].proto();
        let events = world.client_events[client].iter();
        let read = events.filter_map(|event| match event {
            ClientEvent::Message(message) => message.read(proto, Dir::S2c),
            _ => None,
        });
        let wanted = read.filter(|message| message.name() == name);
        wanted.filter_map(|message| message.text("message")).collect()
    };
    assert!(texts(0, "sv_chat").contains(&"hello".to_owned()));
    assert_eq!(texts(0, "sv_broadcast"), ["big"]);
    let closed = ClientEvent::Ended(crate::End::Closed("kicked".to_owned()));
    assert_eq!(world.client_events[1].last(), Some(&closed));
    let left = "'player 1' has left the game (kicked)".to_owned();
    assert!(texts(0, "sv_chat").contains(&left), "{:?}", texts(0, "sv_chat"));
}
