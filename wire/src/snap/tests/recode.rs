//! Changed snapshots, as decoded by a client that is not aware of the changes.

use std::collections::BTreeMap;

use super::*;
use crate::testing::Dice;

/// A server that sends the world of each tick as a difference to the world that the client acked.
pub(super) struct Server {
    pub(super) proto: Proto,
    pub(super) sizes: Sizes,
    pub(super) worlds: BTreeMap<i32, Snapshot>,
    pub(super) dice: Dice,
}

impl Server {
    pub(super) fn next_world(&mut self, last: &Snapshot, is_crowded: bool) -> Snapshot {
        let mut world = last.clone();
        let keys: Vec<ItemKey> = world.items().map(|(key, _)| key).collect();
        for key in keys {
            match self.dice.below(10) {
                0 => {
                    world.remove(key);
                }
                1..4 => {
                    let int = self.dice.int();
                    if let Some(first) = world.get_mut(key).and_then(|ints| ints.first_mut()) {
                        *first = int;
                    }
                }
                _ => {}
            }
        }
        let wanted = if is_crowded { 60 } else { 8 };
        while world.len() < wanted {
            // Types with known sizes, types with explicit sizes, and UUID types.
            let kind = [4, 9, 10, 11, 25, 0x7ffe][usize::try_from(self.dice.below(6)).unwrap()];
            let id = u16::try_from(self.dice.below(64)).unwrap();
            let len = self.sizes.of_kind(kind).unwrap_or(7);
            let ints: Vec<i32> = (0..len).map(|_| self.dice.int()).collect();
            let _ = world.insert(key(kind, id), &ints);
        }
        world
    }

    pub(super) fn messages(&self, tick: i32, base: i32) -> Vec<Vec<u8>> {
        let nothing = Snapshot::new();
        let from = if base < 0 { &nothing } else { &self.worlds[&base] };
        let (to, mut data) = (&self.worlds[&tick], Vec::new());
        to.delta(from, &self.sizes, &mut data).unwrap();
        let session = Session::new(self.proto);
        let head = [("tick", tick), ("delta_tick", tick.wrapping_sub(base))];
        let crc = [("crc", to.crc())];
        match data.len() {
            0 => vec![session.message("snap_empty", &head, &[])],
            1..=PART => vec![session.message("snap_single", &[&head[..], &crc].concat(), &data)],
            len => {
                let parts = i32::try_from(len.div_ceil(PART)).unwrap();
                let part = |(part, data): (i32, &[u8])| {
                    let place = [("num_parts", parts), ("part", part)];
                    session.message("snap", &[&head[..], &crc, &place].concat(), data)
                };
                (0..).zip(data.chunks(PART)).map(part).collect()
            }
        }
    }
}

/// Returns the messages that are sent instead of `message`.
fn sent(recoded: Recoded, message: &[u8]) -> Vec<Vec<u8>> {
    match recoded {
        Recoded::Same => vec![message.to_vec()],
        Recoded::Waits | Recoded::Never => Vec::new(),
        Recoded::Messages(messages) => messages,
    }
}

/// Picks changes of some items, and applies them to a copy of the world.
pub(super) fn edits(dice: &mut Dice, world: &Snapshot) -> (Vec<ItemEdit>, Snapshot) {
    let (mut edits, mut changed) = (Vec::new(), world.clone());
    for (key, ints) in world.items() {
        if dice.below(4) == 0 {
            let mut ints = ints.to_vec();
            for int in &mut ints {
                if dice.below(5) == 0 {
                    *int = dice.int();
                }
            }
            changed.get_mut(key).unwrap().copy_from_slice(&ints);
            edits.push(ItemEdit {
                key,
                ints: ints.into(),
            });
        }
    }
    // An item that does not exist, and an edit of another size, change nothing.
    edits.push(ItemEdit {
        key: key(4, 999),
        ints: [1, 2, 3].into(),
    });
    edits.push(ItemEdit {
        key: key(9, 0),
        ints: [1].into(),
    });
    (edits, changed)
}

