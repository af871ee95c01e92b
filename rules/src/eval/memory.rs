//! Memory of an expression about a session.
//!
//! Law: its size depends only on the expression: one slot for each counted message and each kept field, however long
//! the session is.

use teetap_wire::{Dir, PerDir};

/// Maximum bytes of a text that `last(..)` keeps; longer texts are truncated.
pub const MAX_KEPT: usize = 1024;

/// Memory of one expression about one session, created by [`Filter::memory`](crate::Filter::memory).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Memory {
    pub(super) seen: Box<[Seen]>,
    pub(super) kept: Box<[Kept]>,
    /// Number of messages that matched, by direction.
    matched: PerDir<u64>,
}

/// Counter of a message.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Seen {
    pub(super) count: u64,
    pub(super) at: u64,
}

/// Last value of a field.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Kept {
    /// Index of the field's entry.
    pub(super) entry: usize,
    pub(super) value: KeptValue,
    pub(super) text: Vec<u8>,
    /// True if the value is a secret.
    pub(super) is_secret: bool,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum KeptValue {
    #[default]
    None,
    Int(i64),
    Text,
    List(u32),
}

impl Memory {
    pub(super) fn new(seen: usize, kept: usize) -> Self {
        Self {
            seen: vec![Seen::default(); seen].into(),
            kept: vec![Kept::default(); kept].into(),
            matched: PerDir::default(),
        }
    }

    /// Counts a message that matched in this direction.
    pub(crate) fn hit(&mut self, dir: Dir) {
        let matched = &mut self.matched[dir];
        *matched = matched.saturating_add(1);
    }

    /// Returns the number of messages that matched in this direction.
    #[must_use]
    pub fn matched(&self, dir: Dir) -> u64 {
        self.matched[dir]
    }
}
