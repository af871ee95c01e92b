//! Limits for strangers: half-open sessions are bounded, and TOKEN requests store nothing.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use teetap_kit::{
    codec::{NO_TOKEN, Variant, control, open},
    link::{MS, SECOND},
    rules::compiled,
    world::{Place, World},
};
use teetap_proxy::session::{EventKind, Input, Notice, OpensNothing};

use crate::stage::{Pair, Stage};

fn address(ip: [u8; 4], port: u16) -> SocketAddr {
    SocketAddr::new(IpAddr::V4(Ipv4Addr::from(ip)), port)
}

/// Sends the first CONNECT of a client that never continues.
fn knock(world: &mut World, addr: SocketAddr, variant: Variant) {
    let [a, b] = addr.port().to_be_bytes();
    let bytes = control::connect(variant, [a, b, 7, 7], NO_TOKEN);
    world.stranger_sends(addr, &bytes);
}

fn limits_reported(stage: &Stage) -> usize {
    let is_limit = |notice: &&Notice| {
        matches!(
            notice,
            Notice::HalfOpenLimit | Notice::AnsweredByProxy { .. } | Notice::DroppedByProxy { .. }
        )
    };
    stage.notices().iter().filter(is_limit).count()
}

#[test]
fn half_open_sessions_of_one_address_are_bounded() {
    for variant in [Variant::V6, Variant::V65, Variant::Ddnet] {
        let mut stage = Stage::joined(Pair::ALL[0], 1);
        for port in 1000..1040 {
            knock(&mut stage.world, address([10, 2, 0, 1], port), variant);
            stage.run(MS);
        }
        let hub = stage.world.hub().unwrap();
        assert_eq!(hub.sessions(), 1 + 32);
        // The youngest clients get no session: their addresses may be forged, like the addresses of the
        // others.
        for port in 1000..1040 {
            let lives = hub.session_of(address([10, 2, 0, 1], port)).is_some();
            assert_eq!(lives, port < 1032, "{variant:?} {port}");
        }
        assert_eq!(stage.world.sockets.len(), 33);
        assert_eq!(limits_reported(&stage), 8);
        stage.assert_plays();
        stage.run(10 * SECOND);
        assert_eq!(stage.world.sockets.len(), 1);
        stage.assert_plays();
    }
}

#[test]
fn the_loopback_address_is_exempt() {
    let mut stage = Stage::joined(Pair::ALL[0], 1);
    for port in 1000..1100 {
        knock(&mut stage.world, address([127, 0, 0, 1], port), Variant::Ddnet);
    }
    assert_eq!(
        stage.world.hub().unwrap().sessions(),
        101,
        "sessions: the one that joined, and those of 100 ports of the loopback address"
    );
    assert_eq!(limits_reported(&stage), 0);
}

#[test]
fn half_open_sessions_are_bounded() {
    let mut stage = Stage::joined(Pair::ALL[0], 1);
    for number in 0..=u8::MAX {
        knock(
            &mut stage.world,
            address([10, 3, 0, number], 1000),
            Variant::Ddnet,
        );
        knock(&mut stage.world, address([10, 4, 0, number], 1000), Variant::V65);
        if number % 16 == 0 {
            stage.run(MS);
        }
    }
    let hub = stage.world.hub().unwrap();
    assert_eq!(
        hub.sessions(),
        1 + 256,
        "sessions: the one that joined, and the most of one network"
    );
    assert!(hub.session_of(address([10, 3, 0, 0], 1000)).is_some());
    assert_eq!(hub.session_of(address([10, 3, 0, 255], 1000)), None);
    assert_eq!(stage.world.sockets.len(), 257, "a socket for each session");
    // A flood is only counted.
    assert_eq!(limits_reported(&stage), 10);
    stage.run(6 * SECOND);
    let rest = Notice::Suppressed {
        of: "dropped_by_proxy".into(),
        count: 246,
    };
    assert_eq!(stage.times(&rest), 1);
    stage.assert_plays();
}

