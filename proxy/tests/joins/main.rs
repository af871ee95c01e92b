//! The beginning and the end of sessions, in virtual time: joins of every kind over good and bad networks,
//! restarts of either side, refusals, silence, dummies, new maps, spoofed datagrams, and the effects of rules
//! and commands on single messages, number by number.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test: what may not happen fails it"
)]

mod admission;
mod bench;
mod browsers;
mod browsing;
mod crowds;
mod direct;
mod dummies;
mod ends;
mod examples;
mod facts;
mod families;
mod floods;
mod follows;
mod forged;
mod handshakes;
mod holds;
mod limits;
mod links;
mod lone;
mod loose;
mod maps;
mod operations;
mod pauses;
mod proofs;
mod redirects;
mod refusals;
mod repeats;
mod restarts;
mod resyncs;
mod ruled;
mod same;
mod samples;
mod servers;
mod slow;
mod snapshots;
mod sockets;
mod spoofs;
mod stage;
mod table;
mod toggles;
mod unproven;
mod windows;
