//! Deltas that no server sends.

use super::*;

/// Notes as code, first byte and length.
type Found = Vec<(&'static str, usize, usize)>;

/// Reads and applies a delta. Returns the result and the notes.
fn apply(base: &Snapshot, data: &[u8]) -> (Result<Counts, Counts>, Snapshot, Found) {
    let (mut delta, mut out, mut counts) = (Delta::new(), Snapshot::new(), Counts::default());
    let read = delta.read(&sizes(Proto::V7), data);
    let applied = delta.apply(base, &mut out, &mut counts);
    assert!(read.is_ok() || applied.is_err());
    let notes = delta
        .notes()
        .iter()
        .map(|note| (note.code.name(), note.at, note.len));
    let result = if applied.is_ok() { Ok(counts) } else { Err(counts) };
    (result, out, notes.collect())
}

/// Applies a delta of ints. Returns true if it worked, and the oddities.
fn odd(base: &Snapshot, ints: &[i32]) -> (bool, Found) {
    let (result, _, notes) = apply(base, &packed(ints));
    (result.is_ok(), notes)
}

/// Returns a snapshot with a flag, and an item of a type without agreed size.
fn base() -> Snapshot {
    snapshot(&[(5, 1, &[10, 20, 0]), (23, 0, &[7])])
}

#[test]
fn nothing_changes_nothing() {
    for data in [&[][..], &[0, 0, 0]] {
        let (result, out, notes) = apply(&base(), data);
        assert_eq!((out, notes.len()), (base(), 0));
        assert_eq!(result.map(|counts| counts.items), Ok(2));
    }
}

#[test]
fn differences_wrap() {
    let base = snapshot(&[(5, 1, &[i32::MAX, i32::MIN, -1])]);
    let (result, out, notes) = apply(&base, &packed(&[0, 1, 0, 5, 1, 1, -1, i32::MIN]));
    assert_eq!((result.unwrap().changed, notes.len()), (1, 0));
    assert_eq!(out.get(key(5, 1)), Some(&[i32::MIN, i32::MAX, i32::MAX][..]));
    assert_eq!(out.crc(), i32::MIN.wrapping_add(i32::MAX).wrapping_add(i32::MAX));
}

#[test]
fn what_clients_take() {
    let flag = key(5, 1).to_int();
    let good = [
        // An update without ints changes nothing.
        (vec![0, 1, 0, 5, 1, 0, 0, 0], vec![]),
        (vec![0, 0, 4], vec![("unexpected-bytes", 2, 1)]),
        (vec![0, -1, 0], vec![("out-of-range", 1, 1)]),
        (vec![0, 0, 0, 9, 9], vec![("surplus-bytes", 3, 2)]),
        (vec![1, 0, 0, 3], vec![("snap-not-there", 3, 1)]),
        (vec![2, 0, 0, flag, flag], vec![("snap-item-again", 6, 3)]),
        (
            vec![1, 1, 0, flag, 5, 1, 1, 1, 1],
            vec![("snap-item-again", 6, 5)],
        ),
        (
            vec![0, 2, 0, 5, 1, 1, 1, 1, 5, 1, 2, 2, 2],
            vec![("snap-item-again", 8, 5)],
        ),
    ];
    for (ints, notes) in good {
        assert_eq!(odd(&base(), &ints), (true, notes), "{ints:?}");
    }
    let overlong = [0x80, 0, 0, 0x80, 0x80, 0x80, 0x80, 0x10];
    let (result, _, notes) = apply(&base(), &overlong);
    assert!(result.is_ok());
    assert_eq!(
        notes,
        [
            ("overlong-int", 0, 2),
            ("overlong-int", 3, 5),
            ("int-padding", 3, 5)
        ]
    );
    // The last update counts. It is relative to the base, not to the update before it.
    let (_, out, _) = apply(&base(), &packed(&[0, 2, 0, 5, 1, 1, 1, 1, 5, 1, 2, 2, 2]));
    assert_eq!(out.get(key(5, 1)), Some(&[12, 22, 2][..]));
    // It also counts if the item is deleted as well.
    let (_, out, _) = apply(&base(), &packed(&[1, 1, 0, flag, 5, 1, 1, 1, 1]));
    assert_eq!(out.get(key(5, 1)), Some(&[11, 21, 1][..]));
}

#[test]
fn what_clients_discard() {
    let bad = [
        (vec![0], ("snap-truncated", 1, 0)),
        (vec![0, 0], ("snap-truncated", 2, 0)),
        (vec![-1, 0, 0], ("snap-bad-item", 0, 1)),
        (vec![2, 0, 0, key(5, 1).to_int()], ("snap-truncated", 6, 0)),
        (vec![0, 1, 0, 5, 1, 1, 1], ("snap-truncated", 7, 0)),
        (vec![0, 1, 0, 23], ("snap-truncated", 4, 0)),
        (vec![0, 1, 0, 23, 0], ("snap-truncated", 5, 0)),
        (vec![0, 1, 0, 23, 0, -1], ("snap-bad-item", 3, 3)),
        (vec![0, 1, 0, 23, 0, 0x10000], ("snap-bad-item", 3, 5)),
        (vec![0, 1, 0, -1, 0, 0], ("snap-bad-item", 3, 2)),
        (vec![0, 1, 0, 0x8000, 0, 0], ("snap-bad-item", 3, 4)),
        (vec![0, 1, 0, 5, 0x10000, 0, 0, 0], ("snap-bad-item", 3, 4)),
        (vec![0, 1, 0, 5, -1, 0, 0, 0], ("snap-bad-item", 3, 2)),
        (vec![0, 1, 0, 23, 0, 2, 1, 1], ("snap-item-resized", 3, 5)),
        (
            vec![0, 2, 0, 24, 0, 1, 1, 24, 0, 2, 1, 1],
            ("snap-item-resized", 7, 5),
        ),
    ];
    for (ints, note) in bad {
        assert_eq!(odd(&base(), &ints), (false, vec![note]), "{ints:?}");
    }
    // The part before the fault can still be shown.
    let (result, out, _) = apply(&base(), &packed(&[0, 2, 0, 5, 1, 1, 1, 1, 5]));
    assert_eq!(result.unwrap_err().changed, 1);
    assert_eq!(out.get(key(5, 1)), Some(&[11, 21, 1][..]));
    // An int without an end.
    assert_eq!(apply(&base(), &[0, 0, 0x80]).2, [("snap-truncated", 2, 1)]);
}

#[test]
fn the_limits_of_clients() {
    let items = |count: u16| {
        let items = (0..count).flat_map(|id| [5, i32::from(id), 1, 2, 3]);
        [0, count.into(), 0].into_iter().chain(items).collect::<Vec<_>>()
    };
    assert_eq!(odd(&Snapshot::new(), &items(1024)), (true, vec![]));
    assert_eq!(
        odd(&Snapshot::new(), &items(1025)),
        (false, vec![("snap-too-large", 0, 0)])
    );
    // 16 bytes and four for each int: 64 KiB.
    let one = |ints: u16| [&[0, 1, 0, 23, 0, ints.into()][..], &vec![1; ints.into()]].concat();
    assert_eq!(odd(&Snapshot::new(), &one(16_378)), (true, vec![]));
    assert_eq!(
        odd(&Snapshot::new(), &one(16_379)),
        (false, vec![("snap-too-large", 16_386, 1)])
    );
    let halves = |ints: u16| [&one(ints)[..], &[23, 1, 8_000], &vec![1; 8_000]].concat();
    let two = |ints| [&[0, 2][..], &halves(ints)[2..]].concat();
    assert_eq!(odd(&Snapshot::new(), &two(8_376 - 7)), (true, vec![]));
    let (result, out, _) = apply(&base(), &packed(&two(8_376 - 7)));
    assert!(result.is_err() && out.size() <= MAX_SIZE);

    let mut full = Snapshot::new();
    for id in 0..1024 {
        full.insert(key(23, id), &[]).unwrap();
    }
    assert_eq!(full.insert(key(24, 0), &[]), Err(InsertError::Full));
    assert_eq!(full.insert(key(23, 9), &[]), Err(InsertError::Taken(key(23, 9))));
    assert_eq!(
        full.insert(key(0x8000, 9), &[]),
        Err(InsertError::BadType(0x8000))
    );
    assert!(full.remove(key(23, 9)) && !full.remove(key(23, 9)) && full.len() == 1023);
    assert_eq!(full.insert(key(24, 0), &[0; 20_000]), Err(InsertError::Full));
}

/// The note with the reason is kept even among many lesser notes.
#[test]
fn the_reason_is_reported() {
    let mut data = [0x80, 0].repeat(3);
    data.extend([0x80, 0]);
    data.splice(2..4, packed(&[64]));
    data.extend(packed(&[5, 1, 0, 0, 0]));
    for _ in 0..30 {
        data.extend([0x85, 0, 0x81, 0, 0x80, 0, 0, 0]);
    }
    let (result, _, notes) = apply(&base(), &data);
    assert!(result.is_err() && notes.len() <= Notes::CAPACITY);
    assert!(
        notes.iter().any(|(code, ..)| code.starts_with("snap-")),
        "{notes:?}"
    );
}

#[test]
fn changes_that_a_delta_cannot_express() {
    let mut out = vec![1];
    let (one, two) = (snapshot(&[(23, 0, &[1])]), snapshot(&[(23, 0, &[1, 2])]));
    assert_eq!(
        two.delta(&one, &sizes(Proto::V7), &mut out),
        Err(DeltaError::Resized(key(23, 0)))
    );
    let short = snapshot(&[(5, 0, &[1])]);
    let error = DeltaError::WrongSize {
        key: key(5, 0),
        agreed: 3,
    };
    assert_eq!(
        short.delta(&Snapshot::new(), &sizes(Proto::V7), &mut out),
        Err(error)
    );
    assert_eq!(out, [1]);
}
