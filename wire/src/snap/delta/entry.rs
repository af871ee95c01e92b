//! The parts of a delta.

use crate::note::{Code, Note, Notes};
use crate::snap::snapshot::ItemKey;

/// The error for a snapshot that clients discard. A note gives the reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("clients discard the snapshot")]
pub struct Broken;

/// The numbers of items of a snapshot, by kind of change.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Counts {
    /// All items.
    pub items: usize,
    /// Items that the base does not have.
    pub new: usize,
    /// Items that the base has with other values.
    pub changed: usize,
    /// Items of the base that were deleted.
    pub deleted: usize,
}

/// A range of bytes in the data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ByteRange {
    pub(super) at: u16,
    pub(super) len: u16,
}

/// A deleted key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Deleted {
    pub(super) key: ItemKey,
    pub(super) spot: ByteRange,
}

/// An item that is new or changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Update {
    pub(super) key: ItemKey,
    /// The index of the first int of the update. Increases from update to update.
    pub(super) first: u16,
    pub(super) len: u16,
    pub(super) spot: ByteRange,
}

/// A delta, in reusable buffers.
#[derive(Debug, Default, Clone)]
pub struct Delta {
    pub(super) deleted: Vec<Deleted>,
    pub(super) updates: Vec<Update>,
    pub(super) ints: Vec<i32>,
    pub(super) notes: Notes,
    pub(super) broken: bool,
}

impl Update {
    pub(super) fn values(self, ints: &[i32]) -> &[i32] {
        let first = usize::from(self.first);
        ints.get(first..first + usize::from(self.len)).unwrap_or_default()
    }
}

impl ByteRange {
    /// Creates a range. Offset and length saturate at 16 bits, as in notes.
    pub(super) fn new(at: usize, end: usize) -> Self {
        let short = |value: usize| u16::try_from(value).unwrap_or(u16::MAX);
        Self {
            at: short(at),
            len: short(end.saturating_sub(at)),
        }
    }

    pub(super) fn note(self, code: Code) -> Note {
        Note {
            code,
            at: self.at.into(),
            len: self.len.into(),
        }
    }
}

pub(super) fn lesser(notes: &mut Notes, code: Code, spot: ByteRange) {
    notes.push_lesser(spot.note(code));
}
