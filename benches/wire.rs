//! The cost of the wire code alone: Huffman, packed ints, headers and chunks, on a medium snapshot; definitions; snapshots.
//!
//! Throughput is in clear bytes: 1000 MB/s are 1 ns per byte.
//!
//!     cargo bench -p teetap-bench

#[path = "src/message.rs"]
mod message;

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use teetap_kit::codec::{Head, Packing, Variant, put_chunk, seal};
use teetap_kit::huffman::Ending;
use teetap_kit::link::Random;
use teetap_wire::def::{Class, Datum, Decoded, Registry, Secrets, Source};
use teetap_wire::snap::{Counts, Delta, Fate, ItemKey, Sizes, Snapshot, Store};
use teetap_wire::{
    Dir, Packet, Proto, Rewrite, Scratch, Seq, Token, Trailing, compress, decompress, rewrite, varint,
};

/// Size in bytes of a medium snapshot.
const MEDIUM: usize = 318;
const OLD: [u8; 4] = [1, 2, 3, 4];
const NEW: Token = Token([0x9a, 0xbc, 0xde, 0xf0]);

fn snapshot() -> Vec<u8> {
    message::snapshot(17, 2_000_000, MEDIUM, &mut Random::new(3))
}

/// Returns datagrams with one message each, in each dialect and packing.
fn datagrams(message: &[u8]) -> Vec<(String, Proto, Vec<u8>)> {
    let dialects = [
        (Variant::V7, Proto::V7, "0.7"),
        (Variant::Ddnet, Proto::Ddnet, "ddnet"),
    ];
    let packings = [
        (Packing::Clear, "clear"),
        (Packing::Always(Ending::Padded), "compressed"),
    ];
    let mut all = Vec::new();
    for (variant, proto, dialect) in dialects {
        for (packing, packed) in packings {
            let mut payload = Vec::new();
            put_chunk(&mut payload, variant, None, false, message);
            let mut head = Head::new(variant, 5, Some(OLD));
            head.num_chunks = 1;
            all.push((
                format!("{dialect} {packed}"),
                proto,
                seal(&head, &payload, packing),
            ));
        }
    }
    all
}

fn huffman(criterion: &mut Criterion) {
    let clear = snapshot();
    let mut packed = Vec::new();
    compress(&clear, Trailing::Always, &mut packed);
    let mut group = criterion.benchmark_group("huffman");
    group.throughput(Throughput::BytesDecimal(clear.len() as u64));
    group.bench_function(format!("decompress a snapshot of {}", clear.len()), |bencher| {
        let mut out = [0; 1400];
        bencher.iter(|| decompress(black_box(&packed), &mut out));
    });
    group.bench_function(format!("compress a snapshot of {}", clear.len()), |bencher| {
        let mut out = Vec::with_capacity(1400);
        bencher.iter(|| {
            out.clear();
            compress(black_box(&clear), Trailing::Always, &mut out);
        });
    });
    group.finish();
}

fn ints(criterion: &mut Criterion) {
    let bytes = snapshot();
    let mut values = Vec::new();
    let mut rest = bytes.as_slice();
    while let Some(int) = varint::decode(rest) {
        values.push(int.value);
        rest = rest.get(int.len..).unwrap_or_default();
    }
    let mut group = criterion.benchmark_group("ints");
    group.throughput(Throughput::Elements(values.len() as u64));
    group.bench_function(format!("decode a snapshot of {}", bytes.len()), |bencher| {
        bencher.iter(|| {
            let mut rest = black_box(bytes.as_slice());
            let mut sum = 0i32;
            while let Some(int) = varint::decode(rest) {
                sum = sum.wrapping_add(int.value);
                rest = rest.get(int.len..).unwrap_or_default();
            }
            sum
        });
    });
    group.bench_function(format!("encode a snapshot of {}", bytes.len()), |bencher| {
        let mut out = Vec::with_capacity(1400);
        bencher.iter(|| {
            out.clear();
            for value in black_box(&values) {
                varint::encode(*value, &mut out);
            }
        });
    });
    group.finish();
}

