//! The control socket of the built binary: each command, the documentation, and hostile peers.

#![expect(clippy::indexing_slicing, reason = "a field that a JSON value lacks is null")]

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, UdpSocket};
use std::os::unix::{
    fs::PermissionsExt as _,
    net::{UnixListener, UnixStream},
};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use teetap_kit::{
    binary::{place, refused, run, wait_end},
    codec::{Chunk, Datagram, Variant},
    control::Control,
    hostile::Shown,
    real::{PATIENCE, Teetap},
};
use tempfile::TempDir;

use crate::{TEETAP, hostile::Udp, teetap};

/// The memory by which a run may grow because of its peers, in KiB: the ring of events, here of eight messages each, and the
/// buffers of 64 connections.
const MAY_GROW: u64 = 112 * 1024;

/// A demo with a control socket, which is killed when it is dropped.
struct Demo {
    child: Child,
    path: PathBuf,
    _folder: TempDir,
}

impl Demo {
    fn start(options: &[&str]) -> Result<Self> {
        let (folder, path) = place("run.sock");
        let mut command = teetap();
        command
            .args(["demo", "--seconds", "120", "-q", "-l", ":0", "--control"])
            .arg(&path)
            .args(options)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        let child = command.spawn()?;
        Ok(Self {
            child,
            path,
            _folder: folder,
        })
    }

    fn connect(&self) -> Result<Control> {
        Control::connect(&self.path)
    }

    /// Connects once both bots are online. Returns the number of the session of the DDNet bot, too.
    fn joined(&self) -> Result<(Control, u64)> {
        let mut control = self.connect()?;
        let deadline = Instant::now() + PATIENCE;
        loop {
            let sessions = control.done(json!({"cmd": "sessions"}))?;
            let sessions = sessions["sessions"].as_array().context("no list")?.clone();
            let online = sessions.iter().filter(|session| session["state"] == "online");
            let of_ddnet = online.clone().find(|session| session["proto"] == "ddnet");
            if let (2, Some(found)) = (online.count(), of_ddnet) {
                let number = found["session"].as_u64();
                return Ok((control, number.context("no number")?));
            }
            ensure!(Instant::now() < deadline, "the bots do not join");
            thread::sleep(Duration::from_millis(20));
        }
    }

    fn signal(&self, signal: Signal) -> Result<()> {
        let pid = Pid::from_raw(i32::try_from(self.child.id())?).context("no process")?;
        Ok(kill_process(pid, signal)?)
    }

    /// Ends it in order; returns its stderr.
    fn stop(&mut self) -> Result<String> {
        self.signal(Signal::TERM)?;
        let mut errors = String::new();
        self.child
            .stderr
            .take()
            .context("no stderr")?
            .read_to_string(&mut errors)?;
        let status = self.child.wait()?;
        ensure!(status.code() == Some(128 + 15), "{status}: {errors}");
        ensure!(!errors.contains("panicked"), "{errors}");
        ensure!(!self.path.exists(), "the socket stays");
        Ok(errors)
    }

    fn ctl(&self, args: &[&str], code: i32) -> (String, String) {
        run(teetap().arg("ctl").arg(&self.path).args(args), code)
    }
}

impl Drop for Demo {
    fn drop(&mut self) {
        let _ended = self.child.kill();
        let _reaped = self.child.wait();
    }
}

/// A text without its numbers.
fn masked(text: &str) -> String {
    let text = text.replace("ddnet", "0");
    let parts: Vec<&str> = text
        .split(|c: char| c.is_ascii_digit())
        .filter(|part| !matches!(*part, "" | "."))
        .collect();
    parts.join("0")
}

