//! The seeds of each target: pieces of the recorded sessions, and inputs written by hand. Every call returns the same seeds.

#![expect(
    clippy::unwrap_used,
    reason = "made of committed recordings: what cannot be read fails the test"
)]

mod recorded;
mod written;

use std::collections::BTreeSet;

/// Distinct inputs in the order in which they were added.
#[derive(Default)]
struct Seeds {
    inputs: Vec<Vec<u8>>,
    seen: BTreeSet<Vec<u8>>,
}

impl Seeds {
    fn add(&mut self, input: &[u8]) {
        if self.seen.insert(input.to_vec()) {
            self.inputs.push(input.to_vec());
        }
    }
}

/// Returns the seeds of a target; none if its name is unknown.
pub fn of(target: &str) -> Vec<Vec<u8>> {
    let mut seeds = Seeds::default();
    match target {
        "packet" | "chunks" | "connless" => {
            let mut three = <[Seeds; 3]>::default();
            recorded::datagrams(&mut three);
            written::datagrams(&mut three);
            let [packets, chunks, connless] = three;
            seeds = match target {
                "packet" => packets,
                "chunks" => chunks,
                _ => connless,
            };
        }
        "message" => {
            recorded::messages(&mut seeds);
            written::messages(&mut seeds);
        }
        "snapshot" => {
            recorded::snapshots(&mut seeds);
            written::snapshots(&mut seeds);
        }
        "recording" => recorded::recordings(&mut seeds),
        "handshake" => written::handshakes(&mut seeds),
        "rules" => written::rules(&mut seeds),
        "hub" => written::hubs(&mut seeds),
        _ => {}
    }
    seeds.inputs
}
