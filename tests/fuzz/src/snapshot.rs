//! Arbitrary messages that affect the snapshots of one session, checked against a second implementation of the game's
//! rules for snapshots.

use std::collections::BTreeMap;

use teetap_wire::def::{Class, Datum, Decoded, Registry};
use teetap_wire::snap::{
    Completed, Delta, DeltaError, Fate, ItemKey, MAX_ITEMS, MAX_PARTS, MAX_SIZE, PART, Sizes, Snapshot, Store,
};
use teetap_wire::{Dir, Proto, varint};

use crate::input::Input;

/// Maximum steps per input.
const MAX_STEPS: usize = 100;
/// Maximum bytes in the store: more than three snapshots of the largest size.
const LIMIT: usize = 500_000;

/// Items of a snapshot by type and id.
type Items = BTreeMap<(u16, u16), Vec<i32>>;

/// A snapshot store, and the session's state as the second implementation knows it.
struct Game {
    store: Store<'static>,
    proto: Proto,
    sizes: Sizes,
    decoded: Decoded,
    /// All snapshots that the store kept, including snapshots that it has dropped since.
    kept: BTreeMap<i32, Items>,
    /// The last data sent of each part, by tick and number of the part.
    parts: BTreeMap<(i32, usize), Vec<u8>>,
    tick: i32,
}

/// Sends the messages of a session: valid and invalid snapshots in one or several parts, acks, map changes and gaps.
pub fn snapshot(data: &[u8]) {
    let mut input = Input::new(data);
    let proto = input.proto();
    let mut game = Game {
        store: Store::new(Registry::builtin(), proto).with_limit(LIMIT),
        proto,
        sizes: Sizes::new(Registry::builtin(), proto),
        decoded: Decoded::new(),
        kept: BTreeMap::new(),
        parts: BTreeMap::new(),
        tick: 100,
    };
    for _ in 0..MAX_STEPS {
        if input.is_empty() {
            break;
        }
        game.step(&mut input);
        let (len, held) = (game.store.len(), game.store.held());
        assert!(len <= 256 && held <= LIMIT, "{len} snapshots of {held} bytes");
    }
}

impl Game {
    fn step(&mut self, input: &mut Input<'_>) {
        match input.below(10) {
            0 | 1 => {
                let (tick, base) = self.ticks(input);
                let sum = input.byte();
                let data = input.bytes();
                self.single(tick, base, sum, data);
            }
            2 | 3 => self.next(input),
            4 => self.part(input),
            5 => {
                let (tick, base) = self.ticks(input);
                self.say(Dir::S2c, "snap_empty", tick, base, &[], &[], &[]);
            }
            6 => {
                let ack = i32::from(input.byte()) - 1;
                let fields = [("ack_snapshot", ack), ("intended_tick", self.tick)];
                self.say(Dir::C2s, "input", 0, 0, &fields, &[], &[]);
            }
            7 if input.byte() & 3 == 0 => self.say(Dir::S2c, "map_change", 0, 0, &[], &[], &[]),
            7 => self.say(Dir::C2s, "enter_game", 0, 0, &[], &[], &[]),
            8 => self.store.gap(),
            _ => {
                let dir = if input.byte() & 1 == 0 { Dir::C2s } else { Dir::S2c };
                let message = input.bytes();
                self.hear(dir, message, None);
            }
        }
    }

    /// Chooses a tick, usually near the last tick, and the tick of its base, which may not exist.
    fn ticks(&mut self, input: &mut Input<'_>) -> (i32, i32) {
        let (step, base) = (input.byte(), input.byte());
        let tick = match step {
            0xff => i32::MAX,
            0xfe => i32::MIN,
            0xfd => 1,
            step => self.tick.wrapping_add(i32::from(step & 15) - 2),
        };
        self.tick = tick;
        let base = match base {
            0..0x40 => -1,
            0x40 => i32::MIN,
            base => tick.wrapping_sub(i32::from(base & 15)),
        };
        (tick, base)
    }

    fn single(&mut self, tick: i32, base: i32, sum: u8, data: &[u8]) {
        let data = &data[..data.len().min(1000)];
        let made = self.made(base, data);
        let actual = made.as_ref().map_or(0, crc);
        let crc = if sum & 3 == 0 { i32::from(sum) } else { actual };
        let size = i32::try_from(data.len()).unwrap_or(0);
        self.say(
            Dir::S2c,
            "snap_single",
            tick,
            base,
            &[("crc", crc), ("part_size", size)],
            data,
            data,
        );
    }

