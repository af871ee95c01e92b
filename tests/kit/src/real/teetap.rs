//! The built `teetap` binary as a user runs it, read through `--json`.
//!
//! Law: every line of standard output is one JSON object with `v`, `t` and `event`; anything else is an error of the
//! run.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, anyhow, bail, ensure};
use rustix::process::Signal;
use serde_json::Value;
use tempfile::TempDir;

use super::{Launch, Log, PATIENCE, Program, home};

/// Time between two checks of the objects while waiting.
const STEP: Duration = Duration::from_millis(10);

/// A running proxy.
#[derive(Debug)]
pub struct Teetap {
    program: Program,
    listen: SocketAddr,
    _home: TempDir,
}

impl Teetap {
    /// Starts the binary at `path` in front of `server` on a free port, with `options` after its own options.
    pub fn start(path: &Path, server: SocketAddr, options: &[&str]) -> Result<Self> {
        Self::start_keeping(path, server, options, |_| true)
    }

    /// Same as [`Teetap::start`], but keeps only the objects whose lines `keeps` accepts; the others are counted.
    pub fn start_keeping(
        path: &Path,
        server: SocketAddr,
        options: &[&str],
        keeps: fn(&str) -> bool,
    ) -> Result<Self> {
        let home = home("teetap")?;
        let launch = Launch::new("teetap", path, home.path()).keep(keeps);
        let launch = launch.arg(server.to_string());
        let own = ["--listen", "127.0.0.1:0", "--json"];
        let program = own
            .iter()
            .chain(options)
            .fold(launch, Launch::arg)
            .split_errors()
            .start()?;
        let first = program.log().wait_for("", PATIENCE);
        let first = first.map_err(|error| anyhow!("{error}\n{}", program.errors().tail()))?;
        let start = object(&first.text)?;
        ensure!(
            text(&start, "event") == "start",
            "the first object is not `start`: {start}"
        );
        let listen = text(&start, "listen")
            .parse()
            .with_context(|| format!("`listen` of {start}"))?;
        Ok(Self {
            program,
            listen,
            _home: home,
        })
    }

    /// Returns the address that the proxy listens on.
    pub fn listen(&self) -> SocketAddr {
        self.listen
    }

    /// Returns the process id.
    pub fn id(&self) -> u32 {
        self.program.id()
    }

    /// Returns the resident memory in KiB, without the pages of files such as the program.
    pub fn resident(&self) -> Result<u64> {
        self.program.resident()
    }

    /// Returns the number of printed objects that were not kept.
    pub fn skipped(&self) -> u64 {
        self.program.log().skipped()
    }

    /// Returns standard error.
    pub fn errors(&self) -> &Log {
        self.program.errors()
    }

    /// Returns all objects so far.
    pub fn objects(&self) -> Result<Vec<Value>> {
        self.program
            .log()
            .lines()
            .iter()
            .map(|line| object(&line.text))
            .collect()
    }

    /// Returns the first object for which `wanted` holds, waiting up to [`PATIENCE`].
    pub fn wait_for(&self, what: &str, wanted: impl Fn(&Value) -> bool) -> Result<Value> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Some(found) = self.objects()?.into_iter().find(&wanted) {
                return Ok(found);
            }
            if Instant::now() >= deadline {
                let (out, errors) = (self.program.log().tail(), self.errors().tail());
                bail!(
                    "teetap never printed {what}; its output ends with\n{out}\nand its errors with\n{errors}"
                );
            }
            thread::sleep(STEP);
        }
    }

    /// Ends the proxy with SIGTERM, checks its exit code, and returns all its objects.
    pub fn stop(mut self) -> Result<Vec<Value>> {
        self.program
            .signal(Signal::TERM)
            .map_err(|error| anyhow!("{error}\n{}", self.errors().tail()))?;
        let status = self.program.wait_end(PATIENCE)?;
        let errors = self.errors();
        ensure!(
            status.code() == Some(128 + 15),
            "teetap ended with {status}
{}",
            errors.tail()
        );
        // The pipe may still hold lines after the exit; the readers read it to its end.
        self.program.log().drain(PATIENCE)?;
        self.objects()
    }

    /// Ends the proxy as [`Teetap::stop`] does. Returns the codes of all notes that it printed, each once.
    pub fn notes(self) -> Result<Vec<String>> {
        ensure!(!self.errors().contains("panicked"), "{}", self.errors().tail());
        let objects = self.stop()?;
        let all = objects
            .iter()
            .filter_map(|object| object.get("notes")?.as_array());
        let codes: BTreeSet<String> = all
            .flatten()
            .filter_map(|note| note.get("code")?.as_str().map(str::to_owned))
            .collect();
        Ok(codes.into_iter().collect())
    }
}

/// Returns the text under `key`; empty if there is none.
pub fn text<'a>(object: &'a Value, key: &str) -> &'a str {
    object.get(key).and_then(Value::as_str).unwrap_or_default()
}

fn object(line: &str) -> Result<Value> {
    let value: Value = serde_json::from_str(line).with_context(|| format!("not JSON: {line}"))?;
    let version = value.get("v").and_then(Value::as_u64);
    ensure!(version == Some(2), "not schema version 2: {line}");
    let timed = value.get("t").is_some_and(Value::is_number);
    ensure!(
        timed && !text(&value, "event").is_empty(),
        "without `t` or `event`: {line}"
    );
    Ok(value)
}
