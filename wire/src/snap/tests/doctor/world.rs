//! A game with players who move and shoot, from a seed.

use std::collections::BTreeMap;

use super::*;

/// A small generator of numbers (splitmix64), so that a seed always gives the same world.
pub(super) struct Rng(u64);

impl Rng {
    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub(super) fn range(&mut self, low: i32, high: i32) -> i32 {
        let span = u64::try_from(high - low + 1).unwrap();
        low + i32::try_from(self.next() % span).unwrap()
    }
}

/// The numbers of the types of a variant.
pub(super) struct Kinds {
    pub(super) character: u16,
    info: u16,
    pub(super) pickup: u16,
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

pub(super) type Items = BTreeMap<ItemKey, Vec<i32>>;

/// A game with players who move and shoot.
pub(super) struct World {
    pub(super) rng: Rng,
    pub(super) proto: Proto,
    pub(super) kinds: Kinds,
    pub(super) tick: i32,
    pub(super) items: Items,
    shots: u16,
}

impl World {
    pub(super) fn new(seed: u64) -> Self {
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
            let size = sizes(proto).of_kind(kinds.info).unwrap();
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

    pub(super) fn step(&mut self) {
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

    pub(super) fn shoot(&mut self) {
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

    pub(super) fn shots_there(&self) -> Vec<ItemKey> {
        let projectile = self.kinds.projectile;
        self.items
            .keys()
            .filter(|key| key.kind == projectile)
            .copied()
            .collect()
    }

    pub(super) fn pick(&mut self, kind: u16) -> ItemKey {
        let keys: Vec<ItemKey> = self
            .items
            .keys()
            .filter(|key| key.kind == kind)
            .copied()
            .collect();
        keys[usize::try_from(self.rng.next() % keys.len() as u64).unwrap()]
    }
}