fn packets(criterion: &mut Criterion) {
    let mut all = datagrams(&snapshot());
    let input = message::input(41, 2_000_000, &mut Random::new(3));
    all.extend(
        datagrams(&input)
            .into_iter()
            .map(|(name, proto, bytes)| (format!("{name} input"), proto, bytes)),
    );
    let mut group = criterion.benchmark_group("packet");
    for (name, proto, bytes) in &all {
        group.bench_function(format!("parse and walk, {name}"), |bencher| {
            let mut scratch = Scratch::new();
            bencher.iter(|| {
                let packet = Packet::parse(*proto, black_box(bytes), &mut scratch);
                packet.map(|packet| packet.chunks().count())
            });
        });
        group.bench_function(format!("parse and rewrite, {name}"), |bencher| {
            let mut scratch = Scratch::new();
            let mut out = Vec::with_capacity(1400);
            bencher.iter(|| {
                let packet = Packet::parse(*proto, black_box(bytes), &mut scratch);
                let with = Rewrite {
                    token: Some(NEW),
                    ack: Seq::new(6),
                    resend: false,
                    usual: Trailing::Always,
                };
                packet.map(|packet| rewrite(&packet, bytes, with, &mut out))
            });
        });
    }
    group.finish();
}

/// Measures the decoding of 0.7 messages into records that are reused.
fn definitions(criterion: &mut Criterion) {
    let registry = Registry::builtin();
    let mut chat = vec![6, 1, 3, 0x40];
    chat.extend_from_slice(b"capitalism.\0");
    let tick = 2_000_000;
    let player = [
        ("direction", -1),
        ("target_x", 212),
        ("target_y", -90),
        ("fire", 7),
        ("player_flags", 1),
    ];
    let player = Datum::group(player.map(|(name, value)| (name, value.into())));
    let values = [
        ("ack_snapshot", tick.into()),
        ("intended_tick", (tick + 3).into()),
        ("input", player),
    ];
    let mut input = Vec::new();
    if let Some(def) = registry.named(Proto::V7, Some(Class::System), "input").next() {
        let written = def.encode(&Datum::group(values), &mut input);
        assert_eq!(written, Ok(()), "an input of 0.7");
    }
    let messages = [
        ("input", Dir::C2s, input),
        ("snap_single", Dir::S2c, snapshot()),
        ("sv_chat", Dir::S2c, chat),
    ];
    let mut group = criterion.benchmark_group("definitions");
    group.bench_function("parse all of them", |bencher| {
        bencher.iter(|| Registry::load(&[]))
    });
    for (name, dir, data) in &messages {
        let mut decoded = Decoded::new();
        let def = decoded.message(registry, Proto::V7, *dir, data);
        assert_eq!(
            def.map(|def| &*def.name),
            Some(*name),
            "the bench reads what it says"
        );
        group.bench_function(format!("decode {name}"), |bencher| {
            bencher.iter(|| {
                decoded
                    .message(registry, Proto::V7, *dir, black_box(data))
                    .is_some()
            });
        });
        let Some(def) = def else { continue };
        group.bench_function(format!("json of {name}"), |bencher| {
            let mut out = String::new();
            bencher.iter(|| {
                out.clear();
                decoded
                    .view()
                    .json(def, Source::Bytes(data), Secrets::Hide, &mut out);
            });
        });
    }
    let chat = registry.named(Proto::V7, Some(Class::Game), "sv_chat").next();
    if let (Some(chat), [.., (_, dir, data)]) = (chat, &messages)
        && let Ok(path) = chat.path("message")
    {
        let (mut decoded, mut out, value) = (Decoded::new(), Vec::new(), Datum::from("free software."));
        decoded.message(registry, Proto::V7, *dir, data);
        group.bench_function("splice sv_chat.message", |bencher| {
            bencher.iter(|| decoded.splice(chat, black_box(data), &path, &value, &mut out));
        });
    }
    group.finish();
}

/// Returns two states of a world with 16 players and some pickups, between which most players have moved.
fn worlds() -> [Snapshot; 2] {
    let mut random = Random::new(3);
    let [mut now, mut then] = [Snapshot::new(), Snapshot::new()];
    for id in 0..16 {
        let mut character = [0; 22];
        character.fill_with(|| i32::from_le_bytes(random.token()) >> 20);
        let items: [(u16, &[i32]); 3] = [(4, &[100, 200, 1]), (10, &character), (11, &[0, 3, 40])];
        for (kind, ints) in items {
            for world in [&mut now, &mut then] {
                assert_eq!(
                    world.insert(ItemKey { kind, id }, ints),
                    Ok(()),
                    "room for an item"
                );
            }
        }
        for (place, int) in then
            .get_mut(ItemKey { kind: 10, id })
            .into_iter()
            .flatten()
            .enumerate()
        {
            *int += if id < 13 {
                message::difference(place, &mut random)
            } else {
                0
            };
        }
    }
    [now, then]
}

