//! Ids that are given to another item too early, and everything that only looks like it.

use super::*;
use crate::note::Code;

const PROJECTILE: u16 = 2;
const PICKUP: u16 = 4;
const GUN: i32 = 1;
const SHOTGUN: i32 = 2;
const GRENADE: i32 = 3;

/// A projectile: its place, its direction, its weapon and the tick of its shot.
type Shot = [i32; 6];

/// A session in which each snapshot is complete.
struct Game {
    session: Session,
    kind: u16,
    /// The item that declares the type.
    descriptor: Vec<(u16, u16, Vec<i32>)>,
}

impl Game {
    fn new(proto: Proto) -> Self {
        Self {
            session: Session::new(proto),
            kind: PROJECTILE,
            descriptor: Vec::new(),
        }
    }

    /// Sends the snapshot of a tick. Returns the note about the ids in it.
    fn snap(&mut self, tick: i32, items: &[(u16, &[i32])]) -> Option<Reused> {
        let of_kind = items.iter().map(|(id, ints)| (self.kind, *id, *ints));
        let declared = self
            .descriptor
            .iter()
            .map(|(kind, id, ints)| (*kind, *id, &**ints));
        let items: Vec<_> = declared.chain(of_kind).collect();
        let to = snapshot(&items);
        let completed = self.session.single(tick, -1, &Snapshot::new(), &to).unwrap();
        assert_eq!(completed.fate, Fate::Kept, "{tick}");
        let is_noted = completed.data_notes.contains(Code::SnapIdReused);
        let reused = completed.reused;
        assert_eq!(reused.is_some(), is_noted, "{tick}");
        reused
    }

    /// Sends an item in one snapshot, and another item with the same id later. Returns the number of ticks between them
    /// if the reuse is noted as too early.
    fn after(&mut self, first: &[i32], ticks: i32, then: &[i32]) -> Option<i32> {
        assert_eq!(self.snap(1000, &[(7, first)]), None);
        let reused = self.snap(1000 + ticks, &[(7, then)])?;
        assert_eq!((reused.key, reused.seen), (key(self.kind, 7), 1000));
        Some(reused.after)
    }
}

/// Returns games of all variants, and games with DDNet's own item types.
fn games() -> Vec<Game> {
    let mut games: Vec<Game> = Proto::ALL.into_iter().map(Game::new).collect();
    for name in ["ddrace_projectile", "ddnet_projectile"] {
        let def = registry().named(Proto::Ddnet, Some(Class::Object), name).next();
        let crate::def::Id::Uuid { uuid, .. } = def.unwrap().id else {
            panic!("{name} has no UUID")
        };
        let (words, _) = uuid.as_chunks::<4>();
        let ints = words.iter().map(|word| i32::from_be_bytes(*word)).collect();
        games.push(Game {
            kind: 0x7ffe,
            descriptor: vec![(0, 0x7ffe, ints)],
            ..Game::new(Proto::Ddnet)
        });
    }
    games
}

#[test]
fn another_projectile_with_the_same_id_is_noted() {
    const OLD: Shot = [100, 100, 50, -20, GRENADE, 990];
    for (ticks, then, expected) in [
        // Another weapon, shot at 1001, or at any time.
        (2, [100, 100, 50, -20, GUN, 1001], Some(1)),
        (2, [100, 100, 50, -20, GUN, 0], Some(2)),
        (150, [100, 100, 50, -20, GUN, 1140], Some(140)),
        (240, [100, 100, 50, -20, GUN, 1199], Some(199)),
        (240, [100, 100, 50, -20, GUN, 1200], None),
        // Another direction.
        (2, [100, 100, -50, -20, GRENADE, 1002], Some(2)),
        (100, [900, 100, 50, 20, GRENADE, 1100], Some(100)),
        (199, [900, 100, 50, 20, GRENADE, 1199], Some(199)),
        (200, [900, 100, 50, 20, GRENADE, 1200], None),
        // It was shot before the old item was last seen: both are the same.
        (2, [900, 100, 50, 20, GRENADE, 1000], None),
        // A pause, and a teleporter of DDNet.
        (2, [100, 100, 50, -20, GRENADE, 992], None),
        (100, [900, 700, 50, -20, GRENADE, 1050], None),
    ] {
        for mut game in games() {
            let reused = game.after(&OLD, ticks, &then);
            assert_eq!(reused, expected, "{} {then:?}", game.session.proto);
        }
    }
}

#[test]
fn a_bullet_of_ddnet_may_bounce() {
    let flies = [100, 100, 50, -20, SHOTGUN, 990];
    let bounced = [300, 100, -50, -20, SHOTGUN, 1001];
    let shot = [300, 100, -50, -20, GUN, 1001];
    for (then, expected) in [(bounced, None), (shot, Some(1))] {
        assert_eq!(Game::new(Proto::Ddnet).after(&flies, 2, &then), expected);
    }
}

#[test]
fn another_pickup_with_the_same_id_is_noted() {
    for proto in Proto::ALL {
        let size = usize::from(sizes(proto).of_kind(PICKUP).unwrap());
        let pickup = |ints: [i32; 4]| ints[..size].to_vec();
        for (ticks, then, expected) in [
            (2, [500, 100, 1, 0], Some(2)),
            (199, [100, 100, 1, 0], Some(199)),
            (200, [100, 100, 1, 0], None),
            // A pickup that moves, as in mods, and the same pickup in another place.
            (2, [500, 100, 0, 0], None),
            // A laser of 0.7; a shield of DDNet.
            (2, [500, 100, 4, 0], Some(2)),
        ] {
            let mut game = Game::new(proto);
            game.kind = PICKUP;
            let reused = game.after(&pickup([100, 100, 0, 0]), ticks, &pickup(then));
            assert_eq!(reused, expected, "{proto} {then:?}");
        }
    }
}

