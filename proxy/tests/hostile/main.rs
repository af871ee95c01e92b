//! Hostile peers in virtual time. Whatever strangers, broken peers and spoofed servers send in any phase of
//! a session, the session continues, its peers keep talking, the core reports every datagram that it
//! refuses, and memory and sockets are bounded.
//!
//! Half-open limits and spoofed CONNECTs are tested in `joins`; the fuzz targets search for unexpected
//! inputs.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test: what may not happen fails it"
)]

mod browser;
mod floods;
mod notes;
mod phases;
mod stage;
