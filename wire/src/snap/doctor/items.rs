//! Faults of single items.

use super::case::WrongSnapshot;
use super::cause::{Cause, ItemFault};
use super::sum;
use crate::snap::pairs::{Pair, pairs};
use crate::snap::snapshot::ItemKey;

/// The rank of faults that the message itself shows.
const SHOWN: u8 = 1;
/// The rank of whole items that are counted wrongly.
const ITEMS: u8 = 4;
/// The rank of items with values of the base.
const BASE: u8 = 5;
/// The rank of items with values of other ticks.
const OLDER: u8 = 6;

/// Adds the faults of single items that fit.
pub(super) fn find(case: &mut WrongSnapshot<'_>) {
    message(case);
    let (base, result) = (case.base, case.result);
    for pair in pairs(base, result) {
        counted(case, &pair);
        older(case, &pair);
    }
    gone(case);
}

/// Finds items that the message has twice, or deletes without need.
fn message(case: &mut WrongSnapshot<'_>) {
    let delta = case.delta;
    let mut updates = delta.updates().peekable();
    while let Some((key, ints)) = updates.next() {
        if updates.peek().is_some_and(|(next, _)| *next == key) {
            let fault = ItemFault::SentTwice;
            let base = case.base.get(key);
            let value = sum(ints).wrapping_add(sum(base.unwrap_or_default()));
            case.check(value, SHOWN, Cause::Item { key, fault });
        }
    }
    for key in delta.deleted() {
        let sent_too = delta.updates().any(|(sent, _)| sent == key);
        match case.base.get(key) {
            Some(ints) if sent_too => {
                let fault = ItemFault::DeletedAndSent;
                case.check(sum(ints).wrapping_neg(), SHOWN, Cause::Item { key, fault });
            }
            Some(_) => {}
            None => {
                let known = case.bases.iter().rev();
                let known: Vec<i32> = known.filter_map(|kept| kept.snapshot.get(key)).map(sum).collect();
                let fault = ItemFault::RemovedNotThere;
                for value in known {
                    case.check(value.wrapping_neg(), SHOWN, Cause::Item { key, fault });
                }
            }
        }
    }
}

/// Finds an item that is counted twice, not at all, or with the values of the base.
fn counted(case: &mut WrongSnapshot<'_>, pair: &Pair<'_>) {
    let key = pair.key;
    let cause = |fault| Cause::Item { key, fault };
    let of = |ints: Option<&[i32]>| sum(ints.unwrap_or_default());
    let (before, after) = (of(pair.before), of(pair.after));
    if pair.after.is_none() {
        return case.check(before, ITEMS, cause(ItemFault::StillCounted));
    }
    let is_same = pair.before == pair.after;
    let missing = if is_same {
        ItemFault::NotDeleted
    } else {
        ItemFault::NotCounted
    };
    case.check(after.wrapping_neg(), ITEMS, cause(missing));
    case.check(after, ITEMS, cause(ItemFault::Twice));
    if pair.before.is_some() && !is_same {
        case.check(before.wrapping_neg(), BASE, cause(ItemFault::Absolute));
        let fault = ItemFault::Older(case.base_tick);
        case.check(before.wrapping_sub(after), BASE, cause(fault));
    }
}

/// Finds an item that is counted with its values of another tick, or sent as a difference to these values.
fn older(case: &mut WrongSnapshot<'_>, pair: &Pair<'_>) {
    let Some(after) = pair.after else { return };
    let key = pair.key;
    let is_same = pair.before == pair.after;
    let near = case.near.iter();
    let near: Vec<(i32, i32)> = near
        .filter_map(|kept| Some((kept.tick, kept.snapshot.get(key)?)))
        .filter(|(_, ints)| ints.len() == after.len())
        .map(|(tick, ints)| (tick, sum(ints)))
        .collect();
    let (before, after) = (sum(pair.before.unwrap_or_default()), sum(after));
    for (tick, value) in near {
        let older = ItemFault::Older(tick);
        case.check(
            value.wrapping_sub(after),
            OLDER,
            Cause::Item { key, fault: older },
        );
        if !is_same {
            // An item that the base lacks is treated as all zeros.
            let fault = ItemFault::OtherBase(tick);
            case.check(value.wrapping_sub(before), OLDER, Cause::Item { key, fault });
        }
    }
}

/// Finds an item of another tick that is counted, but neither sent nor in the base.
fn gone(case: &mut WrongSnapshot<'_>) {
    let mut found: Vec<(i32, ItemKey, i32)> = Vec::new();
    for kept in &case.near {
        let items = kept.snapshot.items();
        let lost = items.filter(|(key, _)| case.result.get(*key).is_none() && case.base.get(*key).is_none());
        found.extend(lost.map(|(key, ints)| (kept.tick, key, sum(ints))));
    }
    for (tick, key, value) in found {
        let fault = ItemFault::NotSent(tick);
        case.check(value, OLDER, Cause::Item { key, fault });
    }
}
