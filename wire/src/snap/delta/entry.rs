//! The parts of a delta.

use crate::note::{Code, Note, Notes};
use crate::snap::snapshot::Key;

/// Clients discard the snapshot; a note says why.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("clients discard the snapshot")]
pub struct Broken;

/// How many items of which sort a snapshot has.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Counts {
    /// Items.
    pub items: usize,
    /// Those that the base does not have.
    pub new: usize,
    /// Those that the base has with other values.
    pub changed: usize,
    /// Items of the base that are gone.
    pub deleted: usize,
}

/// A place in the data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Spot {
    pub(super) at: u16,
    pub(super) len: u16,
}

/// A key that is deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Deleted {
    pub(super) key: Key,
    pub(super) spot: Spot,
}

/// An item that is new or changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Update {
    pub(super) key: Key,
    /// First of its ints: the later the update, the higher.
    pub(super) first: u16,
    pub(super) len: u16,
    pub(super) spot: Spot,
}

/// A delta, in buffers to use again.
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

impl Spot {
    /// Notes have 16 bits as well.
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

pub(super) fn lesser(notes: &mut Notes, code: Code, spot: Spot) {
    notes.push_lesser(spot.note(code));
}
