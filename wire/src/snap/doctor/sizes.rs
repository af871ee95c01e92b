//! Items with another size than both sides agreed on, after which the rest of the data is misread.
//!
//! The data is read again with each size that the items may have. A size is right if all of the data can be read with
//! it, and the sum matches.

use super::case::WrongSnapshot;
use super::cause::Cause;
use super::fits;
use crate::note::Code;
use crate::snap::delta::Delta;
use crate::snap::snapshot::Sizes;

/// The rank of a size with which everything matches.
const SIZES: u8 = 0;
/// Maximum number of bytes that are decoded again for one snapshot.
const BYTES: usize = 2 << 20;
/// Number of ints that an item may have beyond the agreed size.
const MORE: u16 = 12;
/// The highest type that may have an agreed size, in the protocols so far.
const TYPES: u16 = 32;

/// Adds the sizes that fit. `is_read` is true for data that can be read with the agreed sizes.
pub(super) fn find(case: &mut WrongSnapshot<'_>, sizes: &Sizes, data: &[u8], is_read: bool) {
    let tries = BYTES / data.len().max(1);
    let mut kinds: Vec<u16> = case.delta.updates().map(|(key, _)| key.kind).collect();
    if !is_read {
        // Items after the misread item may appear to be of any type.
        kinds.extend(0..TYPES);
    }
    let mut seen = Vec::new();
    kinds.retain(|kind| {
        let is_new = *kind < TYPES && !seen.contains(kind);
        seen.push(*kind);
        is_new
    });
    let causes = kinds.into_iter().flat_map(|kind| causes(sizes, kind));
    let mut delta = Delta::new();
    let right = causes.take(tries).find(|cause| {
        let other = match *cause {
            Cause::Size { kind, sent, .. } => sizes.with(kind, sent),
            Cause::NoSize { kind, sent } => sizes.with(kind, Some(sent)),
            _ => return false,
        };
        let is_read = delta.read(&other, data).is_ok();
        // A size changes neither the header of the data nor its end.
        let is_odd = |code| delta.notes().contains(code);
        let is_whole = is_read && !is_odd(Code::SurplusBytes) && !is_odd(Code::UnexpectedBytes);
        is_whole && has_kind(&delta, *cause) && fits(&mut delta, case.base, case.stated)
    });
    if let Some(cause) = right {
        case.add(SIZES, cause);
    }
}

/// Returns the possible sizes with which items of a type may have been sent.
fn causes(sizes: &Sizes, kind: u16) -> impl Iterator<Item = Cause> {
    let agreed = sizes.of_kind(kind);
    let of_agreed = agreed.into_iter().flat_map(move |agreed| {
        let others = (1..=agreed.saturating_add(MORE)).filter(move |size| *size != agreed);
        let sizes = std::iter::once(None).chain(others.map(Some));
        sizes.map(move |sent| Cause::Size { kind, agreed, sent })
    });
    let of_others = agreed.is_none().then_some(1..=MORE).into_iter().flatten();
    of_agreed.chain(of_others.map(move |sent| Cause::NoSize { kind, sent }))
}

/// Returns true if the delta has items of the type.
fn has_kind(delta: &Delta, cause: Cause) -> bool {
    let (Cause::Size { kind, .. } | Cause::NoSize { kind, .. }) = cause else {
        return false;
    };
    delta.updates().any(|(key, _)| key.kind == kind)
}
