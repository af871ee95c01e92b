//! Faults of single values.

use super::case::WrongSnapshot;
use super::cause::{Cause, FieldFault};
use crate::Proto;
use crate::def::{Decoded, Registry, Value};
use crate::snap::pairs::{Pair, pairs};
use crate::snap::snapshot::ItemKey;

/// The rank of values that are out of their range.
const ODD: u8 = 7;
/// The rank of values that have changed.
const CHANGED: u8 = 8;
/// The rank of values of new items.
const NEW: u8 = 9;
/// The rank of values that have not changed.
const SAME: u8 = 10;
/// The rank of values that jumped far.
const JUMP: u8 = 11;
/// The minimum jump of a value that is odd.
const FAR: u32 = 64;
/// An odd jump is at least this many times as long as the jump that the sum implies.
const TIMES: u32 = 16;

/// Adds the faults of single values that fit.
pub(super) fn find(case: &mut WrongSnapshot<'_>, registry: &Registry, proto: Proto) {
    let (base, result) = (case.base, case.result);
    let mut decoded = Decoded::new();
    for pair in pairs(base, result) {
        let Some(after) = pair.after else { continue };
        let before = pair.before.filter(|before| before.len() == after.len());
        for (at, value) in (0u16..).zip(after) {
            let old = before.and_then(|before| before.get(usize::from(at)));
            let spot = ItemValue {
                key: pair.key,
                at,
                value: *value,
            };
            spot.check(case, old.copied());
        }
        if pair.before != pair.after
            && let Some(def) = result.def(registry, proto, pair.key.kind)
        {
            decoded.object(def, after);
            ranges(case, &decoded, def, &pair);
        }
    }
}

/// Finds values out of their range whose counted value, according to the sum, is within it.
fn ranges(case: &mut WrongSnapshot<'_>, decoded: &Decoded, def: &crate::def::Def, pair: &Pair<'_>) {
    let off = case.stated.wrapping_sub(case.actual);
    for record in decoded.records() {
        let (Some(field), Value::Int(value), Ok(at)) =
            (def.field(record.field), record.value, u16::try_from(record.at))
        else {
            continue;
        };
        let range = field.bounds.min..=field.bounds.max;
        let (Ok(value), false) = (i32::try_from(value), range.contains(&value)) else {
            continue;
        };
        let counted = value.wrapping_add(off);
        if range.contains(&i64::from(counted)) && record.len == 1 {
            let key = pair.key;
            let fault = FieldFault::OutOfRange(counted);
            case.add(
                ODD,
                Cause::Field {
                    key,
                    at,
                    value,
                    fault,
                },
            );
        }
    }
}

/// A value of an item.
struct ItemValue {
    key: ItemKey,
    at: u16,
    value: i32,
}

impl ItemValue {
    fn cause(&self, fault: FieldFault) -> Cause {
        Cause::Field {
            key: self.key,
            at: self.at,
            value: self.value,
            fault,
        }
    }

    /// Compares the stated sum with the sums that faults of this value would give.
    fn check(&self, case: &mut WrongSnapshot<'_>, old: Option<i32>) {
        let value = self.value;
        let rank = match old {
            Some(old) if old == value => SAME,
            Some(_) => CHANGED,
            None => NEW,
        };
        let counted_as = |other: i32| other.wrapping_sub(value);
        case.check(
            counted_as(value.wrapping_neg()),
            rank,
            self.cause(FieldFault::Sign),
        );
        case.check(value, rank, self.cause(FieldFault::Twice));
        case.check(counted_as(0), rank, self.cause(FieldFault::NotCounted));
        case.check(
            counted_as(value.swap_bytes()),
            rank,
            self.cause(FieldFault::Swapped),
        );
        for bits in [8u8, 16] {
            let rest = 32 - u32::from(bits);
            let (signed, plain) = (value << rest >> rest, value & ((1 << bits) - 1));
            case.check(counted_as(signed), rank, self.cause(FieldFault::Cut(bits)));
            case.check(counted_as(plain), rank, self.cause(FieldFault::Cut(bits)));
        }
        if let Some(old) = old.filter(|old| *old != value) {
            self.check_change(case, old);
        }
    }

    fn check_change(&self, case: &mut WrongSnapshot<'_>, old: i32) {
        let value = self.value;
        case.check(old.wrapping_sub(value), CHANGED, self.cause(FieldFault::Older));
        case.check(old.wrapping_neg(), CHANGED, self.cause(FieldFault::Absolute));
        case.check(
            old.wrapping_sub(value).wrapping_mul(2),
            CHANGED,
            self.cause(FieldFault::DifferenceSign),
        );
        let counted = value.wrapping_add(case.stated.wrapping_sub(case.actual));
        let (jump, step) = (value.abs_diff(old), counted.abs_diff(old));
        if jump >= FAR && step.saturating_mul(TIMES) <= jump {
            case.add(JUMP, self.cause(FieldFault::Jump(counted)));
        }
    }
}
