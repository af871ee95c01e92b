//! Recorded snapshots, and helpers for tests of snapshots.

mod doctor;
mod ids;
mod late;
mod odd;
mod properties;
mod recode;
mod same;
mod store;

use super::*;
use crate::def::{Class, Datum, Decoded, Registry};
use crate::note::Notes;
use crate::testing::hex;
use crate::{Dir, Proto};

fn registry() -> &'static Registry {
    Registry::builtin()
}

fn sizes(proto: Proto) -> Sizes {
    Sizes::new(registry(), proto)
}

fn key(kind: u16, id: u16) -> ItemKey {
    ItemKey { kind, id }
}

fn snapshot(items: &[(u16, u16, &[i32])]) -> Snapshot {
    let mut snapshot = Snapshot::new();
    for (kind, id, ints) in items {
        snapshot.insert(key(*kind, *id), ints).unwrap();
    }
    snapshot
}

fn packed(ints: &[i32]) -> Vec<u8> {
    let mut data = Vec::new();
    ints.iter().for_each(|int| crate::varint::encode(*int, &mut data));
    data
}

fn codes(notes: &Notes) -> Vec<&'static str> {
    notes.iter().map(|note| note.code.name()).collect()
}

/// A session whose messages are given by name.
struct Session {
    store: Store<'static>,
    proto: Proto,
    decoded: Decoded,
    data: Vec<u8>,
}

impl Session {
    fn new(proto: Proto) -> Self {
        Self {
            store: Store::new(registry(), proto),
            proto,
            decoded: Decoded::new(),
            data: Vec::new(),
        }
    }

    fn receive(&mut self, dir: Dir, data: &[u8]) -> Option<Completed<'_>> {
        self.data = data.to_vec();
        let def = self.decoded.message(registry(), self.proto, dir, &self.data)?;
        self.store.on_message(dir, def, &self.decoded, &self.data)
    }

    /// Returns a message of the engine; only messages with parts of a snapshot have data.
    fn message(&self, name: &str, fields: &[(&str, i32)], data: &[u8]) -> Vec<u8> {
        let named = registry().named(self.proto, Some(Class::System), name).next();
        let has_data = name.starts_with("snap") && name != "snap_empty";
        let data = has_data.then(|| ("data", Datum::Bytes(data.to_vec())));
        let fields = fields.iter().map(|(name, value)| (*name, (*value).into()));
        let (values, mut message) = (Datum::group(fields.chain(data)), Vec::new());
        named.unwrap().encode(&values, &mut message).unwrap();
        message
    }

    fn send(&mut self, dir: Dir, name: &str, fields: &[(&str, i32)], data: &[u8]) -> Option<Completed<'_>> {
        let message = self.message(name, fields, data);
        self.receive(dir, &message)
    }

    /// Sends a snapshot in one part, as a difference to `base` of the tick `base_tick`.
    fn single(&mut self, tick: i32, base_tick: i32, base: &Snapshot, to: &Snapshot) -> Option<Completed<'_>> {
        let mut data = Vec::new();
        to.delta(base, &sizes(self.proto), &mut data).unwrap();
        let size = i32::try_from(data.len()).unwrap();
        let fields = [
            ("tick", tick),
            ("delta_tick", tick - base_tick),
            ("crc", to.crc()),
            ("part_size", size),
        ];
        self.send(Dir::S2c, "snap_single", &fields, &data)
    }

    fn complete(&mut self, tick: i32, to: &Snapshot) -> Fate {
        self.single(tick, -1, &Snapshot::new(), to).unwrap().fate
    }

    fn notes(&self) -> Vec<&'static str> {
        codes(self.store.notes())
    }
}

#[test]
fn a_client_that_acks_no_snapshot_is_noted() {
    for proto in Proto::ALL {
        let play = |crc: i32, ack: fn(i32) -> i32| {
            let mut session = Session::new(proto);
            let (mut noted, mut data) = (Vec::new(), Vec::new());
            let world = snapshot(&[(5, 1, &[10, 20, 0])]);
            world.delta(&Snapshot::new(), &sizes(proto), &mut data).unwrap();
            for tick in (1000..1400).step_by(10) {
                let fields = [
                    ("tick", tick),
                    ("delta_tick", tick + 1),
                    ("crc", world.crc() + crc),
                    ("part_size", i32::try_from(data.len()).unwrap()),
                ];
                session.send(Dir::S2c, "snap_single", &fields, &data);
                session.send(Dir::C2s, "input", &[("ack_snapshot", ack(tick))], &[]);
                if session.notes().contains(&"snap-unacked") {
                    noted.push(tick);
                }
            }
            noted
        };
        assert_eq!(play(0, |_| -1), [1240], "{proto}");
        assert_eq!(play(0, |tick| tick + 1), [1240], "{proto}");
        assert_eq!(play(0, |tick| tick), [], "{proto}");
        // The client can read none.
        assert_eq!(play(1, |_| -1), [], "{proto}");
    }
}