/// Fails unless two lines have the same fields, and the same values where a run does not choose them.
fn compare(expected: &Value, found: &Value, at: &str) -> Result<()> {
    match (expected, found) {
        (Value::Object(expected), Value::Object(found)) => {
            let names = |object: &serde_json::Map<String, Value>| object.keys().cloned().collect::<Vec<_>>();
            ensure!(names(expected) == names(found), "{at}: {expected:?}\n{found:?}");
            for (name, value) in expected {
                match name.as_str() {
                    "event" | "id" | "done" | "kind" | "cmd" | "from" | "level" => {
                        let is_message =
                            name == "id" && expected.get("event").is_some_and(|event| event == "message");
                        ensure!(
                            is_message || found[name] == *value,
                            "{at}: {name}: {value} {}",
                            found[name]
                        );
                    }
                    "why" | "text" | "name" | "rule" => {
                        let [expected, found] = [value, &found[name]].map(|text| masked(&text.to_string()));
                        ensure!(expected == found, "{at}: {name}:\n{expected}\n{found}");
                    }
                    _ => compare(value, &found[name], at)?,
                }
            }
            Ok(())
        }
        (Value::Array(expected), Value::Array(found)) => match (expected.first(), found.first()) {
            (Some(expected), Some(found)) => compare(expected, found, at),
            (None, _) => Ok(()),
            (Some(_), None) => bail!("{at}: an empty list"),
        },
        _ => Ok(()),
    }
}

#[test]
fn the_examples_of_the_page_are_right() -> Result<()> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/src/control.md");
    let text = fs::read_to_string(page)?;
    let mut demo = Demo::start(&[])?;
    let (_control, number) = demo.joined()?;
    let here = |line: &str| line.replace("\"session\":1", &format!("\"session\":{number}"));
    let mut commands = 0;
    for block in text.split("```control\n").skip(1) {
        let block = block.split("```").next().unwrap_or_default();
        let mut control = demo.connect()?;
        let start = control.line()?.context("closed")?;
        ensure!(start["event"] == "start" && start["v"] == 2, "{start}");
        for line in block.lines() {
            match line.split_at(2) {
                ("> ", line) => {
                    control.send(format!("{}\n", here(line)))?;
                    commands += 1;
                }
                ("< ", line) => {
                    let expected: Value = serde_json::from_str(&here(line))?;
                    let same = |found: &Value| {
                        let fields = ["event", "kind", "name"];
                        let of_session =
                            found["event"] == "answer" || found["session"] == expected["session"];
                        fields.iter().all(|field| found[field] == expected[field]) && of_session
                    };
                    let found = control.wait_for(line, same)?;
                    compare(&expected, &found, line)?;
                }
                _ => bail!("{line}"),
            }
        }
    }
    ensure!(commands > 15, "{commands} commands");
    demo.stop()?;
    Ok(())
}