/// Returns a thousand messages of 0.7 with snapshots, each as a delta to the previous one.
fn messages(worlds: &[Snapshot; 2], sizes: &Sizes) -> Vec<Vec<u8>> {
    let mut named = Registry::builtin().named(Proto::V7, Some(Class::System), "snap_single");
    let Some(single) = named.next() else {
        return Vec::new();
    };
    let message = |tick: i32, before: &Snapshot, after: &Snapshot, base: i32| {
        let (mut data, mut message) = (Vec::new(), Vec::new());
        let counts = after.delta(before, sizes, &mut data);
        let len = i64::try_from(data.len()).unwrap_or(0);
        let ints = [("tick", tick), ("delta_tick", tick - base), ("crc", after.crc())];
        let ints = ints.map(|(name, value)| (name, Datum::from(i64::from(value))));
        let rest = [("part_size", len.into()), ("data", Datum::Bytes(data))];
        let written = single.encode(&Datum::group(ints.into_iter().chain(rest)), &mut message);
        assert!(counts.is_ok() && written.is_ok(), "a snapshot");
        message
    };
    // A complete world does not fit into one part, so items are added step by step.
    let mut before = Snapshot::new();
    (0..1000)
        .map(|at| {
            let [now, then] = worlds;
            let mut after = if at % 2 == 0 { now } else { then }.clone();
            let late: Vec<ItemKey> = after
                .items()
                .map(|(key, _)| key)
                .filter(|key| i32::from(key.id) > 4 * at)
                .collect();
            late.into_iter().for_each(|key| assert!(after.remove(key)));
            let base = if at == 0 { -1 } else { 2 * at - 2 };
            let message = message(2 * at, &before, &after, base);
            before = after;
            message
        })
        .collect()
}

/// Measures the reading, writing and following of medium-sized snapshots.
fn snapshots(criterion: &mut Criterion) {
    let registry = Registry::builtin();
    let sizes = Sizes::new(registry, Proto::V7);
    let worlds = worlds();
    let mut delta = Vec::new();
    let counts = worlds[1].delta(&worlds[0], &sizes, &mut delta);
    assert_eq!(counts.map(|counts| counts.changed), Ok(13), "what moved");
    let mut group = criterion.benchmark_group("snapshots");
    let items = worlds[0].len();
    group.bench_function(
        format!("read and apply a delta of {} to {items} items", delta.len()),
        |bencher| {
            let (mut buffer, mut out, mut counts) = (Delta::new(), Snapshot::new(), Counts::default());
            bencher.iter(|| {
                let read = buffer.read(&sizes, black_box(&delta));
                read.and(buffer.apply(&worlds[0], &mut out, &mut counts))
            });
        },
    );
    group.bench_function(format!("write a delta of {}", delta.len()), |bencher| {
        let mut out = Vec::with_capacity(1400);
        bencher.iter(|| {
            out.clear();
            worlds[1].delta(black_box(&worlds[0]), &sizes, &mut out)
        });
    });
    let messages = messages(&worlds, &sizes);
    group.bench_function("decode and follow a message", |bencher| {
        let (mut store, mut decoded) = (Store::new(registry, Proto::V7), Decoded::new());
        let mut next = messages.iter();
        bencher.iter(|| {
            if next.as_slice().is_empty() {
                store = Store::new(registry, Proto::V7);
                next = messages.iter();
            }
            let Some(data) = next.next() else { return };
            let def = decoded.message(registry, Proto::V7, Dir::S2c, black_box(data));
            let done = def.and_then(|def| store.on_message(Dir::S2c, def, &decoded, data));
            assert!(done.is_some_and(|done| done.fate == Fate::Kept), "a snapshot");
        });
    });
    group.finish();
}

criterion_group!(benches, huffman, ints, packets, definitions, snapshots);
criterion_main!(benches);
