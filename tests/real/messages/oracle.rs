//! The independent decoder: the PyPI package `twnet_parser`, called through `tests/peers/oracle.py`.
//!
//! Law: the oracle receives only the bytes, the direction, and whether they are 0.7, which nothing in a single
//! datagram shows.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;

use anyhow::{Context as _, Result, anyhow, ensure};
use serde_json::{Value, json};

/// A datagram to decode.
#[derive(Debug, Clone)]
pub(crate) struct Question {
    /// True if the bytes are 0.7.
    pub(crate) seven: bool,
    /// True if a client sent them.
    pub(crate) c2s: bool,
    /// The bytes, in hex.
    pub(crate) hex: String,
}

/// Returns the answers of the oracle in the order of the datagrams.
pub(crate) fn ask(questions: Vec<Question>) -> Result<Vec<Value>> {
    let peers = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/peers");
    let python: PathBuf = peers.join("python/bin/python");
    ensure!(
        python.exists(),
        "{} is missing: install tests/peers/requirements.txt into a venv there (tests/run does)",
        python.display()
    );
    let mut child = Command::new(python)
        .arg(peers.join("oracle.py"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .context("the oracle does not start")?;
    let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
    let (mut stdin, stdout) = stdin.zip(stdout).context("the oracle has no pipes")?;
    let count = questions.len();
    // The pipes are small, so one thread writes while the other reads.
    let writer = thread::spawn(move || -> std::io::Result<()> {
        for Question { seven, c2s, hex } in questions {
            writeln!(stdin, "{}", json!({ "seven": seven, "c2s": c2s, "hex": hex }))?;
        }
        Ok(())
    });
    let mut answers = Vec::with_capacity(count);
    for line in BufReader::new(stdout).lines() {
        answers.push(serde_json::from_str(&line?)?);
    }
    let status = child.wait()?;
    writer.join().map_err(|_| anyhow!("the writer failed"))??;
    ensure!(status.success(), "the oracle ended with {status}");
    ensure!(
        answers.len() == count,
        "{} answers to {count} datagrams",
        answers.len()
    );
    Ok(answers)
}
