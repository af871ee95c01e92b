//! Single snapshots: their size, values out of range, rows of wrong sums, and almost full snapshots.

use super::*;

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
    session
        .store
        .diagnose(&mut ChecksumCauses::default(), &message)
        .unwrap()
}

#[test]
fn items_of_another_size_are_named() {
    // Flags of 0.7 have three ints; these have four, or each states its size.
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

/// A complete snapshot with two flags, and its sum.
const FLAGS: [i32; 13] = [0, 2, 0, 5, 0, 1000, 2000, 0, 5, 1, 3000, 4000, 1];
const SUM: i32 = 1000 + 2000 + 3000 + 4000 + 1;

#[test]
fn data_in_another_form_is_named() {
    let named = |ints: &[i32], crc| {
        let diagnosis = diagnose(Proto::V7, ints, crc);
        assert_eq!(diagnosis.causes.len(), 1, "{diagnosis}");
        (diagnosis.causes[0].cause, diagnosis.causes[0].text.clone())
    };
    // Pickups have three ints, too.
    let stated = [0, 2, 0, 4, 7, 3, 500, 600, 2, 5, 1, 3, 3000, 4000, 1];
    let (cause, text) = named(&stated, 500 + 600 + 2 + 3000 + 4000 + 1);
    assert_eq!(cause, Cause::Form(FormFault::AllSizes));
    assert_eq!(
        text,
        "each item is sent with its size, also the types whose size both sides agreed on"
    );
    let two = [&FLAGS[..2], &FLAGS[3..]].concat();
    assert_eq!(named(&two, SUM).0, Cause::Form(FormFault::NoThird));
    let mut swapped = FLAGS;
    swapped.swap(3, 4);
    swapped.swap(8, 9);
    assert_eq!(named(&swapped, SUM).0, Cause::Form(FormFault::IdFirst));
    let bytes: u32 = [1000, 2000, 0, 3000, 4000, 1]
        .iter()
        .flat_map(|int: &i32| int.to_le_bytes())
        .map(u32::from)
        .sum();
    assert_eq!(
        named(&FLAGS, bytes as i32),
        (
            Cause::Sum(SumFault::Bytes),
            "the sum is over bytes, not over ints".to_owned()
        )
    );
}

#[test]
fn no_form_is_named_unless_everything_fits() {
    let mut swapped = FLAGS;
    swapped.swap(3, 4);
    swapped.swap(8, 9);
    let two = [&FLAGS[..2], &FLAGS[3..]].concat();
    for (ints, off) in [(&swapped[..], 1), (&two, 1), (&FLAGS, 1), (&FLAGS, -7)] {
        let mut session = Session::new(Proto::V7);
        let data = packed(ints);
        let fields = [
            ("tick", 10),
            ("delta_tick", 11),
            ("crc", SUM + off),
            ("part_size", data.len() as i32),
        ];
        let message = session.message("snap_single", &fields, &data);
        session.receive(Dir::S2c, &message);
        let found = session.store.diagnose(&mut ChecksumCauses::default(), &message);
        let forms = found.iter().flat_map(|found| &found.causes);
        let forms: Vec<_> = forms
            .filter(|cause| matches!(cause.cause, Cause::Form(_) | Cause::Sum(SumFault::Bytes)))
            .collect();
        assert!(forms.is_empty(), "{ints:?}: {forms:?}");
    }
}

#[test]
fn the_tick_of_the_base_in_place_of_the_difference_is_named() {
    let mut session = Session::new(Proto::V7);
    let world = snapshot(&[(5, 0, &[1000, 2000, 0]), (5, 1, &[3000, 4000, 1])]);
    session.complete(1008, &world);
    let mut diagnose = |crc| {
        let fields = [
            ("tick", 1010),
            ("delta_tick", 1008),
            ("crc", crc),
            ("part_size", 3),
        ];
        let message = session.message("snap_single", &fields, &[0, 0, 0]);
        let fate = session.receive(Dir::S2c, &message).unwrap().fate;
        assert_eq!(fate, Fate::NoBase);
        session.store.diagnose(&mut ChecksumCauses::default(), &message)
    };
    assert_eq!(diagnose(SUM + 1), None);
    assert_eq!(
        diagnose(SUM).unwrap().to_string(),
        "likely cause: delta_tick is the tick of the base, 1008, not the difference to it, 2"
    );
}

#[test]
fn a_value_out_of_its_range_is_named() {
    // A flag of team 1 was sent as a flag of team 700.
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
    let mut doctor = ChecksumCauses::default();
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
    // A right snapshot ends the row.
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
