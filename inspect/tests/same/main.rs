//! Regression tests: the core runs between scripted peers under every kind of disturbance ("storm"), and all outputs of the
//! libraries must be the same as before.
//!
//! A snapshot has one line for each second of a run, with the number of lines and the checksum of each output: datagrams and
//! events, rows of text, JSON lines. Below are the checksums of the recordings, of the items read from these recordings, and
//! of the findings. Any difference fails the test, whether or not it is intended.
//!
//! Further snapshots have a line for each group of recordings: sessions with one fault (`faults`), recorded sessions with one
//! edit (`edited`), damaged files (`damaged`), and recordings read from a place on or with several runs (`placed`).
//!
//! After an intended change, run `INSTA_UPDATE=always cargo test -p teetap-inspect --test same` and look at the first second
//! and the outputs that differ. `TEETAP_SAME=DIR` writes the outputs to files, to be compared with `diff` before and after
//! the change.

#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test: what may not happen fails it"
)]

mod damaged;
mod edited;
mod faults;
mod observed;
mod outputs;
mod placed;
mod recordings;
mod rules;
mod storm;

use std::fmt::Write as _;

use teetap_capture::Item;
use teetap_peer::Variant;
use teetap_repeatable::keep;

use crate::{
    recordings::Recordings,
    storm::{Setting, Storm},
};

/// Probabilities of a disturbance per step.
const STORMY: f64 = 0.2;
const CALM: f64 = 0.04;

/// Writes the outputs of a run to files if `TEETAP_SAME` is set.
fn keep_all(name: &str, texts: &[(&str, &str)]) {
    for (output, text) in texts {
        keep(&format!("{name}.{output}"), text);
    }
}

/// Plays a run, and compares the checksums of its outputs with the stored snapshot.
fn check(name: &str, setting: Setting) {
    let (events, outputs) = Storm::new(setting).play();
    let recordings = Recordings::of(events);
    keep_all(name, &outputs.texts());
    keep_all(name, &recordings.texts());
    let mut text = String::new();
    for second in outputs.seconds() {
        let _infallible = writeln!(text, "{second}");
    }
    let _infallible = writeln!(text, "\n{recordings}");
    insta::assert_snapshot!(name, text);
}

/// Plays a hostile run with clients and servers of these variants.
fn check_storm(name: &str, seed: u64, clients: &'static [Variant], server: &'static [Variant]) {
    let setting = Setting {
        seed,
        clients,
        server,
        disturbance: STORMY,
        hostile: true,
        floods: false,
    };
    check(name, setting);
}

#[test]
fn a_run_without_tokens_stays_the_same() {
    check_storm("tokenless", 1, &[Variant::V6], &[Variant::V6]);
}

#[test]
fn a_run_of_0_6_5_stays_the_same() {
    check_storm(
        "0.6.5",
        2,
        &[Variant::V65, Variant::V6],
        &[Variant::V65, Variant::V6],
    );
}

#[test]
fn a_run_of_ddnet_stays_the_same() {
    const VARIANTS: &[Variant] = &[Variant::Ddnet, Variant::V6, Variant::Ddnet7];
    check_storm("ddnet", 3, VARIANTS, VARIANTS);
}

#[test]
fn a_run_of_0_7_stays_the_same() {
    check_storm("0.7", 4, &[Variant::V7], &[Variant::V7]);
}

#[test]
fn a_run_of_ddnet_clients_on_0_7_stays_the_same() {
    check_storm("ddnet-on-0.7", 5, &[Variant::Ddnet7, Variant::V7], &[Variant::V7]);
}

#[test]
fn a_run_of_all_variants_stays_the_same() {
    check_storm("all", 6, &Variant::ALL, &Variant::ALL);
}

#[test]
fn a_calm_run_of_all_variants_stays_the_same() {
    let setting = Setting {
        seed: 7,
        clients: &Variant::ALL,
        server: &Variant::ALL,
        disturbance: CALM,
        hostile: true,
        floods: false,
    };
    check("calm", setting);
}

#[test]
fn a_run_with_floods_stays_the_same() {
    let setting = Setting {
        seed: 8,
        clients: &Variant::ALL,
        server: &[Variant::Ddnet, Variant::V65, Variant::V6],
        disturbance: STORMY,
        hostile: true,
        floods: true,
    };
    check("floods", setting);
}

/// No peer is accused because of rules, link lines, commands, or a network that loses, duplicates and reorders datagrams.
#[test]
fn nothing_that_the_proxy_does_is_a_fault_of_a_peer() {
    let mut accusations = Vec::new();
    for seed in 0..8 {
        let setting = Setting {
            seed,
            clients: &Variant::ALL,
            server: &Variant::ALL,
            disturbance: STORMY,
            hostile: false,
            floods: false,
        };
        let (events, outputs) = Storm::new(setting).play();
        keep_all(&format!("fair-{seed}"), &outputs.texts());
        let findings = recordings::findings(events.into_iter().map(Item::Event));
        let is_accusation = |line: &&str| {
            let words: Vec<&str> = line.split([' ', ':']).take(4).collect();
            matches!(
                words.as_slice(),
                ["error" | "warning", _, "fault", "client" | "server"]
            )
        };
        let of_run = findings.lines().filter(is_accusation);
        accusations.extend(of_run.map(|line| format!("seed {seed}: {line}")));
    }
    assert!(
        accusations.is_empty(),
        "{}:\n{}",
        accusations.len(),
        accusations.join("\n")
    );
}
