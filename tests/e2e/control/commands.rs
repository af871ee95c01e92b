//! The effect of each command.

use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use rustix::process::Signal;
use serde_json::{Value, json};
use teetap_kit::{control::Control, real::PATIENCE};

use super::Demo;

#[test]
fn every_command_has_its_effect() -> Result<()> {
    let demo = Demo::start(&["-r", "first: log \"hi\" when cl_emoticon"])?;
    let (mut control, number) = demo.joined()?;
    // Without a filter all events are sent, including ordinary traffic, although the run is quiet.
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

    // Rules act as soon as the answer is received.
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
    ensure!(control.refused(at("release"))?.starts_with("no held message "));
    control.done(json!({"cmd": "rule_remove", "name": "hold"}))?;
    control.done(json!({"cmd": "rule_remove", "name": "first"}))?;
    hits(&mut control)?;

    ends(&demo, control, number)
}

/// Tests a resync, the counts, and the ends of a subscription, a session and the run.
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
    let both = control.refused(json!({"cmd": "close", "session": number, "all": true}))?;
    ensure!(
        both == "invalid close: session and all exclude each other",
        "{both}"
    );
    let stats = control.done(json!({"cmd": "stats"}))?;
    ensure!(stats["stats"]["sessions"] == 2, "{stats}");
    control.done(json!({"cmd": "close", "session": number, "reason": "by the test"}))?;
    let closed = control.wait_for("the close", |event| {
        event["event"] == "session" && event["state"] == "closing"
    })?;
    ensure!(
        closed["session"] == number && closed["reason"] == "by the test",
        "{closed}"
    );
    ensure!(control.refused(json!({"cmd": "close", "session": number}))? == "the session is closing already");
    // The other session continues.
    let listed = control.done(json!({"cmd": "sessions"}))?;
    let listed = listed["sessions"].as_array().context("no list")?;
    let online: Vec<&Value> = listed.iter().filter(|one| one["state"] == "online").collect();
    ensure!(
        online.len() == 1 && online[0]["session"] != number,
        "after the close of session {number}: {listed:?}"
    );
    control.done(json!({"cmd": "close", "all": true}))?;
    demo.signal(Signal::TERM)?;
    // The summary is the last line, after which the connection is closed.
    control.wait_for("the summary", |event| event["event"] == "summary")?;
    ensure!(control.line()?.is_none());
    Ok(())
}

/// Tests that a rule counts its hits and keeps the count while it is off. A link line is also switched off and on.
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
