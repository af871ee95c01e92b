//! Tests the peers against the peers of the kit, which have no code in common with this crate or with `wire`. These
//! tests find mistakes that a client and a server of this crate have in common.
//!
//! The kit has connections and handshakes of every variant. The tests add the messages of the game.

use std::time::Duration;

use teetap_kit::codec::Variant as Foreign;
use teetap_kit::link::{Conditions, Hop, MS};
use teetap_kit::peer::{self, Options, Peer, Policy, game};
use teetap_wire::{Dir, Proto};

use super::{BAD, FINE, address, config, micros};
use crate::{Client, ClientEvent, Server, ServerConfig, ServerEvent, Variant};

/// Time step in microseconds.
const STEP: u64 = 5 * MS;
const SEEDS: u64 = 30;

/// Returns the kit's value for the same variant.
const fn foreign(variant: Variant) -> Foreign {
    match variant {
        Variant::V6 => Foreign::V6,
        Variant::V65 => Foreign::V65,
        Variant::Ddnet => Foreign::Ddnet,
        Variant::V7 => Foreign::V7,
        Variant::Ddnet7 => Foreign::D7,
    }
}

/// Returns a system message, from its ids in 0.6 and in 0.7 and its ints.
fn system(variant: Variant, [six, seven]: [i32; 2], ints: &[i32]) -> Vec<u8> {
    let id = if variant.proto() == Proto::V7 { seven } else { six };
    let mut message = Vec::new();
    for value in std::iter::once(&(id << 1 | 1)).chain(ints) {
        game::put_int(&mut message, *value);
    }
    message
}

const MAP_CHANGE: [i32; 2] = [2, 2];
const CON_READY: [i32; 2] = [4, 5];
const SNAP_EMPTY: [i32; 2] = [6, 7];
const READY: [i32; 2] = [14, 18];
const ENTER_GAME: [i32; 2] = [15, 19];
const INPUT: [i32; 2] = [16, 20];

/// Returns `sv_ready_to_enter`, a game message without fields.
fn ready_to_enter() -> Vec<u8> {
    // 8 in both protocols (datasrc/network.py).
    let mut message = Vec::new();
    game::put_int(&mut message, 8 << 1);
    message
}

fn map_change(variant: Variant) -> Vec<u8> {
    let mut message = system(variant, MAP_CHANGE, &[]);
    message.extend(b"dm1\0");
    let seven = [1, 6793, 8, 1384];
    for value in &seven[..if variant.proto() == Proto::V7 { 4 } else { 2 }] {
        game::put_int(&mut message, *value);
    }
    message
}

/// Two hops: towards the server and towards the client.
struct Line([Hop<Vec<u8>>; 2]);

impl Line {
    fn new(conditions: Conditions, seed: u64) -> Self {
        Self([Hop::new(conditions, seed), Hop::new(conditions, !seed)])
    }

    /// Switches to bad conditions. It is called when the datagrams that a handshake sends only once have arrived.
    fn worsen(&mut self) {
        for hop in &mut self.0 {
            hop.conditions = BAD;
        }
    }
}

/// Answers each message of a client of this crate as a server of the games would, with bytes from the kit.
fn serve(variant: Variant, server: &mut peer::Server, answered: &mut usize, now: u64) {
    let Some(slot) = server.peer_mut(address(1)) else {
        return;
    };
    let messages: Vec<_> = slot.delivered.iter().skip(*answered).cloned().collect();
    *answered += messages.len();
    for message in messages {
        let is = |ids| message.data.starts_with(&system(variant, ids, &[]));
        let answers = if is(READY) {
            vec![system(variant, CON_READY, &[])]
        } else if message.data.windows(9).any(|window| window == b"player 1\0") {
            vec![ready_to_enter()]
        } else {
            Vec::new()
        };
        for answer in answers {
            slot.send_vital(&answer, now);
            slot.flush(now);
        }
    }
    let has_entered = slot
        .delivered
        .iter()
        .any(|message| message.data.starts_with(&system(variant, ENTER_GAME, &[])));
    if has_entered && now.is_multiple_of(100 * MS) {
        let tick = i32::try_from(now / (20 * MS)).unwrap();
        slot.send_nonvital(&system(variant, SNAP_EMPTY, &[tick, tick + 1]), now);
        slot.flush(now);
    }
}