    /// Sends the next snapshot of a correct server.
    fn next(&mut self, input: &mut Input<'_>) {
        let base = match input.byte() & 7 {
            0 => None,
            back => self
                .store
                .newest()
                .map(|(tick, _)| tick.saturating_sub(2 * i32::from(back >> 1))),
        };
        let base = base.filter(|base| self.store.at(*base).is_some());
        let before = base
            .and_then(|base| self.store.at(base))
            .cloned()
            .unwrap_or_default();
        let mut after = before.clone();
        for _ in 0..input.below(6) {
            let key = ItemKey {
                kind: [5, 9, 10, 23, 0, 0x7fff, 0x7ffe, 64][input.below(8)],
                id: u16::from(input.byte() & 7) | if input.byte() & 7 == 0 { 0x7ff8 } else { 0 },
            };
            let value = i32::from(input.word()) << (input.byte() & 31);
            let len = self.sizes.of_kind(key.kind).unwrap_or(key.id % 5);
            match after.get_mut(key) {
                Some(ints) if value & 3 != 0 => {
                    ints.iter_mut().for_each(|int| *int = int.wrapping_add(value))
                }
                Some(_) => assert!(after.remove(key)),
                None => assert_eq!(after.insert(key, &vec![value; len.into()]), Ok(())),
            }
        }
        let mut data = Vec::new();
        let counts = after.delta(&before, &self.sizes, &mut data);
        // An item was removed and added again with another size.
        if let Err(error) = counts {
            assert!(matches!(error, DeltaError::Resized(_)), "{error}");
            return;
        }
        let tick = self
            .store
            .newest()
            .map_or(self.tick, |(tick, _)| tick)
            .saturating_add(2);
        if data.len() <= PART && tick < i32::MAX {
            self.tick = tick;
            let fields = [
                ("crc", after.crc()),
                ("part_size", i32::try_from(data.len()).unwrap_or(0)),
            ];
            self.say(
                Dir::S2c,
                "snap_single",
                tick,
                base.unwrap_or(-1),
                &fields,
                &data,
                &data,
            );
        }
    }

    fn part(&mut self, input: &mut Input<'_>) {
        let (tick, base) = self.ticks(input);
        let (parts, part) = (i32::from(input.byte() % 70), i32::from(input.byte() % 66));
        let sum = input.byte();
        let data = input.bytes();
        let data = &data[..data.len().min(PART + 1)];
        let (mut joined, mut crc) = (Vec::new(), sum.into());
        if let (Ok(part), Ok(parts)) = (usize::try_from(part), usize::try_from(parts))
            && part < parts
            && parts <= MAX_PARTS
            && data.len() <= PART
        {
            self.parts.insert((tick, part), data.to_vec());
            joined = self.joined(tick, parts);
        }
        if let Some(made) = self.made(base, &joined).filter(|_| sum & 3 != 0) {
            crc = self::crc(&made);
        }
        let size = i32::try_from(data.len()).unwrap_or(0);
        let fields = [
            ("num_parts", parts),
            ("part", part),
            ("crc", crc),
            ("part_size", size),
        ];
        self.say(Dir::S2c, "snap", tick, base, &fields, data, &joined);
    }

    /// Joins the parts of a tick, each at its offset, up to the end of the last part.
    fn joined(&self, tick: i32, parts: usize) -> Vec<u8> {
        let mut joined = vec![0; parts * PART];
        for part in 0..parts {
            let bytes = self.parts.get(&(tick, part)).map_or(&[][..], Vec::as_slice);
            joined[part * PART..][..bytes.len()].copy_from_slice(bytes);
        }
        let last = self.parts.get(&(tick, parts - 1)).map_or(0, Vec::len);
        joined.truncate((parts - 1) * PART + last);
        joined
    }

    #[expect(clippy::too_many_arguments, reason = "the fields of a message")]
    fn say(
        &mut self,
        dir: Dir,
        name: &str,
        tick: i32,
        base: i32,
        fields: &[(&str, i32)],
        data: &[u8],
        joined: &[u8],
    ) {
        let snap = name.starts_with("snap");
        let ticks = [("tick", tick), ("delta_tick", tick.wrapping_sub(base))];
        let ticks = ticks.iter().filter(|_| snap);
        let ints = ticks
            .chain(fields)
            .map(|(name, value)| (*name, Datum::Int(i64::from(*value))));
        let bytes = [("data", Datum::Bytes(data.to_vec()))].into_iter();
        let values = Datum::group(ints.chain(bytes.filter(|_| snap && name != "snap_empty")));
        let mut message = Vec::new();
        let mut named = Registry::builtin().named(self.proto, Some(Class::System), name);
        let written = named.next().map(|def| def.encode(&values, &mut message));
        assert_eq!(written, Some(Ok(())), "{name}");
        self.hear(dir, &message, Some(joined).filter(|_| snap));
    }

