//! Worlds in which the sender has one known fault: the doctor names it.

#![expect(
    clippy::cast_possible_truncation,
    reason = "the numbers are small, or are cut on purpose"
)]

use std::collections::BTreeMap;

use super::*;

/// The seeds of each fault.
const SEEDS: u64 = 60;
/// The right snapshots before the fault, and the wrong ones with it.
const RIGHT: usize = 8;
const WRONG: usize = 6;

/// A small generator of numbers (splitmix64), so that a seed always gives the same world.
struct Rng(u64);

impl Rng {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn range(&mut self, low: i32, high: i32) -> i32 {
        let span = u64::try_from(high - low + 1).unwrap();
        low + i32::try_from(self.next() % span).unwrap()
    }
}

/// The numbers of the types of a variant.
struct Kinds {
    character: u16,
    info: u16,
    pickup: u16,
    pickup_ints: usize,
    projectile: u16,
}

const KINDS_7: Kinds = Kinds {
    character: 10,
    info: 11,
    pickup: 4,
    pickup_ints: 3,
    projectile: 2,
};
const KINDS_DDNET: Kinds = Kinds {
    character: 9,
    info: 10,
    pickup: 4,
    pickup_ints: 4,
    projectile: 2,
};

type Items = BTreeMap<Key, Vec<i32>>;

/// A game with players who move and shoot.
struct World {
    rng: Rng,
    proto: Proto,
    kinds: Kinds,
    tick: i32,
    items: Items,
    shots: u16,
}

impl World {
    fn new(seed: u64) -> Self {
        let mut rng = Rng(seed);
        let proto = if seed.is_multiple_of(2) {
            Proto::V7
        } else {
            Proto::Ddnet
        };
        let kinds = if proto == Proto::V7 { KINDS_7 } else { KINDS_DDNET };
        let mut items = Items::new();
        for id in 0..u16::try_from(rng.range(3, 12)).unwrap() {
            let mut ints = vec![0; 22];
            ints[0] = rng.range(900, 1000);
            (ints[1], ints[2]) = (rng.range(300, 9000), rng.range(300, 4000));
            (ints[3], ints[4], ints[5]) = (
                rng.range(-2000, 2000),
                rng.range(-2000, 2000),
                rng.range(-804, 804),
            );
            ints[8] = -1;
            (ints[11], ints[12]) = (ints[1], ints[2]);
            ints[15] = 10;
            ints[17] = rng.range(0, 10);
            ints[18] = 1;
            items.insert(key(kinds.character, id), ints);
            let size = sizes(proto).of(kinds.info).unwrap();
            let mut info: Vec<i32> = (0..size).map(|_| rng.range(0, 40)).collect();
            info[0] = i32::from(id);
            items.insert(key(kinds.info, id), info);
        }
        for id in 0..u16::try_from(rng.range(5, 30)).unwrap() {
            let mut ints = vec![rng.range(20, 9000), rng.range(20, 4000), rng.range(0, 3), 0];
            ints.truncate(kinds.pickup_ints);
            items.insert(key(kinds.pickup, id + 10), ints);
        }
        if proto == Proto::Ddnet {
            for (id, kind) in (0x7ffd..=0x7fff).enumerate() {
                let ints: Vec<i32> = (0..4).map(|_| rng.next() as i32).collect();
                items.insert(key(0, kind), ints);
                let ints: Vec<i32> = (0..4 + id).map(|_| rng.range(0, 3000)).collect();
                items.insert(key(kind, 0), ints);
            }
        }
        let mut world = Self {
            rng,
            proto,
            kinds,
            tick: 1000,
            items,
            shots: 100,
        };
        (0..3).for_each(|_| world.shoot());
        world
    }

    fn step(&mut self) {
        self.tick += 2;
        let Self {
            rng, kinds, items, ..
        } = self;
        for (key, ints) in items.iter_mut() {
            if key.kind == kinds.character && rng.range(0, 9) > 0 {
                ints[0] = self.tick;
                ints[1] += rng.range(-23, 31);
                ints[2] += rng.range(-29, 19);
                (ints[3], ints[4]) = (rng.range(-2000, 2000), rng.range(-2000, 2000));
                ints[5] = rng.range(-804, 804);
                (ints[11], ints[12]) = (ints[1] + rng.range(-300, 300), ints[2] + rng.range(-300, 300));
            } else if key.kind == kinds.info && rng.range(0, 9) == 0 {
                *ints.last_mut().unwrap() = rng.range(0, 200);
            }
        }
        if self.rng.range(0, 1) == 0 {
            let oldest = self.shots_there().first().copied();
            oldest.map(|key| self.items.remove(&key));
        }
        if self.rng.range(0, 1) == 0 {
            self.shoot();
        }
    }

