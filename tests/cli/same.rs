//! Regression tests: commands read all captures and pieces of the museum, and their outputs must be the same as before.
//!
//! A snapshot has a line for each command: its exit code, and the number of lines and the checksum of its outputs. Any
//! difference fails the test, whether or not it is intended. After an intended change, run
//! `INSTA_UPDATE=always cargo test --test cli same`. `TEETAP_SAME=DIR` writes the outputs to files, to be compared with
//! `diff` before and after the change.

mod options;
mod runs;

use std::{
    fs,
    path::Path,
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use teetap_kit::capture;
use teetap_repeatable::{checksum, keep};

use crate::teetap;

/// Number of commands that run in parallel.
const BESIDE: usize = 2;

/// Commands that read the recording `FILE`. The contents of the new file `OUT` are part of the outputs.
const READING: &[&[&str]] = &[
    &["open", "FILE", "-v", "--show-secrets"],
    &["open", "FILE", "-vv", "--time", "delta"],
    &["open", "FILE", "--json", "-v"],
    &["open", "FILE", "-q", "--ascii", "--fold"],
    &["judge", "FILE", "-v"],
    &["judge", "FILE", "--json", "-v"],
    &["judge", "FILE", "--junit", "OUT"],
    &["scrub", "FILE", "-o", "OUT"],
    &["scrub", "FILE", "-o", "OUT", "--keep-text", "--keep-unknown"],
    &["diff", "FILE", "tests/captures/tw07-session.pcap", "-v"],
    &["diff", "tests/captures/rich-dd16.pcap", "FILE", "--json"],
    &["grep", "lint", "FILE", "-v", "-C", "2"],
];

/// Expressions that need facts of datagrams, sessions and snapshots, earlier messages or other messages.
const FILTERS: &[&str] = &[
    "vital and pkt.size > 60",
    "resend or pkt.resend",
    "c2s and not input and sess.rtt > 1ms",
    "any_snap and snap.parts > 1",
    "input.ack_snapshot == -1 or seen(con_ready) and count(input) < 5",
    "sv_chat.message contains \"e\"",
    "connless or control",
];

/// Runs a command in the project's directory, and returns its outputs and its exit code. `NAME=VALUE` before the command
/// sets an environment variable. If `IN` or `CONFIG` is among the arguments, `file` is the contents of a new file: `IN`
/// becomes its path, `CONFIG` is left out because the file is the user's configuration.
fn outputs(args: &[&str], file: &str, folder: &Path) -> Row {
    let [out, given, config] = ["out", "in", "teetap/config.toml"].map(|name| folder.join(name));
    let mut command = teetap();
    command
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .env("TZ", "UTC")
        .env_remove("COLUMNS");
    for arg in args {
        match *arg {
            "FILE" => command.arg(file),
            "OUT" => command.arg(&out),
            "IN" => {
                fs::write(&given, file).unwrap();
                command.arg(&given)
            }
            "CONFIG" => {
                fs::create_dir_all(config.parent().unwrap()).unwrap();
                fs::write(&config, file).unwrap();
                command.env("XDG_CONFIG_HOME", folder)
            }
            arg => match arg.split_once('=') {
                Some((name, value)) if name.starts_with("TEETAP_") => command.env(name, value),
                _ => command.arg(arg),
            },
        };
    }
    let run = command.output().unwrap();
    let printed = String::from_utf8([run.stdout, run.stderr].concat()).unwrap();
    let version = concat!("teetap ", env!("CARGO_PKG_VERSION"));
    let names = [(&out, "OUT"), (&given, "IN"), (&config, "CONFIG")];
    let printed = names.iter().fold(printed, |printed, (path, name)| {
        printed.replace(path.to_str().unwrap(), name)
    });
    let printed = printed.replace(version, "teetap");
    let mut bytes = printed.into_bytes();
    for path in [&out, &given] {
        if let Ok(mut written) = fs::read(path) {
            bytes.append(&mut written);
            fs::remove_file(path).unwrap();
        }
    }
    let _none_there = fs::remove_file(&config);
    (run.status.code(), bytes)
}

/// Exit code and outputs of a command.
type Row = (Option<i32>, Vec<u8>);

/// Runs `count` commands, and compares their outputs with the stored snapshot. `run` returns the outputs of the command
/// with this number and its line for the snapshot; it may use an empty folder.
fn rows(name: &str, count: usize, run: impl Fn(usize, &Path) -> (Row, String) + Sync) {
    let next = AtomicUsize::new(0);
    let rows = Mutex::new(vec![String::new(); count]);
    thread::scope(|scope| {
        for _ in 0..BESIDE {
            scope.spawn(|| {
                let folder = tempfile::tempdir().unwrap();
                while let at = next.fetch_add(1, Ordering::Relaxed)
                    && at < count
                {
                    let ((code, bytes), line) = run(at, folder.path());
                    keep(&format!("{name}-{at}"), &bytes);
                    let lines = bytes.iter().filter(|byte| **byte == b'\n').count();
                    let sum = checksum(&bytes);
                    rows.lock().unwrap()[at] =
                        format!("{at:3} exit {} {lines:6} {sum:016x} {line}", code.unwrap_or(-1));
                }
            });
        }
    });
    insta::assert_snapshot!(name, rows.into_inner().unwrap().join("\n"));
}

/// Runs each command on its file, and compares the outputs with the stored snapshot.
fn check(name: &str, runs: &[(Vec<&str>, String)]) {
    rows(name, runs.len(), |at, folder| {
        let (args, file) = &runs[at];
        let line = args.join(" ");
        // The file is a path, or the contents of a new file.
        let line = match args.iter().any(|arg| ["IN", "CONFIG"].contains(arg)) {
            true => format!(
                "{line} <- {}",
                file.chars().take(40).collect::<String>().escape_debug()
            ),
            false => line.replace("FILE", file).replace('\n', "\\n"),
        };
        (outputs(args, file, folder), line)
    });
}

/// Returns the files of a folder whose names have this ending.
fn listed(folder: &str, ending: &str) -> Vec<String> {
    let files = fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(folder)).unwrap();
    let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.filter(|name| name.ends_with(ending)).collect();
    names.sort();
    names.into_iter().map(|name| format!("{folder}/{name}")).collect()
}

