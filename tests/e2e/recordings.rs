//! `--write` and `open` of the built binary: a recording contains what happened, other programs can read it, and it
//! is shown like the run, even after a crash, a full disk or a second run in the same file.

use std::{fs, os::unix::fs::PermissionsExt as _, path::Path, process::Command};

use serde_json::Value;
use teetap_kit::{
    binary::{objects, place, refused, run},
    capture::{self, Leg},
};

use crate::{TEETAP, kill, teetap};

/// Records a demo of one second.
fn demo(path: &Path, args: &[&str]) -> (String, String) {
    run(
        teetap()
            .args(["demo", "--seconds", "1", "-l", ":0", "-w"])
            .arg(path)
            .args(args),
        0,
    )
}

fn open(path: &Path, args: &[&str], code: i32) -> (String, String) {
    run(teetap().arg("open").arg(path).args(args), code)
}

/// Returns legs and bytes of all datagrams, from the lines of a live run.
fn expected(objects: &[Value]) -> Vec<(&'static str, String)> {
    let (client, server) = ("teetap client leg", "teetap server leg");
    let mut packets = Vec::new();
    for object in objects.iter().filter(|object| object["event"] == "datagram") {
        let (from, to) = if object["dir"] == "c2s" {
            (client, server)
        } else {
            (server, client)
        };
        packets.extend(object["hex"].as_str().map(|hex| (from, hex.to_owned())));
        let sent = object["hex_out"].as_array().unwrap();
        packets.extend(sent.iter().map(|hex| (to, hex.as_str().unwrap().to_owned())));
    }
    packets
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn a_capture_holds_every_datagram_of_both_legs_for_other_tools() {
    let (_folder, path) = place("demo.pcapng");
    let (stdout, stderr) = demo(&path, &["--json", "-vv"]);
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    let objects = objects(&stdout);
    let legs = capture::read_recording(&path).unwrap();
    let found: Vec<_> = legs
        .iter()
        .map(|leg| (leg.interface.as_str(), hex(&leg.payload)))
        .collect();
    assert_eq!(found, expected(&objects));
    assert!(found.len() > 100, "{} packets", found.len());
    // Addresses of the run, of the clients, and of the sockets of the proxy that the session lines name.
    let text = |object: &Value, name: &str| object[name].as_str().unwrap_or_default().to_owned();
    let start = &objects[0];
    let sessions = objects.iter().filter(|object| object["event"] == "session");
    let ends: Vec<_> = sessions
        .map(|object| (text(object, "client"), text(object, "upstream")))
        .collect();
    for Leg {
        interface,
        from,
        to,
        is_inbound,
        comment,
        ..
    } in &legs
    {
        let (ours, theirs) = if *is_inbound == Some(true) {
            (to, from)
        } else {
            (from, to)
        };
        let (ours, theirs) = (ours.to_string(), theirs.to_string());
        if interface == "teetap client leg" {
            assert!(
                ours == text(start, "listen") && ends.iter().any(|(client, _)| *client == theirs),
                "{theirs}"
            );
        } else {
            assert!(
                theirs == text(start, "server") && ends.iter().any(|(_, upstream)| *upstream == ours),
                "{ours}"
            );
        }
        assert!(
            comment.as_ref().is_some_and(|comment| comment.contains(" byte")),
            "{comment:?}"
        );
    }
    let summary = objects.last().unwrap();
    assert_eq!(summary["recording"]["packets"], found.len());
    assert_eq!(
        (&summary["recording"]["missing"], &summary["recording"]["lost"]),
        (&0.into(), &0.into())
    );
    assert!(
        stderr.contains(&format!("{} packets recorded to {}", found.len(), path.display())),
        "{stderr}"
    );
    // tcpdump agrees about every checksum.
    let dump = Command::new("tcpdump")
        .args(["-nn", "-vv", "-r"])
        .arg(&path)
        .output()
        .unwrap();
    let dump = String::from_utf8(dump.stdout).unwrap();
    assert_eq!(dump.matches("udp sum ok").count(), found.len());
    assert!(!dump.contains("bad"), "{dump}");
}

#[test]
fn a_recording_is_shown_as_the_run_was() {
    for name in ["run.pcapng", "run.jsonl"] {
        let (_folder, path) = place(name);
        let (live, _) = demo(&path, &["-v"]);
        let (shown, stderr) = open(&path, &["-v"], 0);
        assert!(live == shown, "{name}:\n{live}\n-- and shown\n{shown}");
        assert!(live.lines().count() > 200, "too few lines: {live}");
        assert!(
            stderr.contains("a run of teetap") && stderr.contains(", 2 sessions, "),
            "{stderr}"
        );
        // The program's own output is there too.
        assert!(stderr.contains("the demo succeeded"), "{stderr}");
        assert!(stderr.lines().all(|line| line.starts_with("teetap")), "{stderr}");
        let (quiet, _) = open(&path, &["-q"], 0);
        assert!(
            quiet.lines().all(|line| line.contains("session ")) && !quiet.is_empty(),
            "{quiet}"
        );
    }
}

#[test]
fn the_objects_of_a_recording_are_those_of_the_run() {
    for name in ["run.pcapng", "run.jsonl"] {
        let (_folder, path) = place(name);
        let (live, _) = demo(&path, &["--json", "-vv"]);
        let (shown, _) = open(&path, &["--json", "-vv"], 0);
        let of_traffic = |text: &str| -> Vec<String> {
            let lines = text.lines().filter(|line| {
                ["message", "datagram", "session"]
                    .iter()
                    .any(|event| line.contains(&format!("\"event\":\"{event}\"")))
            });
            lines.map(str::to_owned).collect()
        };
        assert_eq!(of_traffic(&live), of_traffic(&shown), "{name}");
        let (live, shown) = (objects(&live), objects(&shown));
        for field in ["version", "seed", "target", "server", "listen", "wall_clock"] {
            assert_eq!(live[0][field], shown[0][field], "{field}");
        }
        let (live, shown) = (live.last().unwrap(), shown.last().unwrap());
        for field in ["sessions", "datagrams", "bytes"] {
            assert_eq!(live[field], shown[field], "{name} {field}");
        }
        assert_eq!(live["recording"]["packets"], shown["packets"], "{name}");
    }
}

#[test]
fn json_lines_are_those_of_the_output() {
    let (_folder, path) = place("run.jsonl");
    let (stdout, _) = demo(&path, &["--json", "-vv"]);
    // Log lines may appear between other events; the items of snapshots are read again from the bytes.
    let sorted = |text: &str| {
        let without_items = |line: &str| {
            let mut object: Value = serde_json::from_str(line).unwrap();
            let snap = object.get_mut("snap").and_then(Value::as_object_mut);
            snap.map(|snap| snap.remove("items"));
            object.to_string()
        };
        let mut lines: Vec<_> = text.lines().map(without_items).collect();
        lines.sort();
        lines
    };
    assert_eq!(sorted(&fs::read_to_string(&path).unwrap()), sorted(&stdout));
}

#[test]
fn a_quiet_run_is_recorded_whole() {
    let (_folder, path) = place("run.pcapng");
    let (stdout, _) = demo(&path, &["-q"]);
    assert!(stdout.lines().count() < 20, "{stdout}");
    let count = capture::read_recording(&path).unwrap().len();
    assert!(count > 100, "{count} datagrams are recorded");
}

#[test]
fn a_killed_run_leaves_a_recording_that_can_be_appended_to() {
    for name in ["run.pcapng", "run.jsonl"] {
        let (_folder, path) = place(name);
        kill("-w", &path, 30_000);
        // Half of the last write: the result of a crash of the machine.
        let bytes = fs::read(&path).unwrap();
        fs::write(&path, &bytes[..bytes.len() - 9]).unwrap();
        let (shown, stderr) = open(&path, &[], 5);
        assert!(
            shown.lines().count() > 20 && stderr.contains("is truncated"),
            "{stderr}"
        );
        let (live, stderr) = demo(&path, &[]);
        let warnings = stderr.matches("is incomplete at its end").count();
        assert_eq!(
            (warnings, stderr.matches("appending to").count()),
            (1, 1),
            "{stderr}"
        );
        let (both, stderr) = open(&path, &[], 0);
        assert!(both.ends_with(&live), "{both}\n\ndoes not end with\n\n{live}");
        assert!(both.len() > live.len(), "the first run is gone: {both}");
        assert_eq!(stderr.matches("a run of teetap").count(), 2, "{stderr}");
    }
}

#[test]
fn a_file_that_cannot_be_recorded_to_is_refused_before_anything_starts() {
    let (_folder, path) = place("mine.pcapng");
    fs::write(&path, "mine").unwrap();
    let lines = path.with_extension("jsonl");
    fs::write(&lines, "{\"mine\":1}\n").unwrap();
    for args in [["demo", "-q"], ["127.0.0.1:9", "-q"]] {
        let run = |path: &Path| {
            let mut command = teetap();
            command.args(args).args(["-l", ":0", "-w"]).arg(path);
            command
        };
        refused(&mut run(&path), 2, "is not a teetap recording");
        refused(&mut run(&lines), 2, "is not a teetap recording");
        refused(&mut run(Path::new("run.pcap")), 2, ".pcapng");
        refused(&mut run(Path::new("run")), 2, ".jsonl");
        refused(
            &mut run(Path::new("/no/such/run.pcapng")),
            3,
            "cannot write the recording",
        );
    }
    assert_eq!(fs::read_to_string(&path).unwrap(), "mine");
    assert_eq!(fs::read_to_string(&lines).unwrap(), "{\"mine\":1}\n");
    // No file is created if the listen address is in use.
    let other = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    let taken = other.local_addr().unwrap().to_string();
    let none = path.with_file_name("none.pcapng");
    refused(
        teetap().args(["127.0.0.1:9", "-l", &taken, "-w"]).arg(&none),
        3,
        "is taken",
    );
    assert!(!none.exists(), "a recording was made although the port is taken");
}

#[test]
fn a_file_that_cannot_be_opened_is_refused_in_one_line() {
    let (_folder, path) = place("file");
    let open = |path: &Path| {
        let mut command = teetap();
        command.arg("open").arg(path);
        command
    };
    refused(
        &mut open(Path::new("/no/such/file")),
        2,
        "cannot open /no/such/file",
    );
    refused(&mut open(Path::new("/")), 2, "directory");
    refused(teetap().arg("open"), 2, "FILE");
    for (bytes, fragment) in [
        (&b""[..], "empty"),
        (b"hello", "not a recording"),
        (b"{\"hello\":1}\n", "damaged at byte 0"),
    ] {
        fs::write(&path, bytes).unwrap();
        let (stdout, stderr) = run(&mut open(&path), 5);
        assert!(stdout.is_empty() && stderr.contains(fragment), "{stderr}");
    }
}

#[test]
fn recordings_of_other_tools_are_shown_up_to_the_damage() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/captures");
    for name in capture::names().unwrap() {
        let path = folder.join(&name).with_extension("pcap");
        let (_, stderr) = open(&path, &[], 0);
        let count = capture::recorded(&name).unwrap().len();
        assert!(stderr.contains(&format!(", {count} packets, ")), "{stderr}");
        assert!(
            !stderr.contains("not understood") && !stderr.contains("warning"),
            "{stderr}"
        );
    }
    let whole = folder.join("dd-session.pcap");
    let (shown, _) = open(&whole, &["--json"], 0);
    let (_keep, path) = place("cut.pcap");
    fs::write(&path, &fs::read(&whole).unwrap()[..20_000]).unwrap();
    let (cut, stderr) = open(&path, &["--json"], 5);
    let of_messages = |text: &str| {
        let lines = text.lines().filter(|line| line.contains("\"event\":\"message\""));
        lines.map(str::to_owned).collect::<Vec<_>>()
    };
    let (shown, part) = (of_messages(&shown), of_messages(&cut));
    assert!(
        shown.starts_with(&part),
        "the cut recording has other lines: {part:#?}"
    );
    assert!(part.len() > 50, "{} messages are left", part.len());
    assert!(stderr.contains("is truncated: the item at byte 1"), "{stderr}");
    assert_eq!(objects(&cut).last().unwrap()["exit"], 5);
}

