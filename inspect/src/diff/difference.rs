//! Differences between two sides.

use std::{
    collections::{BTreeSet, HashMap},
    sync::Arc,
};

use teetap_proxy::session::Time;
use teetap_wire::{Dir, def::Secrets};

use super::{entry::Field, ignore::Ignore, lineage::Rules};
use crate::Layer;

/// Maximum number of rules named in a difference.
const RULES: usize = 16;

/// The kind of a difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum How {
    /// Both sides have the message, input or object, with different fields.
    Changed,
    /// Only the first side has it.
    OnlyA,
    /// Only the second side has it.
    OnlyB,
    /// Both sides have the message, in a different order.
    Moved,
}

/// A difference.
#[derive(Clone, Debug)]
pub struct Difference {
    /// The kind.
    pub how: How,
    /// The direction.
    pub dir: Dir,
    /// The layer; `None` for objects in snapshots.
    pub layer: Option<Layer>,
    /// The name of the message or object.
    pub name: Box<str>,
    /// The time on each side, since the first datagram of its session.
    pub at: [Option<Time>; 2],
    /// Number of the datagram in each recording.
    pub frame: [Option<u64>; 2],
    /// Tick of the first input or snapshot that differs; `None` for other messages.
    pub tick: Option<i64>,
    /// Id of the first object that differs; `None` unless objects differ.
    pub id: Option<u16>,
    /// Number of messages, inputs, or objects with this difference.
    pub count: u64,
    /// The fields that differ, or all fields if only one side has the message.
    pub fields: Vec<FieldDifference>,
    /// Names of the rules that acted on the message; empty unless legs of a run are compared.
    pub rules: Vec<Arc<str>>,
}

/// A field that differs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldDifference {
    /// The path, such as `clients[2].name`.
    pub path: Box<str>,
    /// The value on each side; `None` if the side lacks the field.
    pub values: [Option<Box<str>>; 2],
}

/// Options of a comparison.
#[derive(Clone, Debug, Default)]
pub struct DiffSettings {
    /// Messages, objects and fields that are not compared.
    pub ignore: Ignore,
    /// Whether secrets are shown or hidden.
    pub secrets: Secrets,
    /// True to list each difference of inputs and snapshots, instead of joining them by message or type of object.
    pub each: bool,
    /// True if the sides are the two legs of one session, so that messages are aligned by their origin.
    pub is_one_session: bool,
    /// True to compare games only by statistics, because a side ends soon after its join.
    pub join_only: bool,
}

/// Returns the fields that differ in the order of the first side, followed by fields that only the second side has.
pub(super) fn differing(a: &[Field], b: &[Field]) -> Vec<FieldDifference> {
    let of_b: HashMap<&str, &Field> = b.iter().map(|field| (&*field.path, field)).collect();
    let of_a: BTreeSet<&str> = a.iter().map(|field| &*field.path).collect();
    let mut found = Vec::new();
    for field in a {
        let other = of_b.get(&*field.path).copied();
        if other.is_none_or(|other| other.exact != field.exact) {
            found.push(FieldDifference {
                path: field.path.clone(),
                values: [Some(field.text.clone()), other.map(|other| other.text.clone())],
            });
        }
    }
    for field in b.iter().filter(|field| !of_a.contains(&*field.path)) {
        found.push(FieldDifference {
            path: field.path.clone(),
            values: [None, Some(field.text.clone())],
        });
    }
    found
}

/// Returns the names in both lists, each once.
pub(super) fn both_rules(lists: [Option<&Rules>; 2]) -> Vec<Arc<str>> {
    let mut found = Vec::new();
    add_rules(
        &mut found,
        lists.into_iter().flatten().flat_map(|list| list.iter()),
    );
    found
}

/// Adds names that are not in the list yet.
pub(super) fn add_rules<'r>(known: &mut Vec<Arc<str>>, more: impl IntoIterator<Item = &'r Arc<str>>) {
    for rule in more {
        if known.len() < RULES && !known.contains(rule) {
            known.push(Arc::clone(rule));
        }
    }
}
