//! Aligns the messages of one direction on both legs of a run by their origin.
//!
//! Law: every message of both sides is in exactly one step, and the messages of the first side stay in order. Messages
//! of known origin are never aligned by their text.

use std::collections::{BTreeMap, HashMap};

use super::{
    align::{AlignKey, Aligned, align},
    lineage::{Lineage, MessageId},
};

/// Aligns two legs. Each message has a key and its origin.
pub(super) fn align_legs(a: &[(AlignKey, &Lineage)], b: &[(AlignKey, &Lineage)]) -> Vec<Aligned> {
    let pairs = pairs(a, b);
    let in_order = rising(&pairs);
    let paired_b: BTreeMap<usize, usize> = pairs.iter().map(|(at, other)| (*other, *at)).collect();
    let mut moved: BTreeMap<usize, usize> = BTreeMap::new();
    let mut kept = Vec::new();
    for (pair, is_in_order) in pairs.into_iter().zip(in_order) {
        match is_in_order {
            true => kept.push(pair),
            false => drop(moved.insert(pair.0, pair.1)),
        }
    }
    let is_kept_or_moved = |at: &usize| moved.contains_key(at);
    let mut steps = Vec::with_capacity(a.len().max(b.len()));
    let (mut from_a, mut from_b) = (0, 0);
    let ends = kept.iter().copied().chain([(a.len(), b.len())]);
    for (end_a, end_b) in ends {
        let free_a: Vec<usize> = (from_a..end_a).filter(|at| !is_kept_or_moved(at)).collect();
        let free_b: Vec<usize> = (from_b..end_b).filter(|at| !paired_b.contains_key(at)).collect();
        let between = between([a, b], &free_a, &free_b);
        with_moved([a, b], between, moved.range(from_a..end_a), &mut steps);
        if let (Some((key, _)), Some((other, _))) = (a.get(end_a), b.get(end_b)) {
            steps.push(match key.whole == other.whole {
                true => Aligned::Alike(end_a, end_b),
                false => Aligned::Changed(end_a, end_b),
            });
        }
        (from_a, from_b) = (end_a + 1, end_b + 1);
    }
    steps
}

type Keyed<'l> = (AlignKey, &'l Lineage);

/// Returns the indices of messages with the same origin, in the order of the first side.
fn pairs(a: &[Keyed<'_>], b: &[Keyed<'_>]) -> Vec<(usize, usize)> {
    let mut of_b: HashMap<MessageId, usize> = HashMap::new();
    for (at, (_, lineage)) in b.iter().enumerate() {
        if let Some(id) = lineage.id {
            of_b.entry(id).or_insert(at);
        }
    }
    let own = a.iter().enumerate();
    own.filter_map(|(at, (_, lineage))| Some((at, of_b.remove(&lineage.id?)?)))
        .collect()
}

/// Returns true for each pair that is in a longest sequence of pairs in the order of both sides.
fn rising(pairs: &[(usize, usize)]) -> Vec<bool> {
    // The pair at which the best sequence of each length ends, and the pair before each pair.
    let mut ends: Vec<usize> = Vec::new();
    let mut before: Vec<Option<usize>> = Vec::with_capacity(pairs.len());
    let other = |at: usize| pairs.get(at).map(|(_, other)| *other);
    for (at, (_, of_b)) in pairs.iter().enumerate() {
        let len = ends.partition_point(|end| other(*end).is_some_and(|other| other < *of_b));
        before.push(len.checked_sub(1).and_then(|last| ends.get(last).copied()));
        match ends.get_mut(len) {
            Some(end) => *end = at,
            None => ends.push(at),
        }
    }
    let mut is_rising = vec![false; pairs.len()];
    let mut next = ends.last().copied();
    while let Some(at) = next {
        if let Some(place) = is_rising.get_mut(at) {
            *place = true;
        }
        next = before.get(at).copied().flatten();
    }
    is_rising
}

