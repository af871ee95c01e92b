//! Places in definition files, and names with their places.

use std::sync::Arc;

/// A place in the definition files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Mark {
    pub(super) file: u16,
    pub(super) line: u32,
    pub(super) column: u32,
}

/// A name and its place.
#[derive(Debug, Clone)]
pub(super) struct Name {
    pub(super) text: Arc<str>,
    pub(super) mark: Mark,
}
