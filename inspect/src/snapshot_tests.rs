//! Tests of snapshots as lines and as JSON.

use teetap_wire::{
    Dir, Proto,
    def::{Class, Datum, Registry},
    snap::{ItemKey, Retained, Sizes, Snapshot, Store},
};

use super::*;
use crate::previous::Previous;

/// Plays the 0.7 snapshots `from` and `to`, and passes the second snapshot to `show`.
fn shown<T>(from: &Snapshot, to: &Snapshot, show: impl FnOnce(&Completed<'_>) -> T) -> T {
    let registry = Registry::builtin();
    let mut store = Store::new(registry, Proto::V7);
    follow(&mut store, registry, (10, -1), &Snapshot::new(), from);
    follow(&mut store, registry, (12, 10), from, to);
    show(&store.retained().unwrap().view())
}

/// Plays the message of one snapshot, given its tick and base.
fn follow(
    store: &mut Store<'static>,
    registry: &'static Registry,
    (tick, base): (i64, i64),
    before: &Snapshot,
    after: &Snapshot,
) {
    let mut decoded = Decoded::new();
    let mut data = Vec::new();
    after
        .delta(before, &Sizes::new(registry, Proto::V7), &mut data)
        .unwrap();
    let fields = [
        ("tick", Datum::Int(tick)),
        ("delta_tick", Datum::Int(tick - base)),
        ("crc", Datum::Int(after.crc().into())),
        ("part_size", Datum::Int(i64::try_from(data.len()).unwrap())),
        ("data", Datum::Bytes(data)),
    ];
    let def = registry
        .named(Proto::V7, Some(Class::System), "snap_single")
        .next()
        .unwrap();
    let mut message = Vec::new();
    def.encode(&Datum::group(fields), &mut message).unwrap();
    let def = decoded.message(registry, Proto::V7, Dir::S2c, &message).unwrap();
    assert!(store.on_message(Dir::S2c, def, &decoded, &message).is_some());
}

fn world(items: &[(u16, u16, &[i32])]) -> Snapshot {
    let mut world = Snapshot::new();
    for (kind, id, ints) in items {
        world.insert(ItemKey { kind: *kind, id: *id }, ints).unwrap();
    }
    world
}

/// One pickup is unchanged, one moves and has an odd kind, one is removed and one is added; type 99 has no definition.
fn worlds() -> [Snapshot; 2] {
    [
        world(&[
            (4, 1, &[320, 64, 0]),
            (4, 2, &[32, 64, 1]),
            (4, 3, &[0, 0, 0]),
            (99, 7, &[5, 6]),
        ]),
        world(&[
            (4, 1, &[320, 64, 0]),
            (4, 2, &[33, 64, 77]),
            (4, 4, &[1, 2, 3]),
            (99, 7, &[5, 9]),
        ]),
    ]
}

#[test]
fn lines_show_the_changes() {
    let [from, to] = worlds();
    let lines = shown(&from, &to, |completed| lines(completed, Secrets::Hide));
    assert_eq!(
        lines,
        [
            "~ pickup[2] x=32→33 type=1 (armor)→77 !out-of-range",
            "- pickup[3]",
            "+ pickup[4] x=1 y=2 type=3 (shotgun)",
            "~ type 99[7] 1:6→9",
        ]
    );
}

#[test]
fn json_has_all_items_and_their_values_before() {
    let [from, to] = worlds();
    let text = shown(&from, &to, |completed| {
        json(
            (completed, None),
            Style {
                items: true,
                ..Style::default()
            },
        )
    });
    assert_eq!(
        text,
        concat!(
            r#"{"tick":12,"base":10,"crc_ok":true,"parts":1,"fate":"kept","#,
            r#""counts":{"items":4,"new":1,"changed":2,"deleted":1},"items":["#,
            r#"{"type":4,"id":1,"name":"pickup","change":"same","fields":{"x":320,"y":64,"type":0}},"#,
            r#"{"type":4,"id":2,"name":"pickup","change":"changed","fields":{"x":33,"y":64,"type":77},"#,
            r#""notes":[{"code":"out-of-range","severity":"warning","at":2,"len":1,"text":"a value outside its range: receivers may drop it"}],"#,
            r#""before":{"x":32,"y":64,"type":1}},"#,
            r#"{"type":4,"id":3,"name":"pickup","change":"deleted","fields":{"x":0,"y":0,"type":0}},"#,
            r#"{"type":4,"id":4,"name":"pickup","change":"new","fields":{"x":1,"y":2,"type":3}},"#,
            r#"{"type":99,"id":7,"name":null,"change":"changed","ints":[5,9],"ints_before":[5,6]}]}"#,
        )
    );
    let text = shown(&from, &from, |completed| {
        json((completed, None), Style::default())
    });
    assert_eq!(
        text,
        r#"{"tick":12,"base":10,"crc_ok":true,"parts":1,"fate":"kept","counts":{"items":4,"new":0,"changed":0,"deleted":0}}"#
    );
}

#[test]
fn items_are_measured_as_a_difference_has_them() {
    let [from, to] = worlds();
    let registry = Registry::builtin();
    let sums = shown(&from, &to, |completed| measure(completed, registry, Proto::V7));
    let names: Vec<_> = sums.iter().map(|sum| (&*sum.name, sum.items)).collect();
    assert_eq!(names, [("pickup", 3), ("type 99", 1)]);
    let mut data = Vec::new();
    to.delta(&from, &Sizes::new(registry, Proto::V7), &mut data)
        .unwrap();
    // Three counts precede the items.
    let bytes: u32 = sums.iter().map(|sum| sum.bytes).sum();
    assert_eq!(bytes as usize + 3, data.len());
    for (int, bytes) in [
        (0, 1),
        (63, 1),
        (64, 2),
        (-64, 1),
        (-65, 2),
        (8191, 2),
        (i32::MAX, 5),
        (i32::MIN, 5),
    ] {
        assert_eq!(len(int), bytes, "{int}");
    }
}

#[test]
fn changes_are_counted_since_the_snapshot_before() {
    let registry = Registry::builtin();
    let [from, to] = worlds();
    let mut store = Store::new(registry, Proto::V7);
    let mut shots = Vec::new();
    let messages = [
        ((10, -1), &Snapshot::new(), &from),
        ((12, 10), &from, &to),
        ((14, 10), &from, &to),
        ((16, 10), &from, &from),
    ];
    for (ticks, before, after) in messages {
        follow(&mut store, registry, ticks, before, after);
        shots.push(store.retained().unwrap());
    }
    let mut previous = Previous::default();
    let mut since = |shot: &Retained<'static>| {
        let since = previous.compare(1, shot);
        since.map(|since| since.view().to_string())
    };
    let shown: Vec<_> = shots.iter().map(&mut since).collect();
    let shown: Vec<_> = shown.iter().map(Option::as_deref).collect();
    assert_eq!(
        shown,
        [
            None,
            Some("tick 12 base 10, 4 items, 1 new, 2 changed, 1 deleted, crc ok"),
            Some("tick 14 base 10, 4 items, the same as 12, crc ok"),
            Some("tick 16 base 10, 4 items, 1 new, 2 changed, 1 deleted since 14, crc ok"),
        ]
    );
    // A snapshot that is not newer is compared only with its base.
    assert_eq!(since(&shots[1]), None);
    previous.forget(1);
    assert!(previous.compare(1, &shots[3]).is_none());
}

#[test]
fn an_item_with_the_id_of_another_one_is_named() {
    let [from, to] = [0, 1].map(|kind| world(&[(4, 1, &[320, 64, 0]), (4, 2, &[32, 64, kind])]));
    assert_eq!(
        shown(&from, &to, crate::sentence::reused).as_deref(),
        Some("pickup[2] was another one at tick 10, 2 ticks before: servers give an id again after 250")
    );
    assert_eq!(shown(&from, &from, crate::sentence::reused), None);
}