#[test]
fn every_command_has_its_effect() -> Result<()> {
    let demo = Demo::start(&["-r", "first: log \"hi\" when cl_emoticon"])?;
    let (mut control, number) = demo.joined()?;
    // Without a filter all events come, also those of ordinary traffic, although the run is quiet.
    control.done(json!({"cmd": "subscribe"}))?;
    control.wait_for("an input", |event| event["name"] == "input")?;
    control.wait_for("a snapshot", |event| event["snap"]["tick"].is_number())?;
    control.done(json!({"cmd": "subscribe", "filter": "sv_broadcast or cl_say", "verbose": 2}))?;
    control.events.clear();
    control
        .done(json!({"cmd": "inject", "session": number, "message": "s2c sv_broadcast{message: \"one\"}"}))?;
    let fields = json!({"message": "two"});
    control.done(
        json!({"cmd": "inject", "session": number, "dir": "s2c", "name": "sv_broadcast", "fields": fields}),
    )?;
    for text in ["one", "two"] {
        let event = control.wait_for(text, |event| event["fields"]["message"] == text)?;
        ensure!(
            event["name"] == "sv_broadcast" && event["origin"] == "user",
            "{event}"
        );
        ensure!(event["session"] == number && event["hex"].is_string(), "{event}");
    }
    let others = control.events.iter().filter(|event| event["event"] == "message");
    let others: Vec<&Value> = others.filter(|event| event["name"] != "cl_say").collect();
    ensure!(others.is_empty(), "the filter let pass {others:?}");

    // Rules act as soon as the answer is here.
    control.done(json!({"cmd": "rule_add", "text": "mine: set cl_say.message = \"edited\" when cl_say"}))?;
    let is_edited = |event: &Value| {
        let actions = event["actions"].as_array();
        event["name"] == "cl_say"
            && actions.is_some_and(|actions| actions.iter().any(|one| one["action"] == "edit"))
    };
    control.wait_for("an edited message", is_edited)?;
    let rules = control.done(json!({"cmd": "rules"}))?;
    let names: Vec<&Value> = rules["rules"]
        .as_array()
        .context("no list")?
        .iter()
        .map(|rule| &rule["name"])
        .collect();
    ensure!(names == [&json!("first"), &json!("mine")], "{rules}");
    control.done(json!({"cmd": "rule_replace", "name": "mine", "text": "hold: pause when cl_say"}))?;
    let held = control.wait_for("a held message", |event| event["kind"] == "held")?;
    let place = json!({"session": held["session"], "dir": held["dir"], "held": held["held"]});
    let at = |cmd: &str| {
        let mut command = place.clone();
        command["cmd"] = json!(cmd);
        command
    };
    control.done(at("drop"))?;
    let gone = control.wait_for("its end", |event| {
        event["kind"] == "released" && event["held"] == held["held"]
    })?;
    ensure!(gone["why"] == "dropped", "{gone}");
    ensure!(
        control
            .refused(at("release"))?
            .starts_with("no message is held under ")
    );
    control.done(json!({"cmd": "rule_remove", "name": "hold"}))?;
    control.done(json!({"cmd": "rule_remove", "name": "first"}))?;
    hits(&mut control)?;

    ends(&demo, control, number)
}

/// A resync, the counts, and the ends of a subscription, a session and the run.
fn ends(demo: &Demo, mut control: Control, number: u64) -> Result<()> {
    control.done(json!({"cmd": "resync", "session": number}))?;
    control.wait_for("the resync", |event| event["kind"] == "resync")?;
    let stats = control.done(json!({"cmd": "stats"}))?;
    let counts = &stats["stats"];
    ensure!(
        counts["sessions"] == 2 && counts["connections"] == 1 && counts["subscribers"] == 1,
        "{stats}"
    );
    control.done(json!({"cmd": "unsubscribe"}))?;
    ensure!(control.refused(json!({"cmd": "unsubscribe"}))? == "there is no subscription");
    control.done(json!({"cmd": "subscribe", "filter": "sv_broadcast"}))?;
    control.done(json!({"cmd": "close", "session": number, "reason": "by the test"}))?;
    let closed = control.wait_for("the close", |event| {
        event["event"] == "session" && event["state"] == "closing"
    })?;
    ensure!(
        closed["session"] == number && closed["reason"] == "by the test",
        "{closed}"
    );
    ensure!(control.refused(json!({"cmd": "close", "session": number}))? == "the session is closing already");
    control.done(json!({"cmd": "close", "all": true}))?;
    demo.signal(Signal::TERM)?;
    // The last line is the summary, and then the connection ends.
    control.wait_for("the summary", |event| event["event"] == "summary")?;
    ensure!(control.line()?.is_none());
    Ok(())
}

