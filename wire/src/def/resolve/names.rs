//! The names of one dialect.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::def::model::{Dialect, Set, Words};
use crate::def::syntax::{Item, Layout};

/// The constants, word lists, sets, structs and objects of one dialect, by name.
pub(in crate::def) struct Names<'i> {
    pub(in crate::def) consts: BTreeMap<&'i str, i64>,
    pub(in crate::def) words: BTreeMap<&'i str, &'i Arc<Words>>,
    pub(in crate::def) sets: BTreeMap<&'i str, &'i Arc<Set>>,
    pub(in crate::def) structs: BTreeMap<&'i str, &'i Layout<'i>>,
    /// Objects can be parts of messages.
    pub(in crate::def) objects: BTreeMap<&'i str, &'i Layout<'i>>,
    /// The highest level of all definitions.
    pub(in crate::def) level: u8,
    pub(in crate::def) dialect: Dialect,
    /// All definitions, including definitions for other dialects.
    pub(in crate::def) items: &'i [&'i Item<'i>],
}
