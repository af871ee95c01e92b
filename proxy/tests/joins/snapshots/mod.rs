//! Snapshots under rules: a server that sends them, and a client that reads them without knowing about the
//! rules.

mod changes;
mod parts;

use std::collections::BTreeMap;

use teetap_wire::{
    Dir, Proto,
    def::{Datum, Decoded},
    snap::{Fate, ItemKey, PART, Sizes, Snapshot, Store},
};

use crate::bench::Bench;
use crate::facts::{message, proto, registry};

/// A server with the snapshots that it sent, and a client that reads the snapshots that it received.
struct Game<'b> {
    bench: &'b mut Bench,
    client: Store<'static>,
    worlds: BTreeMap<i32, Snapshot>,
}

/// A snapshot that the client has read.
#[derive(Debug, PartialEq, Eq)]
struct Got {
    tick: i32,
    snapshot: Snapshot,
}

/// Returns the type of tees.
fn tee(proto: Proto) -> u16 {
    if proto == Proto::V7 { 10 } else { 9 }
}

/// Returns a snapshot with two tees at places that depend on the tick, an item of a type with a UUID, and
/// `more` other items.
fn world(proto: Proto, tick: i32, more: u16) -> Snapshot {
    let mut world = Snapshot::new();
    let mut insert = |kind, id, ints: &[i32]| world.insert(ItemKey { kind, id }, ints).unwrap();
    for id in [3, 4] {
        let mut ints = [7; 22];
        (ints[0], ints[1]) = (tick, 1000 * i32::from(id) + tick / 3);
        insert(tee(proto), id, &ints);
    }
    // `spec_char`
    let uuid: [i32; 4] = [0x4b80_1c74_u32, 0xe24c_3ce0, 0xb92c_b754, 0xd02c_fc8a].map(u32::cast_signed);
    insert(0, 0x7fff, &uuid);
    insert(0x7fff, 0, &[tick, 5]);
    for id in 0..more {
        insert(3, id, &[i32::MAX - i32::from(id) * tick; 5]);
    }
    world
}

/// Returns the snapshot with some tees moved.
fn with_x(mut world: Snapshot, proto: Proto, change: impl Fn(u16, i32) -> i32) -> Snapshot {
    for id in [3, 4] {
        let key = ItemKey { kind: tee(proto), id };
        let x = &mut world.get_mut(key).unwrap()[1];
        *x = change(id, *x);
    }
    world
}

impl<'b> Game<'b> {
    fn new(bench: &'b mut Bench) -> Self {
        let client = Store::new(registry(), proto(bench));
        Self {
            bench,
            client,
            worlds: BTreeMap::new(),
        }
    }

    fn proto(&self) -> Proto {
        proto(self.bench)
    }

    /// Returns the messages with the world at a tick, as the difference to the world at tick `base`.
    fn messages(&mut self, tick: i32, base: i32, world: &Snapshot) -> Vec<String> {
        let nothing = Snapshot::new();
        let from = self.worlds.get(&base).unwrap_or(&nothing);
        let sizes = Sizes::new(registry(), self.proto());
        let mut data = Vec::new();
        world.delta(from, &sizes, &mut data).unwrap();
        self.worlds.insert(tick, world.clone());
        let head = vec![("tick", Datum::from(tick)), ("delta_tick", (tick - base).into())];
        let part = |part: &[u8]| {
            let crc = ("crc", Datum::from(world.crc()));
            let data = ("data", Datum::Bytes(part.to_vec()));
            head.iter().cloned().chain([crc, data]).collect::<Vec<_>>()
        };
        let message = |name, fields: &[(&str, Datum)]| format!("-{}", message(self.bench, name, fields));
        match data.len() {
            0 => vec![message("snap_empty", &head)],
            1..=PART => vec![message("snap_single", &part(&data))],
            len => {
                let count = i64::try_from(len.div_ceil(PART)).unwrap();
                let of = |(at, bytes): (i64, &[u8])| {
                    let mut fields = part(bytes);
                    fields.extend([("num_parts", count.into()), ("part", at.into())]);
                    message("snap", &fields)
                };
                (0..).zip(data.chunks(PART)).map(of).collect()
            }
        }
    }

    /// Sends messages of the server, each in a datagram of its own. Returns the lines that are sent for them.
    fn send(&mut self, messages: &[String]) -> Vec<String> {
        let lines = messages.iter().map(|message| format!("S a1 {message}"));
        lines.flat_map(|line| self.bench.send(&line)).collect()
    }

    /// Lets the client read lines. Returns its new snapshots; fails if it cannot read one.
    fn reads(&mut self, lines: &[String]) -> Vec<Got> {
        let (kind, proto) = (self.bench.kind, self.proto());
        let mut got = Vec::new();
        for chunk in lines.iter().flat_map(|line| line.split(' ')) {
            let Some(data) = bytes(chunk) else {
                continue;
            };
            let mut decoded = Decoded::new();
            let def = decoded.message(registry(), proto, Dir::S2c, &data).unwrap();
            if let Some(done) = self.client.on_message(Dir::S2c, def, &decoded, &data) {
                let is_readable = matches!(done.fate, Fate::Kept | Fate::Late | Fate::Again);
                assert!(is_readable, "{kind:?}: {done}");
                if done.fate == Fate::Kept {
                    got.push(Got {
                        tick: done.tick,
                        snapshot: done.snapshot().clone(),
                    });
                }
            }
        }
        got
    }

    /// Sends the world of a tick from the server. Returns the snapshots that the client reads.
    fn play(&mut self, tick: i32, base: i32, more: u16) -> Vec<Got> {
        let world = world(self.proto(), tick, more);
        let messages = self.messages(tick, base, &world);
        let lines = self.send(&messages);
        self.reads(&lines)
    }

    /// Checks that the client reads the world of this tick with some tees moved.
    #[track_caller]
    fn is(&mut self, (tick, base, more): (i32, i32, u16), change: impl Fn(u16, i32) -> i32) {
        let snapshot = with_x(world(self.proto(), tick, more), self.proto(), change);
        let kind = self.bench.kind;
        assert_eq!(self.play(tick, base, more), [Got { tick, snapshot }], "{kind:?}");
    }

    /// Checks that the messages of this tick are forwarded byte for byte.
    #[track_caller]
    fn passes(&mut self, tick: i32, base: i32, more: u16) {
        let world = world(self.proto(), tick, more);
        let messages = self.messages(tick, base, &world);
        let lines: Vec<String> = messages.iter().map(|message| format!("C a1 {message}")).collect();
        assert_eq!(self.send(&messages), lines, "{:?}", self.bench.kind);
        self.reads(&lines);
    }
}

/// Returns the number of snapshot messages in lines.
fn chunks(lines: &[String]) -> usize {
    let words = lines.iter().flat_map(|line| line.split(' '));
    words.filter(|word| word.starts_with("-:=")).count()
}

/// Returns the bytes of a snapshot message in a line; `None` for other words.
fn bytes(word: &str) -> Option<Vec<u8>> {
    let hex = word.strip_prefix("-:=")?;
    let byte = |at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap();
    Some((0..hex.len()).step_by(2).map(byte).collect())
}