    fn shoot(&mut self) {
        self.shots += 1;
        let rng = &mut self.rng;
        let ints = vec![
            rng.range(300, 9000),
            rng.range(300, 4000),
            rng.range(-200, 200),
            rng.range(-200, 200),
            rng.range(0, 5),
            self.tick,
        ];
        self.items.insert(key(self.kinds.projectile, self.shots), ints);
    }

    fn shots_there(&self) -> Vec<Key> {
        let projectile = self.kinds.projectile;
        self.items
            .keys()
            .filter(|key| key.kind == projectile)
            .copied()
            .collect()
    }

    fn pick(&mut self, kind: u16) -> Key {
        let keys: Vec<Key> = self
            .items
            .keys()
            .filter(|key| key.kind == kind)
            .copied()
            .collect();
        keys[usize::try_from(self.rng.next() % keys.len() as u64).unwrap()]
    }
}

/// A fault of the sender.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fault {
    Twice,
    NotCounted,
    NotDeleted,
    StillCounted,
    SentTwice,
    RemovedNotThere,
    DeletedAndSent,
    Absolute,
    ItemOlder,
    ItemOtherBase,
    OtherBase,
    OnlyMessage,
    SumOfBase,
    Zero,
    Keys,
    Cut,
    Descriptors,
    TypeTwice,
    Field(FieldFault),
}

/// A message of the sender: the deleted keys, the updates and the sum.
struct Sent {
    deleted: Vec<Key>,
    updates: Vec<(Key, Vec<i32>)>,
    crc: i32,
}

fn total(items: &Items) -> i32 {
    items
        .values()
        .flatten()
        .fold(0, |sum, int| sum.wrapping_add(*int))
}

fn sum(ints: &[i32]) -> i32 {
    ints.iter().fold(0, |sum, int| sum.wrapping_add(*int))
}

impl Sent {
    fn new(base: &Items, items: &Items) -> Self {
        let deleted = base
            .keys()
            .filter(|key| !items.contains_key(key))
            .copied()
            .collect();
        let changed = items.iter().filter(|(key, ints)| base.get(key) != Some(ints));
        let updates = changed.map(|(key, ints)| (*key, difference(base.get(key), ints)));
        Self {
            deleted,
            updates: updates.collect(),
            crc: total(items),
        }
    }

    fn data(&self, sizes: &Sizes) -> Vec<u8> {
        let mut ints = vec![self.deleted.len() as i32, self.updates.len() as i32, 0];
        ints.extend(self.deleted.iter().map(|key| key.to_int()));
        for (key, values) in &self.updates {
            ints.extend([i32::from(key.kind), i32::from(key.id)]);
            if sizes.of(key.kind).is_none() {
                ints.push(values.len() as i32);
            }
            ints.extend(values);
        }
        packed(&ints)
    }

    /// Returns the update of an item for changes; an item that has not changed gets one without differences.
    fn update(&mut self, key: Key, ints: usize) -> &mut Vec<i32> {
        let place = self.updates.iter().position(|(other, _)| *other == key);
        let place = place.unwrap_or_else(|| {
            self.updates.push((key, vec![0; ints]));
            self.updates.len() - 1
        });
        &mut self.updates[place].1
    }
}

fn difference(base: Option<&Vec<i32>>, ints: &[i32]) -> Vec<i32> {
    match base {
        Some(base) => ints
            .iter()
            .zip(base)
            .map(|(now, old)| now.wrapping_sub(*old))
            .collect(),
        None => ints.to_vec(),
    }
}

/// A place in the world that the fault is about, and the cause that the doctor has to name.
struct Plan {
    fault: Fault,
    key: Key,
    at: usize,
}

impl Plan {
    fn new(fault: Fault, world: &mut World) -> Self {
        let kinds = &world.kinds;
        let (character, pickup) = (kinds.character, kinds.pickup);
        let key = match fault {
            Fault::NotDeleted | Fault::StillCounted => world.pick(pickup),
            Fault::Twice if world.rng.range(0, 1) == 0 => world.pick(pickup),
            Fault::RemovedNotThere => {
                world.shoot();
                world.shots_there()[0]
            }
            _ => world.pick(character),
        };
        // Values that a game changes often: the places of the tee and of its hook. The tick is that of all tees that move.
        let at = match fault {
            // Of a value that was cut, the sum shows only the higher bits: those of a velocity change.
            Fault::Field(FieldFault::Cut(_)) => 3,
            _ => [1, 2, 11, 12][usize::try_from(world.rng.next() % 4).unwrap()],
        };
        Self { fault, key, at }
    }

