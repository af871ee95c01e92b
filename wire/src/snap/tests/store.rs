//! The snapshots that a store keeps, and its findings.

use super::*;

/// Returns a world of `items` items, which change with the tick.
fn world(tick: i32, items: u16) -> Snapshot {
    let mut world = Snapshot::new();
    for id in 0..items {
        let start = tick.wrapping_mul(i32::from(id) + 77);
        let ints: [i32; 22] = std::array::from_fn(|at| start.wrapping_mul(i32::try_from(at).unwrap() + 3));
        world.insert(key(10, id), &ints).unwrap();
    }
    world
}

/// Returns the fields of a part of a snapshot without a base, except for its data.
fn part(tick: i32, parts: i32, part: i32, crc: i32, size: usize) -> [(&'static str, i32); 6] {
    [
        ("tick", tick),
        ("delta_tick", tick + 1),
        ("num_parts", parts),
        ("part", part),
        ("crc", crc),
        ("part_size", i32::try_from(size).unwrap()),
    ]
}

/// Returns the messages of a snapshot in parts of 900 bytes.
fn parts(session: &Session, tick: i32, to: &Snapshot) -> Vec<Vec<u8>> {
    let mut data = Vec::new();
    to.delta(&Snapshot::new(), &sizes(session.proto), &mut data)
        .unwrap();
    let count = i32::try_from(data.chunks(PART).count()).unwrap();
    let message = |(at, bytes): (i32, &[u8])| {
        session.message("snap", &part(tick, count, at, to.crc(), bytes.len()), bytes)
    };
    (0..).zip(data.chunks(PART)).map(message).collect()
}

#[test]
fn parts_in_any_order() {
    let mut session = Session::new(Proto::V7);
    let world = world(1000, 50);
    let mut all = parts(&session, 1000, &world);
    assert_eq!(all.len(), 5);
    all.rotate_left(2);
    all.insert(2, all[0].clone());
    let last = all.pop().unwrap();
    for (at, part) in all.iter().enumerate() {
        assert!(session.receive(Dir::S2c, part).is_none());
        assert_eq!(
            session.notes(),
            if at == 2 { &["snap-part-again"][..] } else { &[] }
        );
    }
    let receiving = session.store.receiving().unwrap();
    assert_eq!(
        (receiving.tick, receiving.parts, receiving.have),
        (1000, 5, 0b11101)
    );
    let done = session.receive(Dir::S2c, &last).unwrap();
    assert_eq!(done.to_string(), "tick 1000 complete, 50 items, 5 parts, crc ok");
    assert_eq!((done.snapshot(), done.data_at), (&world, None));
    assert_eq!(session.store.receiving(), None);
    // Parts of a complete snapshot are ignored.
    assert!(session.receive(Dir::S2c, &last).is_none());
    assert_eq!(
        (session.notes(), session.store.receiving()),
        (vec!["snap-again"], None)
    );
}

#[test]
fn a_newer_snapshot_begins_before_an_older_one_is_whole() {
    let mut session = Session::new(Proto::V7);
    let old = parts(&session, 10, &world(10, 20));
    let new = parts(&session, 12, &world(12, 20));
    assert!(session.receive(Dir::S2c, &old[0]).is_none());
    assert!(session.receive(Dir::S2c, &new[0]).is_none());
    assert_eq!(session.notes(), ["snap-parts-missing"]);
    let late = session.receive(Dir::S2c, &old[1]).unwrap();
    assert_eq!((late.fate, codes(late.notes)), (Fate::Late, vec!["snap-late"]));
    for part in &new[1..] {
        let fate = session.receive(Dir::S2c, part).map(|done| done.fate);
        assert!(fate.is_none_or(|fate| fate == Fate::Kept));
    }
    assert_eq!(session.store.newest().unwrap().0, 12);
    // The same snapshot in one part ends it, too.
    let new = parts(&session, 14, &world(14, 20));
    assert!(session.receive(Dir::S2c, &new[0]).is_none());
    assert_eq!(session.complete(14, &world(14, 1)), Fate::Kept);
    assert_eq!(
        (session.notes(), session.store.receiving()),
        (vec!["snap-parts-missing"], None)
    );
}

#[test]
fn parts_that_clients_ignore_or_misread() {
    let mut session = Session::new(Proto::V7);
    let (full, long) = (&[0; 900][..], &[0; 901][..]);
    for (parts, part, data) in [
        (0, 0, full),
        (65, 0, full),
        (2, 2, full),
        (2, -1, full),
        (-3, 0, full),
        (2, 0, long),
    ] {
        let fields = self::part(50, parts, part, 0, data.len());
        assert!(session.send(Dir::S2c, "snap", &fields, data).is_none());
        assert_eq!(session.notes(), ["snap-ignored"], "{parts} {part} {}", data.len());
    }
    assert_eq!(session.store.receiving(), None);
    let short = part(50, 3, 0, 0, 2);
    assert!(session.send(Dir::S2c, "snap", &short, &[0, 0]).is_none());
    assert_eq!(session.notes(), ["snap-part-short"]);
    let other = part(50, 2, 0, 1, 900);
    assert!(session.send(Dir::S2c, "snap", &other, full).is_none());
    assert_eq!(
        session.notes(),
        ["snap-parts-differ", "snap-parts-differ", "snap-part-again"]
    );
    let done = session
        .send(Dir::S2c, "snap", &part(50, 2, 1, 1, 0), &[])
        .unwrap();
    assert_eq!(
        (done.fate, codes(done.notes)),
        (Fate::BadCrc, vec!["snap-bad-crc"])
    );
    assert_eq!(codes(done.data_notes), ["surplus-bytes"]);
}

/// 64 full parts, which is more than a snapshot holds.
#[test]
fn the_most_parts_there_can_be() {
    let mut session = Session::new(Proto::V7);
    let (mut data, mut ended) = (packed(&[0, 1, 0, 23, 0, 16_378]), None);
    data.resize(64 * PART, 1);
    for (part, bytes) in (0..).zip(data.chunks(PART)) {
        let fields = self::part(50, 64, part, 16_378, 900);
        let done = session.send(Dir::S2c, "snap", &fields, bytes);
        ended = done.map(|done| (done.to_string(), codes(done.data_notes)));
        assert_eq!(ended.is_some(), part == 63);
    }
    let found = "tick 50 complete, 1 item, 64 parts, crc ok".to_owned();
    assert_eq!(ended, Some((found, vec!["surplus-bytes"])));
}

/// A client that acks a snapshot has received it, so the recording lacks it.
#[test]
fn a_base_that_the_client_has_acked_is_missing_only_in_the_recording() {
    for (acked, expected) in [(104, &[][..]), (103, &["snap-no-base"]), (-1, &["snap-no-base"])] {
        let mut session = Session::new(Proto::V7);
        let worlds = [100, 104, 106].map(|tick| world(tick, 3));
        assert_eq!(session.complete(100, &worlds[0]), Fate::Kept);
        session.send(Dir::C2s, "input", &[("ack_snapshot", acked)], &[]);
        // Later acks of snapshots that were seen change nothing.
        session.send(Dir::C2s, "input", &[("ack_snapshot", 100)], &[]);
        let done = session.single(106, 104, &worlds[1], &worlds[2]).unwrap();
        assert_eq!(
            (done.fate, codes(done.notes)),
            (Fate::NoBase, expected.to_vec()),
            "{acked}"
        );
    }
}

#[test]
fn bases() {
    let mut session = Session::new(Proto::V7);
    let worlds = [100, 102, 104, 106].map(|tick| world(tick, 3));
    assert_eq!(session.complete(100, &worlds[0]), Fate::Kept);
    let done = session.single(102, 100, &worlds[0], &worlds[1]).unwrap();
    assert_eq!(
        (done.fate, done.snapshot(), done.before()),
        (Fate::Kept, &worlds[1], &worlds[0])
    );
    // One snapshot was lost, and it is the base of the next snapshot.
    let done = session.single(106, 104, &worlds[2], &worlds[3]).unwrap();
    assert_eq!(done.to_string(), "tick 106 base 104, 3 changed, base not known");
    assert_eq!(
        (done.crc, done.snapshot().len(), codes(done.notes)),
        (None, 0, vec!["snap-no-base"])
    );
    assert!(!session.store.whole());
    // A snapshot that builds on it lacks its base, too, but that is not noted again.
    let done = session.single(107, 106, &worlds[3], &worlds[3]).unwrap();
    assert_eq!((done.fate, codes(done.notes)), (Fate::NoBase, vec![]));
    // An older base is still there.
    let done = session.single(108, 100, &worlds[0], &worlds[3]).unwrap();
    assert_eq!((done.fate, done.snapshot()), (Fate::Kept, &worlds[3]));
    assert!(session.store.whole());
    // Nothing changed since.
    let done = session
        .send(Dir::S2c, "snap_empty", &[("tick", 110), ("delta_tick", 2)], &[])
        .unwrap();
    assert_eq!(
        (done.fate, done.snapshot(), done.crc),
        (Fate::Kept, &worlds[3], None)
    );
    assert_eq!(done.to_string(), "tick 110 base 108, 3 items");
    // The sum is wrong.
    let fields = [("tick", 112), ("delta_tick", 2), ("crc", 1), ("part_size", 0)];
    let done = session.send(Dir::S2c, "snap_single", &fields, &[]).unwrap();
    assert_eq!(
        (done.to_string(), done.crc_ok()),
        ("tick 112 base 110, 3 items, crc wrong".into(), Some(false))
    );
    assert!(session.store.at(112).is_none() && !session.store.whole());
    // Older than the newest snapshot, and older than the game.
    assert_eq!(session.complete(101, &worlds[0]), Fate::Late);
    assert_eq!(session.complete(-7, &worlds[0]), Fate::Late);
}

#[test]
fn old_snapshots_go() {
    let mut session = Session::new(Proto::V7);
    assert_eq!(session.complete(1000, &world(1000, 5)), Fate::Kept);
    let mut most = 0;
    for tick in (1002..1400).step_by(2) {
        let ack = tick - 10;
        let fields = [("ack_snapshot", ack), ("intended_tick", tick)];
        assert!(session.send(Dir::C2s, "input", &fields, &[]).is_none());
        let base = ack.max(1000);
        let done = session
            .single(tick, base, &world(base, 5), &world(tick, 5))
            .unwrap();
        assert_eq!(done.fate, Fate::Kept, "{tick}");
        assert_eq!(session.store.acked(), Some(ack));
        most = most.max(session.store.len());
    }
    assert_eq!(
        (
            most,
            session.store.at(1354).is_some(),
            session.store.at(1352).is_some()
        ),
        (23, true, false)
    );
    // Without acks, snapshots are dropped when servers forget them.
    for tick in (1400..3000).step_by(2) {
        assert_eq!(session.complete(tick, &world(tick, 5)), Fate::Kept);
    }
    assert_eq!(session.store.len(), 88);
}

#[test]
fn a_map_change_clears_it() {
    let mut session = Session::new(Proto::Ddnet);
    // The handshake against spoofed addresses, in which ticks are a token.
    let empty = [("tick", 180_094_995), ("delta_tick", 180_094_996)];
    assert_eq!(
        session.send(Dir::S2c, "snap_empty", &empty, &[]).unwrap().fate,
        Fate::Kept
    );
    assert!(session.send(Dir::C2s, "enter_game", &[], &[]).is_none());
    assert!(session.store.is_empty());
    let world = snapshot(&[(5, 1, &[1, 2, 3])]);
    assert_eq!(session.complete(10, &world), Fate::Kept);
    // A repetition has no effect.
    assert!(session.send(Dir::C2s, "enter_game", &[], &[]).is_none());
    assert_eq!(session.store.len(), 1);
    assert!(session.send(Dir::S2c, "map_change", &[], &[]).is_none());
    assert!(session.store.is_empty() && session.store.held() == 0 && session.store.whole());
    assert_eq!(session.complete(2, &world), Fate::Kept);
}

#[test]
fn after_a_gap() {
    let mut session = Session::new(Proto::V7);
    let worlds = [100, 102, 104].map(|tick| world(tick, 3));
    assert_eq!(session.complete(100, &worlds[0]), Fate::Kept);
    session.store.gap();
    assert!(!session.store.whole());
    assert_eq!(
        session.single(104, 102, &worlds[1], &worlds[2]).unwrap().fate,
        Fate::NoBase
    );
    // Even an empty snapshot with a known base is uncertain.
    let empty = [("tick", 106), ("delta_tick", 6)];
    assert_eq!(
        session.send(Dir::S2c, "snap_empty", &empty, &[]).unwrap().fate,
        Fate::Kept
    );
    assert!(!session.store.whole());
    assert_eq!(
        session.single(108, 100, &worlds[0], &worlds[2]).unwrap().fate,
        Fate::Kept
    );
    assert!(session.store.whole());
    // The map changed in between: the same tick has another meaning.
    session.store.gap();
    let done = session.single(110, 108, &worlds[1], &worlds[0]).unwrap();
    assert_eq!(
        (done.fate, done.crc, codes(done.notes)),
        (Fate::NoBase, None, vec![])
    );
    assert!(session.store.is_empty() && !session.store.whole());
    assert_eq!(session.complete(112, &worlds[0]), Fate::Kept);
    assert!(session.store.whole());
    // The map changed and ticks restart.
    assert_eq!(session.complete(5000, &worlds[0]), Fate::Kept);
    session.store.gap();
    assert_eq!(session.complete(20, &worlds[0]), Fate::Kept);
    assert_eq!((session.store.len(), session.store.whole()), (1, true));
}

/// A server that sends as much as it can holds no more than the limit, and the last base and the last ack stay.
#[test]
fn a_store_is_bounded() {
    let mut session = Session::new(Proto::V7);
    session.store = session.store.with_limit(300_000);
    let large = snapshot(&[(23, 0, &[9; 16_000])]);
    for tick in 0..200 {
        let ack = [("ack_snapshot", 3), ("intended_tick", tick)];
        assert!(session.send(Dir::C2s, "input", &ack, &[]).is_none());
        for part in parts(&session, tick, &large) {
            let done = session.receive(Dir::S2c, &part);
            assert!(done.is_none_or(|done| done.fate == Fate::Kept));
        }
        assert!(session.store.held() <= 300_000, "{}", session.store.held());
        assert_eq!(
            session.store.at(3).is_some(),
            (3..=175 + 3).contains(&tick),
            "{tick}"
        );
    }
    assert_eq!(session.store.len(), 4);
}