#[test]
fn a_client_whose_inputs_are_for_ticks_of_the_past_is_noted() {
    for proto in Proto::ALL {
        let play = |left: i32, ahead: i32, ack: fn(i32) -> i32| {
            let mut session = Session::new(proto);
            let mut noted = Vec::new();
            for tick in (1000..1400).step_by(4) {
                let empty = [("tick", tick), ("delta_tick", tick + 1)];
                session.send(Dir::S2c, "snap_empty", &empty, &[]);
                let intended = tick + ahead;
                let input = [("ack_snapshot", ack(tick)), ("intended_tick", intended)];
                session.send(Dir::C2s, "input", &input, &[]);
                if session.notes().contains(&"input-late") {
                    noted.push(tick);
                }
                let timing = [("input_pred_tick", intended), ("time_left", left)];
                session.send(Dir::S2c, "input_timing", &timing, &[]);
            }
            noted
        };
        assert_eq!(play(-400, -20, |tick| tick), [1152], "{proto}");
        assert_eq!(play(-20, 0, |tick| tick), [1152], "{proto}");
        assert_eq!(play(-400, -2000, |_| -1), [1096], "{proto}");
        assert_eq!(play(100, 5, |tick| tick), [], "{proto}");
        assert_eq!(play(-5, 1, |tick| tick), [], "{proto}");
        // The tick that it acks was not sent.
        assert_eq!(play(-400, 1, |tick| tick + 1), [], "{proto}");
    }
}

/// Snapshots of a 0.7 session: the world; two more items and one deleted; three deleted.
const SEVEN: [&str; 3] = [
    "11a6a708a7a708baa31297020012000400b00fb001050403b01c9005010405b01cb006010406b01ab009030407900e900a0004089011\
     900a000409b013900a00040bb00db00c00040c900d900d00040db00d900d01040e900e900d00040fb01c900d010410b00db00d000411\
     b01c900e010412901bb01002060097e90501000a0095a708b018b104008002000000400000b018b00400000a000a010000000b000900\
     00",
    "1190a8082aa1fc09190103008080500b000040001401b018b105001500b018b10510",
    "1192a8082c8fbf090b0101008080500b00004000",
];

#[test]
fn a_recorded_session_of_seven() {
    let mut session = Session::new(Proto::V7);
    let [world, died, after] = SEVEN.map(hex);
    let done = session.receive(Dir::S2c, &world).unwrap();
    assert_eq!(done.to_string(), "tick 68070 complete, 18 items, crc ok");
    assert_eq!(
        (done.base, done.parts, done.fate, done.data_at),
        (None, 1, Fate::Kept, Some(12))
    );
    assert!(
        done.items()
            .all(|item| item.change == Change::New && item.def.is_some())
    );
    let character = done.snapshot().get(key(10, 0)).unwrap();
    assert_eq!((character[0], character[1], character[2]), (68053, 1584, 305));

    let done = session.receive(Dir::S2c, &died).unwrap();
    assert_eq!(
        done.to_string(),
        "tick 68112 base 68070, 19 items, 2 new, 1 changed, 1 deleted, crc ok"
    );
    let changes = done.items().filter(|item| item.change != Change::Same);
    let found: Vec<_> = changes
        .map(|item| {
            let name = item.name().unwrap();
            match item.change {
                Change::Changed(_) => {
                    let (at, before, after) = item.differences().next().unwrap();
                    format!("{name} {}: {at} {before} -> {after}", item.key.id)
                }
                change => format!("{name} {}: {change:?} {:?}", item.key.id, item.ints),
            }
        })
        .collect();
    let expected = [
        "character 0: Deleted [68053, 1584, 305, 0, 128, 0, 0, 0, -1, 0, 0, 1584, 304, 0, 0, 10, 0, 10, 1, 0, 0, 0]",
        "player_info 0: 1 0 -> -1",
        "death 1: New [1584, 369, 0]",
        "sound_world 0: New [1584, 369, 16]",
    ];
    assert_eq!(found.len(), expected.len());
    let done = session.receive(Dir::S2c, &after).unwrap();
    assert_eq!(
        done.to_string(),
        "tick 68114 base 68070, 17 items, 1 changed, 1 deleted, crc ok"
    );
    assert_eq!(found, expected);
}