/// A rule counts its hits, and keeps them while it is off. A link line is switched off and on, too.
fn hits(control: &mut Control) -> Result<()> {
    let hits = |control: &mut Control| -> Result<Value> {
        let rules = control.done(json!({"cmd": "rules"}))?;
        let rule = rules["rules"].as_array().and_then(|rules| rules.first());
        Ok(rule.context("no rule")?.clone())
    };
    control.done(json!({"cmd": "rule_add", "text": "seen: mark when input"}))?;
    let deadline = Instant::now() + PATIENCE;
    while hits(control)?["hits"] == 0 {
        ensure!(Instant::now() < deadline, "no hits");
    }
    ensure!(hits(control)?["last_hit"].as_f64() > Some(0.0));
    control.done(json!({"cmd": "rule_off", "name": "seen"}))?;
    let off = hits(control)?;
    let count = off["hits"].as_u64().filter(|count| *count > 0);
    let count = count.context("the hits are gone")?;
    ensure!(off["on"] == false, "{off}");
    thread::sleep(Duration::from_millis(300));
    ensure!(hits(control)?["hits"] == count, "it acted while it was off");
    control.done(json!({"cmd": "rule_on", "name": "seen"}))?;
    while hits(control)?["hits"].as_u64() <= Some(count) {
        ensure!(Instant::now() < deadline, "no hits after it is on again");
    }
    let lines =
        "link  c2s  loss 0%\nprofile p { link c2s delay 0s\n  link s2c dup 0% }\nuse \"p\"\nlet a = c2s";
    control.done(json!({"cmd": "rule_add", "text": lines}))?;
    for name in ["link c2s loss 0%", "use \"p\""] {
        control.done(json!({"cmd": "rule_off", "name": name}))?;
        let rules = control.done(json!({"cmd": "rules"}))?;
        let off = |rule: &&Value| rule["on"] == false;
        let off: Vec<&Value> = rules["rules"]
            .as_array()
            .context("no list")?
            .iter()
            .filter(off)
            .collect();
        ensure!(off.len() == 1 && off[0]["name"] == name, "{rules}");
        control.done(json!({"cmd": "rule_on", "name": name}))?;
    }
    for name in ["let a = c2s", "profile p { link c2s delay 0s link s2c dup 0% }"] {
        let why = control.refused(json!({"cmd": "rule_off", "name": name}))?;
        ensure!(
            why == format!("{name} is neither a rule nor a link line"),
            "{why}"
        );
    }
    control.done(json!({"cmd": "rule_remove", "name": "seen"}))?;
    Ok(())
}

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

/// A reader that has read enough, wrong arguments, and a run that has ended.
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
    ensure!(text.contains(" c2s ") && text.contains(" input {"), "{text}");
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

/// Starts a demo that must not start.
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
            // The first one may have ended it.
            let _gone = demo.signal(*signal);
        }
        ensure!(wait_end(&mut demo.child, PATIENCE)?.is_some());
        ensure!(!demo.path.exists(), "{signals:?}");
    }
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

/// Asks for the counts until they come within a second each time.
fn is_prompt(control: &mut Control) -> Result<()> {
    for _ in 0..20 {
        let begun = Instant::now();
        control.done(json!({"cmd": "stats"}))?;
        let took = begun.elapsed();
        ensure!(took < Duration::from_secs(2), "an answer took {took:?}");
    }
    Ok(())
}

#[test]
fn a_thousand_connections_are_refused_but_for_some() -> Result<()> {
    let mut demo = Demo::start(&[])?;
    let (mut control, _) = demo.joined()?;
    let mut all = Vec::new();
    let (mut served, mut turned_away) = (0, 0);
    for _ in 0..1000 {
        let mut peer = demo.connect()?;
        match peer.line()? {
            Some(line) if line["event"] == "start" => {
                served += 1;
                all.push(peer);
            }
            Some(line) => {
                ensure!(line["id"].is_null() && line["done"] == false, "{line}");
                ensure!(
                    line["why"] == "too many connections: at most 64 are served",
                    "{line}"
                );
                turned_away += 1;
            }
            None => bail!("closed silently"),
        }
    }
    ensure!(
        (served, turned_away) == (63, 937),
        "{served} served, {turned_away} refused"
    );
    is_prompt(&mut control)?;
    // The shell learns it, too.
    let (_, errors) = demo.ctl(&["stats"], 1);
    ensure!(errors.contains("too many connections"), "{errors}");
    drop(all);
    let deadline = Instant::now() + PATIENCE;
    while demo
        .connect()?
        .line()?
        .is_none_or(|line| line["event"] != "start")
    {
        ensure!(Instant::now() < deadline, "none is served again");
    }
    demo.stop()?;
    Ok(())
}