#[derive(Debug, Default)]
struct Tally {
    kept: u32,
    changed: u32,
    in_parts: u32,
    empty: u32,
    same: u32,
    refused: u32,
}

/// Checks that the client's snapshot equals the expected snapshot. Returns its tick if the client keeps it.
fn compare(
    client: &mut Session,
    message: &[u8],
    expected: &BTreeMap<i32, Snapshot>,
    server: &Server,
    tally: &mut Tally,
    place: std::fmt::Arguments<'_>,
) -> Option<i32> {
    let done = client.receive(Dir::S2c, message)?;
    let wrong = matches!(done.fate, Fate::Broken | Fate::BadCrc | Fate::NoBase);
    assert!(!wrong, "{place}: {done}");
    assert_eq!(done.snapshot(), &expected[&done.tick], "{place}: {done}");
    tally.empty += u32::from(done.crc.is_none());
    (done.fate == Fate::Kept).then(|| {
        tally.kept += 1;
        tally.changed += u32::from(expected[&done.tick] != server.worlds[&done.tick]);
        done.tick
    })
}

/// A session with losses on both sides, old acks, and rules that change items now and then.
fn play(proto: Proto, seed: u64, tally: &mut Tally) {
    let mut server = Server {
        proto,
        sizes: sizes(proto),
        worlds: BTreeMap::new(),
        dice: Dice(seed | 1),
    };
    let mut recoder = Recoder::new(registry(), proto);
    let mut client = Session::new(proto);
    let mut expected: BTreeMap<i32, Snapshot> = BTreeMap::new();
    let mut acks = vec![-1];
    let mut world = Snapshot::new();
    let mut late: Vec<Vec<u8>> = Vec::new();
    for step in 0..220 {
        let tick = 10 + 2 * step;
        // Some are followed from their beginning, others until a complete snapshot is requested.
        let is_on = (0..120).contains(&step) && (seed.is_multiple_of(2) || step >= 20);
        if seed % 2 == 1 && step == 25 {
            acks.extend([-1; 3]);
        }
        if step % 7 != 0 {
            world = server.next_world(&world, step % 11 < 3);
        }
        server.worlds.insert(tick, world.clone());
        // Acks are reordered.
        let back = usize::try_from(server.dice.below(3)).unwrap();
        let base = acks[acks.len().saturating_sub(1 + back)];
        let (edits, changed) = if is_on && step >= 20 && server.dice.below(4) > 0 {
            edits(&mut server.dice, &world)
        } else {
            (Vec::new(), world.clone())
        };
        expected.insert(tick, changed);
        let mut messages = server.messages(tick, base);
        if messages.len() > 1 && server.dice.below(4) == 0 {
            messages.reverse();
        }
        let (mut left, lost) = (Vec::new(), server.dice.below(8));
        for (at, message) in messages.iter().enumerate() {
            if at == 0 && lost == 0 {
                continue;
            }
            let is_dropped = lost == 1 && at + 1 == messages.len();
            let changes = Changes {
                items: &edits,
                bytes: None,
                is_dropped,
                may_follow: is_on,
            };
            let (recoded, why) = recoder.on_message(message, changes);
            if why.is_some() {
                expected.insert(tick, world.clone());
                tally.refused += 1;
            }
            tally.same += u32::from(step > 180 && recoded == Recoded::Same);
            left.extend(sent(recoded, message).into_iter().filter(|_| !is_dropped));
        }
        tally.in_parts += u32::from(left.len() > 1);
        // Some messages are reordered, and some are lost.
        let fate = server.dice.below(10);
        let arriving = match fate {
            0 => Vec::new(),
            1 => std::mem::replace(&mut late, left),
            _ => left.into_iter().chain(std::mem::take(&mut late)).collect(),
        };
        for message in arriving {
            let place = format_args!("{proto} {seed} step {step}");
            acks.extend(compare(&mut client, &message, &expected, &server, tally, place));
        }
        assert!(recoder.len() <= 100 && recoder.held() <= 4 << 20);
        if step > 180 {
            assert!(recoder.is_idle(), "{proto} {seed} step {step}");
        }
    }
}

