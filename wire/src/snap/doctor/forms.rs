//! Data in another form than clients read: all sizes stated, no third header int, or the id before the type.
//!
//! The data is brought into the right form and read again. A form is right if the result has no oddity and the stated
//! sum.

use super::case::WrongSnapshot;
use super::cause::{Cause, FormFault, SumFault};
use super::fits;
use crate::snap::delta::Delta;
use crate::snap::snapshot::Sizes;
use crate::varint;

/// The rank of a form with which everything matches.
const FORMS: u8 = 0;
/// The rank of a sum over bytes.
const SUMS: u8 = 1;

/// Number of header ints before the keys of deleted items: deleted items, updated items, and 0.
const HEADER: usize = 3;

/// Adds the form that fits.
pub(super) fn find(case: &mut WrongSnapshot<'_>, sizes: &Sizes, data: &[u8]) {
    let mut delta = Delta::new();
    let mut fits = |sizes: &Sizes, data: &[u8]| {
        let is_read = delta.read(sizes, data).is_ok();
        is_read
            && delta.updates().len() > 0
            && fits(&mut delta, case.base, case.stated)
            && delta.notes().is_empty()
    };
    let Some(ints) = ints(data) else { return };
    let fault = if fits(&Sizes::none(), data) {
        FormFault::AllSizes
    } else if no_third(&ints).is_some_and(|data| fits(sizes, &data)) {
        FormFault::NoThird
    } else if swapped(&ints, sizes).is_some_and(|data| fits(sizes, &data)) {
        FormFault::IdFirst
    } else {
        return;
    };
    case.add(FORMS, Cause::Form(fault));
}

/// Adds the cause that the sum is over the bytes of the ints, or of the data.
pub(super) fn sums(case: &mut WrongSnapshot<'_>, data: &[u8]) {
    let sum =
        |bytes: &mut dyn Iterator<Item = u8>| bytes.fold(0, |sum: i32, byte| sum.wrapping_add(byte.into()));
    let ints = case.result.items().flat_map(|(_, ints)| ints);
    let of_ints = sum(&mut ints.flat_map(|int| int.to_le_bytes()));
    let of_data = sum(&mut data.iter().copied());
    if case.stated != 0 && [of_ints, of_data].contains(&case.stated) {
        case.add(SUMS, Cause::Sum(SumFault::Bytes));
    }
}

/// Returns the ints of the data; `None` if it does not consist of whole ints.
fn ints(mut data: &[u8]) -> Option<Vec<i32>> {
    let mut ints = Vec::new();
    while !data.is_empty() {
        let int = varint::decode(data)?;
        ints.push(int.value);
        data = data.get(int.len..)?;
    }
    Some(ints)
}

fn packed(ints: impl IntoIterator<Item = i32>) -> Vec<u8> {
    let mut data = Vec::new();
    ints.into_iter().for_each(|int| varint::encode(int, &mut data));
    data
}

/// Returns the data with the third header int; `None` if the data is too short.
fn no_third(ints: &[i32]) -> Option<Vec<u8>> {
    let (head, rest) = ints.split_at_checked(HEADER - 1)?;
    Some(packed(head.iter().chain(&[0]).chain(rest).copied()))
}

/// Returns the data with type and id of each item exchanged; `None` if the items do not fill the data, or if none has a
/// type with an agreed size.
fn swapped(ints: &[i32], sizes: &Sizes) -> Option<Vec<u8>> {
    let (head, rest) = ints.split_at_checked(HEADER)?;
    let [deleted, updated, _] = *head else { return None };
    let (keys, mut rest) = rest.split_at_checked(usize::try_from(deleted).ok()?)?;
    // The key of a deleted item is one int, whose halves are not exchanged.
    let mut all = [head, keys].concat();
    // Items of types without an agreed size would fit by chance.
    let mut is_known = false;
    for _ in 0..updated {
        let [id, kind, more @ ..] = rest else { return None };
        let agreed = sizes.of_kind(u16::try_from(*kind).ok()?);
        is_known |= agreed.is_some();
        let len = match agreed {
            Some(len) => usize::from(len),
            None => 1 + usize::try_from(*more.first()?).ok()?,
        };
        let (values, after) = more.split_at_checked(len)?;
        all.extend([*kind, *id]);
        all.extend(values);
        rest = after;
    }
    (is_known && rest.is_empty()).then(|| packed(all))
}
