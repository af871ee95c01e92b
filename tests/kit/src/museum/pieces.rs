//! Pieces about chunks, compression and snapshots: each is a session with a fault, or the same session without it.

use super::{
    message::{Message, extended, system},
    snap::{Items, Snap, difference, empty, has_size, sum, world},
    talk::{Talk, input},
};
use crate::{
    codec::{Packing, Variant, put_chunk, seal},
    huffman::Ending,
    peer::Role,
};

/// The id of a message with a part of the map list, an extended message of DDNet.
const MAPLIST_ADD: u128 = 0xca95_6101_b034_3339_92ca_aa10_4b20_d770;
/// The UUIDs of extended types, as ints.
const GAME_INFO_EX: [i32; 4] = [-1_824_658_838, -629_591_830, -1_450_210_576, 914_991_429];
const DDNET_PLAYER: [i32; 4] = [583_701_389, 327_171_627, -1_636_052_395, -1_901_674_991];

/// A list of maps in one chunk of more than 1023 bytes.
pub(super) fn long_chunk(fault: bool) -> Vec<u8> {
    let mut talk = Talk::join(Variant::Ddnet);
    talk.play(100, 3);
    let names: Vec<String> = (0..64).map(|number| format!("Novice Map {number:02}")).collect();
    let per_message = if fault { 80 } else { 40 };
    let names: Vec<String> = names
        .into_iter()
        .chain((0..24).map(|number| format!("Brutal Map {number:02}")))
        .collect();
    for names in names.chunks(per_message) {
        let list = names
            .iter()
            .fold(extended(MAPLIST_ADD), |list, name| list.text(name));
        talk.send(Role::Server, &[list]);
    }
    talk.file()
}

/// A packet of 256 messages: the count does not fit into its byte.
pub(super) fn too_many_chunks(fault: bool) -> Vec<u8> {
    let variant = Variant::Ddnet;
    let mut talk = Talk::join(variant);
    let (base, _) = talk.play(100, 3);
    // Empty lines of the remote console.
    let lines: Vec<Message> = (0..256).map(|_| system(11).text("")).collect();
    if fault {
        talk.post(Role::Server, &lines);
    } else {
        lines.chunks(128).for_each(|lines| talk.send(Role::Server, lines));
    }
    talk.input(base);
    talk.file()
}

/// A packet that is marked as compressed but cannot be inflated.
pub(super) fn not_inflatable(fault: bool) -> Vec<u8> {
    let variant = Variant::Ddnet;
    let mut talk = Talk::join(variant);
    let (tick, _) = talk.play(100, 3);
    let mut payload = Vec::new();
    put_chunk(&mut payload, variant, None, false, &input(variant, tick).data);
    let mut head = talk.head(Role::Client, 1);
    let bytes = if fault {
        // The compression flag.
        head.spare = 0x80;
        seal(&head, &payload, Packing::Clear)
    } else {
        seal(&head, &payload, Packing::Always(Ending::Padded))
    };
    talk.datagram(Role::Client, bytes);
    talk.file()
}

/// Items of extended types whose UUIDs are missing in the first snapshot.
pub(super) fn undeclared_item(fault: bool) -> Vec<u8> {
    let variant = Variant::Ddnet;
    let mut talk = Talk::join(variant);
    let mut whole = world(variant, 100, 1584);
    whole.insert((0x7fff, 0), vec![0, 8, 0]);
    whole.insert((0x7ffe, 0), vec![0, 3]);
    let described = |mut items: Items| {
        items.insert((0, 0x7fff), GAME_INFO_EX.to_vec());
        items.insert((0, 0x7ffe), DDNET_PLAYER.to_vec());
        items
    };
    let first = if fault {
        whole.clone()
    } else {
        described(whole.clone())
    };
    for (tick, items) in [(100, first), (110, described(whole))] {
        talk.snap(&Snap::complete(variant, tick, &items));
        talk.wait(190);
    }
    talk.input(110);
    talk.file()
}

/// A client that rejoined receives a difference to a snapshot of the previous connection.
pub(super) fn foreign_base(fault: bool) -> Vec<u8> {
    let variant = Variant::Ddnet;
    let mut talk = Talk::join(variant);
    // The previous connection was at tick 5000 when it timed out.
    let old = world(variant, 5000, 1200);
    let mut base = if fault { (5000, old) } else { (-1, Items::new()) };
    for number in 0..4 {
        let tick = 5300 + 2 * number;
        let items = world(variant, tick, 1584 + 5 * number);
        talk.snap(&Snap::new(variant, tick, (base.0, &base.1), &items));
        talk.wait(10);
        if !fault {
            talk.input(tick);
            base = (tick, items);
        } else if number > 0 {
            talk.input(-1);
        }
        talk.wait(10);
    }
    talk.file()
}

