//! The command line of the built binary, without peers other than the demo's own.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

mod annotate;
mod command_line;
mod config;
mod diff;
mod docs;
mod explain;
mod filter;
mod imports;
mod json;
mod judge;
mod junit;
mod look;
mod message_pages;
mod messages;
mod museum;
mod mutants;
mod options;
mod processes;
mod progress;
mod readers;
mod report;
mod rules;
mod runs;
mod same;
mod scrub;
mod shrink;
mod stdin;
mod torture;
mod vectors;
mod wire_page;

use std::process::Command;

use teetap_kit::binary;

/// The binary under test.
const TEETAP: &str = env!("CARGO_BIN_EXE_teetap");

fn teetap() -> Command {
    binary::command(TEETAP)
}

/// Returns stdout and stderr of a run that must end with `code`.
fn run(args: &[&str], code: i32) -> (String, String) {
    binary::run(teetap().args(args), code)
}

/// Checks that the arguments are refused before anything starts, in one line with `fragment`.
fn refused(args: &[&str], code: i32, fragment: &str) {
    binary::refused(teetap().args(args), code, fragment);
}
