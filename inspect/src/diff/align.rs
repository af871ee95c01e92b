//! Aligns the messages of one direction on both sides.
//!
//! Law: every message of both sides is in exactly one step, and the messages of the first side stay in order. Equal
//! messages are aligned first, and then messages with the same name between them.

use std::collections::{HashMap, VecDeque};

use similar::{Algorithm, DiffOp, capture_diff_slices};

/// A message, represented by numbers that are equal for equal values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct AlignKey {
    /// Number of the name.
    pub(super) name: u32,
    /// Number that equal messages share: same name, vital flag and fields.
    pub(super) whole: u32,
}

/// A message of one side, or a pair of messages, one of each side, by index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Aligned {
    /// Equal messages.
    Alike(usize, usize),
    /// Messages with the same name in the same position.
    Changed(usize, usize),
    /// Messages with the same name in different positions; true if they are equal.
    Moved(usize, usize, bool),
    /// Only the first side has it.
    OnlyA(usize),
    /// Only the second side has it.
    OnlyB(usize),
}

/// Aligns two sides.
pub(super) fn align(a: &[AlignKey], b: &[AlignKey]) -> Vec<Aligned> {
    let wholes = |side: &[AlignKey]| side.iter().map(|key| key.whole).collect::<Vec<u32>>();
    let mut steps = Vec::with_capacity(a.len().max(b.len()));
    let mut gap = (0..0, 0..0);
    for op in capture_diff_slices(Algorithm::Patience, &wholes(a), &wholes(b)) {
        if let DiffOp::Equal {
            old_index,
            new_index,
            len,
        } = op
        {
            between(a, b, (gap.0.start..old_index, gap.1.start..new_index), &mut steps);
            steps.extend((0..len).map(|at| Aligned::Alike(old_index + at, new_index + at)));
            gap = (old_index + len..a.len(), new_index + len..b.len());
        }
    }
    between(a, b, (gap.0.start..a.len(), gap.1.start..b.len()), &mut steps);
    with_moves(a, b, steps)
}

type Ranges = (std::ops::Range<usize>, std::ops::Range<usize>);

/// Aligns the messages between two pairs of equal messages by name.
fn between(a: &[AlignKey], b: &[AlignKey], (of_a, of_b): Ranges, steps: &mut Vec<Aligned>) {
    let names = |side: &[AlignKey], range: &std::ops::Range<usize>| {
        let keys = side.get(range.clone()).unwrap_or_default();
        keys.iter().map(|key| key.name).collect::<Vec<u32>>()
    };
    let (names_a, names_b) = (names(a, &of_a), names(b, &of_b));
    for op in capture_diff_slices(Algorithm::Patience, &names_a, &names_b) {
        let (at_a, at_b) = (
            of_a.start + op.old_range().start,
            of_b.start + op.new_range().start,
        );
        let (len_a, len_b) = (op.old_range().len(), op.new_range().len());
        if let DiffOp::Equal { .. } = op {
            // These messages differ, because the equal messages were aligned as far as order allows.
            steps.extend((0..len_a).map(|at| Aligned::Changed(at_a + at, at_b + at)));
        } else {
            steps.extend((at_a..at_a + len_a).map(Aligned::OnlyA));
            steps.extend((at_b..at_b + len_b).map(Aligned::OnlyB));
        }
    }
}

/// Joins a removed and an added message into a move: first equal messages, then messages whose name remains exactly
/// once on each side.
fn with_moves(a: &[AlignKey], b: &[AlignKey], steps: Vec<Aligned>) -> Vec<Aligned> {
    let key = |side: &[AlignKey], at: usize| side.get(at).copied();
    let mut moved: HashMap<usize, (usize, bool)> = HashMap::new();
    let mut taken: Vec<bool> = vec![false; b.len()];
    let mut alike: HashMap<u32, VecDeque<usize>> = HashMap::new();
    for step in &steps {
        if let Aligned::OnlyB(at) = *step
            && let Some(key) = key(b, at)
        {
            alike.entry(key.whole).or_default().push_back(at);
        }
    }
    let only_a = || {
        steps.iter().filter_map(|step| match *step {
            Aligned::OnlyA(at) => Some(at),
            _ => None,
        })
    };
    for at in only_a() {
        let found = key(a, at).and_then(|key| alike.get_mut(&key.whole)?.pop_front());
        if let Some(other) = found {
            moved.insert(at, (other, true));
            mark(&mut taken, other);
        }
    }
    let mut once: HashMap<u32, (Vec<usize>, Vec<usize>)> = HashMap::new();
    for at in only_a().filter(|at| !moved.contains_key(at)) {
        if let Some(key) = key(a, at) {
            once.entry(key.name).or_default().0.push(at);
        }
    }
    for (at, key) in b.iter().enumerate() {
        let is_only = alike.get(&key.whole).is_some_and(|places| places.contains(&at));
        if is_only {
            once.entry(key.name).or_default().1.push(at);
        }
    }
    for (of_a, of_b) in once.into_values() {
        if let (&[at], &[other]) = (&*of_a, &*of_b) {
            moved.insert(at, (other, false));
            mark(&mut taken, other);
        }
    }
    let joined = steps.into_iter().filter_map(|step| match step {
        Aligned::OnlyA(at) => Some(match moved.get(&at) {
            Some((other, is_alike)) => Aligned::Moved(at, *other, *is_alike),
            None => step,
        }),
        Aligned::OnlyB(at) => (!taken.get(at).copied().unwrap_or_default()).then_some(step),
        _ => Some(step),
    });
    joined.collect()
}

