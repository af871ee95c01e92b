//! Differences between two sides.

use std::collections::{BTreeSet, HashMap};

use teetap_proxy::session::Time;
use teetap_wire::{Dir, def::Secrets};

use super::{entry::Field, ignore::Ignore};
use crate::Layer;

/// The kind of a difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum How {
    /// Both sides have it, with different fields.
    Changed,
    /// Only the first side has it.
    OnlyA,
    /// Only the second side has it.
    OnlyB,
    /// Both sides have it, in another order.
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
    /// The time on each side, since the start of its session.
    pub at: [Option<Time>; 2],
    /// The number of the datagram in each recording.
    pub frame: [Option<u64>; 2],
    /// The tick of the first input or snapshot.
    pub tick: Option<i64>,
    /// The id of the first object.
    pub id: Option<u16>,
    /// The number of messages, inputs, or objects in snapshots.
    pub count: u64,
    /// The fields that differ. Of a message that only one side has, all.
    pub fields: Vec<FieldDifference>,
}

/// A field that differs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldDifference {
    /// The path: `clients[2].name`.
    pub path: Box<str>,
    /// The value on each side; `None` where it is missing.
    pub values: [Option<Box<str>>; 2],
}

/// The manner of a comparison.
#[derive(Clone, Debug, Default)]
pub struct Manner {
    /// Messages, objects and fields that are not compared.
    pub ignore: Ignore,
    /// Secrets are shown or hidden.
    pub secrets: Secrets,
    /// Differences of inputs and snapshots stand one by one, not joined by message or type of object.
    pub each: bool,
}

/// Returns the fields that differ, in the order of the first side, then those that only the second has.
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