/// Sends a CONNECT of 0.7 with the token that its address was given, which proves the address.
fn knock_proved(stage: &mut Stage, addr: SocketAddr) {
    stage.world.network.sent = Some(Vec::new());
    stage
        .world
        .stranger_sends(addr, &control::token_request([1, 2, 3, 4]));
    let sent = stage.world.network.sent.as_deref().unwrap();
    let token = *sent.last().unwrap().bytes.last_chunk::<4>().unwrap();
    let bytes = control::connect(Variant::V7, [1, 2, 3, 4], token);
    stage.world.stranger_sends(addr, &bytes);
}

/// Clients that have proved their address and clients that cannot prove it have separate limits.
#[test]
fn proved_and_unproved_addresses_have_room_of_their_own() {
    let proved = |number: u16| address([10, 8, number.to_be_bytes()[1], 1], 1000);
    let forgeable = |number: u16| address([10, 9, number.to_be_bytes()[1], 1], 1000);
    for proved_first in [false, true] {
        let mut stage = Stage::joined(Pair::ALL[0], 1);
        for is_proved in [proved_first, !proved_first] {
            for number in 0..256 {
                match is_proved {
                    true => knock_proved(&mut stage, proved(number)),
                    false => knock(&mut stage.world, forgeable(number), Variant::Ddnet),
                }
            }
        }
        let hub = stage.world.hub().unwrap();
        let lives = |addr| hub.session_of(addr).is_some();
        let count = [
            (0..256).filter(|number| lives(proved(*number))).count(),
            (0..256).filter(|number| lives(forgeable(*number))).count(),
        ];
        assert_eq!(count, [256, 256], "{proved_first}");
    }
}

/// Uses up all half-open sessions and sends one more CONNECT. Datagrams that are sent from then on are kept.
/// Returns the address of the last CONNECT.
fn knock_at_full_house(stage: &mut Stage) -> SocketAddr {
    for number in 0..=u8::MAX {
        knock(
            &mut stage.world,
            address([10, 3, 0, number], 1000),
            Variant::Ddnet,
        );
    }
    let addr = address([10, 5, 0, 1], 1000);
    stage.world.network.sent = Some(Vec::new());
    knock(&mut stage.world, addr, Variant::Ddnet);
    addr
}

/// If all half-open sessions are in use, a CONNECT is answered without one. The token of the answer opens a
/// session for at least 10 s.
#[test]
fn an_answer_without_a_session_is_good_for_a_while() {
    for (wait, is_valid) in [(MS, true), (9 * SECOND, true), (21 * SECOND, false)] {
        for start in [0, 4, 8] {
            let mut stage = Stage::joined(Pair::ALL[4], 1);
            stage.run(start * SECOND);
            let addr = knock_at_full_house(&mut stage);
            assert_eq!(stage.world.hub().unwrap().session_of(addr), None);
            let sent = stage.world.network.sent.as_deref().unwrap();
            let answer = sent.iter().find(|sent| sent.addr == addr).expect("an answer");
            let token = open(Variant::Ddnet, &answer.bytes).unwrap().head.token.unwrap();
            stage.run(wait);
            for (token, opens) in [(token.map(|byte| byte ^ 1), false), (token, is_valid)] {
                let accept = control::control(Variant::Ddnet, 0, Some(token), control::ACCEPT, &[]);
                stage.world.stranger_sends(addr, &accept);
                let session = stage.world.hub().unwrap().session_of(addr);
                assert_eq!(session.is_some(), opens, "{start} {wait}");
            }
        }
    }
}

/// Only a rule that acts on CONNECT or its answer decides about an answer without a session, or needs a
/// session for it.
#[test]
fn rules_about_connect_decide_about_an_answer_without_a_session() {
    for (rule, answers) in [
        ("drop when sv_motd", 1),
        ("log when connect_accept", 1),
        ("drop when connect_accept", 0),
        ("delay 1ms when connect_accept", 0),
    ] {
        let mut stage = Stage::joined(Pair::ALL[4], 1);
        stage.world.input(Input::Program(Some(compiled(rule).unwrap())));
        let addr = knock_at_full_house(&mut stage);
        assert_eq!(sent_to(&stage, addr).len(), answers, "{rule}");
    }
}

