//! Regression tests: many short random walks through the session core ("walks"), all outputs of which must be the same as
//! before.
//!
//! A walk begins with a client that connects, stops it at a random step of its join, and then takes random actions: both
//! peers talk, restart, close and vanish, attackers send datagrams with valid tokens and odd numbers, rules are replaced,
//! held messages are released, redirects are followed, hops go dead, strangers flood. The long runs of
//! `joins/same.rs` and of `inspect` rarely meet the first and the last moments of a session; these walks spend most of
//! their time there, with every variant of client at every variant of server.
//!
//! A snapshot has one line for each pair, with the checksum of each walk: all inputs of the user, all datagrams, requests
//! for sockets and events with all their fields, notices also as text, and after each action the deadline, the sessions and
//! the counters. Any difference fails the test, whether or not it is intended.
//!
//! Every sixth walk is recorded in an input log. Its checksum, the result of its replay, and the results of reading damaged
//! copies of it are part of the walk.
//!
//! After an intended change, run `INSTA_UPDATE=always cargo test -p teetap-proxy --test walks`. `TEETAP_SAME=DIR` writes
//! each walk to a file, to be compared with `diff` before and after the change.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test: what may not happen fails it"
)]

mod diary;
mod hostile;
mod log;
mod messages;
mod rules;
mod walk;

use std::fmt::Write as _;

use teetap_kit::codec::Variant;
use teetap_repeatable::{checksum, keep};

use crate::walk::Walk;

/// Number of walks of each pair.
const WALKS: u64 = 32;

/// The walk N * (this + 1) is recorded in an input log, so that each kind of walk is.
const RECORDED: u64 = 6;

/// Runs the walks of a client with every server, and compares the checksums with the stored snapshot.
fn check(client: Variant) {
    let mut table = String::new();
    for server in Variant::ALL {
        let _infallible = write!(table, "{client:?} to {server:?}:");
        for seed in 0..WALKS {
            let text = Walk::new(
                client,
                server,
                seed,
                seed % RECORDED == seed / RECORDED % RECORDED,
            )
            .run();
            let _infallible = write!(table, " {:08x}", checksum(&text) & 0xffff_ffff);
            keep(&format!("walk-{client:?}-{server:?}-{seed}"), &text);
        }
        table.push('\n');
    }
    insta::assert_snapshot!(format!("{client:?}"), table);
}

#[test]
fn clients_without_tokens() {
    check(Variant::V6);
}

#[test]
fn clients_of_0_6_5() {
    check(Variant::V65);
}

#[test]
fn clients_of_ddnet() {
    check(Variant::Ddnet);
}

#[test]
fn clients_of_0_7() {
    check(Variant::V7);
}

#[test]
fn clients_of_ddnet_on_0_7() {
    check(Variant::D7);
}