    /// Changes the world before the first wrong snapshot.
    fn prepare(&self, world: &mut World) {
        if matches!(self.fault, Fault::NotDeleted | Fault::StillCounted) {
            world.items.remove(&self.key);
        }
    }

    fn cause(&self, tick: i32) -> Cause {
        let (key, named) = (self.key, tick);
        let item = |fault| Cause::Item { key, fault };
        match self.fault {
            Fault::Twice => item(ItemFault::Twice),
            Fault::NotCounted => item(ItemFault::NotCounted),
            Fault::NotDeleted => item(ItemFault::NotDeleted),
            Fault::StillCounted => item(ItemFault::StillCounted),
            Fault::SentTwice => item(ItemFault::SentTwice),
            Fault::RemovedNotThere => item(ItemFault::RemovedNotThere),
            Fault::DeletedAndSent => item(ItemFault::DeletedAndSent),
            Fault::Absolute => item(ItemFault::Absolute),
            Fault::ItemOlder => item(ItemFault::Older(tick)),
            Fault::ItemOtherBase => item(ItemFault::OtherBase(tick)),
            Fault::OtherBase => Cause::OtherBase { tick, named },
            Fault::OnlyMessage => Cause::OnlyMessage { named },
            Fault::SumOfBase => Cause::Sum(SumFault::OfTick(tick)),
            Fault::Zero => Cause::Sum(SumFault::Zero),
            Fault::Keys => Cause::Sum(SumFault::Keys),
            Fault::Cut => Cause::Sum(SumFault::Cut(16)),
            Fault::Descriptors | Fault::TypeTwice => Cause::Type {
                kind: if self.fault == Fault::Descriptors {
                    0
                } else {
                    self.key.kind
                },
                items: 0,
                twice: self.fault == Fault::TypeTwice,
            },
            Fault::Field(fault) => Cause::Field {
                key,
                at: self.at as u16,
                value: 0,
                fault,
            },
        }
    }

    /// Returns what the sender sends of these items, with the fault. `older` is a snapshot before the base.
    fn send(&self, rng: &mut Rng, older: &Items, base: &Items, items: &Items) -> Sent {
        let mut sent = Sent::new(base, items);
        let key = self.key;
        let now = items.get(&key).map_or(&[][..], Vec::as_slice);
        let old = base.get(&key).map_or(&[][..], Vec::as_slice);
        let before = older.get(&key).map_or(&[][..], Vec::as_slice);
        let add = |sent: &mut Sent, more: i32| sent.crc = sent.crc.wrapping_add(more);
        match self.fault {
            Fault::Twice => add(&mut sent, sum(now)),
            Fault::NotCounted => add(&mut sent, sum(now).wrapping_neg()),
            Fault::NotDeleted => sent.deleted.retain(|deleted| *deleted != key),
            Fault::StillCounted => add(&mut sent, sum(old)),
            Fault::SentTwice => {
                let first = vec![7; now.len()];
                sent.update(key, now.len());
                let both: Vec<i32> = old.iter().zip(&first).map(|(old, first)| old + first).collect();
                add(&mut sent, sum(&both));
                sent.updates.insert(0, (key, first));
            }
            Fault::RemovedNotThere => {
                sent.deleted.push(key);
                add(&mut sent, sum(before).wrapping_neg());
            }
            Fault::DeletedAndSent => {
                sent.deleted.push(key);
                *sent.update(key, 0) = now.to_vec();
            }
            Fault::Absolute => *sent.update(key, 0) = now.to_vec(),
            Fault::ItemOlder => add(&mut sent, sum(before).wrapping_sub(sum(now))),
            Fault::ItemOtherBase => *sent.update(key, 0) = difference(Some(&before.to_vec()), now),
            Fault::OtherBase => sent = Sent::new(older, items),
            Fault::OnlyMessage => {
                sent.crc = sent
                    .updates
                    .iter()
                    .flat_map(|(_, ints)| ints)
                    .fold(0, |sum, int| sum.wrapping_add(*int));
            }
            Fault::SumOfBase => sent.crc = total(base),
            Fault::Zero => sent.crc = 0,
            Fault::Keys => {
                let keys = items.keys().map(|key| i32::from(key.kind) + i32::from(key.id));
                add(&mut sent, keys.sum());
            }
            Fault::Cut => sent.crc = i32::from(sent.crc as u16),
            Fault::Descriptors | Fault::TypeTwice => {
                let (kind, sign) = match self.fault {
                    Fault::Descriptors => (0, -1),
                    _ => (key.kind, 1),
                };
                let of_kind = items.iter().filter(|(key, _)| key.kind == kind);
                let all: Items = of_kind.map(|(key, ints)| (*key, ints.clone())).collect();
                add(&mut sent, total(&all).wrapping_mul(sign));
            }
            Fault::Field(fault) => {
                self.send_field(fault, rng, &mut sent, (old[self.at], now[self.at]), now.len())
            }
        }
        sent
    }

