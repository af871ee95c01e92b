//! Runs a command-line program to its end and checks its output and its exit code.

#![expect(clippy::unwrap_used, reason = "a helper of tests fails by panicking")]

use std::env;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use serde_json::Value;
use tempfile::TempDir;

use crate::{limit, real::home};

/// Returns a command that runs the binary at `path` without the `TEETAP_*` variables of this environment and without
/// the user's configuration.
pub fn command(path: impl AsRef<Path>) -> Command {
    limit::begin();
    let mut command = Command::new(path.as_ref());
    for (name, _) in env::vars_os() {
        if name.as_encoded_bytes().starts_with(b"TEETAP_") {
            command.env_remove(name);
        }
    }
    command.env("XDG_CONFIG_HOME", "/nonexistent");
    command
}

/// Runs `command` to its end and checks its exit code. Returns its stdout and stderr.
pub fn run(command: &mut Command, code: i32) -> (String, String) {
    let output = command.output().unwrap();
    check(command, output, code)
}

/// Same as [`run`], with `input` as its stdin. The program may stop reading an input of more than 1 MiB.
pub fn piped(command: &mut Command, input: &[u8], code: i32) -> (String, String) {
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let written = child.stdin.take().unwrap().write_all(input);
    assert!(written.is_ok() || input.len() > 1 << 20);
    check(command, child.wait_with_output().unwrap(), code)
}

fn check(command: &Command, output: Output, code: i32) -> (String, String) {
    let text = |bytes| String::from_utf8(bytes).unwrap();
    let (stdout, stderr) = (text(output.stdout), text(output.stderr));
    let ended = output.status.code();
    assert_eq!(
        ended,
        Some(code),
        "{command:?} printed
{stdout}
and on stderr
{stderr}"
    );
    (stdout, stderr)
}

/// Runs `command`, which must be refused: exit code `code`, empty stdout, one line with `fragment` on stderr.
pub fn refused(command: &mut Command, code: i32, fragment: &str) {
    let (stdout, stderr) = run(command, code);
    assert_eq!(stdout, "", "{command:?}");
    assert_eq!(stderr.lines().count(), 1, "{command:?}: {stderr}");
    assert!(
        stderr.starts_with("teetap: ") && stderr.contains(fragment),
        "{command:?}: {stderr}"
    );
}

/// Waits until a process ends, at most `patience`. Returns its exit code; `None` if a signal ended it.
pub fn wait_end(child: &mut Child, patience: Duration) -> Result<Option<i32>> {
    let deadline = Instant::now() + patience;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status.code());
        }
        ensure!(
            Instant::now() < deadline,
            "the process does not end within {patience:?}"
        );
        thread::sleep(Duration::from_millis(5));
    }
}

/// Returns a new folder, which is removed when dropped, and the path of a file `name` in it.
pub fn place(name: &str) -> (TempDir, PathBuf) {
    let folder = home("test").unwrap();
    let path = folder.path().join(name);
    (folder, path)
}

/// Parses JSON lines.
pub fn objects(lines: &str) -> Vec<Value> {
    lines
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}
