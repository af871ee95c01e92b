//! The built binary between game servers and clients that this project did not write.
//!
//! Law: every test waits for its turn first: [`turn::shared`], or [`turn::alone`] if it measures time or memory.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod control;
mod differential;
mod fair;
mod faults;
mod faults_seven;
mod handshakes;
mod hostile;
mod input_log;
mod joins;
mod journal;
mod kits;
mod late;
mod legs;
mod link;
mod logins;
mod map;
mod messages;
mod peers;
mod receiver;
mod resync;
mod screen;
mod scripted;
mod snapshots;
mod soak;
mod torture;
mod transparency;
mod visits;

/// The binary under test.
const TEETAP: &str = env!("CARGO_BIN_EXE_teetap");
