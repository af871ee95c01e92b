//! Stormy runs that stay the same: the core between scripted peers, with every kind of disturbance, and everything that the libraries make
//! of its events.
//!
//! Each second of a run has a line with the number of lines and the sum of each output: datagrams and events, rows of text, JSON lines. The
//! recordings, what is read from them again, and the findings have their sums below. Any change of these fails the test, whether or not it
//! was meant.
//!
//! After a change that is meant: `INSTA_UPDATE=always cargo test -p teetap-inspect --test same`, with a look at the first second and the
//! outputs that differ. `TEETAP_SAME=DIR` writes the outputs themselves to files, so that `diff` shows them before and after the change.

#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test: what may not happen fails it"
)]

mod outputs;
mod recordings;
mod rules;
mod storm;

use std::{fmt::Write as _, path::Path};

use teetap_capture::Item;
use teetap_peer::Variant;

use crate::{
    recordings::Recordings,
    storm::{Setting, Storm},
};

/// The probabilities of a disturbance in a step.
const STORMY: f64 = 0.2;
const CALM: f64 = 0.04;

/// Writes the outputs of a run to files, if the environment asks for it.
fn keep(name: &str, texts: &[(&str, &str)]) {
    let Some(dir) = std::env::var_os("TEETAP_SAME") else {
        return;
    };
    for (output, text) in texts {
        let path = Path::new(&dir).join(format!("{name}.{output}"));
        std::fs::write(&path, text)
            .unwrap_or_else(|error| panic!("cannot write {}: {error}", path.display()));
    }
}

/// Plays a run, and compares its outputs with the ones of before.
fn check(name: &str, setting: Setting) {
    let (events, outputs) = Storm::new(setting).play();
    let recordings = Recordings::of(events);
    keep(name, &outputs.texts());
    keep(name, &recordings.texts());
    let mut text = String::new();
    for second in outputs.seconds() {
        let _infallible = writeln!(text, "{second}");
    }
    let _infallible = writeln!(text, "\n{recordings}");
    insta::assert_snapshot!(name, text);
}

/// Plays a run of clients and servers of these variants.
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

/// Rules, link lines, commands and networks that lose, double and reorder datagrams make no peer wrong.
#[test]
fn nothing_that_the_proxy_does_is_a_fault_of_a_peer() {
    let mut accusations = Vec::new();
    for seed in 0..16 {
        let setting = Setting {
            seed,
            clients: &Variant::ALL,
            server: &Variant::ALL,
            disturbance: STORMY,
            hostile: false,
            floods: false,
        };
        let (events, outputs) = Storm::new(setting).play();
        keep(&format!("fair-{seed}"), &outputs.texts());
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
