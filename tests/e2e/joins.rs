//! Stalled logins: in a run without further traffic, in its recordings, and in the summary.

use std::{path::Path, process::Command};

use serde_json::Value;
use teetap_kit::binary::{objects, place, run};

use crate::teetap;

/// The start of the text of a stall.
const STANDS: &str = "login stalled: ";

/// Returns the times and texts of the stalled logins.
fn stalls(lines: &[Value]) -> Vec<(f64, String)> {
    let stalls = lines.iter().filter(|line| line["kind"] == "login_stalled");
    let stalls = stalls.map(|line| {
        let text = line["text"].as_str().unwrap().strip_prefix(STANDS).unwrap();
        (line["t"].as_f64().unwrap(), text.to_owned())
    });
    stalls.collect()
}

fn opened(path: &Path) -> (String, String) {
    run(teetap().args(["open", "--json"]).arg(path), 0)
}

/// Adds a client of 0.6.4 that sends one CONNECT and nothing else.
fn silent_client(command: &mut Command) {
    let client = "import sys, socket, time; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM);
s.sendto(bytes([0x10, 0, 0, 1]), (sys.argv[1], int(sys.argv[2]))); time.sleep(1.6)";
    command.args(["--", "python3", "-c", client, "{host}", "{port}"]);
}

#[test]
fn a_silent_server_is_named_without_any_more_traffic_and_in_both_kinds_of_recordings() {
    let server = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    let server = server.local_addr().unwrap().to_string();
    for name in ["run.pcapng", "run.jsonl"] {
        let (_folder, path) = place(name);
        let mut command = teetap();
        command
            .args(["run", &server, "-l", ":0", "--json", "-w"])
            .arg(&path);
        silent_client(&mut command);
        let (stdout, stderr) = run(&mut command, 0);
        let lines = objects(&stdout);
        let seen = stalls(&lines);
        let place = "after connect the client waits for connect_accept from the server";
        assert_eq!(seen.len(), 1, "{stdout}");
        assert!(seen[0].1.starts_with(place), "{seen:?}");
        let begin = lines.iter().find(|line| line["event"] == "session").unwrap();
        let waited = seen[0].0 - begin["t"].as_f64().unwrap();
        assert!((waited - 1.0).abs() < 0.000_002, "{waited}");
        let never = "teetap: session 1 never came online: after connect the server never sent connect_accept";
        assert!(stderr.contains(never), "{stderr}");
        // The recording shows the same stall, once.
        let (stdout, stderr) = opened(&path);
        assert_eq!(stalls(&objects(&stdout)), seen, "{name}");
        assert!(stderr.contains(never), "{stderr}");
        let join = &objects(&stdout).pop().unwrap()["joins"][0];
        assert_eq!(
            (&join["outcome"], &join["stalls"], &join["awaited"], &join["from"]),
            (
                &"never-online".into(),
                &1.into(),
                &"connect_accept".into(),
                &"server".into()
            )
        );
    }
}

#[test]
fn a_message_that_a_rule_drops_is_named_in_the_run_and_its_summary() {
    let (_folder, path) = place("run.pcapng");
    let mut command = teetap();
    command.args([
        "demo",
        "--seconds",
        "2",
        "--timeout",
        "3s",
        "-l",
        ":0",
        "--seed",
        "5",
    ]);
    command
        .args(["-r", "silence: drop when c2s and ready", "--json", "-w"])
        .arg(&path);
    let output = command.output().unwrap();
    let lines = objects(&String::from_utf8(output.stdout).unwrap());
    let stderr = String::from_utf8(output.stderr).unwrap();
    let seen = stalls(&lines);
    let waits = "the server waits for ready from the client; ready was sent, but was dropped (silence)";
    assert!(
        !seen.is_empty() && seen.iter().all(|(_, text)| text.ends_with(waits)),
        "{seen:?}\n{stderr}"
    );
    let never = "the ready of the client had no effect: it was sent, but was dropped (silence)";
    assert!(stderr.contains(never), "{stderr}");
    let again = run(teetap().args(["open", "--json"]).arg(&path), 0);
    assert_eq!(stalls(&objects(&again.0)), seen);
    assert!(again.1.contains(never), "{}", again.1);
}

#[test]
fn the_steps_of_a_join_fit_a_terminal_and_are_ascii_where_that_is_wanted() {
    let capture = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/captures/map-tw07.pcap");
    for (option, bar) in [(&[][..], '━'), (&["--ascii"][..], '-')] {
        let (_, stderr) = run(teetap().args(["open", "-v"]).args(option).arg(capture), 0);
        let steps: Vec<&str> = stderr
            .lines()
            .filter(|line| line.starts_with("teetap:   "))
            .collect();
        assert_eq!(steps.len(), 11, "{stderr}");
        assert!(steps.iter().all(|step| step.chars().count() < 80), "{stderr}");
        assert!(steps.iter().any(|step| step.ends_with(bar)), "{stderr}");
        let is_ascii = steps.iter().all(|step| step.is_ascii());
        assert_eq!(is_ascii, !option.is_empty(), "{stderr}");
    }
    // Without -v only stalled logins have a line.
    let (_, stderr) = run(teetap().args(["open", capture]), 0);
    assert!(!stderr.contains("session 1 "), "{stderr}");
}