/// Lets a client of this crate join a server of the kit. Returns the tick that an input acked.
fn join_foreign_server(variant: Variant, of: Foreign, challenges: bool, seed: u64) -> i32 {
    let what = format!("{variant} on {of:?}, challenges {challenges}, seed {seed}");
    let policy = Policy {
        challenges,
        ..Policy::greets(&map_change(variant))
    };
    let mut server = peer::Server::new(of, policy, seed);
    let mut client = Client::new(config(variant, 1));
    let mut line = Line::new(FINE, seed);
    let mut answered = 0;
    for now in (0..).map(|step| step * STEP) {
        assert!(now < 60_000 * MS, "{what}: no join: {:?}", client.poll_event());
        let time = Duration::from_micros(now);
        while let Some(datagram) = line.0[0].receive(now) {
            server.receive(address(1), &datagram, now);
        }
        while let Some(datagram) = line.0[1].receive(now) {
            client.handle(time, &datagram);
        }
        serve(variant, &mut server, &mut answered, now);
        server.update(now);
        client.tick(time);
        while let Some(datagram) = client.poll_transmit() {
            line.0[0].send(datagram, now);
        }
        for (_, datagram) in server.take_outgoing() {
            line.0[1].send(datagram, now);
        }
        let Some(slot) = server.peer(address(1)) else {
            continue;
        };
        if slot.is_online() && client.token().is_some() == (slot.format() != Foreign::V6) {
            line.worsen();
        }
        let counters = slot.counters;
        let faults = (
            counters.ahead,
            counters.malformed,
            counters.wrong_token,
            counters.trailing,
        );
        assert_eq!(faults, (0, 0, 0, 0), "{what}: {counters:?}");
        let mut inputs = slot.delivered.iter().filter_map(|message| {
            let body = message.data.strip_prefix(&*system(variant, INPUT, &[]))?;
            game::int(body).map(|(tick, _)| tick)
        });
        if client.has_joined()
            && let Some(tick) = inputs.find(|tick| *tick == client.acked())
        {
            return tick;
        }
    }
    unreachable!("the time is bounded")
}

#[test]
fn our_clients_join_the_servers_of_the_kit() {
    use Variant::{Ddnet, Ddnet7, V6, V7, V65};
    for (variant, of, challenges) in [
        (V6, Foreign::V6, false),
        (V6, Foreign::V65, true),
        (V6, Foreign::Ddnet, false),
        (V6, Foreign::Ddnet, true),
        (V65, Foreign::V6, false),
        (V65, Foreign::V65, false),
        (V65, Foreign::Ddnet, false),
        (V65, Foreign::Ddnet, true),
        (Ddnet, Foreign::V6, false),
        (Ddnet, Foreign::V65, true),
        (Ddnet, Foreign::Ddnet, false),
        (V7, Foreign::V7, false),
        (V7, Foreign::D7, false),
        (Ddnet7, Foreign::V7, false),
        (Ddnet7, Foreign::D7, false),
    ] {
        for seed in 0..SEEDS {
            assert!(join_foreign_server(variant, of, challenges, seed) > 0);
        }
    }
}

/// Returns the `info` of a client of the kit, the first message of its join.
fn hello(variant: Variant) -> Vec<u8> {
    let mut message = vec![0x03];
    let version: &[u8] = match variant.proto() {
        Proto::V7 => b"0.7 802f1be60a05665f\0\0\x85\x1b",
        _ => b"0.6 626fce9a778df4d4\0\0",
    };
    message.extend(version);
    message
}

fn start_info(variant: Variant) -> Vec<u8> {
    if variant.proto() != Proto::V7 {
        return game::start_info("foreign");
    }
    // The id of 0.7, name, clan, country, six parts of the skin, and their colours.
    let mut message = Vec::new();
    game::put_int(&mut message, 27 << 1);
    message.extend(b"foreign\0\0");
    game::put_int(&mut message, -1);
    message.extend(b"standard\0\0\0standard\0standard\0standard\0");
    for _ in 0..12 {
        game::put_int(&mut message, 0);
    }
    message
}

