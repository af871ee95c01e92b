//! Two endpoints against each other.

use std::time::Duration;

use teetap_wire::{Proto, Token};

use crate::endpoint::{Endpoint, Received};
use teetap_kit::link::{Conditions, Hop, MS};

use super::{FINE, STEP, micros};

const HERE: Token = Token(*b"here");
const THERE: Token = Token(*b"ther");

fn pair(proto: Proto) -> [Endpoint; 2] {
    let there = if proto == Proto::V7 { THERE } else { HERE };
    [
        Endpoint::new(proto, HERE, there, Duration::ZERO),
        Endpoint::new(proto, there, HERE, Duration::ZERO),
    ]
}

/// Sends `count` numbered vital messages both ways and gives what each end received, in order.
fn exchange(proto: Proto, count: u32, conditions: Conditions, seed: u64) -> [Vec<u32>; 2] {
    let mut ends = pair(proto);
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
            if let Received::Messages(messages) = ends[to].feed(now, &datagram) {
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
                if sent[end] < count && ends[end].send(now, true, &data, false).is_ok() {
                    sent[end] += 1;
                }
            }
            if now.as_millis().is_multiple_of(20) {
                ends[end].flush(now);
            }
            while let Some(datagram) = ends[end].take() {
                link.send((1 - end, datagram), micros(now));
            }
        }
    }
    got
}

#[test]
fn every_vital_message_arrives_once_and_in_order_over_bad_links_and_wraps() {
    for proto in [Proto::V7, Proto::Ddnet] {
        let lines = [(0.0, 0, 0.0), (0.1, 0, 0.0), (0.0, 60, 0.0), (0.1, 60, 0.05)];
        for (seed, (loss, jitter, duplicate)) in (0..).zip(lines) {
            let conditions = Conditions {
                delay: MS,
                jitter: jitter * MS,
                loss,
                duplicate,
            };
            let got = exchange(proto, 2500, conditions, seed);
            let all: Vec<u32> = (0..2500).collect();
            assert!(got[0] == all && got[1] == all, "{proto} {conditions:?}");
        }
    }
}

#[test]
fn a_datagram_with_a_wrong_token_or_ack_is_dropped() {
    let [mut a, mut b] = pair(Proto::V7);
    let now = Duration::from_millis(1);
    b.send(now, false, b"x", true).unwrap();
    let good = b.take().unwrap();
    for (at, what) in [(1, "ack ahead"), (4, "token")] {
        let mut bad = good.clone();
        bad[at] ^= 1;
        assert_eq!(a.feed(now, &bad), Received::Dropped, "{what}");
    }
    assert!(matches!(a.feed(now, &good), Received::Messages(m) if m.len() == 1));
    // An ack that went back.
    for number in 1..=2 {
        a.send(now, true, b"y", true).unwrap();
        b.feed(now, &a.take().unwrap());
        b.send(now, false, b"x", true).unwrap();
        assert_ne!(a.feed(now, &b.take().unwrap()), Received::Dropped, "{number}");
    }
    assert_eq!(a.feed(now, &good), Received::Dropped);
}

#[test]
fn idle_ends_send_one_keepalive_a_second_and_a_silent_peer_times_out() {
    let mut ends = pair(Proto::Ddnet);
    let mut link: Hop<(usize, Vec<u8>)> = Hop::new(FINE, 1);
    let mut now = Duration::ZERO;
    while now < Duration::from_secs(30) {
        now += STEP;
        while let Some((to, datagram)) = link.receive(micros(now)) {
            assert_eq!(ends[to].feed(now, &datagram), Received::Control);
        }
        for end in [0, 1] {
            ends[end].tick(now).unwrap();
            while let Some(datagram) = ends[end].take() {
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
    let [mut a, mut b] = pair(Proto::V7);
    a.send(Duration::ZERO, true, b"lost", true).unwrap();
    let mut now = Duration::ZERO;
    let mut last = Vec::new();
    let reason = loop {
        now += STEP;
        let _ = b.tick(now);
        while let Some(datagram) = b.take() {
            a.feed(now, &datagram);
        }
        let ticked = a.tick(now);
        while let Some(datagram) = a.take() {
            last = datagram;
        }
        // The other end hears nothing but a keepalive now and then.
        b.send(now, false, b"x", now.as_millis().is_multiple_of(1000))
            .unwrap();
        if let Err(reason) = ticked {
            break reason;
        }
    };
    assert_eq!(reason, "Too weak connection (not acked for 10 seconds)");
    assert_eq!(b.feed(now, &last), Received::Closed(reason.to_owned()));
}
