//! The order of a join and the form of snapshots: faults of clients that the server accepts, and faults of servers.

use teetap_kit::{
    codec::Variant,
    faulty::{FAULTS, Habit, Setting},
};
use teetap_wire::Severity;

use super::{Culprit, Finding, Role, faulty_tests::findings};

/// The faults of clients that a lenient server hides.
const ORDER: [&str; 7] = [
    "ready before info",
    "start info before ready",
    "start info twice",
    "enter game before ready",
    "enter game before start info",
    "console without a login",
    "wrong version",
];

/// A habit of a server: the code of the first finding, its received and expected values, and a part of its sentence.
type Row = (
    Habit,
    &'static str,
    Option<&'static str>,
    Option<&'static str>,
    &'static str,
);

#[rustfmt::skip]
const SERVERS: &[Row] = &[
    (Habit::EarlyReady, "out-of-turn", Some("it before ready"), Some("it as the answer to ready"), "a client of"),
    (Habit::EarlyReadyToEnter, "out-of-turn", Some("it before cl_start_info"), Some("it as the answer to cl_start_info"), "a client of the games answers with enter_game"),
    (Habit::EarlySnapshots, "out-of-turn", Some("it before enter_game"), Some("none before enter_game"), "servers of the games send none before"),
    (Habit::AllSizes, "snap-", None, None, "each item is sent with its size, also the types whose size both sides agreed on"),
    (Habit::NoThird, "unexpected-bytes", None, None, "the third int, 0, is missing"),
    (Habit::IdFirst, "snap-", None, None, "the id of each item is sent before its type"),
    (Habit::SumOfBytes, "snap-bad-crc", None, None, "the sum is over bytes, not over ints"),
    (Habit::TickAsDifference, "snap-no-base", None, None, "delta_tick is the tick of the base, 102, not the difference to it, 2"),
];

fn setting(variant: Variant, habit: Habit) -> Setting {
    Setting {
        habit,
        ..Setting::new(variant, 1)
    }
}

fn sentences(list: &[Finding]) -> Vec<String> {
    list.iter().map(ToString::to_string).collect()
}

#[test]
fn a_lenient_server_does_not_hide_the_order_of_a_client() {
    for name in ORDER {
        let fault = FAULTS.iter().find(|fault| fault.name == name).unwrap();
        for variant in fault.variants {
            let strict = findings(&setting(*variant, Habit::None), Some(fault)).0.list;
            let lenient = findings(&setting(*variant, Habit::Lenient), Some(fault)).0.list;
            let first = lenient.first();
            let is_right = first.is_some_and(|first| {
                (first.by, first.severity, first.role) == (Culprit::Client, Severity::Warning, Role::Fault)
                    && strict
                        .first()
                        .is_some_and(|strict| first.sentence() == strict.sentence())
            });
            assert!(is_right, "{name} of {variant:?}: {:#?}", sentences(&lenient));
            let accused = lenient.iter().find(|finding| finding.by == Culprit::Server);
            assert!(
                accused.is_none(),
                "{name} of {variant:?}: {:#?}",
                sentences(&lenient)
            );
        }
    }
}

#[test]
fn servers_without_a_fault_have_no_findings() {
    for habit in [Habit::None, Habit::Lenient, Habit::Complete] {
        for variant in Variant::ALL {
            let mut list = findings(&setting(variant, habit), None).0.list;
            if habit == Habit::Complete {
                // That a server never sends differences is a finding of its own.
                list.retain(|finding| finding.topic.name() != "snap-ack-ignored");
            }
            assert!(
                list.is_empty(),
                "{habit:?} of {variant:?}: {:#?}",
                sentences(&list)
            );
        }
    }
}

#[test]
fn a_client_is_not_accused_of_the_order_of_its_server() {
    for variant in Variant::ALL {
        let list = findings(&setting(variant, Habit::EarlyReadyToEnter), None).0.list;
        let accused = list.iter().find(|finding| finding.by == Culprit::Client);
        assert!(accused.is_none(), "{variant:?}: {:#?}", sentences(&list));
    }
}

#[test]
fn the_first_finding_names_the_fault_of_the_server() {
    let mut wrong = Vec::new();
    for (habit, code, got, expected, part) in SERVERS {
        for variant in Variant::ALL {
            let list = findings(&setting(variant, *habit), None).0.list;
            let is_right = list.first().is_some_and(|first| {
                let values = first.detail.as_ref();
                first.topic.name().starts_with(code)
                    && first.by == Culprit::Server
                    && got.is_none_or(|got| values.and_then(crate::Values::got) == Some(got))
                    && expected.is_none_or(|value| values.and_then(crate::Values::expected) == Some(value))
                    && first.sentence().contains(part)
            });
            if !is_right {
                wrong.push(format!("{habit:?} of {variant:?}: {:#?}", sentences(&list)));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