/// Inputs that are sent vital, so that they are numbered and resent.
pub(super) fn vital_input(fault: bool) -> Vec<u8> {
    let variant = Variant::Ddnet;
    let mut talk = Talk::join(variant);
    let (tick, items) = talk.play(100, 3);
    for number in 1..4 {
        let now = tick + 2 * number;
        let moved = world(variant, now, 1584 + 7 * number);
        talk.snap(&Snap::new(variant, now, (tick, &items), &moved));
        talk.wait(10);
        let input = input(variant, now);
        talk.send(Role::Client, &[if fault { input } else { input.loose() }]);
        talk.wait(10);
    }
    talk.file()
}

/// An item whose size changes from one snapshot to the next.
pub(super) fn resized_item(fault: bool) -> Vec<u8> {
    let variant = Variant::V7;
    let mut talk = Talk::join(variant);
    let (tick, mut items) = talk.play(100, 3);
    items.insert((23, 0), vec![4711]);
    let next = tick + 2;
    talk.snap(&Snap::complete(variant, next, &items));
    talk.wait(20);
    talk.input(next);
    let mut later = items.clone();
    later.insert((23, 0), if fault { vec![4711, 99] } else { vec![4712] });
    let size = |kind| has_size(variant, kind);
    let snap = Snap {
        tick: next + 2,
        base: next,
        crc: sum(&later),
        data: difference(&items, &later, size),
    };
    talk.snap(&snap);
    talk.wait(20);
    talk.input(if fault { next } else { next + 2 });
    talk.file()
}

/// Pickups of 0.6 sent to a client of 0.7: with one int more than both sides agreed on.
pub(super) fn pickup_size(fault: bool) -> Vec<u8> {
    let variant = Variant::V7;
    let mut talk = Talk::join(variant);
    for number in 0..4 {
        let tick = 100 + 10 * number;
        let mut items = world(variant, tick, 1584 + 7 * number);
        if fault {
            let pickups = items.iter_mut().filter(|((kind, _), _)| *kind == 4);
            pickups.for_each(|(_, ints)| ints.push(0));
        }
        talk.snap(&Snap::complete(variant, tick, &items));
        talk.wait(190);
        if !fault {
            talk.input(tick);
        }
    }
    talk.file()
}

/// A snapshot that is sent twice.
pub(super) fn snapshot_twice(fault: bool) -> Vec<u8> {
    let variant = Variant::Ddnet;
    let mut talk = Talk::join(variant);
    let (tick, items) = talk.play(100, 3);
    let moved = world(variant, tick + 2, 1700);
    let snap = Snap::new(variant, tick + 2, (tick, &items), &moved);
    talk.snap(&snap);
    if fault {
        talk.snap(&snap);
    }
    talk.wait(20);
    talk.input(tick + 2);
    talk.snap(&Snap::new(
        variant,
        tick + 4,
        (tick + 2, &moved),
        &world(variant, tick + 4, 1707),
    ));
    talk.file()
}

/// A client that treats empty snapshots as invalid.
pub(super) fn empty_ignored(fault: bool) -> Vec<u8> {
    let variant = Variant::Ddnet;
    let mut talk = Talk::join(variant);
    let (mut tick, mut items) = talk.play(100, 2);
    // The player stands, walks a step, and stands again.
    for step in 1..5 {
        let base = tick;
        for _ in 0..8 {
            tick += 2;
            talk.send(Role::Server, &[empty(variant, tick, base)]);
            talk.wait(10);
            talk.input(if fault { base } else { tick });
            talk.wait(10);
        }
        let moved = world(variant, tick + 2, 1600 + 7 * step);
        let known = if fault { base } else { tick };
        talk.snap(&Snap::new(variant, tick + 2, (known, &items), &moved));
        talk.wait(10);
        talk.input(tick + 2);
        talk.wait(10);
        (tick, items) = (tick + 2, moved);
    }
    talk.file()
}

/// A crowded map: a snapshot has room for 1024 items, and the items added last are missing.
pub(super) fn full_snapshot(fault: bool) -> Vec<u8> {
    let variant = Variant::V7;
    let mut talk = Talk::join(variant);
    let mut items = world(variant, 100, 1584);
    let wanted = if fault { 1100 } else { 300 };
    for id in 0..wanted {
        // Pickups in rows, as in a map with shields on every tile.
        items.insert((4, 10 + id), vec![16 + 32 * (id % 50), 16 + 32 * (id / 50), 1]);
    }
    // A full builder accepts no more items: the player is added last.
    let player = items.split_off(&(6, 0));
    let mut sent = items;
    for (key, ints) in player {
        if sent.len() < 1024 {
            sent.insert(key, ints);
        }
    }
    let sent: Items = sent.into_iter().take(1024).collect();
    talk.snap(&Snap::complete(variant, 100, &sent));
    talk.wait(190);
    talk.input(100);
    talk.send(Role::Server, &[empty(variant, 110, 100)]);
    talk.file()
}
