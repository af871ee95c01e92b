//! Properties of all snapshots and all bytes.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

/// Generates items that a server may send: items with known sizes, items with explicit sizes, descriptors, and items of
/// the described types.
fn items() -> impl Strategy<Value = BTreeMap<(u16, u16), Vec<i32>>> {
    let kind = prop_oneof![0u16..30, Just(0x4000), 0x7ff0u16..=0x7fff];
    let int = prop_oneof![-3i32..3, any::<i32>()];
    let item = (
        (kind, prop_oneof![0u16..4, 0x7ff0u16..=0xffff]),
        prop::collection::vec(int, 0..70),
    );
    prop::collection::btree_map(
        item.clone().prop_map(|item| item.0),
        item.prop_map(|item| item.1),
        0..40,
    )
}

/// Gives every item a valid size: the known size of its type, or else a size derived from its key.
fn sized(items: &BTreeMap<(u16, u16), Vec<i32>>, sizes: &Sizes) -> Snapshot {
    let mut snapshot = Snapshot::new();
    for ((kind, id), ints) in items {
        let len = sizes.of_kind(*kind).unwrap_or((kind ^ id) % 9);
        let ints: Vec<i32> = ints
            .iter()
            .copied()
            .chain(std::iter::repeat(0))
            .take(len.into())
            .collect();
        snapshot.insert(key(*kind, *id), &ints).unwrap();
    }
    snapshot
}

/// The count of the items in a delta may need more than one byte.
#[test]
fn a_delta_of_many_new_items_and_one_changed_item_is_complete() {
    let sizes = sizes(Proto::V7);
    let (mut base, mut to) = (Snapshot::new(), Snapshot::new());
    base.insert(key(0x50, 0), &[1]).unwrap();
    for id in 0..=200 {
        to.insert(key(0x50, id), &[2]).unwrap();
    }
    let mut data = Vec::new();
    let counts = to.delta(&base, &sizes, &mut data).unwrap();
    assert_eq!((counts.new, counts.changed, counts.deleted), (200, 1, 0));
    let (mut delta, mut made, mut again) = (Delta::new(), Snapshot::new(), Counts::default());
    delta.read(&sizes, &data).unwrap();
    delta.apply(&base, &mut made, &mut again).unwrap();
    assert_eq!((made, again), (to, counts));
    assert_eq!(delta.notes().len(), 0);
}

proptest! {
    #[test]
    fn a_delta_leads_from_one_to_the_other(one in items(), other in items(), mixed in any::<bool>()) {
        for proto in [Proto::V65, Proto::Ddnet, Proto::V7] {
            let sizes = sizes(proto);
            let both: BTreeMap<_, _> = one.clone().into_iter().chain(other.clone()).collect();
            let (base, to) = (sized(&one, &sizes), sized(if mixed { &both } else { &other }, &sizes));
            let mut data = Vec::new();
            let counts = to.delta(&base, &sizes, &mut data).unwrap();
            prop_assert_eq!(data.is_empty(), base == to);
            let (mut delta, mut made, mut again) = (Delta::new(), Snapshot::new(), Counts::default());
            delta.read(&sizes, &data).unwrap();
            delta.apply(&base, &mut made, &mut again).unwrap();
            prop_assert_eq!((&made, made.crc(), again), (&to, to.crc(), counts));
            prop_assert_eq!(delta.notes().len(), 0);
            // A cut delta is rejected, wherever it is cut.
            for end in 1..data.len() {
                prop_assert_eq!(delta.read(&sizes, &data[..end]), Err(Broken));
            }
        }
    }

    #[test]
    fn keys_are_one_int(int in any::<i32>()) {
        prop_assert_eq!(ItemKey::from_int(int).to_int(), int);
    }

    #[test]
    fn inserting_and_removing_keeps_the_others(items in items(), at in any::<prop::sample::Index>()) {
        let sizes = sizes(Proto::V7);
        let whole = sized(&items, &sizes);
        prop_assume!(!whole.is_empty());
        let (key, ints) = whole.items().nth(at.index(whole.len())).unwrap();
        let mut less = whole.clone();
        prop_assert!(less.remove(key) && less.get(key).is_none() && less.len() + 1 == whole.len());
        for (other, ints) in whole.items().filter(|(other, _)| *other != key) {
            prop_assert_eq!(less.get(other), Some(ints));
        }
        less.insert(key, ints).unwrap();
        prop_assert_eq!(&less, &whole);
        for kind in (0..0x7fff).step_by(0x1000).chain([key.kind]) {
            let some: Vec<_> = whole.items().filter(|(other, _)| other.kind == kind).collect();
            prop_assert_eq!(whole.items_of(kind).collect::<Vec<_>>(), some);
        }
        let sum: i64 = whole.items().flat_map(|(_, ints)| ints).map(|int| i64::from(*int)).sum();
        prop_assert_eq!(i64::from(whole.crc().cast_unsigned()), sum & 0xffff_ffff);
    }

    #[test]
    fn any_bytes_stay_bounded(data in prop::collection::vec(any::<u8>(), 0..3000), items in items(), head in 0u8..4) {
        // Counts that match the length exercise more code than random counts.
        let head: &[u8] = match head {
            0 => &[],
            1 => &[0, 0x3f, 0],
            2 => &[2, 0x3f, 0],
            _ => &[0, 0xbf, 0x7f, 0],
        };
        let data = [head, &data].concat();
        let sizes = sizes(Proto::V7);
        let base = sized(&items, &sizes);
        let (mut delta, mut out, mut counts) = (Delta::new(), Snapshot::new(), Counts::default());
        let read = delta.read(&sizes, &data);
        let applied = delta.apply(&base, &mut out, &mut counts);
        prop_assert!(read.is_ok() || applied.is_err());
        prop_assert!(applied.is_ok() || !delta.notes().is_empty());
        prop_assert!(out.len() <= MAX_ITEMS && out.size() <= MAX_SIZE && counts.items == out.len());
        prop_assert_eq!(counts.items + counts.deleted, base.len() + counts.new);
        for note in delta.notes().iter() {
            prop_assert!(note.at + note.len <= data.len());
        }
        let again: Vec<_> = out.items().map(|(key, _)| key).collect();
        prop_assert!(again.is_sorted_by(|a, b| a < b));
    }
}
