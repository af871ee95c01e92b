//! The path to a value in a message.

/// One part of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::def) struct PathPart {
    pub(in crate::def) field: u16,
    pub(in crate::def) index: Option<u16>,
}

/// A place in a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Path {
    pub(in crate::def) steps: Vec<PathPart>,
    pub(in crate::def) leaf: u16,
    pub(in crate::def) whole_list: bool,
}

impl Path {
    /// Returns the number of the field at the end of the path.
    #[must_use]
    pub const fn leaf(&self) -> u16 {
        self.leaf
    }

    /// Returns true if the path names a whole list, not an element of it.
    #[must_use]
    pub const fn is_list(&self) -> bool {
        self.whole_list
    }
}
