//! Worlds and their snapshots.

use std::collections::BTreeMap;

use super::message::{Message, system};
use crate::{codec::Variant, peer::game::put_int};

/// Number of bytes of each part of a snapshot except the last.
const PART: usize = 900;

/// The items of a snapshot by type and id.
pub(crate) type Items = BTreeMap<(i32, i32), Vec<i32>>;

/// A snapshot as it is sent.
pub(crate) struct Snap {
    pub(crate) tick: i32,
    /// The tick of its base; -1 for none.
    pub(crate) base: i32,
    pub(crate) crc: i32,
    pub(crate) data: Vec<u8>,
}

/// Returns a world with one player, standing at this place, and some pickups.
pub(crate) fn world(variant: Variant, tick: i32, x: i32) -> Items {
    let mut items = Items::new();
    let core = [tick, x, 305, 0, 0, 0, 0, 0, -1, 0, 0, x, 305, 0, 0];
    let pickups = [(400, 369), (720, 369), (1104, 241)];
    if variant.is_seven() {
        items.insert((6, 0), vec![100, 0, 0]);
        items.insert((10, 0), [&core[..], &[10, 0, 10, 1, 0, 0, 0]].concat());
        items.insert((11, 0), vec![8, 3, 25]);
    } else {
        items.insert((6, 0), vec![0, 0, 100, 0, 20, 0, 0, 1]);
        items.insert((9, 0), [&core[..], &[1, 10, 0, 10, 1, 0, 0]].concat());
        items.insert((10, 0), vec![1, 0, 0, 3, 25]);
    }
    for (id, (x, y)) in (0..).zip(pickups) {
        let kind = [x, y, 1, 0];
        let len = if variant.is_seven() { 3 } else { 4 };
        items.insert((4, id), kind.into_iter().take(len).collect());
    }
    items
}

/// Returns the sum of all ints.
pub(crate) fn sum(items: &Items) -> i32 {
    items
        .values()
        .flatten()
        .fold(0, |sum: i32, int| sum.wrapping_add(*int))
}

/// Returns the data that turns one snapshot into another. `states_size` returns true for types whose items are sent
/// with their size.
pub(crate) fn difference(base: &Items, items: &Items, states_size: impl Fn(i32) -> bool) -> Vec<u8> {
    let deleted: Vec<_> = base.keys().filter(|key| !items.contains_key(key)).collect();
    let updated: Vec<_> = items
        .iter()
        .filter(|(key, ints)| base.get(key) != Some(ints))
        .collect();
    let count = |count: usize| i32::try_from(count).unwrap_or(i32::MAX);
    let mut out = Vec::new();
    let mut put = |int| put_int(&mut out, int);
    [count(deleted.len()), count(updated.len()), 0]
        .into_iter()
        .for_each(&mut put);
    for (kind, id) in deleted {
        put(kind << 16 | id);
    }
    for ((kind, id), ints) in updated {
        put(*kind);
        put(*id);
        if states_size(*kind) {
            put(count(ints.len()));
        }
        let old = base.get(&(*kind, *id));
        for (at, int) in ints.iter().enumerate() {
            let old = old.and_then(|old| old.get(at)).copied().unwrap_or_default();
            put(int.wrapping_sub(old));
        }
    }
    out
}

/// Returns true for the types whose sizes are not agreed on in this variant.
pub(crate) fn has_size(variant: Variant, kind: i32) -> bool {
    let last = if variant.is_seven() { 22 } else { 20 };
    !(1..=last).contains(&kind)
}

impl Snap {
    /// Creates a snapshot as a difference to the snapshot of another tick.
    pub(crate) fn new(variant: Variant, tick: i32, base: (i32, &Items), items: &Items) -> Self {
        Self {
            tick,
            base: base.0,
            crc: sum(items),
            data: difference(base.1, items, |kind| has_size(variant, kind)),
        }
    }

    /// Creates a snapshot that is not a difference.
    pub(crate) fn complete(variant: Variant, tick: i32, items: &Items) -> Self {
        Self::new(variant, tick, (-1, &Items::new()), items)
    }

    /// Returns the messages of the snapshot, one for each part.
    pub(crate) fn messages(&self, variant: Variant) -> Vec<Message> {
        let first = if variant.is_seven() { 6 } else { 5 };
        let head = [self.tick, self.tick - self.base];
        let size = |bytes: &[u8]| i32::try_from(bytes.len()).unwrap_or(i32::MAX);
        let parts: Vec<&[u8]> = self.data.chunks(PART).collect();
        if let [data] = parts[..] {
            let single = system(first + 2).ints(&head).int(self.crc).int(size(data));
            return vec![single.raw(data).loose()];
        }
        let count = i32::try_from(parts.len()).unwrap_or(i32::MAX);
        let part = |(number, data): (i32, &&[u8])| {
            let part = system(first)
                .ints(&head)
                .ints(&[count, number, self.crc, size(data)]);
            part.raw(data).loose()
        };
        (0..).zip(&parts).map(part).collect()
    }
}

/// Returns an empty snapshot message: nothing has changed since `base`.
pub(crate) fn empty(variant: Variant, tick: i32, base: i32) -> Message {
    let id = if variant.is_seven() { 7 } else { 6 };
    system(id).ints(&[tick, tick - base]).loose()
}
