//! `--input-log` and `replay --check` of the built binary: runs of the demo and of real peers are repeated byte for
//! byte; a changed log is detected, and a truncated one is read as far as possible.

use std::{
    fs,
    net::UdpSocket,
    os::unix::fs::PermissionsExt as _,
    path::Path,
    process::Command,
    sync::{Arc, OnceLock},
    thread,
    time::{Duration, Instant},
};

use serde_json::Value;
use teetap_kit::{
    binary::{objects, place, refused, run},
    real::{PATIENCE, Teetap},
};
use teetap_proxy::{
    io::input_log::{self, Definitions, Reader},
    session::{Hub, Input, Time},
};
use teetap_rules::Program;
use teetap_wire::def::Registry;

use crate::{TEETAP, kill, teetap};

/// Returns the log of a demo of one second, recorded once.
pub(crate) fn demo() -> &'static str {
    static LOG: OnceLock<String> = OnceLock::new();
    LOG.get_or_init(|| {
        let (_folder, path) = place("run.log");
        let args = "demo --seconds 1 -q -l :0 --seed 77 --input-log";
        let (_, stderr) = run(teetap().args(args.split(' ')).arg(&path), 0);
        assert!(!stderr.contains("input log"), "{stderr}");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        fs::read_to_string(&path).unwrap()
    })
}

/// Returns stdout and stderr of a replay that must end with `code`.
fn replay(log: &str, code: i32) -> (String, String) {
    let (_folder, path) = place("run.log");
    fs::write(&path, log).unwrap();
    replay_file(&path, code)
}

fn replay_file(path: &Path, code: i32) -> (String, String) {
    run(teetap().args(["replay", "--check"]).arg(path), code)
}

#[test]
fn a_demo_replays_equal() {
    let log = demo();
    let lines = objects(log);
    let (first, last) = (lines.first().unwrap(), lines.last().unwrap());
    assert_eq!(
        (&first["input_log"], &first["version"], &first["seed"]),
        (&7.into(), &env!("CARGO_PKG_VERSION").into(), &77.into())
    );
    let inputs = lines.len() - 2;
    assert_eq!(
        (&last["end"]["reason"], &last["end"]["inputs"]),
        (&"complete".into(), &inputs.into())
    );
    let (stdout, stderr) = replay(log, 0);
    assert!(
        stdout.starts_with(&format!("equal: {inputs} inputs ")),
        "{stdout}"
    );
    assert_eq!((stdout.lines().count(), stderr.as_str()), (1, ""));
}

/// Starts a server that answers the server browser in 0.6 and nothing else, until it receives no more requests.
fn server_of_six() -> std::net::SocketAddr {
    let socket = UdpSocket::bind(("127.0.0.1", 0)).unwrap();
    let addr = socket.local_addr().unwrap();
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    thread::spawn(move || {
        let mut buffer = [0; 2048];
        while let Ok((_, from)) = socket.recv_from(&mut buffer) {
            if buffer.starts_with(b"xe") {
                let head = b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff";
                let info = b"inf3123\x000.6.4\0name\0dm1\0DM\x000\x000\x0016\x000\x0016\0";
                socket.send_to(&[&head[..], info].concat(), from).unwrap();
            }
        }
    });
    addr
}

