//! Applies a delta to its base in one pass over both.

use super::entry::{ByteRange, Counts, Deleted, Delta, Update, lesser};
use crate::note::{Code, Notes};
use crate::snap::snapshot::{ItemKey, Snapshot};

/// The error for a snapshot without room for more.
struct Full;

/// Makes `out` the result of applying `delta` to `base`.
pub(super) fn apply(delta: &mut Delta, base: &Snapshot, out: &mut Snapshot) -> Counts {
    out.clear();
    out.reserve_like(base, delta.updates.len(), delta.ints.len());
    let mut walk = Walk {
        deleted: &delta.deleted,
        updates: &delta.updates,
        ints: &delta.ints,
        notes: &mut delta.notes,
        broken: &mut delta.broken,
        out,
        counts: Counts::default(),
    };
    if walk.all(base).is_err() {
        *walk.broken = true;
        walk.notes
            .push(ByteRange { at: 0, len: 0 }.note(Code::SnapTooLarge));
    }
    let mut counts = walk.counts;
    counts.items = out.len();
    counts
}

struct Walk<'d, 'o> {
    /// The deleted keys not yet handled.
    deleted: &'d [Deleted],
    /// The updates not yet handled.
    updates: &'d [Update],
    ints: &'d [i32],
    notes: &'d mut Notes,
    broken: &'d mut bool,
    out: &'o mut Snapshot,
    counts: Counts,
}

impl<'d> Walk<'d, '_> {
    fn all(&mut self, base: &Snapshot) -> Result<(), Full> {
        let mut place = 0;
        while let Some(next) = self.next_key() {
            // The delta does not mention the items before `next`.
            let same = base.place_from(place, next);
            self.push_all(base, place, same)?;
            let Some((key, values)) = base.item(same) else {
                place = same;
                break;
            };
            place = same + 1;
            self.new_items(Some(key))?;
            let deleted = self.deletes(key);
            match self.update(key) {
                Some(update) => {
                    if deleted {
                        lesser(self.notes, Code::SnapItemAgain, update.spot);
                    }
                    self.change(update, values)?;
                }
                None if deleted => self.counts.deleted += 1,
                None => self.push(key, values)?,
            }
        }
        self.push_all(base, place, base.len())?;
        self.new_items(None)?;
        for deleted in self.deleted {
            lesser(self.notes, Code::SnapNotThere, deleted.spot);
        }
        Ok(())
    }

    /// Returns the lowest key that is not yet handled.
    fn next_key(&self) -> Option<ItemKey> {
        let deleted = self.deleted.first().map(|deleted| deleted.key);
        let updated = self.updates.first().map(|update| update.key);
        deleted.into_iter().chain(updated).min()
    }

    /// Adds items of the base unchanged.
    fn push_all(&mut self, base: &Snapshot, start: usize, end: usize) -> Result<(), Full> {
        if start >= end || self.out.push_run(base, start, end) {
            return Ok(());
        }
        // They do not all fit.
        let items = base.items().skip(start).take(end - start);
        for (key, values) in items {
            self.push(key, values)?;
        }
        Ok(())
    }

    /// Adds the updates with keys below `end`, the next item of the base, as new items.
    fn new_items(&mut self, end: Option<ItemKey>) -> Result<(), Full> {
        while let Some(next) = self.updates.first() {
            if end.is_some_and(|end| next.key >= end) {
                break;
            }
            let Some(update) = self.update(next.key) else {
                break;
            };
            self.push(update.key, update.values(self.ints))?;
            self.counts.new += 1;
        }
        Ok(())
    }

    /// Removes and returns the update of an item. Returns the last update if there are several.
    fn update(&mut self, key: ItemKey) -> Option<Update> {
        let mut found: Option<Update> = None;
        while let Some((next, rest)) = self.updates.split_first() {
            if next.key != key {
                break;
            }
            if let Some(earlier) = found.replace(*next) {
                let resized = earlier.len != next.len;
                *self.broken |= resized;
                if resized {
                    self.notes.push(next.spot.note(Code::SnapItemResized));
                } else {
                    lesser(self.notes, Code::SnapItemAgain, next.spot);
                }
            }
            self.updates = rest;
        }
        found
    }

    /// Returns true if the item of the base is deleted.
    fn deletes(&mut self, key: ItemKey) -> bool {
        let mut found = false;
        while let Some((next, rest)) = self.deleted.split_first() {
            if next.key > key {
                break;
            }
            if next.key < key {
                lesser(self.notes, Code::SnapNotThere, next.spot);
            } else if found {
                lesser(self.notes, Code::SnapItemAgain, next.spot);
            }
            found |= next.key == key;
            self.deleted = rest;
        }
        found
    }

    /// Adds differences to an item of the base.
    fn change(&mut self, update: Update, values: &[i32]) -> Result<(), Full> {
        let differences = update.values(self.ints);
        if differences.len() != values.len() {
            self.notes.push(update.spot.note(Code::SnapItemResized));
            *self.broken = true;
            return self.push(update.key, values);
        }
        let changed = self.out.push_sum(update.key, values, differences).ok_or(Full)?;
        self.counts.changed += usize::from(changed);
        Ok(())
    }

    fn push(&mut self, key: ItemKey, values: &[i32]) -> Result<(), Full> {
        if self.out.push(key, values) {
            Ok(())
        } else {
            Err(Full)
        }
    }
}