#[test]
fn a_client_reads_changed_snapshots_through_losses_and_old_acks() {
    for proto in [Proto::V6, Proto::V65, Proto::Ddnet, Proto::V7] {
        let mut tally = Tally::default();
        for seed in 1..40 {
            play(proto, seed * 7919 * 2 + seed % 2, &mut tally);
        }
        let Tally {
            kept,
            changed,
            in_parts,
            empty,
            same,
            refused,
        } = tally;
        assert!(kept > 4000 && changed > 1200 && in_parts > 300, "{tally:?}");
        assert!(empty > 50 && same > 1000 && refused > 50, "{tally:?}");
    }
}

fn world(ints: &[i32; 4]) -> Snapshot {
    snapshot(&[(4, 0, &ints[..3]), (25, 7, ints)])
}

fn single(tick: i32, base: (i32, &Snapshot), to: &Snapshot) -> Vec<u8> {
    let mut data = Vec::new();
    to.delta(base.1, &sizes(Proto::V7), &mut data).unwrap();
    let head = [("tick", tick), ("delta_tick", tick - base.0), ("crc", to.crc())];
    Session::new(Proto::V7).message("snap_single", &head, &data)
}

fn on(items: &[ItemEdit]) -> Changes<'_> {
    Changes {
        items,
        may_follow: true,
        ..Changes::default()
    }
}

fn edit(ints: [i32; 4]) -> [ItemEdit; 1] {
    [ItemEdit {
        key: key(25, 7),
        ints: ints.into(),
    }]
}

#[test]
fn only_messages_that_depend_on_a_change_are_written_anew() {
    let mut recoder = Recoder::new(registry(), Proto::V7);
    let (nothing, one, two) = (Snapshot::new(), world(&[1; 4]), world(&[2; 4]));
    let first = single(10, (-1, &nothing), &one);
    assert_eq!(recoder.on_message(&first, on(&[])), (Recoded::Same, None));
    // An edit to the values that the item already has.
    let same = edit([2; 4]);
    let second = single(12, (10, &one), &two);
    assert_eq!(recoder.on_message(&second, on(&same)), (Recoded::Same, None));
    let other = edit([9; 4]);
    let third = single(14, (10, &one), &two);
    let (recoded, why) = recoder.on_message(&third, on(&other));
    assert!(matches!(&recoded, Recoded::Messages(one) if one.len() == 1 && one[0] != third));
    assert_eq!((why, recoder.is_idle()), (None, false));
    // A copy of a snapshot is recoded as before, even if the rules would change it differently now.
    let again = recoder.on_message(&third, on(&same));
    assert_eq!(again, (recoded, Some(NotChanged::SentBefore)));
    // Without rules, the base determines the result.
    let off = Changes::default();
    let clean = single(16, (12, &two), &one);
    assert_eq!(recoder.on_message(&clean, off), (Recoded::Same, None));
    let changed = single(18, (14, &two), &one);
    let (recoded, why) = recoder.on_message(&changed, off);
    assert!(matches!(recoded, Recoded::Messages(_)) && why.is_none());
    let rest = single(60, (18, &one), &two);
    assert_eq!(recoder.on_message(&rest, off), (Recoded::Same, None));
    assert!(!recoder.is_idle());
    let last = single(62, (60, &two), &one);
    assert_eq!(recoder.on_message(&last, off), (Recoded::Same, None));
    assert!(recoder.is_idle());
}

