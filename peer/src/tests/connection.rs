//! Two connections that exchange datagrams.

use std::time::Duration;

use teetap_wire::{Proto, Seq, Token};

use crate::connection::{Connection, Received, Tokens};
use teetap_kit::link::{Conditions, Hop, MS};

use super::{FINE, STEP, micros};
use crate::Variant;
use crate::message::Message;

const HERE: Token = Token(*b"here");
const THERE: Token = Token(*b"ther");

fn pair(variant: Variant) -> [Connection; 2] {
    let proto = variant.proto();
    let [here, there] = match proto {
        Proto::V6 => [None; 2],
        Proto::V65 | Proto::Ddnet => [Some(HERE); 2],
        Proto::V7 => [Some(HERE), Some(THERE)],
    };
    [(here, there), (there, here)].map(|(expected, sent)| {
        let tokens = Tokens {
            proto,
            expected,
            sent,
        };
        Connection::new(tokens, Duration::ZERO)
    })
}

fn message(vital: bool, data: &[u8], flush: bool) -> Message {
    let data = data.to_vec();
    Message { vital, flush, data }
}

/// Sends `count` numbered vital messages both ways. Returns the numbers that each end received, in
/// order.
fn exchange(variant: Variant, count: u32, conditions: Conditions, seed: u64) -> [Vec<u32>; 2] {
    let mut ends = pair(variant);
    let mut link: Hop<(usize, Vec<u8>)> = Hop::new(conditions, seed);
    let mut sent = [0u32; 2];
    let mut got = [Vec::new(), Vec::new()];
    let mut now = Duration::ZERO;
    while got.iter().any(|got| got.len() < count as usize) {
        now += STEP;
        assert!(
            now < Duration::from_secs(3600),
            "it does not get through: {} and {}",
            got[0].len(),
            got[1].len()
        );
        while let Some((to, datagram)) = link.receive(micros(now)) {
            if let Received::Messages(messages) = ends[to].handle(now, &datagram) {
                got[to].extend(
                    messages
                        .iter()
                        .map(|m| u32::from_be_bytes(m.data[..4].try_into().unwrap())),
                );
            }
        }
        for end in [0, 1] {
            ends[end].tick(now).unwrap();
            for _ in 0..4 {
                let data = [&sent[end].to_be_bytes()[..], &[7; 30]].concat();
                if sent[end] < count && ends[end].send(now, &message(true, &data, false)).is_ok() {
                    sent[end] += 1;
                }
            }
            if now.as_millis().is_multiple_of(20) {
                ends[end].flush(now);
            }
            while let Some(datagram) = ends[end].poll_transmit() {
                link.send((1 - end, datagram), micros(now));
            }
        }
    }
    got
}

#[test]
fn every_vital_message_arrives_once_and_in_order_over_bad_links_and_wraps() {
    for variant in Variant::ALL {
        let lines = [(0.0, 0, 0.0), (0.1, 0, 0.0), (0.0, 60, 0.0), (0.1, 60, 0.05)];
        for (seed, (loss, jitter, duplicate)) in (0..).zip(lines) {
            let conditions = Conditions {
                delay: MS,
                jitter: jitter * MS,
                loss,
                duplicate,
            };
            let got = exchange(variant, 2500, conditions, seed);
            let all: Vec<u32> = (0..2500).collect();
            assert!(got[0] == all && got[1] == all, "{variant} {conditions:?}");
        }
    }
}

#[test]
fn a_datagram_with_a_wrong_token_or_ack_is_dropped() {
    let [mut a, mut b] = pair(Variant::V7);
    let now = Duration::from_millis(1);
    b.send(now, &message(false, b"x", true)).unwrap();
    let good = b.poll_transmit().unwrap();
    for (at, what) in [(1, "ack ahead"), (4, "token")] {
        let mut bad = good.clone();
        bad[at] ^= 1;
        assert_eq!(a.handle(now, &bad), Received::Dropped, "{what}");
    }
    assert!(matches!(a.handle(now, &good), Received::Messages(m) if m.len() == 1));
    // An ack below a later one.
    for number in 1..=2 {
        a.send(now, &message(true, b"y", true)).unwrap();
        b.handle(now, &a.poll_transmit().unwrap());
        b.send(now, &message(false, b"x", true)).unwrap();
        assert_ne!(
            a.handle(now, &b.poll_transmit().unwrap()),
            Received::Dropped,
            "{number}"
        );
    }
    assert_eq!(a.handle(now, &good), Received::Dropped);
}

#[test]
fn idle_ends_send_one_keepalive_a_second_and_a_silent_peer_times_out() {
    let mut ends = pair(Variant::Ddnet);
    let mut link: Hop<(usize, Vec<u8>)> = Hop::new(FINE, 1);
    let mut now = Duration::ZERO;
    while now < Duration::from_secs(30) {
        now += STEP;
        while let Some((to, datagram)) = link.receive(micros(now)) {
            assert_eq!(ends[to].handle(now, &datagram), Received::Control);
        }
        for end in [0, 1] {
            ends[end].tick(now).unwrap();
            while let Some(datagram) = ends[end].poll_transmit() {
                link.send((1 - end, datagram), micros(now));
            }
        }
    }
    assert!((58..=60).contains(&link.sent), "{} keepalives", link.sent);
    let [mut left, _] = ends;
    let silent = now;
    let reason = loop {
        now += STEP;
        if let Err(reason) = left.tick(now) {
            break reason;
        }
    };
    assert_eq!(reason, "Timeout");
    assert!(now - silent > Duration::from_secs(9) && now - silent < Duration::from_secs(11));
}

#[test]
fn a_vital_message_without_an_ack_ends_the_connection() {
    let [mut a, mut b] = pair(Variant::V7);
    a.send(Duration::ZERO, &message(true, b"lost", true)).unwrap();
    let mut now = Duration::ZERO;
    let mut last = Vec::new();
    let reason = loop {
        now += STEP;
        let _ = b.tick(now);
        while let Some(datagram) = b.poll_transmit() {
            a.handle(now, &datagram);
        }
        let ticked = a.tick(now);
        while let Some(datagram) = a.poll_transmit() {
            last = datagram;
        }
        // `b` receives nothing from `a` but keeps sending, so that `a` does not time out.
        b.send(now, &message(false, b"x", now.as_millis().is_multiple_of(1000)))
            .unwrap();
        if let Err(reason) = ticked {
            break reason;
        }
    };
    assert_eq!(reason, "Too weak connection (not acked for 10 seconds)");
    assert_eq!(b.handle(now, &last), Received::Closed(reason.to_owned()));
}

#[test]
fn after_a_challenge_the_first_vital_chunk_defines_the_ack() {
    let tokens = Tokens {
        proto: Proto::V6,
        expected: None,
        sent: None,
    };
    let now = Duration::ZERO;
    let mut client = Connection::new(tokens, now);
    let mut server = Connection::resume(tokens, Seq::new(2), now);
    let mut datagrams: Vec<Vec<u8>> = Vec::new();
    for number in 0..5 {
        client.send(now, &message(true, &[number], true)).unwrap();
        datagrams.extend(client.poll_transmit());
    }
    let mut delivered = |at: usize| match server.handle(now, &datagrams[at]) {
        Received::Messages(messages) => messages.len(),
        received => panic!("{received:?}"),
    };
    // The fourth chunk defines the ack, the fifth follows it, and the third is then an old one.
    assert_eq!([delivered(3), delivered(4), delivered(2)], [1, 1, 0]);
    assert_eq!((server.counters().duplicates, server.counters().gaps), (1, 0));
}
