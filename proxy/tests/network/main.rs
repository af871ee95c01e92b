//! Bad networks in virtual time: all intended messages arrive, in order, once, whatever rules do and whenever
//! they start, and sessions end no more often than without the proxy.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test: what may not happen fails it"
)]

mod compare;
mod dice;
mod links;
mod programs;
mod run;

use std::ops::Range;

use dice::Kind;
use run::{Fate, Plan, run};
use teetap_kit::{
    codec::Variant,
    link::{Conditions, MS, SECOND},
};

const VARIANTS: [Variant; 2] = [Variant::V7, Variant::Ddnet];

/// Returns every second seed, or all of them if `TEETAP_LONG` is set.
pub(crate) fn some(seeds: Range<u64>) -> impl Iterator<Item = u64> {
    let is_long = std::env::var_os("TEETAP_LONG").is_some();
    seeds.step_by(if is_long { 1 } else { 2 })
}

/// Runs many seeds and checks that all messages arrive in each run.
fn all_arrive(seeds: Range<u64>, plan: impl Fn(u64) -> Plan) {
    for seed in some(seeds) {
        let plan = Plan {
            variant: variant(seed),
            ..plan(seed)
        };
        let outcome = run(seed, &plan);
        if outcome.fate != Fate::Complete {
            explain(seed, &plan);
        }
    }
}

/// Repeats a run and fails with its transcript.
fn explain(seed: u64, plan: &Plan) {
    let trace = true;
    let outcome = run(
        seed,
        &Plan {
            trace,
            ..plan.clone()
        },
    );
    let from = outcome.transcript.len().saturating_sub(60);
    let end = outcome.transcript[from..].join("\n");
    panic!(
        "seed {seed}: {:?}, {}\n{plan:?}\n{:?}\n{end}",
        outcome.fate, outcome.why, outcome.counters
    );
}

fn variant(seed: u64) -> Variant {
    VARIANTS[usize::from(seed % 2 == 1)]
}

#[test]
fn no_rules_at_ten_percent_loss() {
    all_arrive(0..500, |_| Plan::default());
}

#[test]
fn drops_edits_and_injections() {
    let kinds = [Kind::Drop, Kind::Edit, Kind::Before, Kind::After];
    all_arrive(1000..1800, |_| Plan {
        kinds: Kind::mix(6, &kinds),
        ..Plan::default()
    });
}

#[test]
fn bursts_that_wrap_the_numbers() {
    let kinds = [Kind::Drop, Kind::Edit, Kind::Before, Kind::After];
    all_arrive(2000..2060, |_| Plan {
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
    all_arrive(3000..3600, |_| Plan {
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
    all_arrive(4000..4060, |_| Plan {
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
        inject_at: Some(SECOND + (seed % 250) * 100 * MS),
        burst: seed % 8 == 0,
        conditions: Conditions::bad(if seed % 8 == 0 { 0.02 } else { 0.1 }),
        ..Plan::default()
    });
}

#[test]
fn injections_while_the_receiver_is_away_never_leave_its_window() {
    for variant in VARIANTS {
        let plan = Plan {
            variant,
            conditions: Conditions::GOOD,
            ..Plan::default()
        };
        let got = run::inject_into_silence(&plan, 600);
        let meant: Vec<String> = (0..600).map(|n| format!("X{n}")).collect();
        assert_eq!(got, meant, "{variant:?}");
    }
}

/// Returns the plan of a map download, with a first injection in the middle of it unless `bare`.
fn download(seed: u64, bare: bool, limits: bool) -> Plan {
    Plan {
        variant: variant(seed),
        bare,
        limits,
        download: true,
        inject_at: (!bare).then_some(3 * SECOND + (seed % 40) * 100 * MS),
        conditions: Conditions {
            jitter: 10 * MS,
            ..Conditions::bad(0.1)
        },
        ..Plan::default()
    }
}

#[test]
fn a_first_injection_in_the_middle_of_a_map_download() {
    all_arrive(8000..9000, |seed| download(seed, false, false));
}

#[test]
fn a_first_injection_breaks_no_download_that_a_bare_wire_keeps() {
    let mut died = [0, 0];
    for seed in some(8000..9000) {
        for (bare, died) in [true, false].into_iter().zip(&mut died) {
            let plan = download(seed, bare, true);
            match run(seed, &plan).fate {
                Fate::Complete => {}
                Fate::Died => *died += 1,
                Fate::NeverJoined | Fate::Wrong => explain(seed, &plan),
            }
        }
    }
    let [bare, injected] = died;
    println!("downloads at 10 % loss per hop that died: {bare} on a bare wire, {injected} with an injection");
    assert!(
        injected as f64 <= bare as f64 + slack(bare),
        "{injected} with an injection, {bare} on a bare wire"
    );
}

/// Returns the allowed difference between two samples of the same probability: three standard deviations.
fn slack(count: usize) -> f64 {
    3.0 * (2.0 * count.max(1) as f64).sqrt()
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
    assert!(
        identity as f64 <= bare as f64 + slack(bare),
        "{identity} untouched, {bare} bare"
    );
    assert!(
        ruled as f64 <= bare as f64 + slack(bare),
        "{ruled} with rules, {bare} bare"
    );
}
