//! Faults of a whole snapshot: its base, its sum, all items of a kind.

use super::case::WrongSnapshot;
use super::cause::{Cause, SumFault};
use super::{fits, sum};
use crate::snap::pairs::pairs;
use crate::snap::snapshot::{NOTHING, Snapshot};

/// The rank of a fault of the base, and of a sum of other data: there are few such faults.
const WHOLE: u8 = 1;
/// The rank of the sum of another snapshot.
const OTHER: u8 = 2;
/// The rank of the sum of another snapshot, if that snapshot differs in only one item.
const ONE: u8 = 12;
/// The rank of all items of a kind.
const GROUPS: u8 = 3;

/// Adds the faults of the whole snapshot that explain the wrong sum.
pub(super) fn find(case: &mut WrongSnapshot<'_>) {
    bases(case);
    sums(case);
    types(case);
    changes(case);
}

/// Finds the snapshot to which the data is a difference.
fn bases(case: &mut WrongSnapshot<'_>) {
    let named = case.base_tick;
    let mut delta = case.delta.clone();
    if named >= 0 && fits(&mut delta, &NOTHING, case.stated) {
        case.add(WHOLE, Cause::OnlyMessage { named });
    }
    let mut others: Vec<(i32, &Snapshot)> = case
        .bases
        .iter()
        .filter(|kept| kept.tick != named)
        .map(|kept| (kept.tick, &*kept.snapshot))
        .collect();
    others.sort_by_key(|(tick, _)| tick.abs_diff(named));
    // The sums are compared first, since there may be hundreds of snapshots.
    let fitting = others.into_iter().find(|(_, other)| {
        sum_on(case, other) == case.stated && differ(case.base, other) && fits(&mut delta, other, case.stated)
    });
    if let Some((tick, _)) = fitting {
        case.add(WHOLE, Cause::OtherBase { tick, named });
    }
}

/// Returns the sum of the snapshot that results from applying the delta to `other`.
fn sum_on(case: &WrongSnapshot<'_>, other: &Snapshot) -> i32 {
    let mut total = other.crc();
    let mut last = None;
    for key in case.delta.deleted() {
        if last.replace(key) != Some(key) {
            total = total.wrapping_sub(sum(other.get(key).unwrap_or_default()));
        }
    }
    let mut updates = case.delta.updates().peekable();
    while let Some((key, ints)) = updates.next() {
        // If an item has several updates, the last update is used.
        if updates.peek().is_none_or(|(next, _)| *next != key) {
            total = total.wrapping_add(sum(ints));
        }
    }
    total
}

/// Returns true if two snapshots differ in more than one item. If only one item differs, the fault is attributed to it.
fn differ(one: &Snapshot, other: &Snapshot) -> bool {
    let differing = pairs(one, other).filter(|pair| pair.before != pair.after);
    differing.take(2).count() == 2
}

/// Compares the stated sum with other sums that a sender may have computed.
fn sums(case: &mut WrongSnapshot<'_>) {
    let (stated, actual) = (case.stated, case.actual);
    if stated == 0 {
        case.add(WHOLE, Cause::Sum(SumFault::Zero));
    }
    let keys = |count: fn(u16, u16) -> i32| {
        let keys = case.result.items().map(|(key, _)| count(key.kind, key.id));
        keys.fold(0, i32::wrapping_add)
    };
    let sums = [
        keys(|kind, id| i32::from(kind) + i32::from(id)),
        keys(|kind, id| i32::from(kind) << 16 | i32::from(id)),
    ];
    for sum in sums {
        case.check(sum, WHOLE, Cause::Sum(SumFault::Keys));
    }
    let of_tick = case
        .bases
        .iter()
        .rev()
        .find(|kept| kept.snapshot.crc() == stated && stated != 0);
    if let Some((tick, of_tick)) = of_tick.map(|kept| (kept.tick, &kept.snapshot)) {
        // If only one item differs, the fault is attributed to it.
        let rank = if differ(of_tick, case.result) { OTHER } else { ONE };
        case.add(rank, Cause::Sum(SumFault::OfTick(tick)));
    }
    for bits in [8, 16, 24] {
        let cut = actual & ((1 << bits) - 1);
        let signed = actual << (32 - bits) >> (32 - bits);
        if stated == cut || stated == signed {
            case.add(OTHER, Cause::Sum(SumFault::Cut(bits)));
            break;
        }
    }
    if stated == actual.wrapping_neg() {
        case.add(OTHER, Cause::Sum(SumFault::Sign));
    }
}

/// Checks the items of each type.
fn types(case: &mut WrongSnapshot<'_>) {
    let result = case.result;
    let mut items = result.items().peekable();
    while let Some((key, ints)) = items.next() {
        let (kind, mut total, mut count) = (key.kind, sum(ints), 1u16);
        while let Some((_, ints)) = items.next_if(|(next, _)| next.kind == kind) {
            total = total.wrapping_add(sum(ints));
            count = count.saturating_add(1);
        }
        if count > 1 {
            let group = |twice| Cause::Type {
                kind,
                items: count,
                twice,
            };
            case.check(total.wrapping_neg(), GROUPS, group(false));
            case.check(total, GROUPS, group(true));
        }
    }
}

/// Checks all new and all deleted items.
fn changes(case: &mut WrongSnapshot<'_>) {
    let (mut new, mut deleted) = ((0i32, 0u16), (0i32, 0u16));
    let add = |group: &mut (i32, u16), ints| {
        *group = (group.0.wrapping_add(sum(ints)), group.1.saturating_add(1));
    };
    for pair in pairs(case.base, case.result) {
        match (pair.before, pair.after) {
            (None, Some(ints)) => add(&mut new, ints),
            (Some(ints), None) => add(&mut deleted, ints),
            _ => {}
        }
    }
    // In a complete snapshot all items are new.
    if new.1 > 1 && !case.base.is_empty() {
        case.check(new.0.wrapping_neg(), GROUPS, Cause::New { items: new.1 });
    }
    if deleted.1 > 1 {
        case.check(deleted.0, GROUPS, Cause::Deleted { items: deleted.1 });
    }
}
