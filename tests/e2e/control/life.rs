//! The file of the socket, and the start and end of controlled runs.

use std::fs;
use std::net::{Ipv4Addr, UdpSocket};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use rustix::process::Signal;
use serde_json::json;
use teetap_kit::{
    binary::{place, refused, run, wait_end},
    control::Control,
    real::{PATIENCE, Teetap},
};

use super::Demo;
use crate::{TEETAP, teetap};

/// Checks that a demo with this socket path is refused.
fn no_demo(path: &Path, fragment: &str) {
    let args = ["demo", "-q", "-l", ":0", "--control"];
    refused(teetap().args(args).arg(path), 3, fragment);
}

#[test]
fn the_file_is_replaced_only_if_its_run_has_ended() -> Result<()> {
    let mut demo = Demo::start(&[])?;
    demo.connect()?.done(json!({"cmd": "stats"}))?;
    ensure!(fs::metadata(&demo.path)?.permissions().mode() & 0o777 == 0o600);
    no_demo(&demo.path, ": another run listens on it; choose another path");
    demo.child.kill()?;
    demo.child.wait()?;
    ensure!(demo.path.exists(), "a killed run leaves its socket");
    let mut command = teetap();
    command
        .args(["demo", "--seconds", "1", "-q", "-l", ":0", "--control"])
        .arg(&demo.path);
    run(&mut command, 0);
    ensure!(!demo.path.exists());
    fs::write(&demo.path, "precious")?;
    no_demo(&demo.path, ": another file is there; choose another path");
    ensure!(fs::read_to_string(&demo.path)? == "precious");
    no_demo(Path::new("/no/such/folder/run.sock"), "No such file or directory");
    no_demo(
        &demo.path.with_file_name("x".repeat(120)),
        "the path is too long for a socket",
    );
    Ok(())
}

#[test]
fn signals_remove_the_file() -> Result<()> {
    for signals in [&[Signal::INT][..], &[Signal::HUP], &[Signal::INT, Signal::INT]] {
        let mut demo = Demo::start(&[])?;
        demo.connect()?.done(json!({"cmd": "stats"}))?;
        for (number, signal) in signals.iter().enumerate() {
            if number > 0 {
                thread::sleep(Duration::from_millis(250));
            }
            // The first signal may have ended the process.
            let _gone = demo.signal(*signal);
        }
        ensure!(wait_end(&mut demo.child, PATIENCE)?.is_some());
        ensure!(!demo.path.exists(), "{signals:?}");
    }
    Ok(())
}

#[test]
fn the_command_stop_ends_the_run_with_its_summary() -> Result<()> {
    let mut demo = Demo::start(&[])?;
    let mut control = demo.connect()?;
    control.done(json!({"cmd": "subscribe"}))?;
    demo.ctl(&["stop"], 0);
    let summary = control.wait_for("the summary", |event| event["event"] == "summary")?;
    ensure!(
        summary["ended_by"]["kind"] == "control" && summary["exit"] == 0,
        "{summary}"
    );
    let end = wait_end(&mut demo.child, PATIENCE)?;
    ensure!(end == Some(0), "{end:?}");
    ensure!(!demo.path.exists());
    Ok(())
}

#[test]
fn a_file_that_is_removed_ends_nothing() -> Result<()> {
    let demo = Demo::start(&[])?;
    let mut control = demo.connect()?;
    control.done(json!({"cmd": "stats"}))?;
    fs::remove_file(&demo.path)?;
    control.done(json!({"cmd": "stats"}))?;
    demo.ctl(&["stats"], 3);
    fs::write(&demo.path, "another")?;
    demo.signal(Signal::TERM)?;
    while control.line()?.is_some() {}
    thread::sleep(Duration::from_millis(100));
    ensure!(fs::read_to_string(&demo.path)? == "another");
    Ok(())
}

#[test]
fn a_run_that_is_controlled_is_replayed() -> Result<()> {
    let (_folder, log) = place("inputs");
    let mut demo = Demo::start(&["--input-log", log.to_str().unwrap_or_default()])?;
    let (mut control, number) = demo.joined()?;
    control.done(json!({"cmd": "rule_add", "text": "pause when cl_say\nlink s2c delay 5ms"}))?;
    control
        .done(json!({"cmd": "inject", "session": number, "message": "s2c sv_broadcast{message: \"hi\"}"}))?;
    let deadline = Instant::now() + PATIENCE;
    let held = loop {
        let held = control.done(json!({"cmd": "held", "session": number}))?;
        if let Some(first) = held["held"].as_array().and_then(|held| held.first()) {
            break json!({"cmd": "edit", "session": number, "dir": "c2s", "held": first["held"], "fields": {"message": "x"}});
        }
        ensure!(Instant::now() < deadline, "nothing is held");
    };
    control.done(held.clone())?;
    control.done(json!({"cmd": "release", "session": number, "dir": "c2s", "held": held["held"]}))?;
    control.done(json!({"cmd": "close", "session": number, "side": "client"}))?;
    demo.stop()?;
    let (text, _) = run(teetap().args(["replay", "--check"]).arg(&log), 0);
    ensure!(text.contains("equal"), "{text}");
    Ok(())
}

#[test]
fn a_run_that_repeats_faults_keeps_their_rules() -> Result<()> {
    let (_folder, journal) = place("journal.jsonl");
    let header = r#"{"journal":1,"version":"0.1.0","seed":7,"rules":"a: drop when cl_say\n"}"#;
    fs::write(&journal, format!("{header}\n"))?;
    let demo = Demo::start(&["--faults-from", &journal.to_string_lossy()])?;
    let mut control = demo.connect()?;
    let list = control.done(json!({"cmd": "rules"}))?;
    assert_eq!(list["rules"][0]["name"], "a");
    let why = "cannot change the rules: the run repeats the faults of a journal";
    let (_, errors) = demo.ctl(&["rules", "add", "drop when sv_chat"], 1);
    assert!(errors.contains(why), "{errors}");
    Ok(())
}

/// Without a subscription, and after the last one has ended, a quiet run emits nothing about ordinary traffic.
#[test]
fn a_quiet_run_is_watched_only_while_there_is_a_subscriber() -> Result<()> {
    let (_folder, path) = place("run.sock");
    let options = ["-q", "--control", path.to_str().unwrap_or_default()];
    let server = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
    let run = Teetap::start(Path::new(TEETAP), server.local_addr()?, &options)?;
    let mut control = Control::connect(&path)?;
    control.done(json!({"cmd": "subscribe"}))?;
    let client = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
    let request = b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xffgie3\x01";
    client.send_to(request, run.listen())?;
    control.wait_for("the request", |event| {
        event["layer"] == "connless" && event["dir"] == "c2s"
    })?;
    control.done(json!({"cmd": "unsubscribe"}))?;
    for _ in 0..20 {
        client.send_to(request, run.listen())?;
    }
    thread::sleep(Duration::from_millis(200));
    control.done(json!({"cmd": "stats"}))?;
    control.done(json!({"cmd": "subscribe"}))?;
    let messages = control
        .events
        .iter()
        .filter(|event| event["event"] == "message")
        .count();
    ensure!(messages == 0, "{messages} messages without a subscription");
    let objects = run.stop()?;
    let messages = objects
        .iter()
        .filter(|object| object["event"] == "message")
        .count();
    ensure!(messages == 0, "a quiet run printed {messages} messages");
    Ok(())
}
