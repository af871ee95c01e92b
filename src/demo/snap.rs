//! Snapshots: items, delta against a base, crc (Teeworlds snapshot.cpp).

use std::collections::BTreeMap;

use teetap_wire::{Proto, varint};

use super::message::Fields;

/// Ints of the item types 1.. of 0.6, whose size is not on the wire.
const SIZES_6: [usize; 20] = [10, 6, 5, 4, 3, 8, 4, 15, 22, 5, 17, 3, 2, 2, 2, 2, 3, 3, 3, 3];
/// Ints of the item types 1.. of 0.7.
const SIZES_7: [usize; 22] = [
    10, 6, 5, 3, 3, 3, 2, 4, 15, 22, 3, 4, 58, 5, 32, 2, 2, 2, 2, 3, 3, 7,
];
/// The most items that a receiver takes.
const MAX_ITEMS: usize = 1024;

/// Items by (type, id).
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct Snap(pub(super) BTreeMap<(i32, i32), Vec<i32>>);

impl Snap {
    /// Wrapping sum of all ints of all items.
    pub(super) fn crc(&self) -> i32 {
        self.0
            .values()
            .flatten()
            .fold(0, |sum, int| sum.wrapping_add(*int))
    }

    /// Items of a type.
    pub(super) fn of_type(&self, kind: i32) -> impl Iterator<Item = &Vec<i32>> {
        self.0
            .iter()
            .filter(move |((item, _), _)| *item == kind)
            .map(|(_, data)| data)
    }

    /// The packed delta from `base` to this; `None` when nothing changed.
    pub(super) fn delta(&self, proto: Proto, base: &Self) -> Option<Vec<u8>> {
        let gone: Vec<_> = base.0.keys().filter(|key| !self.0.contains_key(key)).collect();
        let changed: Vec<_> = self
            .0
            .iter()
            .filter(|(key, data)| base.0.get(key) != Some(data))
            .collect();
        if gone.is_empty() && changed.is_empty() {
            return None;
        }
        let mut ints = vec![count(gone.len()), count(changed.len()), 0];
        ints.extend(gone.iter().map(|(kind, id)| (kind << 16) | id));
        for (key, data) in changed {
            ints.extend([key.0, key.1]);
            if static_size(proto, key.0).is_none() {
                ints.push(count(data.len()));
            }
            let old = base.0.get(key);
            ints.extend(
                data.iter()
                    .enumerate()
                    .map(|(at, new)| new.wrapping_sub(old.and_then(|old| old.get(at)).copied().unwrap_or(0))),
            );
        }
        let mut packed = Vec::new();
        for int in ints {
            varint::encode(int, &mut packed);
        }
        Some(packed)
    }

    /// The snapshot that a packed delta makes of this one; `None` when the delta is damaged.
    pub(super) fn apply(&self, proto: Proto, delta: &[u8]) -> Option<Self> {
        let mut fields = Fields(delta);
        let (deleted, updated, _) = (fields.int()?, fields.int()?, fields.int()?);
        let mut next = self.clone();
        for _ in 0..deleted {
            let key = fields.int()?;
            next.0.remove(&(key >> 16, key & 0xffff))?;
        }
        for _ in 0..updated {
            let (kind, id) = (fields.int()?, fields.int()?);
            let size = match static_size(proto, kind) {
                Some(size) => size,
                None => usize::try_from(fields.int()?).ok()?,
            };
            let old = self.0.get(&(kind, id));
            let mut data = Vec::new();
            for at in 0..size {
                let base = old.and_then(|old| old.get(at)).copied().unwrap_or(0);
                data.push(base.wrapping_add(fields.int()?));
            }
            next.0.insert((kind, id), data);
        }
        (fields.0.is_empty() && next.0.len() <= MAX_ITEMS).then_some(next)
    }
}

/// A string in ints of four bytes, each byte + 128, the last one NUL (StrToInts).
pub(super) fn text_ints(text: &str, ints: usize) -> Vec<i32> {
    let mut bytes: Vec<u8> = text.bytes().chain(std::iter::repeat(0)).take(ints * 4).collect();
    for byte in &mut bytes {
        *byte = byte.wrapping_add(128);
    }
    if let Some(last) = bytes.last_mut() {
        *last = 0;
    }
    bytes
        .chunks_exact(4)
        .map(|four| four.iter().fold(0, |int, byte| (int << 8) | i32::from(*byte)))
        .collect()
}

fn static_size(proto: Proto, kind: i32) -> Option<usize> {
    let sizes: &[usize] = if proto == Proto::V7 { &SIZES_7 } else { &SIZES_6 };
    sizes.get(usize::try_from(kind).ok()?.checked_sub(1)?).copied()
}

fn count(len: usize) -> i32 {
    i32::try_from(len).unwrap_or(i32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_delta_gives_the_snapshot_it_was_made_of() {
        let old = Snap(BTreeMap::from([
            ((4, 1), vec![1, 2, 3]),
            ((10, 0), vec![7; 22]),
            ((6, 0), vec![0; 3]),
        ]));
        let new = Snap(BTreeMap::from([
            ((4, 1), vec![1, 2, i32::MIN]),
            ((6, 0), vec![0; 3]),
            ((24, 0), vec![5, 6, 7]),
        ]));
        let delta = new.delta(Proto::V7, &old).unwrap();
        assert_eq!(old.apply(Proto::V7, &delta), Some(new.clone()));
        assert_eq!(old.apply(Proto::V7, &delta[..delta.len() - 1]), None);
        assert_eq!(new.delta(Proto::V7, &new), None);
        assert_eq!(
            new.crc(),
            1i32.wrapping_add(2).wrapping_add(i32::MIN).wrapping_add(18)
        );
    }

    #[test]
    fn a_name_is_packed_as_in_the_games() {
        // "nameless tee" as DDNet's client_info carries it.
        assert_eq!(
            text_ints("nameless tee", 4)[0].to_be_bytes(),
            [0xee, 0xe1, 0xed, 0xe5]
        );
        assert_eq!(text_ints("", 1), [0x8080_8000_u32.cast_signed()]);
    }
}
