//! Bad networks in virtual time: what arrives is what was meant, in order, once, whatever rules do and whenever
//! they start, and sessions die no more often than on a bare wire.

mod dice;
mod run;

use std::ops::Range;

use dice::Kind;
use run::{Fate, Plan, run};
use teetap_kit::{
    codec::Variant,
    link::{Conditions, MS, SECOND},
};

const VARIANTS: [Variant; 2] = [Variant::V7, Variant::Ddnet];

/// Runs many seeds; every one has to deliver everything.
fn all_arrive(seeds: Range<u64>, plan: impl Fn(u64) -> Plan) {
    for seed in seeds {
        let plan = plan(seed);
        let outcome = run(seed, &plan);
        assert_eq!(
            outcome.fate,
            Fate::Complete,
            "seed {seed}: {outcome:#?}\n{plan:?}"
        );
    }
}

fn variant(seed: u64) -> Variant {
    VARIANTS[usize::from(seed % 2 == 1)]
}

#[test]
fn no_rules_at_ten_percent_loss() {
    all_arrive(0..500, |seed| Plan {
        variant: variant(seed),
        ..Plan::default()
    });
}

#[test]
fn drops_edits_and_injections() {
    let kinds = [Kind::Drop, Kind::Edit, Kind::Before, Kind::After];
    all_arrive(1000..1800, |seed| Plan {
        variant: variant(seed),
        kinds: Kind::mix(6, &kinds),
        ..Plan::default()
    });
}

#[test]
fn bursts_that_wrap_the_numbers() {
    let kinds = [Kind::Drop, Kind::Edit, Kind::Before, Kind::After];
    all_arrive(2000..2060, |seed| Plan {
        variant: variant(seed),
        kinds: Kind::mix(6, &kinds),
        conditions: Conditions::bad(0.02),
        burst: true,
        ..Plan::default()
    });
}

#[test]
fn messages_that_come_late_or_twice_or_in_another_order() {
    let kinds = [
        Kind::Drop,
        Kind::Edit,
        Kind::Late,
        Kind::Twice,
        Kind::TwiceLater,
        Kind::Reorder,
        Kind::Lose,
        Kind::Reply,
    ];
    all_arrive(3000..3600, |seed| Plan {
        variant: variant(seed),
        kinds: Kind::mix(12, &kinds),
        conditions: Conditions::bad(0.05),
        ..Plan::default()
    });
}

#[test]
fn messages_that_are_held_while_others_queue_behind() {
    let kinds = [
        Kind::Drop,
        Kind::Edit,
        Kind::Before,
        Kind::After,
        Kind::Late,
        Kind::Wait,
        Kind::Held,
    ];
    all_arrive(4000..4060, |seed| Plan {
        variant: variant(seed),
        kinds: Kind::mix(60, &kinds),
        conditions: Conditions::bad(0.02),
        burst: true,
        ..Plan::default()
    });
}

#[test]
fn rules_that_start_at_any_moment() {
    let kinds = [
        Kind::Drop,
        Kind::Edit,
        Kind::Before,
        Kind::After,
        Kind::Late,
        Kind::Lose,
        Kind::Reorder,
    ];
    all_arrive(5000..6000, |seed| Plan {
        variant: variant(seed),
        kinds: Kind::mix(10, &kinds),
        rules_from: Some(SECOND + (seed % 300) * 100 * MS),
        burst: seed % 8 == 0,
        conditions: Conditions::bad(if seed % 8 == 0 { 0.02 } else { 0.1 }),
        ..Plan::default()
    });
}

#[test]
fn a_first_injection_at_any_moment() {
    all_arrive(6000..7000, |seed| Plan {
        variant: variant(seed),
        inject_at: Some(SECOND + (seed % 250) * 100 * MS),
        burst: seed % 8 == 0,
        conditions: Conditions::bad(if seed % 8 == 0 { 0.02 } else { 0.1 }),
        ..Plan::default()
    });
}

#[test]
fn sessions_die_no_more_often_than_on_a_bare_wire() {
    let deaths = |bare: bool, kinds: &[Kind]| {
        let dies = |seed: &u64| {
            let plan = Plan {
                variant: Variant::V7,
                bare,
                kinds: kinds.to_vec(),
                limits: true,
                ..Plan::default()
            };
            run(*seed, &plan).fate == Fate::Died
        };
        (7000..7500).filter(dies).count()
    };
    let bare = deaths(true, &[]);
    let identity = deaths(false, &[]);
    let ruled = deaths(
        false,
        &Kind::mix(6, &[Kind::Drop, Kind::Edit, Kind::Before, Kind::After]),
    );
    println!(
        "of 500 sessions at 10 % loss per hop died: {bare} bare, {identity} untouched, {ruled} with rules"
    );
    assert!(
        bare > 0,
        "the limit has to bite for the comparison to mean anything"
    );
    // Two samples of the same probability differ by less than three standard deviations.
    let slack = |n: usize| (6.0 * n as f64).sqrt() * 1.5;
    assert!(
        identity as f64 <= bare as f64 + slack(bare),
        "{identity} untouched, {bare} bare"
    );
    assert!(
        ruled as f64 <= bare as f64 + slack(bare),
        "{ruled} with rules, {bare} bare"
    );
}
