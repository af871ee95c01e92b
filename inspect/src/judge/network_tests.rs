//! Faultless clients and servers on bad networks: losses, duplicates, delays and reordering are blamed on no peer.

use teetap_kit::{
    codec::Variant,
    faulty::{Setting, Step},
    link::{Conditions, MS, Random, SECOND},
};
use teetap_wire::Severity;

use super::*;

/// Number of sessions played per protocol.
const SESSIONS: u64 = 40;

/// Returns the conditions of one half of a network, from an end to the proxy or from there to the other end. Both
/// halves together have up to 300 ms of delay, 20 % losses, and 10 % duplicates.
fn half(random: &mut Random) -> Conditions {
    let percent = |random: &mut Random, most: u64| random.below(most + 1) as f64 / 1000.0;
    Conditions {
        delay: random.below(101) * MS,
        // Jitter that exceeds the interval between two datagrams reorders them.
        jitter: match random.below(3) {
            0 => 0,
            1 => random.below(20) * MS,
            _ => random.below(100) * MS,
        },
        loss: percent(random, 100),
        duplicate: percent(random, 50),
    }
}

fn setting(variant: Variant, seed: u64) -> Setting {
    let mut random = Random::new(seed);
    Setting {
        halves: [half(&mut random), half(&mut random)],
        length: 20 * SECOND,
        talks: true,
        ..Setting::new(variant, seed)
    }
}

#[test]
fn a_bad_network_accuses_no_peer() {
    let (mut wrong, mut lost, mut entered) = (Vec::new(), 0, 0);
    for variant in Variant::ALL {
        for seed in 0..SESSIONS {
            let setting = setting(variant, seed);
            let (findings, reached) = faulty_tests::findings(&setting, None);
            let has_entered = reached == Some(Step::EnterGame);
            entered += u64::from(has_entered);
            lost += u64::from(findings.list.iter().any(|one| one.role == Role::Network));
            // A session that never entered the game has a finding about the step at which its join stalled.
            let accuses = |one: &&Finding| {
                one.role == Role::Fault && one.severity >= Severity::Warning
                    || has_entered && one.role == Role::Consequence && one.by.side().is_some()
            };
            let accusing: Vec<_> = findings
                .list
                .iter()
                .filter(accuses)
                .map(ToString::to_string)
                .collect();
            if !accusing.is_empty() {
                wrong.push(format!("{variant:?} {seed} {:?}: {accusing:#?}", setting.halves));
            }
        }
    }
    assert!(wrong.is_empty(), "{}:\n{}", wrong.len(), wrong.join("\n"));
    let all = SESSIONS * Variant::ALL.len() as u64;
    assert!(entered * 10 > all * 9, "{entered} of {all} have begun");
    assert!(
        lost * 10 > all * 8,
        "{lost} of {all} have findings of the network"
    );
}
