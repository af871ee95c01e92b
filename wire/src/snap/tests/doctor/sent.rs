//! A message of the sender, and its sums.

use super::*;

/// A message of the sender: the deleted keys, the updates and the sum.
pub(super) struct Sent {
    pub(super) deleted: Vec<ItemKey>,
    pub(super) updates: Vec<(ItemKey, Vec<i32>)>,
    pub(super) crc: i32,
}

pub(super) fn total(items: &Items) -> i32 {
    items
        .values()
        .flatten()
        .fold(0, |sum, int| sum.wrapping_add(*int))
}

pub(super) fn sum(ints: &[i32]) -> i32 {
    ints.iter().fold(0, |sum, int| sum.wrapping_add(*int))
}

impl Sent {
    pub(super) fn new(base: &Items, items: &Items) -> Self {
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

    pub(super) fn data(&self, sizes: &Sizes) -> Vec<u8> {
        let mut ints = vec![self.deleted.len() as i32, self.updates.len() as i32, 0];
        ints.extend(self.deleted.iter().map(|key| key.to_int()));
        for (key, values) in &self.updates {
            ints.extend([i32::from(key.kind), i32::from(key.id)]);
            if sizes.of_kind(key.kind).is_none() {
                ints.push(values.len() as i32);
            }
            ints.extend(values);
        }
        packed(&ints)
    }

    /// Returns the update of an item for changes; an unchanged item gets an update without differences.
    pub(super) fn update(&mut self, key: ItemKey, ints: usize) -> &mut Vec<i32> {
        let place = self.updates.iter().position(|(other, _)| *other == key);
        let place = place.unwrap_or_else(|| {
            self.updates.push((key, vec![0; ints]));
            self.updates.len() - 1
        });
        &mut self.updates[place].1
    }
}

pub(super) fn difference(base: Option<&Vec<i32>>, ints: &[i32]) -> Vec<i32> {
    match base {
        Some(base) => ints
            .iter()
            .zip(base)
            .map(|(now, old)| now.wrapping_sub(*old))
            .collect(),
        None => ints.to_vec(),
    }
}