/// Lets a client of the kit join a server of this crate.
fn join_our_server(variant: Variant, settings: &ServerConfig, seed: u64) {
    let what = format!("{variant} on {:?}, seed {seed}", settings.variants);
    let options = Options {
        joins: settings.challenges,
        ..Options::saying(&hello(variant))
    };
    let mut client = Peer::client(foreign(variant), options, seed);
    let mut server = Server::new(settings.clone());
    let mut line = Line::new(FINE, seed);
    let mut answered = 0;
    let mut events = Vec::new();
    client.connect(0);
    for now in (0..).map(|step| step * STEP) {
        assert!(
            now < 60_000 * MS,
            "{what}: no join: {:?} {events:?}",
            client.state()
        );
        let time = Duration::from_micros(now);
        assert_eq!(micros(time), now);
        while let Some(datagram) = line.0[0].receive(now) {
            server.handle(time, address(1), &datagram);
        }
        while let Some(datagram) = line.0[1].receive(now) {
            client.receive(&datagram, now);
        }
        let delivered: Vec<_> = client.delivered.iter().skip(answered).cloned().collect();
        answered += delivered.len();
        for message in delivered {
            let is = |ids| message.data.starts_with(&system(variant, ids, &[]));
            let answer = match () {
                // In a join with a challenge, the kit answers these itself.
                () if settings.challenges && (is(MAP_CHANGE) || is(CON_READY)) => continue,
                () if is(MAP_CHANGE) => system(variant, READY, &[]),
                () if is(CON_READY) => start_info(variant),
                () if message.data == ready_to_enter() => system(variant, ENTER_GAME, &[]),
                () => continue,
            };
            client.send_vital(&answer, now);
            client.flush(now);
        }
        client.update(now);
        server.tick(time);
        for datagram in client.outgoing.drain(..) {
            line.0[0].send(datagram, now);
        }
        while let Some((_, datagram)) = server.poll_transmit() {
            line.0[1].send(datagram, now);
        }
        events.extend(std::iter::from_fn(|| server.poll_event()));
        if client.is_online() && !server.is_empty() {
            line.worsen();
        }
        let counters = client.counters;
        let faults = (
            counters.ahead,
            counters.malformed,
            counters.wrong_token,
            counters.trailing,
        );
        assert_eq!(faults, (0, 0, 0, 0), "{what}: {counters:?}");
        let snapshots = client.delivered.iter().filter(|message| !message.vital).count();
        let entered = |event: &ServerEvent| matches!(event, ServerEvent::Entered { .. });
        if snapshots > 5 && events.iter().any(entered) {
            let name = server.clients().next().map(|client| client.name);
            let expected = if settings.challenges {
                "scripted"
            } else {
                "foreign"
            };
            assert_eq!(name.as_deref(), Some(expected), "{what}");
            return;
        }
    }
}

#[test]
fn clients_of_the_kit_join_our_server() {
    use Variant::{Ddnet, Ddnet7, V6, V7, V65};
    let serving = |variants: &[Variant], challenges| {
        let mut settings = ServerConfig::new(9);
        settings.variants = variants.to_vec();
        settings.challenges = challenges;
        settings
    };
    let every = serving(&[V6, V65, Ddnet, V7], false);
    let ddnet = serving(&[V6, Ddnet, Ddnet7], false);
    let plain = serving(&[V6], false);
    let token = serving(&[V65], true);
    for (variant, settings) in [
        (V6, &every),
        (V65, &every),
        (Ddnet, &every),
        (V7, &every),
        (Ddnet7, &every),
        (V6, &ddnet),
        (V65, &ddnet),
        (Ddnet, &ddnet),
        (V7, &ddnet),
        (Ddnet7, &ddnet),
        (V65, &plain),
        (Ddnet, &plain),
        (V6, &token),
        (V65, &token),
        (Ddnet, &token),
    ] {
        // The kit itself can answer a challenge only as a client without tokens does.
        let settings = &ServerConfig {
            challenges: settings.challenges && variant != V65,
            ..settings.clone()
        };
        for seed in 0..SEEDS {
            join_our_server(variant, settings, seed);
        }
    }
}

#[test]
fn the_events_of_a_join_have_their_order() {
    let mut world = super::World::new(ServerConfig::new(1), vec![config(Variant::V65, 0)], FINE, 1);
    assert!(world.run_until(9, |world| world.clients[0].has_joined()));
    let events = world.client_events[0].iter().filter_map(|event| match event {
        ClientEvent::Online => Some("online".to_owned()),
        ClientEvent::Joined => Some("joined".to_owned()),
        ClientEvent::Message(message) => {
            let message = message.read(Proto::V65, Dir::S2c)?;
            message.int("tick").is_none().then(|| message.name().to_owned())
        }
        _ => None,
    });
    let events: Vec<_> = events.collect();
    let expected = [
        "online",
        "map_change",
        "sv_motd",
        "con_ready",
        "sv_vote_clear_options",
        "sv_tune_params",
        "sv_ready_to_enter",
        "sv_chat",
        "joined",
    ];
    assert_eq!(events, expected);
}