    fn send_field(
        &self,
        fault: FieldFault,
        rng: &mut Rng,
        sent: &mut Sent,
        (old, now): (i32, i32),
        ints: usize,
    ) {
        let count_as =
            |sent: &mut Sent, value: i32| sent.crc = sent.crc.wrapping_add(value.wrapping_sub(now));
        let send_difference = |sent: &mut Sent, value| sent.update(self.key, ints)[self.at] = value;
        match fault {
            FieldFault::Sign => count_as(sent, -now),
            FieldFault::DifferenceSign => send_difference(sent, old - now),
            FieldFault::Cut(8) => count_as(sent, i32::from(now as i8)),
            FieldFault::Cut(_) => count_as(sent, i32::from(now as u16)),
            FieldFault::Swapped => count_as(sent, now.swap_bytes()),
            FieldFault::Twice => count_as(sent, now + now),
            FieldFault::NotCounted => count_as(sent, 0),
            FieldFault::Absolute => send_difference(sent, now),
            FieldFault::Older => count_as(sent, old),
            FieldFault::Jump(_) => send_difference(sent, rng.range(100_000, 90_000_000)),
            FieldFault::OutOfRange(_) => unreachable!("another test"),
        }
    }
}

/// Runs one world and returns the first cause after the first and after the last wrong snapshot, and the right one.
fn run(fault: Fault, seed: u64) -> [Option<Cause>; 3] {
    let mut world = World::new(seed);
    if fault == Fault::Descriptors && world.proto == Proto::V7 {
        world = World::new(seed + 1_000_001);
    }
    let mut session = Session::new(world.proto);
    let mut history: Vec<(i32, Items)> = vec![(-1, Items::new())];
    let send = |session: &mut Session, tick: i32, base: i32, sent: &Sent| {
        let data = sent.data(&sizes(session.proto));
        let fields = [
            ("tick", tick),
            ("delta_tick", tick - base),
            ("crc", sent.crc),
            ("part_size", data.len() as i32),
        ];
        let message = session.message("snap_single", &fields, &data);
        let fate = session.receive(Dir::S2c, &message).unwrap().fate;
        (fate, message)
    };
    let mut plan = None;
    for count in 0..RIGHT {
        // The sender deletes a shot that it has deleted before.
        if fault == Fault::RemovedNotThere && count + 2 == RIGHT {
            plan = Some(Plan::new(fault, &mut world));
        } else if let Some(Plan { key, .. }) = plan {
            world.items.remove(&key);
        }
        let (base_tick, base) = history.last().unwrap().clone();
        let (fate, _) = send(
            &mut session,
            world.tick,
            base_tick,
            &Sent::new(&base, &world.items),
        );
        assert_eq!(fate, Fate::Kept);
        history.push((world.tick, world.items.clone()));
        world.step();
    }
    let plan = plan.unwrap_or_else(|| Plan::new(fault, &mut world));
    plan.prepare(&mut world);
    let [.., (_, older), (tick, base)] = history.as_slice() else {
        unreachable!()
    };
    let mut doctor = Doctor::default();
    let (mut first, mut last) = (None, None);
    for _ in 0..WRONG {
        let mut items = world.items.clone();
        if fault == Fault::NotDeleted {
            items.remove(&plan.key);
        }
        let sent = plan.send(&mut world.rng, older, base, &items);
        let (fate, message) = send(&mut session, world.tick, *tick, &sent);
        if fate == Fate::BadCrc {
            last = session.store.diagnose(&mut doctor, &message);
            first = first.or(last.clone());
        }
        world.step();
    }
    let cause = |diagnosis: Option<Diagnosis>| Some(diagnosis?.causes.first()?.cause);
    [cause(first), cause(last), Some(plan.cause(*tick))]
}

