//! Downloads of maps.

use teetap_kit::link::Conditions;

use super::{BAD, FINE, World, config};
use crate::{ClientEvent, End, Map, MapFile, ServerConfig, Step, Variant};

/// Returns random bytes, which are not compressible.
fn map_of(len: usize) -> Vec<u8> {
    let mut random = teetap_kit::link::Random::new(5);
    std::iter::repeat_with(|| random.bits().to_be_bytes()[0])
        .take(len)
        .collect()
}

fn server(variants: &[Variant], data: &[u8]) -> ServerConfig {
    let file = MapFile::new(data.to_vec(), Some([9; 32])).unwrap();
    let mut settings = ServerConfig::new(3);
    settings.variants = variants.to_vec();
    settings.map = Map::new("made up", file.clone(), file);
    settings
}

fn downloads(world: &World) -> Vec<&[u8]> {
    let events = world.client_events[0].iter();
    let maps = events.filter_map(|event| match event {
        ClientEvent::Map(map) if map.name == "made up" => Some(map.data.as_slice()),
        _ => None,
    });
    maps.collect()
}

#[test]
fn every_variant_downloads_maps_of_every_length() {
    use Variant::{Ddnet, Ddnet7, V6, V7, V65};
    for (client, served) in [
        (V6, vec![V6]),
        (V65, vec![V65]),
        (V65, vec![V6]),
        (Ddnet, vec![Ddnet]),
        (V7, vec![V7]),
        (V7, vec![Ddnet7]),
        (Ddnet7, vec![Ddnet7]),
        (Ddnet7, vec![V7]),
    ] {
        // Lengths around one part and around the parts of one request.
        for len in [
            1,
            895,
            896,
            897,
            1384,
            1385,
            8 * 1384,
            8 * 1384 + 1,
            15 * 896,
            15 * 896 + 1,
            60_000,
        ] {
            let map = map_of(len);
            let mut world = World::new(server(&served, &map), vec![config(client, 0)], FINE, 1);
            let what = format!("{client} from {served:?}: {len} bytes");
            assert!(
                world.run_until(60, |world| world.clients[0].has_joined()),
                "{what}"
            );
            assert!(downloads(&world) == [map.as_slice()], "{what}");
        }
    }
}

#[test]
fn downloads_survive_bad_lines() {
    for variant in [Variant::V6, Variant::V65, Variant::V7] {
        let map = map_of(20_000);
        // In 0.7, the parts of a request are sent together, and few parts of a reordered burst are in order.
        let is_burst = variant == Variant::V7;
        let jitter = if is_burst { 0 } else { BAD.jitter };
        let conditions = Conditions { jitter, ..BAD };
        let mut too_weak = 0;
        for seed in 0..200 {
            let clients = vec![config(variant, 0)];
            let mut world = World::new(server(&[variant], &map), clients, conditions, seed);
            let joined = world.run_until(200, |world| world.clients[0].has_joined());
            let (end, now) = (world.client_events[0].last(), world.now);
            let what = format!("{variant}, seed {seed}: {end:?} after {now:?}");
            // After a lost resend request, a server resends one part per second, so the last part of a burst may not
            // be acked within 10 s (0.7.5 network_conn.cpp, `Update`).
            let is_too_weak = matches!(
                end,
                Some(ClientEvent::Ended(End::Closed(reason))) if reason.starts_with("Too weak")
            );
            if is_burst && is_too_weak {
                too_weak += 1;
                continue;
            }
            assert!(joined && downloads(&world) == [map.as_slice()], "{what}");
        }
        assert!(too_weak < 10, "{variant}: {too_weak} of 200");
    }
}

#[test]
fn a_map_that_the_client_has_is_not_downloaded() {
    for variant in Variant::ALL {
        let mut settings = config(variant, 0);
        settings.maps.push("made up".to_owned());
        let served = server(&Variant::ALL, &map_of(5000));
        let mut world = World::new(served, vec![settings], FINE, 1);
        assert!(
            world.run_until(10, |world| world.clients[0].has_joined()),
            "{variant}"
        );
        assert!(downloads(&world).is_empty(), "{variant}");
    }
}

#[test]
fn a_server_that_does_not_have_the_map_leaves_the_client_waiting() {
    let mut settings = config(Variant::V7, 0);
    settings.maps.clear();
    let mut world = World::new(ServerConfig::new(1), vec![settings], FINE, 1);
    world.run_for(5);
    assert!(!world.clients[0].has_joined() && !world.clients[0].is_over());
    assert_eq!(world.clients[0].proceed(world.now), None::<Step>);
}