/// Snapshots of a DDNet 16.4 session: types without their UUIDs; with them; one more event.
const DDNET: [&str; 3] = [
    "0f0a0b8ee0a59b089d0400160006000000000000000001bfff030003b3b0bfec010880010b00ddc8f89002fffddb8002fffdfbf70ffff\
     ffbf70ffffdfbf70ffffdfbf70ffffffbf70f40c6e8e88003ff9d809103fffdfbf70ffffdfbf70ffffdfbf70ffffffbf70f01b7f9ee09\
     bfff070a00010000ce9c0100beff030002010009000ab018b404008006d1060000400000b018b2040000000a0a00010500bdff03000a8\
     080060002000000000000400412901bb01002030411b01c900e01000410b00db00d0000040fb01c900d0100040e900e900d0000040db0\
     0d900d0100040c900d900d0000040bb00db00c00000409b013900a000004089011900a00000407900e900a00000406b01ab0090202040\
     5b01cb00601000403b01c900501000400b00fb0010305",
    "0f1415e6b2f9a50ba70500190000bfff0304d5d690cc0dd5bcb6d804cfd483e70a85a5cde80600beff03048dced4ac04abf881b802eab\
     6a1980cee87ca950e00bdff03049b95f2ec0ef796a661f4fec0a20ae3ee97be0d06000000000000000001bfff030003b3b0bfec010880\
     010b00ddc8f89002fffddb8002fffdfbf70ffffffbf70ffffdfbf70ffffdfbf70ffffffbf70f40c6e8e88003ff9d809103fffdfbf70ff\
     ffdfbf70ffffdfbf70ffffffbf70f01b7f9ee09bfff070a00010000ce9c0100beff0300020100090014b0189e0500801ad10600004000\
     00b01898050000000a0a00010500bdff03000a8080060002000000000000400412901bb01002030411b01c900e01000410b00db00d000\
     0040fb01c900d0100040e900e900d0000040db00d900d0100040c900d900d0000040bb00db00c00000409b013900a000004089011900a\
     00000407900e900a00000406b01ab00902020405b01cb00601000403b01c900501000400b00fb0010305",
    "0f1602ef8ff9a50b2a000300beff0300024000090002000f008004000000000000000d0000010000004044001300b018a5050a",
];

#[test]
fn a_recorded_session_of_ddnet() {
    let mut session = Session::new(Proto::Ddnet);
    let [first, second, third] = DDNET.map(hex);
    let done = session.receive(Dir::S2c, &first).unwrap();
    assert_eq!(done.to_string(), "tick 10 complete, 22 items, crc ok");
    assert_eq!(codes(done.data_notes), ["snap-undeclared"; 3]);
    let unknown = done.items().filter(|item| item.def.is_none());
    assert_eq!(
        unknown.map(|item| item.key.kind).collect::<Vec<_>>(),
        [0x7ffd, 0x7ffe, 0x7fff]
    );

    let done = session.receive(Dir::S2c, &second).unwrap();
    assert_eq!(
        (done.to_string(), done.data_notes.len()),
        ("tick 20 complete, 25 items, crc ok".into(), 0)
    );
    let mut names: Vec<_> = done.items().map(|item| item.name().unwrap()).collect();
    names.dedup();
    let expected = [
        "ex_uuid_type",
        "pickup",
        "game_info",
        "character",
        "player_info",
        "client_info",
    ];
    let extended = ["ddnet_character", "ddnet_player", "game_info_ex"];
    assert_eq!(names, [&expected[..], &extended].concat());

    let done = session.receive(Dir::S2c, &third).unwrap();
    assert_eq!(
        done.to_string(),
        "tick 22 base 20, 26 items, 1 new, 2 changed, crc ok"
    );
    let (mut now, mut then, mut found) = (Decoded::new(), Decoded::new(), Vec::new());
    for item in done
        .items()
        .filter(|item| matches!(item.change, Change::Changed(_)))
    {
        let def = item.read(&mut now).unwrap();
        assert_eq!(item.read_before(&mut then).map(|def| &def.name), Some(&def.name));
        for (new, old) in now.records().iter().zip(then.records()) {
            assert_eq!(item.before(new).is_some(), new.value != old.value);
            if item.before(new).is_some() {
                let field = &def.field(new.field).unwrap().name;
                let [old, new] = [old, new].map(|record| record.int().unwrap());
                found.push(format!("{} {} {field} {old} -> {new}", def.name, item.key.id));
            }
        }
    }
    let expected = [
        "character 0 tick 20 -> 22",
        "character 0 y 350 -> 365",
        "character 0 vel_y 1664 -> 1920",
        "character 0 hook_y 344 -> 357",
        "character 0 player_flags 0 -> 1",
        "character 0 weapon 1 -> 0",
        "character 0 emote 5 -> 0",
        "ddnet_player 0 flags 1 -> 0",
    ];
    assert_eq!(found, expected);
    // A copy of the snapshot, and an older snapshot.
    assert_eq!(session.receive(Dir::S2c, &third).unwrap().fate, Fate::Again);
    assert_eq!(session.notes(), ["snap-again"]);
}