#[test]
fn a_client_of_0_7_is_not_answered_before_a_server_of_0_6_in_the_run_and_in_its_replay() {
    let (_folder, path) = place("run.log");
    let log = path.to_str().unwrap();
    let teetap = Teetap::start(Path::new(TEETAP), server_of_six(), &["--input-log", log]).unwrap();
    let client = UdpSocket::bind(("127.0.0.1", 0)).unwrap();
    client.connect(teetap.listen()).unwrap();
    client.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
    let mut request = b"\x04\0\0\xff\xff\xff\xff\x05toke".to_vec();
    request.resize(520, 0);
    let mut buffer = [0; 2048];
    // Repeats the request until the proxy has probed the server.
    let deadline = Instant::now() + PATIENCE;
    let is_mismatch = |object: &Value| object["kind"] == "other_protocol";
    while !teetap.objects().unwrap().iter().any(is_mismatch) {
        assert!(Instant::now() < deadline, "{}", teetap.errors().tail());
        client.send(&request).unwrap();
        let _answered_before = client.recv(&mut buffer);
    }
    while client.recv(&mut buffer).is_ok() {}
    client.send(&request).unwrap();
    client.set_read_timeout(Some(Duration::from_millis(500))).unwrap();
    let answer = client.recv(&mut buffer);
    assert!(
        answer.is_err(),
        "{answer:?} bytes answer the request of another protocol"
    );
    let notice = teetap.wait_for("the notice", is_mismatch).unwrap();
    let text = notice["text"].as_str().unwrap();
    assert!(
        text.ends_with("speaks 0.7; the server speaks only 0.6, and does not answer"),
        "{text}"
    );
    teetap.stop().unwrap();
    let lines = fs::read_to_string(&path).unwrap();
    assert!(
        lines.contains(r#""in":{"probed":{"six":true,"seven":false}}"#),
        "{lines}"
    );
    replay_file(&path, 0);
    // Without that input the proxy would have answered.
    let without = lines.replacen(r#""six":true,"seven":false"#, r#""six":true,"seven":true"#, 1);
    replay(&without, 1);
}

#[test]
fn a_flipped_bit_in_any_output_is_found() {
    let lines: Vec<&str> = demo().lines().collect();
    let mut flipped = 0;
    // The replay stops at the first difference, so each changed bit has its own log.
    for (at, line) in lines
        .iter()
        .enumerate()
        .filter(|(_, line)| line.contains("\"to_"))
        .step_by(20)
    {
        let (input, outputs) = line.split_once("\"out\":").unwrap();
        let place = outputs.find("\"bytes\":\"").unwrap() + "\"bytes\":\"".len();
        let digit = u32::from_str_radix(&outputs[place..=place], 16).unwrap() ^ 1;
        let changed = format!(
            "{input}\"out\":{}{digit:x}{}",
            &outputs[..place],
            &outputs[place + 1..]
        );
        let mut log = lines.clone();
        log[at] = &changed;
        let (stdout, stderr) = replay(&(log.join("\n") + "\n"), 1);
        let report: Vec<&str> = stdout.lines().collect();
        assert!(report[0].starts_with("different: "), "{stdout}{stderr}");
        assert!(
            report[1].starts_with(&format!("line {}, at ", at + 1)),
            "{stdout}"
        );
        let (expected, came) = (report[2].trim(), report[3].trim());
        let hex = |text: &'static str, line: &str| {
            assert!(line.starts_with(text), "{line}");
            line.rsplit(' ').next().unwrap().to_owned()
        };
        let (expected, came) = (hex("expected:", expected), hex("came:", came));
        assert!(outputs.contains(&format!("\"{came}\"")), "{stdout}");
        assert!(
            expected.len() == came.len() && expected[1..] == came[1..] && expected != came,
            "expected {expected}, came {came}"
        );
        flipped += 1;
    }
    assert!(flipped >= 3, "{flipped}");
}

#[test]
fn a_truncated_log_is_read_to_its_end_with_a_warning() {
    let log = demo();
    let ends: Vec<usize> = log.match_indices('\n').map(|(at, _)| at + 1).collect();
    let (half, last) = (ends.len() / 2, ends.len() - 1);
    for (length, inputs, fragment) in [
        // In the middle of a line, before its last byte, after it, and without the last line.
        (
            ends[half] + 20,
            half,
            format!("ends in the middle of line {}", half + 2),
        ),
        (
            ends[half] - 1,
            half - 1,
            format!("ends in the middle of line {}", half + 1),
        ),
        (ends[half], half, "has no end line".to_owned()),
        (ends[last - 1], last - 1, "has no end line".to_owned()),
        (
            ends[last] - 5,
            last - 1,
            format!("ends in the middle of line {}", last + 1),
        ),
    ] {
        let (stdout, stderr) = replay(&log[..length], 0);
        assert!(
            stdout.starts_with(&format!("equal: {inputs} inputs ")),
            "{stdout}"
        );
        assert!(
            stderr.contains("warning") && stderr.contains(&fragment),
            "{stderr}"
        );
    }
}

/// Writes the log of the demo again, as if these rules and definitions had been set at its start.
fn log_with_rules(source: &str, definitions: Option<&str>, path: &Path) {
    let mut reader = Reader::open(demo().as_bytes()).unwrap();
    let mut header = reader.header().clone();
    let registry = match definitions {
        Some(text) => Box::leak(Box::new(Registry::with("own.tw", text).unwrap())),
        None => Registry::builtin(),
    };
    header.definitions.extend(definitions.map(|text| Definitions {
        file: "own.tw".into(),
        text: text.into(),
    }));
    let mut hub = Hub::new(header.config(registry).unwrap(), header.route());
    let (mut recorder, writing) = input_log::start(path, &header).unwrap();
    let mut step = |at, input: Input<'_>| {
        recorder.begin(at, &input);
        hub.handle(at, input);
        while let Some(output) = hub.poll() {
            recorder.output(&output);
        }
        recorder.end();
    };
    let (program, _) = Program::compile(source, registry).unwrap();
    step(Time::ZERO, Input::Program(Some(Arc::new(program))));
    for line in reader.by_ref() {
        let (_, entry) = line.unwrap();
        let input = entry.input.input(&|_| unreachable!("a demo has no rules"));
        step(Time(entry.at), input.unwrap());
    }
    drop(recorder);
    writing.finish();
}