/// Aligns messages without a partner by text. Splits steps that join two messages of known origin.
fn between([a, b]: [&[Keyed<'_>]; 2], free_a: &[usize], free_b: &[usize]) -> Vec<Aligned> {
    let keys = |side: &[Keyed<'_>], free: &[usize]| -> Vec<AlignKey> {
        free.iter().filter_map(|at| Some(side.get(*at)?.0)).collect()
    };
    let is_known = |side: &[Keyed<'_>], at: usize| side.get(at).is_some_and(|(_, of)| of.is_known());
    let mut steps = Vec::new();
    for step in align(&keys(a, free_a), &keys(b, free_b)) {
        let at = |at: usize| free_a.get(at).copied().unwrap_or_default();
        let other = |other: usize| free_b.get(other).copied().unwrap_or_default();
        let joined = match step {
            Aligned::Alike(one, two) => Aligned::Alike(at(one), other(two)),
            Aligned::Changed(one, two) => Aligned::Changed(at(one), other(two)),
            Aligned::Moved(one, two, is_alike) => Aligned::Moved(at(one), other(two), is_alike),
            Aligned::OnlyA(one) => Aligned::OnlyA(at(one)),
            Aligned::OnlyB(two) => Aligned::OnlyB(other(two)),
        };
        match joined {
            Aligned::Alike(one, two) | Aligned::Changed(one, two) | Aligned::Moved(one, two, _)
                if is_known(a, one) && is_known(b, two) =>
            {
                steps.extend([Aligned::OnlyA(one), Aligned::OnlyB(two)]);
            }
            _ => steps.push(joined),
        }
    }
    steps
}

/// Appends the steps, with the moved messages at their places on the first side.
fn with_moved<'m>(
    [a, b]: [&[Keyed<'_>]; 2],
    between: Vec<Aligned>,
    moved: impl Iterator<Item = (&'m usize, &'m usize)>,
    steps: &mut Vec<Aligned>,
) {
    let mut moved = moved.map(|(at, other)| (*at, *other)).peekable();
    let step = |(at, other): (usize, usize)| {
        let whole = |side: &[Keyed<'_>], at: usize| side.get(at).map(|(key, _)| key.whole);
        Aligned::Moved(at, other, whole(a, at) == whole(b, other))
    };
    for next in between {
        if let Aligned::Alike(of_a, _)
        | Aligned::Changed(of_a, _)
        | Aligned::Moved(of_a, ..)
        | Aligned::OnlyA(of_a) = next
        {
            while let Some(pair) = moved.next_if(|(at, _)| *at < of_a) {
                steps.push(step(pair));
            }
        }
        steps.push(next);
    }
    steps.extend(moved.map(step));
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{
        super::{align::tests::check, lineage::tests::made_lineage},
        *,
    };

    fn keys(side: &[(u64, u32)]) -> Vec<AlignKey> {
        let key = |(_, whole): &(u64, u32)| AlignKey {
            name: 1,
            whole: *whole,
        };
        side.iter().map(key).collect()
    }

    /// Aligns messages that are written as an origin (0 is unknown, 9 is made by a rule) and a value.
    fn aligned(a: &[(u64, u32)], b: &[(u64, u32)]) -> Vec<Aligned> {
        let lineages = |side: &[(u64, u32)]| -> Vec<Lineage> {
            side.iter().map(|(origin, _)| made_lineage(*origin)).collect()
        };
        let (of_a, of_b) = (lineages(a), lineages(b));
        let join = |keys: Vec<AlignKey>, lineages| keys.into_iter().zip(lineages).collect::<Vec<_>>();
        align_legs(&join(keys(a), &of_a), &join(keys(b), &of_b))
    }

    #[test]
    fn an_edited_message_is_one_difference_even_beside_messages_of_the_same_text() {
        use Aligned::{Alike, Changed, Moved, OnlyA, OnlyB};
        // The first of two equal messages is edited, and the second is dropped.
        assert_eq!(
            aligned(&[(1, 7), (2, 7), (3, 5)], &[(1, 8), (3, 5)]),
            [Changed(0, 0), OnlyA(1), Alike(2, 1)]
        );
        // A message is dropped, and a rule makes an equal message.
        assert_eq!(aligned(&[(1, 7)], &[(9, 7)]), [OnlyA(0), OnlyB(0)]);
        // A message of unknown origin is aligned by its text.
        assert_eq!(aligned(&[(1, 7)], &[(0, 7)]), [Alike(0, 0)]);
        // A message is held until two others have passed.
        assert_eq!(
            aligned(&[(1, 1), (2, 2), (3, 3)], &[(2, 2), (3, 3), (1, 1)]),
            [Moved(0, 2, true), Alike(1, 0), Alike(2, 1)]
        );
    }

    proptest! {
        #[test]
        fn every_message_is_in_one_step(
            a in prop::collection::vec((0u64..12, 0u32..3), 0..30),
            b in prop::collection::vec((0u64..12, 0u32..3), 0..30),
        ) {
            check(&aligned(&a, &b), &keys(&a), &keys(&b))?;
        }
    }
}
