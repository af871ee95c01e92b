//! Floods of CONNECTs with forged addresses. A client that can receive datagrams joins as without the
//! flood, and the cost of the flood is bounded.

use std::{
    net::{IpAddr, Ipv4Addr, SocketAddr},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use teetap_kit::{
    codec::{NO_TOKEN, Variant, control},
    link::{Conditions, MS, SECOND},
    peer::Policy,
    rules::compiled,
    world::{HubObserver, Middle, hub},
};
use teetap_proxy::session::{Command, EventKind, Input, Notice, Output, Time};

use crate::crowds::{address, connect};
use crate::ruled::ruled;
use crate::stage::{GREETING, HELLO, Pair, Stage, has, pair};

/// Datagrams of the flood per 10 ms, 12 000 per second.
const IN_A_TICK: u32 = 120;

/// A flood in which no address is used twice.
#[derive(Debug, Default)]
struct Flood(u32);

impl Flood {
    fn go_on(&mut self, stage: &mut Stage) {
        for _ in 0..IN_A_TICK {
            self.0 += 1;
            let [_, a, b, c] = self.0.to_be_bytes();
            let addr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(11, a, b, c)), 7000);
            let own = [a, b, c, 1];
            let bytes = match self.0 % 5 {
                0 => control::connect(Variant::V6, own, NO_TOKEN),
                1 => control::connect(Variant::V65, own, NO_TOKEN),
                2 => control::connect(Variant::Ddnet, own, NO_TOKEN),
                3 => control::token_request(own),
                _ => control::connect(Variant::V7, own, [9, c, b, a]),
            };
            stage.world.stranger_sends(addr, &bytes);
        }
        // Datagrams to strangers are not kept.
        stage.world.network.sent = Some(Vec::new());
    }
}

/// Counts the sockets that the hub opens.
#[derive(Debug)]
struct Sockets(Arc<AtomicUsize>);

