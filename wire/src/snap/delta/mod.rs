//! What a snapshot says, and its application to the one before.
//!
//! Ints: how many items are deleted, how many are updated, 0; the deleted keys; for each updated item its type, its id,
//! its size unless both sides agreed on it, and its ints: differences if the base has the item, else values.
//!
//! Law: a delta is sorted as [`Snapshot`]s are, so that it is applied in one walk. What cannot be read ends the reading;
//! what came before can still be applied, to be looked at.

mod apply;
mod entry;
mod read;

use super::snapshot::{Key, Sizes, Snapshot};
use crate::note::{Code, Notes};
pub use entry::{Broken, Counts, Delta};
use entry::{Deleted, Update, lesser};

impl Delta {
    /// Bytes of memory held.
    pub(super) fn memory(&self) -> usize {
        self.deleted.capacity() * size_of::<Deleted>()
            + self.updates.capacity() * size_of::<Update>()
            + self.ints.capacity() * size_of::<i32>()
    }

    /// An empty buffer.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Reads the joined data of a snapshot's parts. No data: nothing changes.
    ///
    /// # Errors
    /// [`Broken`]; what was read before the fault can be applied.
    pub fn read(&mut self, sizes: &Sizes, data: &[u8]) -> Result<(), Broken> {
        self.clear();
        if !data.is_empty() {
            self.broken = read::all(self, sizes, data).is_err();
        }
        self.deleted.sort_unstable();
        self.updates.sort_unstable();
        self.sound()
    }

    /// Makes `out` what `base` becomes.
    ///
    /// # Errors
    /// [`Broken`], also when reading was; `out` then has what could be made.
    pub fn apply(&mut self, base: &Snapshot, out: &mut Snapshot, counts: &mut Counts) -> Result<(), Broken> {
        *counts = apply::apply(self, base, out);
        self.sound()
    }

    /// What is odd. Ranges count in the joined data.
    #[must_use]
    pub const fn notes(&self) -> &Notes {
        &self.notes
    }

    /// The deleted keys, in their order, however often they were told.
    pub fn deleted(&self) -> impl ExactSizeIterator<Item = Key> {
        self.deleted.iter().map(|deleted| deleted.key)
    }

    /// The updated items, in the order of their keys, with ints that are differences if the base has the item.
    pub fn updates(&self) -> impl ExactSizeIterator<Item = (Key, &[i32])> {
        self.updates
            .iter()
            .map(|update| (update.key, update.values(&self.ints)))
    }

    /// Notes updates of a type that is not known, each type once.
    pub(super) fn note_types(&mut self, mut known: impl FnMut(u16) -> bool) {
        let mut last = None;
        for update in &self.updates {
            let kind = update.key.kind;
            if last != Some(kind) && !known(kind) {
                lesser(&mut self.notes, Code::UnknownObject, update.spot);
            }
            last = Some(kind);
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