    /// Passes a message to the store and checks the result. `joined` is the data of the snapshot if the message
    /// completes one.
    fn hear(&mut self, dir: Dir, message: &[u8], joined: Option<&[u8]>) {
        let Some(def) = self
            .decoded
            .message(Registry::builtin(), self.proto, dir, message)
        else {
            return;
        };
        let Some(done) = self.store.on_message(dir, def, &self.decoded, message) else {
            return;
        };
        let items = looked_at(&done);
        let (tick, base, fate) = (done.tick, done.base, done.fate);
        let actual = done.crc.map(|crc| crc.actual);
        if fate == Fate::Kept {
            same_again(&done, &self.sizes);
        }
        // Late snapshots may be bases, too.
        if fate == Fate::Kept || fate == Fate::Late && self.store.at(tick).is_some() {
            self.kept.insert(tick, items.clone());
        }
        let Some(joined) = joined else { return };
        let made = self.made(base.unwrap_or(-1), joined);
        match fate {
            Fate::Kept | Fate::Late | Fate::Again => assert_eq!(made, Some(items), "{fate:?} at {tick}"),
            Fate::BadCrc => assert_ne!(actual, None),
            Fate::NoBase => assert!(base.is_some()),
            // The base may belong to a previous map, whose snapshots the store has dropped.
            Fate::Broken => assert!(made.is_none() || base.is_some()),
        }
    }

    /// Returns the items that the game builds from a delta; `None` if it discards the snapshot.
    fn made(&self, base: i32, data: &[u8]) -> Option<Items> {
        let nothing = Items::new();
        let base = if base < 0 { &nothing } else { self.kept.get(&base)? };
        game(base, data, &self.sizes)
    }
}

/// Applies a delta item by item, as the game does; `None` if the game discards the snapshot.
fn game(base: &Items, data: &[u8], sizes: &Sizes) -> Option<Items> {
    let (mut ints, mut rest) = (Vec::new(), data);
    while !rest.is_empty() {
        let Some(int) = varint::decode(rest) else { break };
        ints.push(int.value);
        rest = &rest[int.len..];
    }
    if data.is_empty() {
        ints = vec![0; 3];
    }
    let (deleted, updated) = (usize::try_from(*ints.first()?).ok()?, *ints.get(1)?);
    let mut items = base.clone();
    let mut at = 3 + deleted;
    for key in ints.get(3..at)? {
        let key = ItemKey::from_int(*key);
        items.remove(&(key.kind, key.id));
    }
    for _ in 0..updated {
        let (kind, id) = (*ints.get(at)?, *ints.get(at + 1)?);
        let (kind, id) = (
            u16::try_from(i16::try_from(kind).ok()?).ok()?,
            u16::try_from(id).ok()?,
        );
        at += 2;
        let len = match sizes.of_kind(kind) {
            Some(len) => usize::from(len),
            None => {
                at += 1;
                usize::try_from(*ints.get(at - 1)?).ok()?
            }
        };
        let mut new = ints.get(at..at.checked_add(len)?)?.to_vec();
        at += len;
        if items.get(&(kind, id)).is_some_and(|item| item.len() != len) {
            return None;
        }
        if let Some(before) = base.get(&(kind, id)) {
            if before.len() != len {
                return None;
            }
            new.iter_mut()
                .zip(before)
                .for_each(|(new, before)| *new = new.wrapping_add(*before));
        }
        items.insert((kind, id), new);
    }
    let size = items.values().map(|ints| 8 + 4 * ints.len()).sum::<usize>() + 8;
    (items.len() <= MAX_ITEMS && size <= MAX_SIZE && at <= 16_384).then_some(items)
}

fn crc(items: &Items) -> i32 {
    items
        .values()
        .flatten()
        .fold(0, |sum: i32, int| sum.wrapping_add(*int))
}

/// Reads everything that is displayed about a snapshot, and returns its items.
fn looked_at(done: &Completed<'_>) -> Items {
    let mut decoded = Decoded::new();
    let (mut items, mut found) = (Items::new(), done.to_string().len());
    let mut deleted = 0;
    for item in done.items() {
        if item.read(&mut decoded).is_some() {
            found += decoded
                .records()
                .iter()
                .filter_map(|record| item.before(record))
                .count();
        }
        found += item.differences().count() + item.name().map_or(0, str::len);
        match done.snapshot().get(item.key) {
            Some(ints) => drop(items.insert((item.key.kind, item.key.id), ints.to_vec())),
            None => deleted += 1,
        }
    }
    assert!(found > 0 && items.len() == done.snapshot().len());
    if done.fate != Fate::NoBase && done.fate != Fate::Broken {
        assert_eq!((done.counts.items, done.counts.deleted), (items.len(), deleted));
    }
    items
}

/// Checks that a snapshot written as a delta is restored by reading it.
fn same_again(done: &Completed<'_>, sizes: &Sizes) {
    let mut data = Vec::new();
    let counts = done.snapshot().delta(done.before(), sizes, &mut data);
    assert_eq!(counts, Ok(done.counts));
    let (mut delta, mut made, mut counts) = (Delta::new(), Snapshot::new(), done.counts);
    // A snapshot can contain more ints than fit into a delta.
    if delta.read(sizes, &data).is_ok() {
        assert_eq!(delta.apply(done.before(), &mut made, &mut counts), Ok(()));
        assert_eq!((&made, counts), (done.snapshot(), done.counts));
    }
}
