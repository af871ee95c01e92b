//! The test kits for Python and Node.js, with their own tests against real servers and clients.

use std::{
    ffi::OsStr,
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::{Result, ensure};
use teetap_kit::real::{Launch, home, turn};

use crate::TEETAP;

/// Maximum duration of the tests of a kit.
const LIMIT: Duration = Duration::from_mins(15);

/// Lines of a failed kit's output in the error.
const SHOWN: usize = 120;

fn root(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// Runs a program with the built binary as the program of the kit. Returns an error with its last lines if it fails.
fn passes(name: &str, program: impl AsRef<OsStr>, args: &[&str]) -> Result<()> {
    let home = home("kit")?;
    let mut launch = Launch::new(name, program, home.path())
        .env("TEETAP_BIN", TEETAP)
        .env("PYTHONPATH", root("kits/python/src"));
    for arg in args {
        launch = launch.arg(arg);
    }
    let mut program = launch.start()?;
    let status = program.wait_end(LIMIT)?;
    program.log().drain(LIMIT)?;
    let lines = program.log().lines();
    let last: Vec<&str> = lines.iter().rev().take(SHOWN).map(|line| &*line.text).collect();
    let last: Vec<&str> = last.into_iter().rev().collect();
    ensure!(
        status.success(),
        "{name} ended with {status}:\n{}",
        last.join("\n")
    );
    Ok(())
}

/// Returns the interpreter of the tests, which has pytest, mypy and a validator of JSON schemas.
fn python() -> Result<PathBuf> {
    let python = root("tests/peers/python/bin/python");
    ensure!(
        python.exists(),
        "{} is missing: install tests/peers/requirements.txt into a venv there (tests/run does)",
        python.display()
    );
    Ok(python)
}

#[test]
fn the_tests_of_the_python_kit_pass() -> Result<()> {
    let _turn = turn::shared()?;
    let tests = root("kits/python/tests");
    let options = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "-W", "error"];
    passes(
        "pytest",
        python()?,
        &[&options[..], &[&tests.to_string_lossy()]].concat(),
    )
}

#[test]
fn the_types_of_the_python_kit_are_complete() -> Result<()> {
    let package = root("kits/python/src/teetap");
    let options = ["-m", "mypy", "--strict", "--cache-dir", "/dev/null"];
    passes(
        "mypy",
        python()?,
        &[&options[..], &[&package.to_string_lossy()]].concat(),
    )
}

#[test]
fn the_tests_of_the_npm_kit_pass() -> Result<()> {
    let _turn = turn::shared()?;
    let tests = root("kits/npm/test/kit.test.js");
    passes("node --test", "node", &["--test", &tests.to_string_lossy()])
}
