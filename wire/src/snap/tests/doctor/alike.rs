//! Which causes are the same fault in snapshots of different ticks.

use super::*;

#[test]
fn a_cause_is_the_same_at_another_tick_and_with_other_counts() {
    use SumFault::{Cut, Keys, OfTick, Sign, Zero};
    let mut groups: Vec<Vec<Cause>> = vec![
        [(1, 2), (3, 4)]
            .map(|(tick, named)| Cause::OtherBase { tick, named })
            .into(),
        [1, 2].map(|named| Cause::OnlyMessage { named }).into(),
        [1, 2].map(|tick| Cause::Sum(OfTick(tick))).into(),
        [1, 2].map(|items| Cause::New { items }).into(),
        [1, 2].map(|items| Cause::Deleted { items }).into(),
    ];
    groups.extend([Zero, Keys, Sign, Cut(8), Cut(16)].map(|fault| vec![Cause::Sum(fault)]));
    for kind in [4, 5] {
        for (agreed, sent) in [(1, Some(2)), (1, None), (2, Some(1))] {
            groups.push(vec![Cause::Size { kind, agreed, sent }]);
        }
        groups.push(vec![Cause::NoSize { kind, sent: 1 }]);
        groups.push(vec![Cause::NoSize { kind, sent: 2 }]);
        for twice in [false, true] {
            let of_type = |items| Cause::Type { kind, items, twice };
            groups.push([1, 2].map(of_type).into());
        }
    }
    assert_are_apart(&groups);
}

#[test]
fn a_fault_of_an_item_is_the_same_at_another_tick() {
    use FieldFault::{Jump, OutOfRange};
    use ItemFault::{NotCounted, NotDeleted, NotSent, Older, OtherBase};
    let mut groups: Vec<Vec<Cause>> = Vec::new();
    for key in [(4, 1), (4, 2), (5, 1)].map(|(kind, id)| key(kind, id)) {
        let item = |fault| Cause::Item { key, fault };
        groups.extend(
            [
                ItemFault::SentTwice,
                ItemFault::Twice,
                ItemFault::StillCounted,
                ItemFault::RemovedNotThere,
                ItemFault::DeletedAndSent,
                ItemFault::Absolute,
            ]
            .map(|fault| vec![item(fault)]),
        );
        groups.extend([
            [NotSent(1), NotSent(2)].map(item).into(),
            [Older(1), Older(2)].map(item).into(),
            [OtherBase(1), OtherBase(2)].map(item).into(),
            // An item that has not changed since its deletion is missing looks like one that is not counted.
            [NotCounted, NotDeleted].map(item).into(),
        ]);
        for at in [0, 1] {
            let field = |(value, fault)| Cause::Field {
                key,
                at,
                value,
                fault,
            };
            groups.extend([
                [(1, OutOfRange(1)), (2, OutOfRange(2))].map(field).into(),
                [(1, Jump(1)), (2, Jump(2))].map(field).into(),
            ]);
            groups.extend(
                [
                    FieldFault::Sign,
                    FieldFault::DifferenceSign,
                    FieldFault::Cut(8),
                    FieldFault::Cut(16),
                    FieldFault::Swapped,
                    FieldFault::Twice,
                    FieldFault::NotCounted,
                    FieldFault::Absolute,
                    FieldFault::Older,
                ]
                .map(|fault| [1, 2].map(|value| field((value, fault))).into()),
            );
        }
    }
    assert_are_apart(&groups);
}

/// Checks that the causes of each group are alike, and those of different groups are not.
fn assert_are_apart(groups: &[Vec<Cause>]) {
    let all = || {
        groups
            .iter()
            .enumerate()
            .flat_map(|(group, causes)| causes.iter().map(move |cause| (group, *cause)))
    };
    for (group, cause) in all() {
        for (other_group, other) in all() {
            assert_eq!(cause.is_like(other), group == other_group, "{cause:?} {other:?}");
        }
    }
}
