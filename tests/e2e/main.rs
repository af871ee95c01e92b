//! Whole runs of the built binary: recordings, input logs, the control socket, redirects and hostile datagrams, with the demo and scripted peers.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod control;
mod effects;
mod hostile;
mod input_log;
mod joins;
mod journal;
mod judge;
mod link;
mod log;
mod pipes;
mod recordings;
mod redirect;
mod review;
mod rules;
mod terminal;
mod tour;

use std::{
    fs,
    path::Path,
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use teetap_kit::{binary, real::PATIENCE};

/// The binary under test.
const TEETAP: &str = env!("CARGO_BIN_EXE_teetap");

fn teetap() -> Command {
    binary::command(TEETAP)
}

/// Kills a demo once the file that it writes for `option` has grown to `size`.
fn kill(option: &str, path: &Path, size: u64) {
    let mut child = teetap()
        .args(["demo", "--seconds", "60", "-q", "-l", ":0", option])
        .arg(path)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let deadline = Instant::now() + PATIENCE;
    while fs::metadata(path).map_or(0, |file| file.len()) < size {
        assert!(Instant::now() < deadline, "{} does not grow", path.display());
        thread::sleep(Duration::from_millis(10));
    }
    child.kill().unwrap();
    child.wait().unwrap();
}