#[test]
fn a_closed_stdout_is_success() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/captures/rich-dd16.pcap");
    let script = "set -o pipefail; \"$0\" open \"$1\" -vv | head -n 1";
    let (stdout, _) = run(Command::new("bash").args(["-c", script, TEETAP]).arg(&path), 0);
    assert_eq!(stdout.lines().count(), 1, "lines: {stdout}");
}

/// A file size limit simulates a full disk: the shell ignores the signal, so that the write fails.
#[test]
fn a_full_disk_ends_the_recording_with_a_warning_and_not_the_run() {
    for (name, blocks) in [("run.pcapng", 32), ("run.jsonl", 64)] {
        let (_folder, path) = place(name);
        let script = format!(
            "trap '' XFSZ; ulimit -f {blocks}; exec \"$0\" demo --seconds 1 -q -l :0 --json -w \"$1\""
        );
        let (stdout, stderr) = run(Command::new("sh").args(["-c", &script, TEETAP]).arg(&path), 3);
        let warning = format!("cannot write {}: File too large", path.display());
        assert_eq!(stderr.matches(&warning).count(), 1, "{stderr}");
        let summary = objects(&stdout).pop().unwrap();
        let number = |name: &str| summary["recording"][name].as_u64().unwrap();
        assert!(number("missing") > 0 && number("packets") > 0, "{summary}");
        assert!(
            stderr.contains(&format!("{} packets missing in it", number("missing"))),
            "{stderr}"
        );
        let (shown, stderr) = open(&path, &["--json"], 0);
        assert_eq!(
            objects(&shown).last().unwrap()["packets"],
            number("packets"),
            "{stderr}"
        );
    }
}
