//! Strangers at the server browser: relays are bounded, and unrequested datagrams reach no client.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use teetap_kit::{
    codec::Variant,
    hostile::{LARGEST, looks_seven},
    link::SECOND,
    world::{Place, client_addr},
};
use teetap_proxy::session::UpstreamId;

use crate::stage::{PAIRS, Phase, Stage};

const ASK: &[u8] = b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xffgie3\x07";

fn stranger(number: u16) -> SocketAddr {
    let [high, low] = number.to_be_bytes();
    SocketAddr::new(IpAddr::V4(Ipv4Addr::new(10, 7, high, low)), 9000)
}

/// Returns the datagrams that were sent to an address.
fn sent_to(stage: &Stage, addr: SocketAddr) -> Vec<Vec<u8>> {
    let sent = stage.world.network.sent.as_deref().unwrap().iter();
    let to = sent.filter(|sent| sent.place == Place::ToClient && sent.addr == addr);
    to.map(|sent| sent.bytes.clone()).collect()
}

#[test]
fn relays_are_bounded_and_end() {
    let mut stage = Stage::at(PAIRS[2], Phase::Online);
    for number in 0..1000 {
        stage.world.stranger_sends(stranger(number), ASK);
        let count = stage.world.sockets.len();
        assert!(count <= 1 + 64, "{count} sockets after {number} strangers");
    }
    assert_eq!(stage.world.sockets.len(), 1 + 64);
    stage.assert_talks();
    stage.run(11 * SECOND);
    assert_eq!(stage.world.sockets.len(), 1);
    stage.assert_talks();
}

/// Returns the socket of the last relay.
fn relay(stage: &Stage) -> UpstreamId {
    *stage.world.sockets.last().unwrap()
}

#[test]
fn a_server_cannot_say_0_7_to_who_asked_in_0_6() {
    let mut stage = Stage::at(PAIRS[2], Phase::Online);
    let addr = stranger(1);
    stage.world.stranger_sends(addr, ASK);
    let upstream = relay(&stage);
    let mut hostile: Vec<Vec<u8>> = (0..=u8::MAX)
        .flat_map(|first| [6, 8, 9, 40].map(|len| vec![first; len]))
        .collect();
    hostile.push(Vec::new());
    for bytes in &hostile {
        stage.world.server_sends(upstream, bytes);
    }
    let received = sent_to(&stage, addr);
    // Half of all first bytes are connless. A quarter of these looks like 0.7, except `x` `x`, which is not a
    // DDNet header.
    assert!(received.len() >= 300, "{} datagrams", received.len());
    for bytes in &received {
        assert!(!looks_seven(bytes) && bytes[0] & 0x20 != 0, "{bytes:02x?}");
    }
}

/// The same on the socket of a game.
#[test]
fn connless_to_a_game_socket_reaches_its_client_in_its_own_kind_only() {
    for pair in PAIRS {
        for phase in [Phase::Opening, Phase::Answered, Phase::Online, Phase::Renumbered] {
            let mut stage = Stage::at(pair, phase);
            let before = sent_to(&stage, client_addr(0)).len();
            for first in (0..=u8::MAX).filter(|first| first & 0x20 != 0) {
                for len in [1, 5, 6, 8, 9, 40, 1401, LARGEST] {
                    stage.as_server(&vec![first; len]);
                }
            }
            let received = &sent_to(&stage, client_addr(0))[before..];
            if pair.0.is_seven() {
                // None of them contains the proxy's token.
                assert!(received.is_empty(), "{pair:?} {phase:?}");
            } else {
                assert!(received.len() > 200, "{pair:?} {phase:?}: {}", received.len());
                assert!(
                    received
                        .iter()
                        .all(|bytes| !looks_seven(bytes) && bytes.len() <= 1400)
                );
            }
            stage.recover(phase);
        }
    }
}

#[test]
fn requests_are_cut_where_no_server_reads_on() {
    let mut stage = Stage::at(PAIRS[5], Phase::Online);
    let mut long = ASK.to_vec();
    long.resize(LARGEST, 0);
    stage.world.stranger_sends(stranger(1), &long);
    let sent = stage.world.network.sent.as_deref().unwrap();
    let last = sent
        .iter()
        .rev()
        .find(|sent| sent.place == Place::ToServer)
        .unwrap();
    assert_eq!(last.bytes, long[..1400]);
}

/// A request of 0.7 must contain a token that the core gave to its address; the token of another address opens
/// nothing.
#[test]
fn a_request_of_0_7_without_a_token_opens_nothing() {
    for pair in PAIRS {
        let mut stage = Stage::at(pair, Phase::Online);
        for token in [[0; 4], [0xff; 4], *b"TKEN", [1, 2, 3, 4]] {
            let bytes = [&[0x21], &token[..], &[5, 6, 7, 8], &[0xff; 4], b"gie3\x07"].concat();
            stage.world.stranger_sends(stranger(1), &bytes);
            stage.as_client(&bytes);
        }
        assert_eq!(stage.world.sockets.len(), 1, "{pair:?}");
        assert_eq!(sent_to(&stage, stranger(1)), [[0u8; 0]; 0], "{pair:?}");
        stage.recover(Phase::Online);
    }
}

/// Both kinds of client are among the pairs, so that each test above has a pair to which it applies.
#[test]
fn both_kinds_of_client_are_here() {
    assert!(PAIRS.iter().any(|pair| pair.0.is_seven()) && PAIRS.iter().any(|pair| pair.0 == Variant::Ddnet));
}