#[test]
fn a_shield_may_have_been_armor() {
    let mut game = Game::new(Proto::Ddnet);
    game.kind = PICKUP;
    assert_eq!(game.after(&[100, 100, 1, 0], 2, &[100, 100, 4, 0]), None);
    assert_eq!(game.snap(1004, &[(7, &[100, 100, 7, 0])]), None);
    // Health is another thing.
    assert!(game.snap(1006, &[(7, &[100, 100, 0, 0])]).is_some());
}

/// An item that disappeared is remembered for 5 s, over many snapshots.
#[test]
fn items_that_are_out_of_sight_come_back() {
    let old: Shot = [100, 100, 50, -20, GRENADE, 990];
    let other: Shot = [100, 100, 70, 0, GRENADE, 1105];
    let still: Shot = [0, 0, 1, 1, GUN, 5];
    for mut game in games() {
        for tick in (1000..1100).step_by(2) {
            assert_eq!(game.snap(tick, &[(7, &old), (9, &still)]), None);
        }
        for tick in (1100..1150).step_by(2) {
            assert_eq!(game.snap(tick, &[(9, &still)]), None);
        }
        // The same item again, then another item with its id.
        assert_eq!(game.snap(1150, &[(7, &old), (9, &still)]), None);
        assert_eq!(game.snap(1152, &[(9, &still)]), None);
        let later = [100, 100, 70, 0, GRENADE, 1153];
        let reused = game.snap(1154, &[(7, &later), (9, &still)]).unwrap();
        assert_eq!((reused.seen, reused.after), (1150, 3));
        // Each reuse is noted once.
        assert_eq!(game.snap(1156, &[(7, &later), (9, &still)]), None);
        assert_eq!(game.snap(1158, &[(7, &later)]), None);
        assert_eq!(game.snap(1160, &[]), None);
        assert_eq!(game.snap(1162, &[(7, &other), (9, &still)]), None, "shot before");
    }
}

/// Ids are forgotten at a map change and after missed messages.
#[test]
fn nothing_is_remembered_of_another_map() {
    let old: Shot = [100, 100, 50, -20, GRENADE, 990];
    let new: Shot = [100, 100, 70, 0, GUN, 1005];
    for proto in Proto::ALL {
        let mut game = Game::new(proto);
        assert_eq!(game.snap(1000, &[(7, &old)]), None);
        game.session.store.gap();
        assert_eq!(game.snap(1006, &[(7, &new)]), None);
        let mut game = Game::new(proto);
        assert_eq!(game.snap(1000, &[(7, &old)]), None);
        game.session.send(Dir::C2s, "enter_game", &[], &[]);
        assert_eq!(game.snap(1006, &[(7, &new)]), None);
        // The same without either.
        let mut game = Game::new(proto);
        assert_eq!(game.after(&old, 6, &new), Some(5));
    }
}

/// Late snapshots are ignored.
#[test]
fn late_snapshots_are_not_looked_at() {
    let old: Shot = [100, 100, 50, -20, GRENADE, 990];
    let new: Shot = [100, 100, 70, 0, GUN, 1001];
    let mut game = Game::new(Proto::Ddnet);
    assert_eq!(game.snap(1000, &[(7, &new)]), None);
    let world = snapshot(&[(PROJECTILE, 7, &old)]);
    let late = game.session.single(998, -1, &Snapshot::new(), &world).unwrap();
    assert_eq!((late.fate, late.reused), (Fate::Late, None));
    assert_eq!(game.snap(1002, &[(7, &new)]), None);
}

/// Snapshots full of ever new ids use a bounded amount of memory.
#[test]
fn the_memory_of_ids_is_bounded() {
    let mut game = Game::new(Proto::V7);
    let shot: Shot = [1, 1, 1, 1, GUN, 5];
    let mut most = 0;
    for round in 0..60u16 {
        let ids = (0..1000).map(|id| (round * 1000 + id, &shot[..]));
        let items: Vec<(u16, &[i32])> = ids.collect();
        let data_size = items.len();
        let to = snapshot(
            &items
                .iter()
                .map(|(id, ints)| (PROJECTILE, *id, *ints))
                .collect::<Vec<_>>(),
        );
        let mut data = Vec::new();
        to.delta(&Snapshot::new(), &sizes(Proto::V7), &mut data).unwrap();
        let tick = 1000 + i32::from(round);
        let parts: Vec<&[u8]> = data.chunks(PART).collect();
        for (part, bytes) in (0..).zip(&parts) {
            let fields = [
                ("tick", tick),
                ("delta_tick", tick + 1),
                ("num_parts", i32::try_from(parts.len()).unwrap()),
                ("part", part),
                ("crc", to.crc()),
                ("part_size", i32::try_from(bytes.len()).unwrap()),
            ];
            game.session.send(Dir::S2c, "snap", &fields, bytes);
        }
        assert_eq!(game.session.store.newest().unwrap().1.len(), data_size);
        most = most.max(game.session.store.ids_memory());
    }
    assert!((1000..200_000).contains(&most), "{most} bytes");
}
