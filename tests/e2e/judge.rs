//! The findings of a run: its summary has the same findings as its recordings.

#![expect(clippy::indexing_slicing, reason = "a field that a JSON value lacks is null")]

use std::{
    io::{BufRead as _, BufReader, Read as _},
    net::UdpSocket,
    path::Path,
    process::Stdio,
    time::{Duration, Instant},
};

use serde_json::Value;
use teetap_kit::{
    binary::{objects, place, run},
    codec::{Chunk, Datagram, Variant},
    peer::{Options, Peer},
};

use crate::teetap;

/// Times at which the client starts to make mistakes, and at which it leaves.
const FAILS: Duration = Duration::from_millis(400);
const LEAVES: Duration = Duration::from_millis(1200);

/// Plays a client of 0.7 that joins, then acks ahead and uses a wrong token.
fn play(server: &str) {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.connect(server).unwrap();
    socket.set_read_timeout(Some(Duration::from_millis(5))).unwrap();
    let mut peer = Peer::client(Variant::V7, Options::saying(b"\x030.7 802f1be60a05665f\0\0"), 7);
    let start = Instant::now();
    let mut faults = 0;
    let mut buffer = [0; 1500];
    peer.connect(0);
    while start.elapsed() < LEAVES {
        let now = u64::try_from(start.elapsed().as_micros()).unwrap();
        peer.update(now);
        for datagram in std::mem::take(&mut peer.outgoing) {
            socket.send(&datagram).unwrap();
        }
        if peer.is_online() && start.elapsed() > FAILS && faults < 3 {
            faults += 1;
            let ((_, ack, _), (_, token)) = (peer.numbers(), peer.tokens());
            let chunk = vec![Chunk::new(None, b"\x35".as_slice())];
            let ahead = Datagram::of_chunks(Variant::V7, (ack + 100) % 1024, Some(token), chunk.clone());
            let foreign = Datagram::of_chunks(Variant::V7, ack, Some(*b"nope"), chunk);
            for datagram in [ahead, foreign] {
                socket.send(&datagram.build()).unwrap();
            }
        }
        if let Ok(len) = socket.recv(&mut buffer) {
            peer.receive(&buffer[..len], now);
        }
    }
    assert!(faults == 3, "the client did not join: {:?}", peer.state());
}

/// Runs a demo that the client joins; returns the output lines and stderr.
fn demo(path: &Path) -> (Vec<Value>, String) {
    let mut command = teetap();
    command
        .args("demo --seconds 2 --json -l :0 -w".split(' '))
        .arg(path);
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    let mut first = String::new();
    stdout.read_line(&mut first).unwrap();
    let start: Value = serde_json::from_str(&first).unwrap();
    let server = start["listen"].as_str().unwrap().to_owned();
    let client = std::thread::spawn(move || play(&server));
    let (mut rest, mut stderr) = (String::new(), String::new());
    stdout.read_to_string(&mut rest).unwrap();
    child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
    client.join().unwrap();
    assert!(child.wait().unwrap().success(), "{stderr}");
    (objects(&rest), stderr)
}

/// Returns the findings among the lines.
fn findings(lines: &[Value]) -> Vec<Value> {
    let findings = lines.iter().filter(|line| line["event"] == "finding");
    findings.cloned().collect()
}

#[test]
fn a_run_ends_with_the_findings_that_its_recording_has() {
    for name in ["run.pcapng", "run.jsonl"] {
        let (_folder, path) = place(name);
        let (lines, stderr) = demo(&path);
        let live = findings(&lines);
        for (code, detail) in [("ack-ahead", "expected at most"), ("wrong-token", "got 6e6f7065")] {
            let finding = live.iter().find(|finding| finding["code"] == code).unwrap();
            assert_eq!((&finding["by"], &finding["count"]), (&"client".into(), &3.into()));
            assert!(finding["detail"].as_str().unwrap().contains(detail), "{finding}");
            assert!(stderr.contains(&format!("teetap: error {code}: ")), "{stderr}");
        }
        let summary = lines.last().unwrap();
        assert!(summary["findings"]["errors"].as_u64() >= Some(2), "{live:#?}");
        let found = format!("teetap judge {} shows where", path.display());
        assert!(stderr.contains(&found), "{stderr}");

        let (stdout, _) = run(teetap().args(["judge", "--json"]).arg(&path), 1);
        let recorded = objects(&stdout);
        assert_eq!(findings(&recorded), live, "{name}");
        assert_eq!(recorded.last().unwrap()["findings"], summary["findings"]);
    }
}

#[test]
fn a_run_that_does_not_decode_everything_has_no_findings() {
    let has_findings = |args: &[&str]| {
        let (stdout, _) = run(
            teetap()
                .args("demo --seconds 1 --json -l :0".split(' '))
                .args(args),
            0,
        );
        let lines = objects(&stdout);
        !lines.last().unwrap()["findings"].is_null()
    };
    assert!(has_findings(&[]), "a run without options has no findings");
    assert!(!has_findings(&["-q"]), "a quiet run has findings");
    assert!(
        !has_findings(&["-f", "sv_chat"]),
        "a run with a filter has findings"
    );
    let (_folder, path) = place("run.pcapng");
    let args = ["-f", "sv_chat", "-w", path.to_str().unwrap()];
    assert!(has_findings(&args), "a recorded run has no findings");
}
