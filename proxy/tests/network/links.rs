//! Link lines instead of a bad network: all intended messages arrive, in order, once.

use teetap_kit::{
    codec::Variant,
    link::{Conditions, MS, SECOND},
};

use crate::run::{Fate, Plan, run};

/// One variant for each kind of framing.
const KINDS: [Variant; 4] = [Variant::V7, Variant::V65, Variant::Ddnet, Variant::V6];

const LINKS: [&str; 5] = [
    "link both delay 60ms jitter 20ms normal loss 5% dup 1% reorder 2%",
    "link both loss gemodel 1% 25% delay 10ms jitter 10ms pareto",
    "link both rate 64kbit queue 8kB delay 20ms",
    "link c2s delay 80ms reorder 20% gap 2 dup 10%\nlink s2c loss 10%",
    "use \"satellite\"\nlink both blackhole from 4s to 5s\nlink s2c delay 30ms jitter 30ms paretonormal dup 5%",
];

fn plan(seed: u64) -> Plan {
    let at = |index: u64, len: usize| usize::try_from(index).unwrap() % len;
    let variant = KINDS[at(seed, KINDS.len())];
    Plan {
        variant,
        link: LINKS[at(seed / 4, LINKS.len())],
        // A tokenless session accepts injections only after its join is over.
        inject_at: (seed.is_multiple_of(3) && variant != Variant::V6)
            .then_some(6 * SECOND + (seed % 70) * 100 * MS),
        burst: seed.is_multiple_of(7),
        conditions: Conditions::GOOD,
        talk: 15 * SECOND,
        ..Plan::default()
    }
}

#[test]
fn everything_arrives_over_any_link() {
    for seed in crate::some(9000..9400) {
        let outcome = run(seed, &plan(seed));
        if outcome.fate != Fate::Complete {
            crate::explain(seed, &plan(seed));
        }
    }
}

#[test]
fn the_same_seed_makes_the_same_run() {
    for seed in [9001, 9017, 9036] {
        let traced = || {
            let trace = true;
            run(seed, &Plan { trace, ..plan(seed) }).transcript
        };
        let first = traced();
        assert!(first.len() > 100);
        assert_eq!(first, traced());
    }
}
