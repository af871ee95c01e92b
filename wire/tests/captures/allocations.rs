//! Decoding into buffers that are used again allocates nothing.

use teetap_wire::def::{Decoded, Registry};
use teetap_wire::snap::Store;
use teetap_wire::{Dir, Proto};

use crate::each_packet;

/// All messages of the recorded sessions, as they came: session, variant, direction, bytes.
fn messages() -> Vec<((String, u16), Proto, Dir, Vec<u8>)> {
    let mut all = Vec::new();
    each_packet(|label, _, packet| {
        for chunk in packet.chunks().filter(|chunk| !chunk.header.resend) {
            all.push((label.client.clone(), packet.proto, label.dir, chunk.data.to_vec()));
        }
    });
    all
}

#[test]
fn messages_are_read_without_allocating() {
    let (registry, messages) = (Registry::builtin(), messages());
    let mut decoded = Decoded::new();
    let mut read = || {
        let defs = messages.iter().filter_map(|(_, proto, dir, data)| {
            decoded
                .message(registry, *proto, *dir, data)
                .map(|def| def.name.starts_with("snap_single") || &*def.name == "input")
        });
        defs.filter(|wanted| *wanted).count()
    };
    // The buffer grows to the largest message.
    let wanted = read();
    let mut again = 0;
    let made = allocation_counter::measure(|| again = read());
    assert!(wanted > 5000 && wanted == again, "{wanted} {again}");
    assert_eq!(made.count_total, 0);
}

#[test]
fn snapshots_are_followed_in_buffers_that_are_used_again() {
    let (registry, messages) = (Registry::builtin(), messages());
    // The client of the second one acks late: a snapshot that is kept longer than others needs a buffer of its own.
    for (name, most) in [("rich-tw07", 0), ("rich-dd16", 1)] {
        let session = messages.iter().filter(|((file, _), ..)| file.contains(name));
        let client = session.clone().last().unwrap().0.clone();
        let session: Vec<_> = session.filter(|(of, ..)| *of == client).collect();
        let mut store = Store::new(registry, session[0].1);
        let mut decoded = Decoded::new();
        let mut follow = |messages: &[&((String, u16), Proto, Dir, Vec<u8>)]| {
            let mut completed = 0_u64;
            for (_, proto, dir, data) in messages {
                let def = decoded.message(registry, *proto, *dir, data).unwrap();
                completed += u64::from(store.on_message(*dir, def, &decoded, data).is_some());
            }
            completed
        };
        let (first, rest) = session.split_at(session.len() * 3 / 4);
        follow(first);
        let mut completed = 0;
        let made = allocation_counter::measure(|| completed = follow(rest));
        assert!(completed > 100);
        assert!(made.count_total <= most * completed, "{name}: {made:?}");
    }
}
