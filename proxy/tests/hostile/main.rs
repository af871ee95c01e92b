//! Hostile peers in virtual time: whatever strangers, broken peers and spoofed servers send, in every phase of a session,
//! the session goes on, its two peers keep talking, the core says what it refused, and memory and sockets are bounded.
//!
//! Half-open limits and spoofed CONNECTs have tests of their own in `joins`; the fuzz targets look for the unexpected.

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