/// Returns in how many of a hundred seeds the first cause is the fault: after the first wrong snapshot, and after all of
/// them. Seeds in which the fault changes no sum do not count.
fn named(fault: Fault) -> (u64, u64) {
    let (mut at_once, mut in_the_end, mut wrong) = (0, 0, 0);
    for seed in 0..SEEDS {
        let [first, last, right] = run(fault, seed);
        let is_right = |cause: Option<Cause>| {
            cause
                .zip(right)
                .is_some_and(|(cause, right)| cause.is_like(right))
        };
        wrong += u64::from(first.is_some());
        at_once += u64::from(is_right(first));
        in_the_end += u64::from(is_right(last));
    }
    assert!(wrong * 100 >= SEEDS * 60, "{fault:?}: {wrong} seeds");
    (at_once * 100 / wrong, in_the_end * 100 / wrong)
}

#[test]
fn faults_of_bases_sums_and_items_are_named_at_once() {
    let faults = [
        Fault::Twice,
        Fault::NotCounted,
        Fault::NotDeleted,
        Fault::StillCounted,
        Fault::SentTwice,
        Fault::RemovedNotThere,
        Fault::DeletedAndSent,
        Fault::Absolute,
        Fault::ItemOlder,
        Fault::ItemOtherBase,
        Fault::OtherBase,
        Fault::OnlyMessage,
        Fault::SumOfBase,
        Fault::Zero,
        Fault::Keys,
        Fault::Cut,
        Fault::Descriptors,
        Fault::TypeTwice,
    ];
    let rates: Vec<_> = faults.into_iter().map(|fault| (fault, named(fault))).collect();
    let low: Vec<_> = rates
        .iter()
        .filter(|(_, (at_once, last))| *at_once < 90 || *last < 95)
        .collect();
    assert!(low.is_empty(), "{low:?}");
}

#[test]
fn faults_of_values_are_named_after_a_few_snapshots() {
    let faults = [
        FieldFault::Sign,
        FieldFault::DifferenceSign,
        FieldFault::Cut(8),
        FieldFault::Swapped,
        FieldFault::Twice,
        FieldFault::NotCounted,
        FieldFault::Absolute,
        FieldFault::Older,
        FieldFault::Jump(0),
    ];
    let faults = faults.into_iter().map(Fault::Field);
    let rates: Vec<_> = faults.map(|fault| (fault, named(fault))).collect();
    let low: Vec<_> = rates.iter().filter(|(_, (_, last))| *last < 95).collect();
    assert!(low.is_empty(), "{low:?}");
}

#[test]
fn right_snapshots_have_no_diagnosis() {
    for seed in 0..20 {
        let mut world = World::new(seed);
        let mut session = Session::new(world.proto);
        let (mut base, mut doctor) = ((-1, Items::new()), Doctor::default());
        for _ in 0..50 {
            let sent = Sent::new(&base.1, &world.items);
            let data = sent.data(&sizes(session.proto));
            let fields = [
                ("tick", world.tick),
                ("delta_tick", world.tick - base.0),
                ("crc", sent.crc),
                ("part_size", data.len() as i32),
            ];
            let message = session.message("snap_single", &fields, &data);
            assert_eq!(session.receive(Dir::S2c, &message).unwrap().fate, Fate::Kept);
            assert_eq!(session.store.diagnose(&mut doctor, &message), None);
            base = (world.tick, world.items.clone());
            world.step();
        }
    }
}

/// Sends a complete snapshot with these ints as data, and returns the diagnosis.
fn diagnose(proto: Proto, ints: &[i32], crc: i32) -> Diagnosis {
    let (mut session, data) = (Session::new(proto), packed(ints));
    let fields = [
        ("tick", 10),
        ("delta_tick", 11),
        ("crc", crc),
        ("part_size", data.len() as i32),
    ];
    let message = session.message("snap_single", &fields, &data);
    session.receive(Dir::S2c, &message);
    session.store.diagnose(&mut Doctor::default(), &message).unwrap()
}

