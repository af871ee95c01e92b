//! Decoding into reused buffers allocates nothing.

use teetap_wire::def::{Decoded, Registry};
use teetap_wire::snap::Store;
use teetap_wire::{Dir, Proto};

use crate::each_packet;

/// A message as received.
struct Message {
    session: (String, u16),
    proto: Proto,
    dir: Dir,
    data: Vec<u8>,
}

/// Returns all messages of the recorded sessions.
fn messages() -> Vec<Message> {
    let mut all = Vec::new();
    each_packet(|label, _, packet| {
        for chunk in packet.chunks().filter(|chunk| !chunk.header.resend) {
            all.push(Message {
                session: label.client.clone(),
                proto: packet.proto,
                dir: label.dir,
                data: chunk.data.to_vec(),
            });
        }
    });
    all
}

#[test]
fn messages_are_read_without_allocating() {
    let (registry, messages) = (Registry::builtin(), messages());
    let mut decoded = Decoded::new();
    let mut read = || {
        let defs = messages.iter().filter_map(|message| {
            decoded
                .message(registry, message.proto, message.dir, &message.data)
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
    // The client of the second recording acks late: a snapshot that is kept longer than others needs a buffer of its
    // own.
    for (name, most) in [("rich-tw07", 0), ("rich-dd16", 1)] {
        let of_file = messages.iter().filter(|message| message.session.0.contains(name));
        let client = of_file.clone().next_back().unwrap().session.clone();
        let session: Vec<&Message> = of_file.filter(|message| message.session == client).collect();
        let mut store = Store::new(registry, session[0].proto);
        let mut decoded = Decoded::new();
        let mut follow = |messages: &[&Message]| {
            let mut completed = 0_u64;
            for message in messages {
                let Message { proto, dir, data, .. } = message;
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
        // Some buffers may also grow, because a type that is declared late has its own buffer.
        assert!(
            made.count_total <= most * (completed + 8),
            "{name}: {completed} {made:?}"
        );
    }
}
