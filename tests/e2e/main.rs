//! Whole runs of the built binary: recordings, input logs, redirects and hostile datagrams, with the demo and scripted peers.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod hostile;
mod input_log;
mod log;
mod recordings;
mod redirect;
mod rules;

use std::process::Command;

use teetap_kit::binary;

/// The binary under test.
const TEETAP: &str = env!("CARGO_BIN_EXE_teetap");

fn teetap() -> Command {
    binary::command(TEETAP)
}