#[test]
fn garbage_gets_answers_with_the_cause() -> Result<()> {
    let mut demo = Demo::start(&[])?;
    let mut other = demo.connect()?;
    let why = |bytes: &[u8]| -> Result<String> {
        let mut control = demo.connect()?;
        control.send(bytes)?;
        let answer = control.answer()?;
        ensure!(answer["done"] == false && answer["id"].is_null(), "{answer}");
        // The connection goes on.
        control.done(json!({"cmd": "stats"}))?;
        Ok(answer["why"].as_str().unwrap_or_default().to_owned())
    };
    ensure!(why(b"\xff\xfe\n")? == "not UTF-8 at byte 0");
    ensure!(why(b"{\"id\":1,\"cmd\":\"stats\"\n")?.starts_with("not a JSON object: "));
    ensure!(why(b"\x00\x01\x1b[2J\n")?.starts_with("not a JSON object: "));
    ensure!(why(b"[[[[[[1]]]]]]\n")?.starts_with("not a JSON object: "));
    ensure!(why(&[&[b'['; 60_000][..], b"\n"].concat())?.starts_with("not a JSON object: "));
    let long = [&[b'x'; 65_537][..], b"\n"].concat();
    ensure!(why(&long)? == "the line is longer than 65536 bytes");
    // One error however long the line is.
    let longer = [&[b'x'; 1 << 20][..], b"\n"].concat();
    ensure!(why(&longer)? == "the line is longer than 65536 bytes");
    ensure!(why(b"\n\r\n  \nnull\n")?.starts_with("not a JSON object: "));

    // Halves of lines, byte by byte.
    let mut control = demo.connect()?;
    for byte in b"{\"id\":1,\"cmd\":\"stats\"}\n{\"id\":2,\"cmd\":\"sessions\"}" {
        control.send([*byte])?;
        thread::sleep(Duration::from_millis(1));
    }
    ensure!(control.answer()?["id"] == 1);
    // The end of the input ends the last line; the answer still comes.
    control.stream().shutdown(std::net::Shutdown::Write)?;
    ensure!(control.answer()?["id"] == 2);
    ensure!(control.line()?.is_none());

    // Random bytes from many peers.
    let mut state: u64 = 0x9e37_79b9_7f4a_7c15;
    for _ in 0..50 {
        let mut peer = UnixStream::connect(&demo.path)?;
        let mut bytes = Vec::new();
        for _ in 0..5000 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            bytes.push(u8::try_from(state >> 56)?);
        }
        let _closed = peer.write_all(&bytes);
    }
    is_prompt(&mut other)?;
    demo.stop()?;
    Ok(())
}

/// Datagrams sent before the peers may read.
const AT_ONCE: u64 = 24;

/// Messages in a datagram of the flood.
const MESSAGES: u64 = 8;

/// Returns a datagram of the client with messages that are not vital.
fn full(shown: Shown) -> Vec<u8> {
    let chunks: Vec<Chunk> = (0..MESSAGES).map(|_| Chunk::new(None, [0x0a, 0x08])).collect();
    Datagram::of_chunks(shown.format, shown.ack, shown.token, chunks).build()
}

