//! `teetap ctl`.

use std::io::Read as _;
use std::os::unix::net::UnixListener;
use std::process::Stdio;
use std::time::Instant;

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;
use teetap_kit::{
    binary::{refused, wait_end},
    real::PATIENCE,
};

use super::Demo;
use crate::teetap;

#[test]
fn a_shell_gets_text_and_exit_codes() -> Result<()> {
    let mut demo = Demo::start(&[])?;
    let (_control, number) = demo.joined()?;
    let session = format!("--session={number}");
    let (text, _) = demo.ctl(&["sessions"], 0);
    ensure!(
        text.lines().count() == 2 && text.contains("  online  ddnet   127.0.0.1:"),
        "{text}"
    );
    let message = "s2c sv_broadcast{message: \"hi\"}";
    let (text, _) = demo.ctl(&["inject", message, &session], 0);
    ensure!(text == "done\n", "{text}");
    let (text, errors) = demo.ctl(&["inject", message], 1);
    ensure!(
        text.is_empty() && errors.starts_with("teetap: refused: 2 sessions are online; name one of 1 ("),
        "{errors}"
    );
    let (line, _) = demo.ctl(&["--json", "inject", "s2c sv_brodcast"], 1);
    let answer: Value = serde_json::from_str(&line)?;
    ensure!(answer["done"] == false && answer["id"] == 1, "{line}");
    demo.ctl(&["rules", "add", "a: drop when sv_motd"], 0);
    demo.ctl(&["rules", "add", "link both delay 1ms"], 0);
    let (text, _) = demo.ctl(&["rules"], 0);
    let lines = "a: drop when sv_motd  (control:1, hits 0)\nlink both delay 1ms  (control:1)\n";
    ensure!(text == lines, "{text}");
    demo.ctl(&["rules", "swap", "a", "link both delay 1ms"], 0);
    let (text, _) = demo.ctl(&["rules"], 0);
    let lines = "link both delay 1ms  (control:1)\na: drop when sv_motd  (control:1, hits 0)\n";
    ensure!(text == lines, "{text}");
    demo.ctl(&["rules", "swap", "a", "link both delay 1ms"], 0);
    demo.ctl(&["rules", "off", "a"], 0);
    let (text, _) = demo.ctl(&["rules", "list"], 0);
    ensure!(
        text.starts_with("a: drop when sv_motd  (control:1, off)\n"),
        "{text}"
    );
    demo.ctl(&["rules", "on", "a"], 0);
    demo.ctl(&["rules", "remove", "link both delay 1ms"], 0);
    demo.ctl(&["rules", "replace", "a", "b: pause when c2s and cl_say"], 0);
    let deadline = Instant::now() + PATIENCE;
    let line = loop {
        let (text, _) = demo.ctl(&["held", &session], 0);
        if let Some(line) = text.lines().next() {
            break line.to_owned();
        }
        ensure!(Instant::now() < deadline, "nothing is held");
    };
    ensure!(line.contains("  cl_say {\"") && line.ends_with("(b)"), "{line}");
    let id = line.split(' ').next().unwrap_or_default();
    demo.ctl(&["edit", id, "cl_say{message: \"x\"}"], 0);
    let (text, _) = demo.ctl(&["held", &session], 0);
    let edited = text.lines().find(|line| line.starts_with(id));
    ensure!(
        edited.is_some_and(|line| line.contains("\"message\":\"x\"") && line.contains("  edited  ")),
        "{text}"
    );
    demo.ctl(&["release", id], 0);
    demo.ctl(&["release", id], 1);
    demo.ctl(&["rules", "remove", "b"], 0);
    let (text, _) = demo.ctl(&["stats"], 0);
    ensure!(text.contains("sessions        2\n"), "{text}");
    closed_pipes_and_errors(&mut demo)
}

/// Tests a reader that closes its pipe early, wrong arguments, and a run that has ended.
fn closed_pipes_and_errors(demo: &mut Demo) -> Result<()> {
    // A closed stdout ends a subscription with success.
    let mut child = teetap()
        .arg("ctl")
        .arg(&demo.path)
        .args(["subscribe", "input"])
        .stdout(Stdio::piped())
        .spawn()?;
    let mut first = [0; 200];
    child.stdout.take().context("no stdout")?.read_exact(&mut first)?;
    let text = String::from_utf8_lossy(&first);
    let parts = [" c→s ", " input ", " bytes {"];
    ensure!(parts.iter().all(|part| text.contains(part)), "{text}");
    ensure!(wait_end(&mut child, PATIENCE)? == Some(0));
    for wrong in [
        &["release", "x"][..],
        &["rules", "ad", "x"],
        &["close", "--side", "left"],
    ] {
        let (_, errors) = demo.ctl(wrong, 2);
        ensure!(
            errors.lines().count() == 1 && errors.starts_with("teetap: "),
            "{errors}"
        );
    }
    let path = demo.path.clone();
    demo.stop()?;
    let gone = ": no such file; start the run with --control";
    refused(teetap().arg("ctl").arg(&path).arg("stats"), 3, gone);
    drop(UnixListener::bind(&path)?);
    refused(
        teetap().arg("ctl").arg(&path).arg("stats"),
        3,
        "nothing listens on it",
    );
    Ok(())
}
