//! Two snapshots side by side.

use std::cmp::Ordering;

use super::snapshot::{ItemKey, Snapshot};

/// An item that is in one or both of two snapshots.
pub(super) struct Pair<'s> {
    pub(super) key: ItemKey,
    pub(super) before: Option<&'s [i32]>,
    pub(super) after: Option<&'s [i32]>,
}

/// Returns the items of both in the order of their keys.
pub(super) fn pairs<'s>(
    before: &'s Snapshot,
    after: &'s Snapshot,
) -> impl Iterator<Item = Pair<'s>> + use<'s> {
    zipped(before.items(), after.items())
}

/// Returns the items of one type in the order of their keys.
pub(super) fn pairs_of<'s>(
    before: &'s Snapshot,
    after: &'s Snapshot,
    kind: u16,
) -> impl Iterator<Item = Pair<'s>> + use<'s> {
    zipped(before.items_of(kind), after.items_of(kind))
}

fn zipped<'s>(
    before: impl Iterator<Item = (ItemKey, &'s [i32])>,
    after: impl Iterator<Item = (ItemKey, &'s [i32])>,
) -> impl Iterator<Item = Pair<'s>> {
    let (mut old, mut new) = (before.peekable(), after.peekable());
    std::iter::from_fn(move || {
        let order = match (old.peek(), new.peek()) {
            (None, None) => return None,
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (Some((old, _)), Some((new, _))) => old.cmp(new),
        };
        let before = if order.is_le() { old.next() } else { None };
        let after = if order.is_ge() { new.next() } else { None };
        let (key, _) = before.or(after)?;
        Some(Pair {
            key,
            before: before.map(|(_, ints)| ints),
            after: after.map(|(_, ints)| ints),
        })
    })
}
