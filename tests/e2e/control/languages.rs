//! The programs of the page about other languages, which run here if their interpreter is installed.

use std::{
    fs,
    path::Path,
    process::{Command, Stdio},
};

use anyhow::{Context as _, Result, ensure};
use tempfile::TempDir;

use super::Demo;

/// Runs the block of this kind as a program beside a demo. Its name gets `ending`, and `command` runs it.
#[expect(clippy::print_stderr, reason = "a test that does nothing says so")]
fn talks(kind: &str, ending: &str, command: &[&str]) -> Result<()> {
    let (program, args) = command.split_first().context("no command")?;
    let version = if *program == "go" { "version" } else { "--version" };
    let installed = Command::new(program).arg(version).stdout(Stdio::null()).status();
    if installed.is_err() {
        eprintln!("{program} is not installed: its program on the page is not run");
        return Ok(());
    }
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/src/languages.md");
    let page = fs::read_to_string(page)?;
    let (_, block) = page.split_once(&format!("```{kind}\n")).context("no block")?;
    let (block, _) = block.split_once("```").context("no end")?;
    let folder = TempDir::new()?;
    let path = folder.path().join(format!("talk.{ending}"));
    fs::write(&path, block)?;
    let mut demo = Demo::start(&[])?;
    let (control, _) = demo.joined()?;
    drop(control);
    let output = Command::new(program)
        .args(args)
        .arg(&path)
        .arg(&demo.path)
        .env("GOCACHE", folder.path().join("cache"))
        .env("GOPATH", folder.path().join("path"))
        .env("GOFLAGS", "-mod=mod")
        .output()?;
    let errors = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{}: {errors}", output.status);
    let text = String::from_utf8(output.stdout)?;
    let lines: Vec<&str> = text.lines().collect();
    let [listen, chat, refused] = lines[..] else {
        anyhow::bail!("{text}{errors}");
    };
    ensure!(listen.starts_with("clients connect to 127.0.0.1:"), "{listen}");
    ensure!(chat.starts_with("chat: line "), "{chat}");
    ensure!(
        refused.starts_with("rule_add: invalid rules: control:1:1: [E011] unknown action `drup`"),
        "{refused}"
    );
    demo.stop()?;
    Ok(())
}

#[test]
fn the_program_in_ruby_talks_to_a_run() -> Result<()> {
    talks("ruby", "rb", &["ruby", "-w"])
}

#[test]
fn the_program_in_go_talks_to_a_run() -> Result<()> {
    talks("go", "go", &["go", "run"])
}