impl HubObserver for Sockets {
    fn input(&mut self, _: Time, _: &Input<'_>) {}

    fn output(&mut self, output: &Output<'_>) {
        if matches!(output, Output::OpenUpstream { .. }) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }
}

fn stage(pair: Pair, seed: u64, middle: Middle) -> Stage {
    // Without the proxy such a server would also have room for the flood.
    let policy = Policy {
        max_clients: 1_000_000,
        max_clients_per_ip: 1_000_000,
        ..Policy::default()
    };
    let mut stage = Stage::with(pair, seed, policy, middle);
    let far = Conditions {
        delay: 40 * MS,
        ..Conditions::GOOD
    };
    stage.world.clients[0].up.conditions = far;
    stage.world.clients[0].down.conditions = far;
    stage.world.up.conditions = Conditions::GOOD;
    stage.world.down.conditions = Conditions::GOOD;
    stage
}

/// Returns true if the client and a slot of the server have received from each other.
fn is_joined(stage: &Stage) -> bool {
    let mut slots = stage.world.server.peers();
    has(&stage.world.clients[0].peer, GREETING) && slots.any(|(_, slot)| has(slot, HELLO))
}

/// Waits for the join of the client. Returns its duration from now on, in microseconds.
fn joins(stage: &mut Stage, mut every_tick: impl FnMut(&mut Stage)) -> u64 {
    let begun = stage.world.now;
    while !is_joined(stage) {
        every_tick(stage);
        stage.world.step();
        let took = stage.world.now - begun;
        assert!(took < 20 * SECOND, "{:?} never joined", stage.pair);
    }
    stage.world.now - begun
}

#[test]
fn a_flood_of_all_kinds_keeps_nobody_out() {
    let seed = 1;
    for pair in Pair::ALL {
        let mut direct = stage(pair, seed, Middle::Wire);
        let direct = joins(&mut direct, |_| ());
        let mut stage = stage(pair, seed, hub(seed, None, false));
        let opened = Arc::new(AtomicUsize::new(0));
        stage.world.witness = Some(Box::new(Sockets(Arc::clone(&opened))));
        // The client joins only when the flood is at its height.
        stage.vanish();
        let mut flood = Flood::default();
        for _ in 0..317 {
            flood.go_on(&mut stage);
            stage.world.step();
        }
        stage.restart();
        let through = joins(&mut stage, |stage| flood.go_on(stage));
        assert!(
            through <= direct + SECOND,
            "{pair:?} seed {seed}: {through} us, directly {direct}"
        );
        let seconds = usize::try_from(stage.world.now / SECOND).unwrap() + 1;
        let opened = opened.load(Ordering::Relaxed);
        assert!(
            opened <= 1 + 3 * (256 + 64 * seconds),
            "{pair:?}: {opened} sockets"
        );
        assert!(stage.world.sockets.len() <= 1 + 256, "{pair:?}");
        // The client keeps playing during the flood.
        for _ in 0..100 {
            flood.go_on(&mut stage);
            stage.world.step();
        }
        let [up, down] = stage.say();
        for _ in 0..30 {
            flood.go_on(&mut stage);
            stage.world.step();
        }
        assert!(has(stage.client(), &down), "{pair:?} seed {seed}");
        assert!(stage.world.server.peers().any(|(_, slot)| has(slot, &up)));
    }
}

#[test]
fn half_open_sessions_end_after_a_flood() {
    let mut stage = Stage::joined(Pair::ALL[4], 1);
    let mut flood = Flood::default();
    for _ in 0..200 {
        flood.go_on(&mut stage);
        stage.world.step();
    }
    // DDNet's server drops some clients after 100 s, and their sessions end 120 s later.
    stage.run(230 * SECOND);
    assert_eq!(stage.world.sockets.len(), 1);
    assert_eq!(stage.world.hub().unwrap().sessions(), 1);
    let [up, down] = stage.say();
    stage.run(SECOND);
    assert!(has(stage.client(), &down));
    assert!(stage.world.server.peers().any(|(_, slot)| has(slot, &up)));
}

/// A client whose session the proxy has ended, but that did not get the CLOSE.
#[test]
fn a_token_of_a_session_that_has_ended_is_answered_with_close() {
    for pair in Pair::ALL.into_iter().filter(|pair| !pair.is_tokenless()) {
        let mut stage = Stage::joined(pair, 1);
        stage.client().options.limits = false;
        stage.slot().options.limits = false;
        for _ in 0..10 {
            stage.say();
            stage.run(100 * MS);
        }
        let conditions = stage.world.clients[0].up.conditions;
        let lossy = Conditions {
            loss: 1.0,
            ..conditions
        };
        stage.world.clients[0].up.conditions = lossy;
        stage.world.clients[0].down.conditions = lossy;
        let command = Command::Close {
            session: stage.session(),
            side: None,
            reason: b"enough"[..].into(),
        };
        stage.world.command(command);
        stage.run(3 * SECOND);
        assert_eq!(stage.session(), None, "{pair:?}");
        // Another address gets no answer for that token, and this address gets none for another token.
        let (own, peers) = stage.client().tokens();
        for (addr, token) in [
            (SocketAddr::from(([10, 6, 0, 1], 7)), peers),
            (stage.world.clients[0].addr, own.map(|byte| byte ^ 0x55)),
        ] {
            stage.world.network.sent = Some(Vec::new());
            let format = stage.client().format();
            let keepalive = control::control(format, 0, Some(token), control::KEEPALIVE, &[]);
            stage.world.stranger_sends(addr, &keepalive);
            let sent = stage.world.network.sent.as_deref().unwrap();
            assert!(sent.is_empty(), "{pair:?}: {sent:?}");
        }
        stage.world.clients[0].up.conditions = conditions;
        stage.world.clients[0].down.conditions = conditions;
        stage.run(5 * SECOND);
        assert!(stage.client().is_over(), "{pair:?}: {:?}", stage.client().state());
    }
}

/// Uses up the half-open sessions of a kind, so that further CONNECTs are answered without a session.
fn filled(source: &str) -> Stage {
    let mut stage = ruled(pair(Variant::Ddnet, Variant::Ddnet), source);
    stage.run(3 * SECOND);
    for number in 0..300 {
        connect(&mut stage.world, address(3, number), Variant::Ddnet);
        stage.run(MS);
    }
    stage
}

/// Returns the number of answers to CONNECTs of this many addresses without a session.
fn answers(stage: &mut Stage, addresses: u16) -> usize {
    stage.world.network.sent = Some(Vec::new());
    let addresses: Vec<_> = (0..addresses).map(|number| address(4, number)).collect();
    for addr in &addresses {
        connect(&mut stage.world, *addr, Variant::Ddnet);
    }
    let sent = stage.world.network.sent.take().unwrap();
    sent.iter().filter(|sent| addresses.contains(&sent.addr)).count()
}

fn named(stage: &Stage) -> Vec<Box<str>> {
    let notices = stage.world.events.iter().filter_map(|event| match &event.what {
        EventKind::Notice(Notice::RuleFailed { rule, why }) if why.contains("CONNECT") => Some(rule.clone()),
        _ => None,
    });
    notices.collect()
}

#[test]
fn rules_that_leave_connect_alone_cost_no_answer_without_a_session() {
    for source in [
        "log when close",
        "log when connect",
        "mark when c2s",
        "drop when close",
        "lose when accept first 1",
        "var $tries = 1 when connect",
        "expect enter_game within 60s when connect",
        "drop when cl_say chance 10%",
        "delay 20ms when cl_emoticon",
        "drop when s2c and keepalive",
    ] {
        let mut stage = filled(source);
        assert_eq!(answers(&mut stage, 200), 200, "{source}");
        assert!(named(&stage).is_empty(), "{source}");
    }
}

#[test]
fn rules_that_drop_connect_or_its_answer_do_so_without_a_session() {
    for (source, range) in [
        ("drop when c2s chance 10%", 400..=480),
        ("drop when s2c chance 10%", 400..=480),
        ("drop when c2s or s2c chance 10%", 360..=440),
        ("pass when connect\ndrop when c2s chance 50%", 500..=500),
        ("log when connect\ndrop when connect chance 10%", 400..=480),
    ] {
        let mut stage = filled(source);
        let answered = answers(&mut stage, 500);
        assert!(range.contains(&answered), "{source}: {answered}");
        assert!(named(&stage).is_empty(), "{source}");
    }
}

/// Rules that need the memory of a session, or do more than drop.
#[test]
fn a_rule_that_needs_a_session_for_a_connect_is_named() {
    for rule in [
        "drop when connect every 2",
        "delay 5ms when c2s",
        "dup when connect_accept chance 5%",
        "drop when c2s and count(cl_say) > 3",
    ] {
        let source = format!("log when close\n{rule}");
        let mut stage = filled(&source);
        assert_eq!(answers(&mut stage, 100), 0, "{rule}");
        assert!(
            named(&stage).iter().any(|named| **named == *rule),
            "{rule}: {:?}",
            named(&stage)
        );
    }
}

#[test]
fn newcomers_join_during_a_flood_under_rules_that_spare_connect() {
    for variant in [Variant::V65, Variant::Ddnet] {
        for source in ["drop when c2s chance 1%", "log when close"] {
            let pair = pair(variant, variant);
            let mut direct = stage(pair, 1, Middle::Wire);
            let direct = joins(&mut direct, |_| ());
            let mut stage = stage(pair, 1, hub(1, None, false));
            stage.world.input(Input::Program(Some(compiled(source).unwrap())));
            stage.vanish();
            let mut flood = Flood::default();
            for _ in 0..150 {
                flood.go_on(&mut stage);
                stage.world.step();
            }
            stage.restart();
            let through = joins(&mut stage, |stage| flood.go_on(stage));
            assert!(
                through <= direct + 2 * SECOND,
                "{pair:?} {source}: {through} us, directly {direct}"
            );
        }
    }
}
