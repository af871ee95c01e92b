//! Many strangers: the number of sessions and sockets that they cause is bounded, and they do not disturb a
//! client that plays or joins.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use teetap_kit::{
    codec::{Chunk, Datagram, NO_TOKEN, Variant, control},
    hostile::LARGEST,
    link::{MS, SECOND},
    peer::Refusal,
    rules::{made, program},
};
use teetap_proxy::session::{EventKind, Input, Notice};
use teetap_rules::{Decide, Message, Shared, Verdict};
use teetap_wire::{Dir, Side};

use crate::stage::{PAIRS, Phase, Stage};

/// Maximum number of sessions that are not online, with a socket each.
const MOST: usize = 256;

fn stranger(number: u32) -> SocketAddr {
    let [_, a, b, c] = number.to_be_bytes();
    SocketAddr::new(IpAddr::V4(Ipv4Addr::new(10, 100 + a, b, c)), 7000)
}

/// Clients that join and leave immediately. Their sessions linger and count towards the limit.
#[test]
fn clients_that_leave_at_once() {
    for variant in [Variant::V6, Variant::V65, Variant::Ddnet] {
        let mut stage = Stage::at(PAIRS[2], Phase::Online);
        for number in 0..3000 {
            let addr = stranger(number);
            let connect = control::connect(variant, [1, 2, 3, 4], NO_TOKEN);
            let close = control::close(Variant::V6, 0, None, "");
            for bytes in [&connect, &close] {
                stage.world.stranger_sends(addr, bytes);
            }
            assert!(
                stage.world.sockets.len() <= 1 + MOST,
                "{variant:?}: {}",
                stage.world.sockets.len()
            );
        }
        stage.assert_talks();
        // The longest timeout: the session of a client that sent CLOSE before it was answered waits 12 s for
        // another packet of the client, and lingers for 2 s.
        stage.run(15 * SECOND);
        assert_eq!(stage.world.sockets.len(), 1, "{variant:?}");
    }
}

/// Clients that the server refuses.
#[test]
fn clients_that_are_refused() {
    for variant in [Variant::V6, Variant::V65, Variant::Ddnet] {
        let mut stage = Stage::at(PAIRS[2], Phase::Online);
        stage.world.server.policy.refusal = Some(Refusal::Full);
        for number in 0..2000 {
            let bytes = control::connect(variant, [1, 2, 3, 4], NO_TOKEN);
            let addr = stranger(number);
            stage.world.stranger_sends(addr, &bytes);
            if number % 50 == 0 {
                stage.run(30 * MS);
            }
            let count = stage.world.sockets.len();
            assert!(count <= 1 + MOST, "{count} sockets");
        }
        stage.assert_talks();
        // The longest timeout: the session of a client that was answered waits 2 minutes for its first packet,
        // and lingers for 2 s.
        stage.run(123 * SECOND);
        assert_eq!(stage.world.sockets.len(), 1, "{variant:?}");
    }
}

/// A client that joins during a flood plays.
#[test]
fn a_client_that_comes_during_a_flood() {
    for variant in [Variant::V6, Variant::V65, Variant::Ddnet] {
        for pair in PAIRS {
            let mut stage = Stage::at(pair, Phase::Closing);
            let mut number = 0;
            for _ in 0..5 {
                for _ in 0..100 {
                    number += 1;
                    let bytes = control::connect(variant, [1, 2, 3, 4], NO_TOKEN);
                    stage.world.server.policy.refusal = None;
                    stage.world.stranger_sends(stranger(number), &bytes);
                }
                stage.run(10 * MS);
            }
            stage.world.server.policy.max_clients = 10_000;
            stage.world.server.policy.max_clients_per_ip = 10_000;
            stage.recover(Phase::Closing);
        }
    }
}

/// TOKEN requests, garbage and the largest datagrams open no session and no socket, and their events have a
/// bounded size.
#[test]
fn what_opens_nothing_keeps_nothing() {
    let mut stage = Stage::at(PAIRS[5], Phase::Online);
    stage.world.events.clear();
    for number in 0..2000 {
        let addr = stranger(number);
        let [.., byte] = number.to_be_bytes();
        // Neither connless nor a CONNECT, so these are strays.
        let stray = vec![byte & 0xdf | 0x02; if number % 10 == 0 { LARGEST } else { 50 }];
        for bytes in [&stray, &control::token_request([1, 2, 3, byte])] {
            stage.world.stranger_sends(addr, bytes);
        }
    }
    assert_eq!(stage.world.sockets.len(), 1);
    assert_eq!(stage.world.hub().unwrap().sessions(), 1);
    let strays = stage.world.events.iter().filter_map(|event| match &event.what {
        EventKind::Notice(Notice::UnknownSender { bytes, .. }) => Some(bytes.len()),
        _ => None,
    });
    let strays: Vec<usize> = strays.collect();
    assert_eq!(strays.len(), 10);
    assert!(strays.iter().all(|len| *len <= 1400), "{strays:?}");
    stage.assert_talks();
    // The others are counted, once per window of five seconds.
    stage.run(6 * SECOND);
    let counts = |stage: &Stage| {
        let events = stage.world.events.iter();
        let counts = events.filter_map(|event| match &event.what {
            EventKind::Notice(Notice::Suppressed { of, count }) => Some((of.to_string(), *count)),
            _ => None,
        });
        counts.collect::<Vec<_>>()
    };
    // Some strays look like compressed control packets, of which the proxy inflates only a limited number.
    let expected = [
        ("unknown_sender".to_owned(), 1990),
        ("dropped_by_proxy".to_owned(), 506),
    ];
    assert_eq!(counts(&stage), expected);
    for number in 0..11 {
        stage.world.stranger_sends(stranger(number), b"stray");
        stage.run(1100 * MS);
    }
    assert_eq!(counts(&stage).len(), 2, "slow ones are all reported");
}

/// Rules that make a message for each non-vital message.
struct Echo;

impl Decide for Echo {
    fn decide(&mut self, message: &Message<'_>, _: &mut Shared) -> Verdict {
        let made = made(Dir::S2c, "made");
        Verdict {
            after: if message.vital { Vec::new() } else { vec![made] },
            ..Verdict::PASS
        }
    }
}

/// A server sends messages to a client that acks nothing. Rules answer each of them, far more than the proxy may
/// queue.
#[test]
fn what_rules_make_is_bounded() {
    for pair in PAIRS {
        let mut stage = Stage::at(pair, Phase::Online);
        stage.world.input(Input::Program(program(&[Dir::S2c], |_| Echo)));
        stage.assert_talks();
        stage.world.clients[0].up.conditions.loss = 1.0;
        let shown = stage.shown(Side::Server);
        let chunk = Chunk::new(None, b"snap");
        let bytes = Datagram::of_chunks(shown.format, shown.ack, shown.token, vec![chunk; 100]).build();
        for _ in 0..100 {
            stage.as_server(&bytes);
        }
        stage.world.clients[0].up.conditions.loss = 0.0;
        stage.run(6 * SECOND);
        let delivered = stage.world.clients[0].peer.delivered.iter();
        let made = delivered.filter(|one| one.data == b"made").count();
        assert!((400..=400 + 1200).contains(&made), "{pair:?}: {made} of 10000");
        stage.assert_talks();
    }
}
