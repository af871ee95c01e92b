//! Datagrams that no peer sends: noise, damaged and truncated datagrams, and messages of the wrong kind.

use std::time::Duration;

use teetap_kit::link::Random;

use super::{FINE, World, address, config};
use crate::{Message, SendError, Server, ServerConfig, Variant};

#[test]
fn noise_makes_no_slot() {
    let mut server = Server::new(ServerConfig {
        challenges: true,
        ..ServerConfig::new(6)
    });
    let mut random = Random::new(6);
    for round in 0..20_000 {
        let len = usize::try_from(random.below(40)).unwrap();
        let mut noise: Vec<u8> = (0..len)
            .map(|_| u8::try_from(random.below(256)).unwrap())
            .collect();
        if let (Some(first), true) = (noise.first_mut(), round % 2 == 0) {
            *first = [0x04, 0x10][round / 2 % 2];
        }
        server.handle(Duration::from_millis(round as u64), address(round % 7), &noise);
        while server.poll_transmit().is_some() {}
    }
    assert!(server.is_empty() && server.poll_event().is_none());
}

#[test]
fn damaged_datagrams_end_no_peer_with_tokens_and_none_panics() {
    for variant in Variant::ALL {
        for seed in 0..20 {
            let mut settings = ServerConfig::new(1);
            settings.variants = Variant::ALL.to_vec();
            let clients = vec![config(variant, 0)];
            let mut world = World::new(settings, clients, FINE, seed);
            let mut random = Random::new(seed);
            let mut seen: Vec<Vec<u8>> = Vec::new();
            let end = Duration::from_secs(6);
            while world.step(end) {
                // Both sides receive a damaged copy of the last datagram on the link.
                let mut last = world.link.clone();
                let arriving = std::iter::from_fn(|| last.receive(u64::MAX));
                seen.extend(arriving.map(|(_, datagram)| datagram));
                let Some(mut damaged) = seen.pop() else { continue };
                for _ in 0..=random.below(3) {
                    let len = damaged.len() as u64;
                    let at = usize::try_from(random.below(len)).unwrap();
                    damaged[at] ^= 1 << random.below(8);
                }
                if random.chance(0.3) {
                    damaged.truncate(usize::try_from(random.below(damaged.len() as u64)).unwrap());
                }
                let now = world.now;
                world.server.handle(now, address(0), &damaged);
                world.clients[0].handle(now, &damaged);
                seen.clear();
            }
        }
    }
}

#[test]
fn a_message_larger_than_a_chunk_is_refused_and_the_game_goes_on() {
    for variant in Variant::ALL {
        let mut world = World::new(ServerConfig::new(1), vec![config(variant, 0)], FINE, 1);
        let large = Message {
            vital: true,
            flush: true,
            data: vec![1; 1400],
        };
        let now = world.now;
        assert_eq!(world.clients[0].send(now, &large), Err(SendError::NotConnected));
        assert!(
            world.run_until(9, |world| world.clients[0].has_joined()),
            "{variant}"
        );
        let now = world.now;
        let sent = [
            world.clients[0].send(now, &large),
            world.server.send(now, 0, &large),
        ];
        assert!(
            matches!(sent, [Err(SendError::TooLarge(_)), Err(SendError::TooLarge(_))]),
            "{sent:?}"
        );
        world.run_for(2);
        assert!(
            !world.clients[0].is_over() && !world.server.is_empty(),
            "{variant}"
        );
    }
}

#[test]
fn a_full_buffer_ends_the_connection() {
    let mut world = World::new(ServerConfig::new(1), vec![config(Variant::V7, 0)], FINE, 1);
    assert!(world.run_until(9, |world| world.clients[0].has_joined()));
    let now = world.now;
    let results = (0..600).map(|line| world.clients[0].say(now, &format!("{line}")));
    let results: Vec<_> = results.collect();
    assert!(results.contains(&Err(SendError::OutOfBuffer)));
    world.run_for(1);
    assert!(world.clients[0].is_over() && world.server.is_empty());
}