#[test]
fn a_run_with_rules_replays_equal() {
    let (_folder, path) = place("run.log");
    log_with_rules(
        "chat: drop when sv_chat\nlose when c2s and vital and pkt.seq in {3 5}\ndelay 40ms when s2c and any_snap\nset .direction = 1 - .direction when input\nset snap.character.x = snap.character.x + 64 when any_snap\n",
        None,
        &path,
    );
    let (stdout, _) = replay_file(&path, 0);
    assert!(stdout.starts_with("equal: "), "{stdout}");
    // Other rules result in a different run.
    let log = fs::read_to_string(&path).unwrap();
    for (from, to) in [
        ("delay 40ms", "delay 10s"),
        ("character.x + 64", "character.x + 65"),
    ] {
        let changed = log.replacen(from, to, 1);
        assert_ne!(changed, log);
        let (stdout, _) = replay(&changed, 1);
        assert!(stdout.contains("differs"), "{stdout}");
    }
}

#[test]
fn a_run_whose_rules_know_the_session_replays_equal() {
    let (_folder, path) = place("run.log");
    let rules = "drop when s2c and any_snap and snap.tick > 0 and sess.name == \"seven\"
drop when c2s and input and sess.name == \"ddnet\" and sess.rtt >= 0us
drop when s2c and lint and pkt.chunks > 1
";
    log_with_rules(rules, None, &path);
    let (stdout, _) = replay_file(&path, 0);
    assert!(stdout.starts_with("equal: "), "{stdout}");
    let log = fs::read_to_string(&path).unwrap();
    for (from, to) in [
        ("snap.tick > 0", "snap.tick < 0"),
        ("seven", "eleven"),
        ("sess.rtt >= 0us", "sess.rtt < 0us"),
    ] {
        let changed = log.replacen(from, to, 1);
        assert_ne!(changed, log);
        let (stdout, _) = replay(&changed, 1);
        assert!(stdout.contains("differs"), "{from}: {stdout}");
    }
}

/// The number of `sv_chat` under the name of another message.
const DEFINITIONS: &str = "for 0.6 ddnet 0.7\ngame 3 sv_motd s2c vital\n  message str?\n";

#[test]
fn a_run_with_definitions_and_rules_replays_equal() {
    let (_folder, path) = place("run.log");
    log_with_rules("drop when sv_motd\n", Some(DEFINITIONS), &path);
    let (stdout, _) = replay_file(&path, 0);
    assert!(stdout.starts_with("equal: "), "{stdout}");
    let log = fs::read_to_string(&path).unwrap();
    let changed = |from: &str, to: &str| {
        let changed = log.replacen(from, to, 1);
        assert_ne!(changed, log);
        changed
    };
    // Without the definitions, or with others, the rule applies to other messages.
    let start = log.find(",\"definitions\":").unwrap();
    let end = log.find('\n').unwrap() - 1;
    for log in [
        format!("{}{}", &log[..start], &log[end..]),
        changed("game 3 sv_motd", "game 4 sv_motd"),
    ] {
        let (stdout, _) = replay(&log, 1);
        assert!(stdout.contains("differs"), "{stdout}");
    }
    let (_folder, path) = place("run.log");
    fs::write(&path, changed("for 0.6", "for 0.5")).unwrap();
    refused(
        teetap().args(["replay", "--check"]).arg(&path),
        5,
        "cannot read the definitions in line 1 of the input log: own.tw:1:5: ",
    );
}

#[test]
fn the_definitions_of_a_run_are_in_its_log() {
    let (_folder, path) = place("run.log");
    let own = path.with_file_name("own.tw");
    fs::write(&own, DEFINITIONS).unwrap();
    let mut command = teetap();
    command.args(["demo", "--seconds", "1", "-q", "-l", ":0", "--messages"]);
    run(command.arg(&own).arg("--input-log").arg(&path), 0);
    let log = fs::read_to_string(&path).unwrap();
    let definitions = &objects(&log)[0]["definitions"];
    assert_eq!(definitions[0]["text"], DEFINITIONS);
    assert_eq!(definitions[0]["file"], *own.to_str().unwrap());
    // The log needs no other file.
    fs::remove_file(&own).unwrap();
    let (stdout, _) = replay_file(&path, 0);
    assert!(stdout.starts_with("equal: "), "{stdout}");
}