/// Returns all recordings of the project, of all formats.
fn recordings() -> Vec<String> {
    let mut files = listed("tests/captures", ".pcap");
    files.extend(listed("museum", ".pcap"));
    files.extend(["own/v1.pcapng", "own/v1.jsonl"].map(|name| format!("capture/src/{name}")));
    files.push("tui/src/tests/proxied.pcapng".to_owned());
    files
}

#[test]
fn commands_read_recordings_as_before() {
    let files = recordings();
    let runs = files
        .iter()
        .flat_map(|file| READING.iter().map(|args| (args.to_vec(), file.clone())));
    check("recordings", &runs.collect::<Vec<_>>());
}

#[test]
fn filters_match_the_same_messages() {
    let files = listed("tests/captures", ".pcap");
    let runs = files.iter().flat_map(|file| {
        let all = FILTERS.iter();
        all.map(|filter| (vec!["grep", filter, "FILE", "--json"], file.clone()))
    });
    check("filters", &runs.collect::<Vec<_>>());
}

#[test]
fn the_examples_of_rules_act_on_the_same_messages() {
    let captures = ["rich-dd16", "rich-tw07", "tw06-session", "sixup-session"];
    let examples = listed("rules/examples", ".tap");
    let mut runs = Vec::new();
    for example in &examples {
        runs.push((vec!["check", example, "--explain"], String::new()));
        for capture in captures {
            let file = format!("tests/captures/{capture}.pcap");
            runs.push((vec!["check", example, "--against", "FILE"], file));
        }
    }
    check("examples", &runs);
}

#[test]
fn datagrams_are_explained_as_before() {
    let mut runs = Vec::new();
    let mut found: Vec<String> = Vec::new();
    for name in capture::names().unwrap() {
        let packets = capture::recorded(&name).unwrap();
        // The handshake and the join, then a sample of the game.
        let game = packets.iter().skip(24).step_by(97).take(16);
        for packet in packets.iter().take(24).chain(game) {
            let hex = packet.payload.iter().map(|byte| format!("{byte:02x}"));
            found.push(hex.collect());
        }
    }
    for (at, hex) in found.iter().enumerate() {
        let form = if at % 2 == 0 { "--json" } else { "--color=never" };
        runs.push((vec!["explain", hex, form], String::new()));
    }
    check("datagrams", &runs);
}