#[test]
fn a_snapshot_without_a_known_base_is_not_changed() {
    let mut recoder = Recoder::new(registry(), Proto::V7);
    let (nothing, one, two) = (Snapshot::new(), world(&[1; 4]), world(&[2; 4]));
    let other = edit([9; 4]);
    let first = single(10, (4, &one), &two);
    let (recoded, why) = recoder.on_message(&first, on(&other));
    assert_eq!((recoded, why), (Recoded::Same, Some(NotChanged::NoBase)));
    let second = single(12, (10, &two), &one);
    let (recoded, why) = recoder.on_message(&second, on(&other));
    assert_eq!((recoded, why), (Recoded::Same, Some(NotChanged::NoBase)));
    let full = single(14, (-1, &nothing), &two);
    assert!(matches!(
        recoder.on_message(&full, on(&other)),
        (Recoded::Messages(_), None)
    ));
    // The client cannot read a snapshot whose changed base is no longer kept.
    let far = single(16, (-1, &nothing), &two);
    let (_, why) = recoder.on_message(&far, on(&other));
    assert_eq!(why, None);
    let between = single(18, (15, &one), &two);
    let (recoded, _) = recoder.on_message(&between, on(&other));
    assert_eq!(recoded, Recoded::Never);
}

#[test]
fn other_bytes_and_dropped_parts_leave_no_snapshot() {
    let mut recoder = Recoder::new(registry(), Proto::V7);
    let nothing = Snapshot::new();
    let mut large = Snapshot::new();
    for id in 0..40 {
        large.insert(key(25, id), &[i32::MAX; 12]).unwrap();
    }
    let mut data = Vec::new();
    large.delta(&nothing, &sizes(Proto::V7), &mut data).unwrap();
    let part = |tick: i32, part: i32| {
        let number = usize::try_from(part).unwrap();
        let head = [
            ("tick", tick),
            ("delta_tick", tick + 1),
            ("num_parts", 3),
            ("part", part),
            ("crc", large.crc()),
        ];
        let data = data.chunks(PART).nth(number).unwrap();
        Session::new(Proto::V7).message("snap", &head, data)
    };
    assert_eq!(data.len().div_ceil(PART), 3);
    let waits = (Recoded::Waits, None);
    // Other bytes of one part.
    assert_eq!(recoder.on_message(&part(10, 0), on(&[])), waits);
    let broken = Changes {
        bytes: Some(b"broken"),
        ..on(&[])
    };
    assert_eq!(recoder.on_message(&part(10, 2), broken), waits);
    let (recoded, _) = recoder.on_message(&part(10, 1), on(&[]));
    let wanted = vec![part(10, 0), b"broken".to_vec(), part(10, 1)];
    assert_eq!(recoded, Recoded::Messages(wanted));
    assert!(recoder.is_empty());
    // A dropped part: the other parts are never sent.
    assert_eq!(recoder.on_message(&part(12, 0), on(&[])), waits);
    let dropped = Changes {
        is_dropped: true,
        ..on(&[])
    };
    assert_eq!(recoder.on_message(&part(12, 1), dropped).0, Recoded::Never);
    assert_eq!(recoder.on_message(&part(12, 2), on(&[])), waits);
    // The next snapshot starts; older parts are too late.
    assert_eq!(recoder.on_message(&part(14, 0), on(&[])), waits);
    assert_eq!(recoder.on_message(&part(12, 0), on(&[])).0, Recoded::Never);
    assert_eq!(recoder.on_message(&part(14, 1), on(&[])), waits);
    // A complete snapshot in between is sent immediately.
    let small = single(13, (-1, &nothing), &world(&[1; 4]));
    assert_eq!(recoder.on_message(&small, on(&[])).0, Recoded::Same);
    let all = vec![part(14, 0), part(14, 1), part(14, 2)];
    assert_eq!(
        recoder.on_message(&part(14, 2), on(&[])).0,
        Recoded::Messages(all)
    );
}