/// Sessions that are online do not count as half-open.
#[test]
fn sessions_online_are_not_half_open() {
    let mut stage = Stage::joined(Pair::ALL[4], 1);
    for _ in 0..50 {
        stage.restart();
        stage.run(SECOND);
        stage.assert_plays();
    }
    assert_eq!(limits_reported(&stage), 0);
}

#[test]
fn a_short_token_request_gets_no_answer() {
    let mut stage = Stage::joined(Pair::ALL[4], 1);
    stage.world.network.sent = Some(Vec::new());
    let request = control::token_request([1, 2, 3, 4]);
    for len in (8..530).rev() {
        let mut bytes = request.clone();
        bytes.resize(len, 0);
        let addr = address([10, 5, 0, 1], 1000);
        stage.world.stranger_sends(addr, &bytes);
        let answers: Vec<usize> = sent_to(&stage, addr);
        assert_eq!(answers, if len >= 519 { vec![12] } else { vec![] }, "{len} bytes");
        stage.world.network.sent = Some(Vec::new());
    }
    // The requests store nothing and cause no request to the server.
    assert_eq!(stage.world.hub().unwrap().sessions(), 1);
    assert_eq!(stage.world.sockets.len(), 1);
    stage.assert_plays();
}

/// Returns the kind of the last datagram that opened no session.
fn last_stranger(stage: &Stage) -> Option<OpensNothing> {
    let kinds = stage.world.events.iter().rev();
    kinds
        .filter_map(|event| match &event.what {
            EventKind::Notice(Notice::UnknownSender { what, .. }) => Some(*what),
            _ => None,
        })
        .next()
}

#[test]
fn a_connect_of_0_7_with_the_token_in_reverse_says_so() {
    let mut stage = Stage::joined(Pair::ALL[4], 1);
    stage.world.network.sent = Some(Vec::new());
    let (addr, own) = (address([10, 5, 0, 1], 1000), [1, 2, 3, 4]);
    stage.world.stranger_sends(addr, &control::token_request(own));
    let sent = stage.world.network.sent.take().unwrap_or_default();
    let reply = sent.iter().find(|sent| sent.addr == addr).unwrap();
    let given = *reply.bytes.last_chunk::<4>().unwrap();
    let [a, b, c, d] = given;
    for (token, expected) in [
        ([d, c, b, a], OpensNothing::ReversedToken),
        ([a, c, b, d], OpensNothing::ForeignToken),
        (own, OpensNothing::OwnToken),
        (NO_TOKEN, OpensNothing::ConnectBeforeToken),
    ] {
        let connect = control::connect(Variant::V7, own, token);
        stage.world.stranger_sends(addr, &connect);
        assert_eq!(last_stranger(&stage), Some(expected), "{token:02x?}");
    }
    assert_eq!(stage.world.hub().unwrap().sessions(), 1);
    stage
        .world
        .stranger_sends(addr, &control::connect(Variant::V7, own, given));
    assert_eq!(stage.world.hub().unwrap().sessions(), 2);
}

fn sent_to(stage: &Stage, addr: SocketAddr) -> Vec<usize> {
    let sent = stage.world.network.sent.as_deref().unwrap();
    let to_client = sent
        .iter()
        .filter(|sent| sent.place == Place::ToClient && sent.addr == addr);
    to_client.map(|sent| sent.bytes.len()).collect()
}

#[test]
fn a_connect_of_0_7_needs_the_token_that_its_address_was_given() {
    let mut stage = Stage::joined(Pair::ALL[4], 1);
    for server in [NO_TOKEN, [0; 4], [1, 2, 3, 4], *b"TKEN"] {
        for own in [[5, 6, 7, 8], *b"TKEN", NO_TOKEN] {
            let bytes = control::connect(Variant::V7, own, server);
            let addr = address([10, 5, 0, 1], 1000);
            stage.world.stranger_sends(addr, &bytes);
        }
    }
    assert_eq!(stage.world.hub().unwrap().sessions(), 1);
    assert_eq!(stage.world.sockets.len(), 1);
}
