//! From two snapshots to a delta.

use super::delta::Counts;
use super::pairs::{Pair, pairs};
use super::snapshot::{ItemKey, Sizes, Snapshot};
use crate::varint;

/// The reason why there is no delta between two snapshots.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum DeltaError {
    /// An item had another size before, which a delta cannot express.
    #[error("item {0} had another size before")]
    Resized(ItemKey),
    /// An item does not have the size that both sides agreed on for its type.
    #[error("item {key} does not have the {agreed} ints that both sides agreed on")]
    WrongSize {
        /// The item.
        key: ItemKey,
        /// The number of ints that it should have.
        agreed: u16,
    },
}

impl Snapshot {
    /// Appends the data that a server sends to turn `base` into this snapshot, for one or more parts. Appends nothing
    /// if nothing changed, since servers then send `snap_empty`.
    ///
    /// # Errors
    /// Returns a [`DeltaError`]; `out` is then unchanged.
    pub fn delta(&self, base: &Self, sizes: &Sizes, out: &mut Vec<u8>) -> Result<Counts, DeltaError> {
        let counts = self.count(base, sizes)?;
        if (counts.new, counts.changed, counts.deleted) == (0, 0, 0) {
            return Ok(counts);
        }
        let mut put = |int: i32| varint::encode(int, out);
        let number = |count: usize| i32::try_from(count).unwrap_or(i32::MAX);
        put(number(counts.deleted));
        put(number(counts.new + counts.changed));
        put(0);
        for pair in pairs(base, self).filter(|pair| pair.after.is_none()) {
            put(pair.key.to_int());
        }
        for Pair { key, before, after } in pairs(base, self) {
            let Some(after) = after.filter(|after| before != Some(after)) else {
                continue;
            };
            put(key.kind.into());
            put(key.id.into());
            if sizes.of_kind(key.kind).is_none() {
                put(number(after.len()));
            }
            match before {
                None => after.iter().for_each(|int| put(*int)),
                Some(before) => {
                    let both = after.iter().zip(before);
                    both.for_each(|(after, before)| put(after.wrapping_sub(*before)));
                }
            }
        }
        Ok(counts)
    }

    fn count(&self, base: &Self, sizes: &Sizes) -> Result<Counts, DeltaError> {
        let mut counts = Counts {
            items: self.len(),
            ..Counts::default()
        };
        for Pair { key, before, after } in pairs(base, self) {
            let Some(after) = after else {
                counts.deleted += 1;
                continue;
            };
            if let Some(agreed) = sizes.of_kind(key.kind)
                && usize::from(agreed) != after.len()
            {
                return Err(DeltaError::WrongSize { key, agreed });
            }
            match before {
                None => counts.new += 1,
                Some(before) if before.len() != after.len() => return Err(DeltaError::Resized(key)),
                Some(before) => counts.changed += usize::from(before != after),
            }
        }
        Ok(counts)
    }
}
