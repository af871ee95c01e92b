//! Deltas: the data of a snapshot, relative to an earlier snapshot.
//!
//! A delta consists of ints: the number of deleted items, the number of updated items, and 0; then the deleted keys;
//! then, for each updated item, its type, its id, its size unless both sides know it, and its ints. The ints are
//! differences if the base contains the item, and values otherwise.
//!
//! Law: a delta is sorted like a [`Snapshot`], so that it can be applied in one pass. Parsing ends at the first
//! unreadable int; the part before it can still be applied and shown.

mod apply;
mod entry;
mod read;

use super::snapshot::{ItemKey, Sizes, Snapshot};
use crate::note::{Code, Notes};
pub use entry::{Broken, Counts, Delta};
use entry::{Deleted, Update, lesser};

impl Delta {
    /// Returns the number of bytes of memory held.
    pub(super) fn memory(&self) -> usize {
        self.deleted.capacity() * size_of::<Deleted>()
            + self.updates.capacity() * size_of::<Update>()
            + self.ints.capacity() * size_of::<i32>()
    }

    /// Creates an empty buffer.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Reads the joined data of a snapshot's parts. Without data nothing changes.
    ///
    /// # Errors
    /// Returns [`Broken`] if the data is damaged. The part before the fault can be applied.
    pub fn read(&mut self, sizes: &Sizes, data: &[u8]) -> Result<(), Broken> {
        self.clear();
        if !data.is_empty() {
            self.broken = read::all(self, sizes, data).is_err();
        }
        self.deleted.sort_unstable();
        self.updates.sort_unstable();
        self.sound()
    }

    /// Makes `out` the result of applying the delta to `base`.
    ///
    /// # Errors
    /// Returns [`Broken`] if the delta does not fit `base`, or was damaged; `out` then holds the part that could be
    /// made.
    pub fn apply(&mut self, base: &Snapshot, out: &mut Snapshot, counts: &mut Counts) -> Result<(), Broken> {
        *counts = apply::apply(self, base, out);
        self.sound()
    }

    /// Returns the oddities. Ranges count in the joined data.
    #[must_use]
    pub(super) const fn notes(&self) -> &Notes {
        &self.notes
    }

    /// Returns the deleted keys in order. Returns a repeated key as often as it was sent.
    pub(super) fn deleted(&self) -> impl ExactSizeIterator<Item = ItemKey> {
        self.deleted.iter().map(|deleted| deleted.key)
    }

    /// Returns the updated items in the order of their keys. The ints are differences if the base has the item.
    pub(super) fn updates(&self) -> impl ExactSizeIterator<Item = (ItemKey, &[i32])> {
        self.updates
            .iter()
            .map(|update| (update.key, update.values(&self.ints)))
    }

    /// Notes updates of odd types, each type once.
    pub(super) fn note_types(&mut self, mut odd: impl FnMut(u16) -> Option<Code>) {
        let mut last = None;
        for update in &self.updates {
            let kind = update.key.kind;
            if last != Some(kind)
                && let Some(code) = odd(kind)
            {
                lesser(&mut self.notes, code, update.spot);
            }
            last = Some(kind);
        }
    }

    /// Notes an oddity of an updated item.
    pub(super) fn note_item(&mut self, key: ItemKey, code: Code) {
        let place = self.updates.partition_point(|update| update.key < key);
        if let Some(update) = self.updates.get(place).filter(|update| update.key == key) {
            lesser(&mut self.notes, code, update.spot);
        }
    }

    fn clear(&mut self) {
        self.deleted.clear();
        self.updates.clear();
        self.ints.clear();
        self.notes = Notes::new();
        self.broken = false;
    }

    fn sound(&self) -> Result<(), Broken> {
        if self.broken { Err(Broken) } else { Ok(()) }
    }
}