/// A flood of messages past a subscriber that does not read, one that does, and one that comes back.
#[test]
fn a_subscriber_that_does_not_read_costs_the_others_nothing() -> Result<()> {
    let (_folder, path) = place("run.sock");
    let mut udp = Udp::new(Variant::V7, Variant::V7)?;
    let options = ["-q", "--control", path.to_str().unwrap_or_default()];
    // Its lines are for others here: a signal leaves no time to print a backlog of them to its end.
    let run = Teetap::start_keeping(Path::new(TEETAP), udp.server_addr()?, &options, |line| {
        line.contains(r#""event":"start""#)
    })?;
    udp.join(run.listen())?;
    let mut control = Control::connect(&path)?;
    let mut late = Control::connect(&path)?;
    let mut stuck: Vec<Control> = Vec::new();
    for _ in 0..10 {
        stuck.push(Control::connect(&path)?);
    }
    for peer in stuck.iter_mut().chain([&mut late]) {
        peer.done(json!({"cmd": "subscribe"}))?;
    }
    // This one reads, but wants little.
    let mut quick = Control::connect(&path)?;
    quick.done(json!({"cmd": "subscribe", "filter": "sv_motd"}))?;
    let before = run.resident()?;
    let begun = Instant::now();
    let (mut sent, mut rounds, mut slowest) = (0_u64, 0, Duration::ZERO);
    let mut late = Some(late);
    while begun.elapsed() < Duration::from_secs(13) {
        let datagram = full(udp.shown_up());
        for _ in 0..AT_ONCE {
            udp.throw_up(&datagram)?;
            sent += 1;
        }
        udp.run(Duration::from_millis(3))?;
        rounds += 1;
        if rounds % 100 == 0 {
            let asked = Instant::now();
            control.done(json!({"cmd": "stats"}))?;
            slowest = slowest.max(asked.elapsed());
            udp.talk()?;
        }
        // The ring is full, and those that did not read are not cut off yet.
        let is_full = sent > 24_000 || begun.elapsed() > Duration::from_secs(6);
        if let Some(mut late) = late.take_if(|_| is_full) {
            let gap = late.wait_for("a gap", |line| line["event"] == "gap")?;
            ensure!(gap["lost"].as_u64().unwrap_or(0) > 0, "{gap}");
            late.wait_for("a message after it", |line| line["event"] == "message")?;
        }
    }
    let messages = sent * MESSAGES;
    println!("{messages} messages in {:?}", begun.elapsed());
    ensure!(messages > 13 * 20_000, "{messages} messages");
    let grown = run.resident()?.saturating_sub(before);
    println!("slowest answer {slowest:?}, grown by {grown} KiB");
    ensure!(slowest < Duration::from_secs(2), "an answer took {slowest:?}");
    ensure!(grown < MAY_GROW, "grown by {grown} KiB");
    for mut peer in stuck {
        // The rest that its socket holds, and then the end.
        while peer.line().ok().flatten().is_some() {}
    }
    let stats = control.done(json!({"cmd": "stats"}))?;
    let subscribers = stats["stats"]["subscribers"].as_u64().unwrap_or(99);
    ensure!(subscribers <= 2, "{stats}");
    let gaps = quick
        .events
        .iter()
        .filter(|event| event["event"] == "gap")
        .count();
    ensure!(gaps == 0, "{gaps} gaps for one that reads");
    // Printed between the messages, of which there are many.
    run.errors()
        .wait_for("cut off: its peer read nothing for 10 s", Duration::from_secs(20))?;
    run.stop()?;
    Ok(())
}

/// Commands without end, whose answers are not read.
#[test]
fn a_flood_of_commands_costs_the_others_nothing() -> Result<()> {
    let mut demo = Demo::start(&[])?;
    let (mut control, number) = demo.joined()?;
    let before = resident(demo.child.id())?;
    let mut floods = Vec::new();
    for _ in 0..8 {
        let peer = UnixStream::connect(&demo.path)?;
        peer.set_nonblocking(true)?;
        floods.push(peer);
    }
    let inject =
        format!("{{\"id\":1,\"cmd\":\"inject\",\"session\":{number},\"message\":\"s2c sv_broadcast\"}}\n");
    let rules = "{\"id\":1,\"cmd\":\"rules\"}\n";
    let lines = [inject, rules.to_owned()].concat().repeat(50);
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_secs(4) {
        for peer in &mut floods {
            // A full socket is what they aim at; a part of a line is not JSON.
            let _full = peer.write(lines.as_bytes());
        }
        is_prompt(&mut control)?;
    }
    let grown = resident(demo.child.id())?.saturating_sub(before);
    ensure!(grown < MAY_GROW, "grown by {grown} KiB");
    demo.stop()?;
    Ok(())
}

/// Returns the resident memory of a process in KiB.
fn resident(process: u32) -> Result<u64> {
    let status = fs::read_to_string(format!("/proc/{process}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let number = line.and_then(|line| line.split_whitespace().next());
    Ok(number.context("no VmRSS")?.parse()?)
}

/// Without a subscription a quiet run emits nothing about ordinary traffic, and the same after the last one has ended.
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
