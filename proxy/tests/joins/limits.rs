//! The bounds on what strangers send: half-open sessions are bounded, TOKEN requests keep nothing.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use teetap_kit::{
    codec::{NO_TOKEN, Variant, control},
    link::{MS, SECOND},
    world::{Place, World},
};
use teetap_proxy::session::Notice;

use crate::stage::{Pair, Stage};

fn address(ip: [u8; 4], port: u16) -> SocketAddr {
    SocketAddr::new(IpAddr::V4(Ipv4Addr::from(ip)), port)
}

/// A first CONNECT of a client that never comes.
fn knock(world: &mut World, addr: SocketAddr, variant: Variant) {
    let [a, b] = addr.port().to_be_bytes();
    let bytes = control::connect(variant, [a, b, 7, 7], NO_TOKEN);
    world.stranger_sends(addr, &bytes);
}

fn limits_reported(stage: &Stage) -> usize {
    stage.times(&Notice::HalfOpenLimit)
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
        // The youngest found no room: their addresses may be forged, as may those of the others.
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
    assert_eq!(stage.world.hub().unwrap().sessions(), 101);
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
    assert_eq!(hub.sessions(), 1 + 256);
    assert!(hub.session_of(address([10, 3, 0, 0], 1000)).is_some());
    assert_eq!(hub.session_of(address([10, 3, 0, 255], 1000)), None);
    assert_eq!(stage.world.sockets.len(), 257);
    // A flood is counted.
    assert_eq!(limits_reported(&stage), 10);
    stage.run(6 * SECOND);
    let rest = Notice::Suppressed {
        of: "half_open_limit".into(),
        count: 246,
    };
    assert_eq!(stage.times(&rest), 1);
    stage.assert_plays();
}

/// Sessions that are online do not count.
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
    // It keeps nothing and asks nothing of the server.
    assert_eq!(stage.world.hub().unwrap().sessions(), 1);
    assert_eq!(stage.world.sockets.len(), 1);
    stage.assert_plays();
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
