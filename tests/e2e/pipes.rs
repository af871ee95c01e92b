//! Recordings that another program reads while they are written, and recordings of the last seconds of a run.

use std::{
    fs,
    io::Read as _,
    path::Path,
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use serde_json::Value;
use teetap_kit::{
    binary::{self, objects, place, refused, run},
    capture,
    real::PATIENCE,
};

use crate::{TEETAP, teetap};

fn demo(seconds: &str, to: &Path, args: &[&str]) -> Command {
    let mut command = teetap();
    command.args(["demo", "--seconds", seconds, "-q", "-l", ":0", "-w"]);
    command.arg(to).args(args);
    command
}

fn pipe() -> (tempfile::TempDir, std::path::PathBuf) {
    let (folder, path) = place("pipe");
    assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
    (folder, path)
}

/// Returns the exit code and stderr.
fn end(mut child: Child) -> (Option<i32>, String) {
    let code = binary::wait_end(&mut child, PATIENCE).unwrap();
    let mut stderr = String::new();
    child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
    (code, stderr)
}

#[test]
fn tshark_reads_a_run_from_stdout() {
    let script = "set -o pipefail; \"$0\" demo --seconds 1 -l :0 -w - 2>\"$1\" | tshark -r - -T fields -e frame.comment 2>/dev/null";
    let (_folder, errors) = place("errors");
    let mut command = Command::new("bash");
    let (comments, _) = run(command.args(["-c", script, TEETAP]).arg(&errors), 0);
    // Messages are printed on stderr.
    let stderr = fs::read_to_string(errors).unwrap();
    assert!(
        stderr.contains("sv_motd") && comments.contains("sv_motd"),
        "{stderr}"
    );
    let packets = format!(", {} packets recorded to stdout, ", comments.lines().count());
    assert!(stderr.contains(&packets), "{packets}: {stderr}");
}

#[test]
fn packets_arrive_at_once_and_a_reader_that_leaves_ends_the_run() {
    let mut child = demo("60", Path::new("-"), &[])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdout = child.stdout.take().unwrap();
    let mut bytes = vec![0; 20_000];
    stdout.read_exact(&mut bytes).unwrap();
    assert!(bytes.starts_with(b"\x0a\x0d\x0d\x0a"), "pcapng, not lines");
    drop(stdout);
    let (code, stderr) = end(child);
    assert_eq!(code, Some(0), "{stderr}");
    assert!(stderr.contains("ended by closed stdout"), "{stderr}");
    assert!(!stderr.contains("warning"), "{stderr}");
}

#[test]
fn stdout_has_one_writer() {
    refused(&mut demo("1", Path::new("-"), &["--json"]), 2, "leave out --json");
    let mut command = teetap();
    refused(command.args(["demo", "--tui", "-w", "-"]), 2, "leave out --tui");
    refused(
        &mut demo("1", Path::new("-"), &["--keep", "1s"]),
        2,
        "name a file",
    );
    for option in [["--keep", "1s"], ["--save-on", "cl_say"]] {
        let mut command = teetap();
        refused(command.arg("demo").args(option), 2, "add -w FILE");
    }
    let mut command = demo("1", Path::new("-"), &[]);
    let full = fs::File::options().write(true).open("/dev/full").unwrap();
    let child = command.stdout(full).stderr(Stdio::piped()).spawn().unwrap();
    let (code, stderr) = end(child);
    assert_eq!(code, Some(3), "{stderr}");
    assert_eq!(
        stderr.matches("cannot write stdout: No space left").count(),
        1,
        "{stderr}"
    );
}

#[test]
fn a_run_never_waits_for_the_reader_of_a_pipe() {
    let (_folder, path) = pipe();
    let start = Instant::now();
    // No reader at all.
    let (_, stderr) = run(&mut demo("1", &path, &[]), 0);
    assert_eq!(stderr.matches("no program has read").count(), 1, "{stderr}");
    // A reader that comes later gets everything, and one that goes away is reported once.
    for (bytes, is_all) in [(u64::MAX, true), (500, false)] {
        let child = demo("1", &path, &[]).stderr(Stdio::piped()).spawn().unwrap();
        thread::sleep(Duration::from_millis(300));
        let mut found = Vec::new();
        let reader = fs::File::open(&path).unwrap();
        reader.take(bytes).read_to_end(&mut found).unwrap();
        let (code, stderr) = end(child);
        assert_eq!(code, Some(0), "{stderr}");
        assert_eq!(
            stderr.matches("has gone").count(),
            usize::from(!is_all),
            "{stderr}"
        );
        assert_eq!(stderr.contains("missing in it"), !is_all, "{stderr}");
        if is_all {
            let file = path.with_extension("pcapng");
            fs::write(&file, &found).unwrap();
            let packets = capture::read_recording(&file).unwrap().len();
            assert!(
                stderr.contains(&format!(", {packets} packets recorded to")),
                "{stderr}"
            );
        }
    }
    assert!(start.elapsed() < Duration::from_secs(30), "the runs wait");
}

/// Returns the summary of a shown recording.
fn summary(path: &Path) -> Value {
    let (stdout, _) = run(teetap().arg("open").arg(path).args(["--json", "-q"]), 0);
    objects(&stdout).pop().unwrap()
}

#[test]
fn a_flight_recorder_keeps_the_end_of_a_run() {
    for name in ["run.pcapng", "run.jsonl"] {
        let (_folder, path) = place(name);
        let (stdout, stderr) = run(&mut demo("2", &path, &["--keep", "1s", "--json"]), 0);
        let live = objects(&stdout).pop().unwrap();
        let shown = summary(&path);
        let datagrams = |summary: &Value| summary["datagrams"]["c2s"].as_u64().unwrap();
        assert!(datagrams(&shown) * 4 < datagrams(&live) * 3, "{live}\n{shown}");
        assert!(
            datagrams(&shown) > 20 && shown["lost"].as_u64() > Some(20),
            "{shown}"
        );
        // The states of the sessions are there, and nobody is accused for what is not.
        assert_eq!(shown["sessions"], 2, "{shown}");
        let (found, _) = run(teetap().arg("judge").arg(&path), 0);
        assert!(found.starts_with("nothing found"), "{found}\n{stderr}");
    }
}

/// Nothing can be written once the process is killed, so the file must not be there before.
#[test]
fn a_flight_recorder_writes_its_file_at_the_end() {
    let (folder, path) = place("run.pcapng");
    let mut demo = demo("30", &path, &["--keep", "1s"]);
    let mut child = demo.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    // A session has begun.
    child.stdout.take().unwrap().read_exact(&mut [0]).unwrap();
    let names = || fs::read_dir(folder.path()).unwrap().count();
    assert_eq!(names(), 0, "while the run goes on");
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(names(), 0, "after KILL");
}

#[test]
fn matches_begin_files() {
    let (folder, path) = place("run.pcapng");
    fs::write(folder.path().join("run-1.pcapng"), "of others").unwrap();
    let args = [
        "--keep",
        "500ms",
        "--save-on",
        "cl_kill",
        "--save-on",
        "sv_motd or sv_vote_set",
        "--json",
    ];
    let (stdout, stderr) = run(&mut demo("2", &path, &args), 0);
    let saved = path.with_file_name("run-2.pcapng");
    let summary = objects(&stdout).pop().unwrap();
    assert_eq!(summary["recording"]["saved"], 1, "{stderr}");
    assert_eq!(summary["recording"]["file"], saved.to_str().unwrap());
    let packets = capture::read_recording(&saved).unwrap().len();
    assert_eq!(summary["recording"]["packets"], packets);
    assert_eq!(
        fs::read(folder.path().join("run-1.pcapng")).unwrap(),
        b"of others"
    );
    assert!(!path.exists(), "no file is written at the end");
    let (stdout, stderr) = run(&mut demo("1", &path, &["--save-on", "cl_kill", "--json"]), 0);
    let summary = objects(&stdout).pop().unwrap();
    assert_eq!(summary["recording"]["saved"], 0, "{stderr}");
    assert!(
        stderr.contains("nothing recorded: no message matched --save-on"),
        "{stderr}"
    );
    refused_filter(&path);
}

fn refused_filter(path: &Path) {
    let (_, stderr) = run(&mut demo("1", path, &["--save-on", "cl_kil"]), 2);
    assert!(
        stderr.contains("invalid expression for --save-on") && stderr.contains("cl_kill"),
        "{stderr}"
    );
}
