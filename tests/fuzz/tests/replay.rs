//! Runs every target on its seeds, its corpus and mutations of both: a fixed number of rounds, or ten minutes per
//! target if `TEETAP_LONG` is set. A failing input is written to a file, which the output names, and can be added to
//! the corpus.

#![expect(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test fails by panicking, and says with what"
)]

use std::collections::BTreeSet;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use std::{env, fs, thread};

use teetap_fuzz::{TARGETS, corpus, mutate, seeds};

/// Time per target with `TEETAP_LONG`.
const LONG: Duration = Duration::from_secs(600);
/// Seed of runs without `TEETAP_LONG`.
const SEED: u64 = 0x7ee7_a901;

/// Holds the current input, and writes it to a file if the target fails.
struct Keeper {
    name: &'static str,
    input: Vec<u8>,
}

impl Drop for Keeper {
    fn drop(&mut self) {
        if thread::panicking() {
            let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{}.finding", self.name));
            let kept = fs::write(&path, &self.input);
            eprintln!(
                "the input of {} bytes is in {} ({kept:?})",
                self.input.len(),
                path.display()
            );
        }
    }
}

/// Runs a target on its seeds, its corpus and mutations: `rounds` of them, or for [`LONG`] if `TEETAP_LONG` is set.
fn fuzz(name: &'static str, rounds: u32) {
    let target = teetap_fuzz::target(name).unwrap();
    let input = Vec::new();
    let mut keeper = Keeper { name, input };
    let mut inputs = seeds::of(name);
    assert!(!inputs.is_empty(), "{name} has no seeds");
    inputs.extend(corpus::load(name).unwrap().into_iter().map(|(_, input)| input));
    for input in &inputs {
        keeper.input.clone_from(input);
        target(input);
    }
    let (seed, effort) = if env::var_os("TEETAP_LONG").is_some() {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        (now.as_secs(), mutate::Effort::Time(LONG))
    } else {
        (SEED, mutate::Effort::Rounds(rounds))
    };
    let count = mutate::run(target, &inputs, seed, effort, |input| {
        keeper.input.clear();
        keeper.input.extend_from_slice(input);
    });
    eprintln!("{name}: {count} inputs with seed {seed}");
}

#[test]
fn packet() {
    fuzz("packet", 150_000);
}

#[test]
fn chunks() {
    fuzz("chunks", 150_000);
}

#[test]
fn connless() {
    fuzz("connless", 150_000);
}

#[test]
fn message() {
    fuzz("message", 150_000);
}

#[test]
fn snapshot() {
    fuzz("snapshot", 40_000);
}

#[test]
fn recording() {
    fuzz("recording", 150_000);
}

#[test]
fn handshake() {
    fuzz("handshake", 20_000);
}

#[test]
fn rules() {
    fuzz("rules", 10_000);
}

#[test]
fn hub() {
    fuzz("hub", 4_000);
}

/// Every folder of the corpus belongs to a target; otherwise nothing would run its inputs.
#[test]
fn every_corpus_belongs_to_a_target() {
    for folder in corpus::folder("").read_dir().unwrap() {
        let name = folder.unwrap().file_name();
        assert!(TARGETS.iter().any(|(known, _)| *known == name), "{name:?}");
    }
}

/// Every call returns the same distinct seeds, none of which is also in the corpus.
#[test]
fn seeds_are_deterministic() {
    for (name, _) in TARGETS {
        let seeds = seeds::of(name);
        assert_eq!(seeds, seeds::of(name), "{name}");
        let distinct: BTreeSet<&Vec<u8>> = seeds.iter().collect();
        assert_eq!(distinct.len(), seeds.len(), "{name}");
        for (file, input) in corpus::load(name).unwrap() {
            assert!(!distinct.contains(&input), "{name}/{file}");
        }
    }
}

/// The mutator creates the same inputs from the same seed, and different inputs from another seed.
#[test]
fn the_mutator_is_deterministic() {
    let made = |seed| {
        let mut made = Vec::new();
        mutate::run(
            |_| {},
            &[b"one".to_vec(), b"two".to_vec()],
            seed,
            mutate::Effort::Rounds(500),
            |input| {
                made.push(input.to_vec());
            },
        );
        made
    };
    assert!(made(1) == made(1) && made(1) != made(2));
}
