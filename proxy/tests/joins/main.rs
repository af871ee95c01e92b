//! How sessions begin and end, in virtual time: joins over bad networks, restarts, refusals, silence, spoofed
//! datagrams, and what rules and commands make of single messages, number by number.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test: what may not happen fails it"
)]

mod bench;
mod ends;
mod holds;
mod limits;
mod lone;
mod operations;
mod refusals;
mod repeats;
mod restarts;
mod spoofs;
mod stage;