#[test]
fn other_files_and_damaged_logs_are_refused() {
    let log = demo();
    let (_folder, path) = place("run.log");
    let check = |text: &str, fragment: &str| {
        fs::write(&path, text).unwrap();
        refused(teetap().args(["replay", "--check"]).arg(&path), 5, fragment);
    };
    check("", "not an input log");
    check("{\"v\":1,\"t\":0,\"event\":\"start\"}\n", "not an input log");
    check(&log[..100], "not an input log");
    check(
        &log.replacen("\"input_log\":7", "\"input_log\":1", 1),
        "cannot read an input log of version 1: this teetap reads 3 to 7",
    );
    let second = log.find('\n').unwrap() + 1;
    check(
        &log.replacen("{\"t\":", "{\"t\":\u{1}", 1),
        "line 2 of the input log is damaged",
    );
    check(&format!("{}{}", &log[..second], &log[second + 9..]), "line 2 of");
    check(
        &format!("{log}{}", &log[second..]),
        "the line follows the end line",
    );
    let rules = "{\"t\":1,\"in\":{\"program\":{\"source\":\"drap when c2s\"}},\"out\":[]}\n";
    check(
        &format!("{}{rules}{}", &log[..second], &log[second..]),
        "cannot compile the program in line 2 of the input log: unknown action `drap`",
    );
    refused(
        teetap().args(["replay", "--check", "/no/such/file"]),
        2,
        "cannot open /no/such/file",
    );
    refused(teetap().args(["replay", "--check", "/"]), 2, "cannot open /");
    fs::write(&path, log).unwrap();
    // A log may be read from stdin, and `open` does not call a log damaged.
    let file = fs::File::open(&path).unwrap();
    run(teetap().args(["replay", "--check", "-"]).stdin(file), 0);
    refused(teetap().arg("open").arg(&path), 5, "replay --check");
    refused(teetap().arg("replay").arg(&path), 2, "--check");
    refused(teetap().args(["replay", "--check"]), 2, "FILE");
}

#[test]
fn a_log_that_cannot_be_created_is_refused_before_anything_starts() {
    let (_folder, path) = place("run.log");
    fs::write(&path, "mine").unwrap();
    for args in [["demo", "-q"], ["127.0.0.1:9", "-q"]] {
        let run = || {
            let mut command = teetap();
            command.args(args).args(["-l", ":0", "--input-log"]);
            command
        };
        refused(run().arg(&path), 2, "overwrites nothing");
        refused(
            run().arg("/no/such/folder/log"),
            3,
            "cannot write the input log /no/such/folder/log",
        );
    }
    assert_eq!(fs::read_to_string(&path).unwrap(), "mine");
    // No file is created if the listen address is in use.
    let other = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    let taken = other.local_addr().unwrap().to_string();
    let none = path.with_extension("none");
    refused(
        teetap()
            .args(["127.0.0.1:9", "-l", &taken, "--input-log"])
            .arg(&none),
        3,
        "is taken",
    );
    assert!(!none.exists(), "an input log was made although the port is taken");
}

/// A file size limit simulates a full disk: the shell ignores the signal, so that the write fails.
#[test]
fn a_full_disk_ends_the_log_with_a_warning_and_not_the_run() {
    let (_folder, path) = place("run.log");
    let script = "trap '' XFSZ; ulimit -f 32; exec \"$0\" demo --seconds 1 -q -l :0 --input-log \"$1\"";
    let (_, stderr) = run(Command::new("sh").args(["-c", script, TEETAP]).arg(&path), 0);
    let warnings = stderr.matches("warning: the input log ends before the run: a write failed: ");
    assert_eq!(warnings.count(), 1, "{stderr}");
    let log = fs::read_to_string(&path).unwrap();
    let last: Value = serde_json::from_str(log.lines().last().unwrap()).unwrap();
    assert_eq!(last["end"]["reason"], "write_failed", "{last}");
    let (stdout, stderr) = replay_file(&path, 0);
    let inputs = last["end"]["inputs"].as_u64().unwrap();
    assert!(
        inputs > 0 && stdout.starts_with(&format!("equal: {inputs} inputs ")),
        "{stdout}"
    );
    assert!(stderr.contains("a write failed: File too large"), "{stderr}");
}

#[test]
fn a_killed_run_leaves_a_log_that_can_be_read() {
    let (_folder, path) = place("run.log");
    kill("--input-log", &path, 20_000);
    let (stdout, stderr) = replay_file(&path, 0);
    assert!(stdout.starts_with("equal: "), "{stdout}");
    assert!(stderr.contains("the input log is incomplete"), "{stderr}");
}