#[test]
fn items_of_another_size_are_named() {
    // Flags of 0.7 have three ints; these have four, or each says how many it has.
    let longer = [0, 2, 0, 5, 0, 1000, 2000, 0, 77, 5, 1, 3000, 4000, 1, 88];
    let diagnosis = diagnose(Proto::V7, &longer, 1000 + 2000 + 77 + 3000 + 4000 + 1 + 88);
    let size = |sent| Cause::Size {
        kind: 5,
        agreed: 3,
        sent,
    };
    assert_eq!(diagnosis.causes[0].cause, size(Some(4)));
    let stated = [0, 2, 0, 5, 0, 3, 1000, 2000, 0, 5, 1, 3, 3000, 4000, 1];
    let diagnosis = diagnose(Proto::V7, &stated, 1000 + 2000 + 3000 + 4000 + 1);
    assert_eq!(diagnosis.causes[0].cause, size(None));
    assert_eq!(
        diagnosis.to_string(),
        "got 10001, expected 3006, off by 6995; likely cause: flag is sent with its size, but both sides agreed on 3 ints"
    );
    // The race info of a player has no agreed size.
    let unstated = [0, 2, 0, 5, 0, 1000, 2000, 1, 23, 1, 4711];
    let diagnosis = diagnose(Proto::V7, &unstated, 1000 + 2000 + 1 + 4711);
    assert_eq!(diagnosis.causes[0].cause, Cause::NoSize { kind: 23, sent: 1 });
}

#[test]
fn a_value_out_of_its_range_is_named() {
    // A flag of team 1 was sent as one of team 700.
    let diagnosis = diagnose(Proto::V7, &[0, 1, 0, 5, 0, 1000, 2000, 700], 3001);
    let odd = Cause::Field {
        key: key(5, 0),
        at: 2,
        value: 700,
        fault: FieldFault::OutOfRange(1),
    };
    assert_eq!(diagnosis.causes[0].cause, odd);
    assert_eq!(
        diagnosis.to_string(),
        "got 3001, expected 3700, off by -699; likely cause: flag[0].team was counted as 1, but sent as 700, which is out of its range"
    );
}

#[test]
fn a_row_of_wrong_sums_is_described() {
    let mut session = Session::new(Proto::V7);
    let world = snapshot(&[(5, 0, &[1000, 2000, 0]), (5, 1, &[3000, 4000, 1])]);
    session.complete(8, &world);
    let mut doctor = Doctor::default();
    let mut texts = Vec::new();
    for (tick, off) in [(10, 7), (12, 7), (14, 9)] {
        let fields = [
            ("tick", tick),
            ("delta_tick", 2),
            ("crc", 10001 + off),
            ("part_size", 3),
        ];
        let fields = fields.map(|(name, value)| (name, if name == "delta_tick" { tick - 8 } else { value }));
        let message = session.message("snap_single", &fields, &[0, 0, 0]);
        session.receive(Dir::S2c, &message);
        texts.push(session.store.diagnose(&mut doctor, &message).unwrap().to_string());
    }
    let unknown = "no single item or value explains it";
    let expected = [
        format!("got 10008, expected 10001, off by 7; {unknown}"),
        format!(
            "got 10008, expected 10001, off by 7; {unknown}; 2 in a row since tick 10 are off by the same"
        ),
        format!(
            "got 10010, expected 10001, off by 9; {unknown}; 3 in a row since tick 10 are wrong, off by different amounts"
        ),
    ];
    assert_eq!(texts, expected);
    // A right one ends the row.
    session.complete(16, &world);
    assert_eq!(session.store.diagnose(&mut doctor, &[]), None);
}

#[test]
fn a_snapshot_that_is_almost_full_is_noted() {
    let full = |items: u16| {
        let mut snapshot = Snapshot::new();
        for id in 0..items {
            snapshot.insert(key(0x4001, id), &[1]).unwrap();
        }
        snapshot
    };
    for (items, notes) in [
        (999, vec![]),
        (1000, vec!["snap-near-limit"]),
        (1024, vec!["snap-near-limit"]),
    ] {
        let mut session = Session::new(Proto::V7);
        let mut data = Vec::new();
        full(items)
            .delta(&Snapshot::new(), &sizes(Proto::V7), &mut data)
            .unwrap();
        let parts: Vec<&[u8]> = data.chunks(PART).collect();
        for (part, bytes) in (0..).zip(&parts) {
            let fields = [
                ("tick", 10),
                ("delta_tick", 11),
                ("num_parts", parts.len() as i32),
                ("part", part),
                ("crc", i32::from(items)),
                ("part_size", bytes.len() as i32),
            ];
            session.send(Dir::S2c, "snap", &fields, bytes);
        }
        assert_eq!(session.notes(), notes, "{items}");
    }
}