fn mark(taken: &mut [bool], at: usize) {
    if let Some(taken) = taken.get_mut(at) {
        *taken = true;
    }
}

#[cfg(test)]
pub(super) mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Parses messages that are written as a letter for the name and a digit for the fields.
    fn keys(text: &str) -> Vec<AlignKey> {
        let words = text.split_whitespace();
        words
            .map(|word| {
                let (name, value) = (word.as_bytes()[0], word.as_bytes()[1]);
                AlignKey {
                    name: name.into(),
                    whole: u32::from(name) << 8 | u32::from(value),
                }
            })
            .collect()
    }

    fn aligned(a: &str, b: &str) -> Vec<Aligned> {
        align(&keys(a), &keys(b))
    }

    #[test]
    fn one_more_message_shifts_no_others() {
        use Aligned::{Alike, OnlyA, OnlyB};
        assert_eq!(
            aligned("a1 c1 c2 c3", "a1 c9 c1 c2 c3"),
            [Alike(0, 0), OnlyB(1), Alike(1, 2), Alike(2, 3), Alike(3, 4)]
        );
        assert_eq!(aligned("a1 b1", "a1"), [Alike(0, 0), OnlyA(1)]);
        assert!(aligned("", "").is_empty());
    }

    #[test]
    fn messages_of_a_name_in_the_same_place_are_compared() {
        use Aligned::{Alike, Changed};
        assert_eq!(
            aligned("a1 b1 c1", "a1 b2 c1"),
            [Alike(0, 0), Changed(1, 1), Alike(2, 2)]
        );
        assert_eq!(aligned("a1", "a2"), [Changed(0, 0)]);
    }

    #[test]
    fn another_order_is_not_one_less_and_one_more() {
        let steps = aligned("a1 b1 c1 d1", "b1 c1 d1 a1");
        assert!(steps.contains(&Aligned::Moved(0, 3, true)), "{steps:?}");
        assert_eq!(steps.len(), 4);
        let steps = aligned("a1 b1 c1 d1", "b1 c1 d1 a2");
        assert!(steps.contains(&Aligned::Moved(0, 3, false)), "{steps:?}");
    }

    /// Checks that each message is in one step, that the first side is in order, and that a step says whether its
    /// messages are equal.
    pub(in crate::diff) fn check(
        steps: &[Aligned],
        a: &[AlignKey],
        b: &[AlignKey],
    ) -> Result<(), TestCaseError> {
        let (mut of_a, mut of_b) = (Vec::new(), Vec::new());
        for step in steps {
            match *step {
                Aligned::Alike(at, other) | Aligned::Moved(at, other, true) => {
                    prop_assert_eq!(a[at], b[other]);
                    of_a.push(at);
                    of_b.push(other);
                }
                Aligned::Changed(at, other) | Aligned::Moved(at, other, false) => {
                    prop_assert!(a[at].name == b[other].name && a[at].whole != b[other].whole);
                    of_a.push(at);
                    of_b.push(other);
                }
                Aligned::OnlyA(at) => of_a.push(at),
                Aligned::OnlyB(at) => of_b.push(at),
            }
        }
        prop_assert_eq!(&of_a, &(0..a.len()).collect::<Vec<_>>());
        of_b.sort_unstable();
        prop_assert_eq!(of_b, (0..b.len()).collect::<Vec<_>>());
        Ok(())
    }

    proptest! {
        #[test]
        fn every_message_is_in_one_step(
            a in prop::collection::vec((0u32..5, 0u32..3), 0..40),
            b in prop::collection::vec((0u32..5, 0u32..3), 0..40),
        ) {
            let keys = |side: &[(u32, u32)]| -> Vec<AlignKey> {
                side.iter().map(|(name, value)| AlignKey { name: *name, whole: name * 10 + value }).collect()
            };
            let (a, b) = (keys(&a), keys(&b));
            check(&align(&a, &b), &a, &b)?;
        }
    }
}
