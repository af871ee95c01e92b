//! What an expression remembers of a session.
//!
//! Law: its size is known when the expression is: one slot for each message that is counted and each field that is
//! kept, however long the session.

/// Longest text that `last(..)` keeps, in bytes; the rest is cut off.
pub const MAX_KEPT: usize = 1024;

/// What one expression remembers of one session: make it with [`Filter::memory`](crate::Filter::memory).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Memory {
    pub(super) seen: Box<[Seen]>,
    pub(super) kept: Box<[Kept]>,
    pub(super) matched: u64,
}

/// A message that is counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Seen {
    pub(super) count: u64,
    pub(super) at: u64,
}

/// The last value of a field.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Kept {
    /// Which entry of the field it was.
    pub(super) entry: usize,
    pub(super) value: KeptValue,
    pub(super) text: Vec<u8>,
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
            matched: 0,
        }
    }

    pub(crate) const fn hit(&mut self) {
        self.matched = self.matched.saturating_add(1);
    }

    /// How many messages have matched.
    #[must_use]
    pub const fn matched(&self) -> u64 {
        self.matched
    }
}
