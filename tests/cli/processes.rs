//! The processes of a command: none of them survives the run, however the run or the command ends.

use std::{
    fs,
    io::{BufRead as _, BufReader},
    num::NonZero,
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use teetap_kit::{
    binary::{self, place, wait_end},
    terminal::Terminal,
};

use crate::{
    TEETAP,
    command_line::{NO_SERVER, json},
    teetap,
};

/// Maximum wait for anything.
const PATIENCE: Duration = Duration::from_secs(60);

/// A variable that all processes of a test inherit.
const MARK: &str = "TEST_MARK";

/// Commands that leave processes behind: in the background, in another process group, in another session, without
/// their parent, ignoring signals, stopped.
const SCRIPTS: [&str; 7] = [
    "sleep 1000 & echo READY >&2; sleep 1000",
    "timeout 1000 sleep 1000 & echo READY >&2; wait",
    "setsid sleep 1000 & echo READY >&2; wait",
    "(setsid sh -c 'sleep 1000 & sleep 1000' &) ; sleep 0.2; echo READY >&2; sleep 1000",
    "trap '' INT TERM HUP; sh -c \"trap '' INT TERM HUP; echo READY >&2; while :; do sleep 1; done\" & while :; do sleep 1; done",
    "sh -c 'kill -STOP $$' & sleep 0.2; echo READY >&2; exec >&- 2>&- <&-; sleep 1000",
    "trap 'sleep 1000 & wait' TERM; sleep 1000 & echo READY >&2; wait",
];

/// Returns the command lines of the processes of a test that are still running.
fn survivors(mark: &str) -> Vec<String> {
    let wanted = format!("{MARK}={mark}");
    let all = fs::read_dir("/proc").unwrap().flatten();
    let has_mark = |folder: &std::path::PathBuf| {
        let environment = fs::read(folder.join("environ")).unwrap_or_default();
        environment
            .split(|byte| *byte == 0)
            .any(|word| word == wanted.as_bytes())
    };
    let folders = all.map(|entry| entry.path()).filter(has_mark);
    folders
        .map(|folder| {
            String::from_utf8_lossy(&fs::read(folder.join("cmdline")).unwrap_or_default()).replace('\0', " ")
        })
        .collect()
}

/// Waits until no process is left: the system takes a moment to end a killed process.
pub(crate) fn none_is_left(mark: &str, context: &str) {
    let start = Instant::now();
    while start.elapsed() < Duration::from_secs(5) {
        if survivors(mark).is_empty() {
            return;
        }
        thread::sleep(Duration::from_millis(20));
    }
    let left = survivors(mark);
    for pid in fs::read_dir("/proc").unwrap().flatten() {
        let is_ours = fs::read(pid.path().join("environ"))
            .is_ok_and(|text| String::from_utf8_lossy(&text).contains(&format!("{MARK}={mark}")));
        if is_ours {
            let _ended = Command::new("kill").arg("-KILL").arg(pid.file_name()).status();
        }
    }
    assert_eq!(left, [] as [String; 0], "{context}");
}

fn marked(mark: &str) -> Command {
    let mut command = teetap();
    command.env(MARK, mark).stdin(Stdio::null());
    command
}

/// Starts a run with a script, and waits until the script is ready.
fn started(mark: &str, options: &[&str], script: &str) -> (Child, BufReader<std::process::ChildStderr>) {
    let mut command = marked(mark);
    command.args(["run", NO_SERVER, "-l", ":0", "-q"]).args(options);
    command.args(["--", "sh", "-c", script]);
    let mut child = command
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    while !line.contains("READY") {
        line.clear();
        assert_ne!(stderr.read_line(&mut line).unwrap(), 0, "{script}: not started");
    }
    (child, stderr)
}

fn signal(child: &Child, name: &str) {
    binary::run(
        Command::new("kill").args([format!("-{name}"), child.id().to_string()]),
        0,
    );
}

#[test]
fn no_process_of_the_command_survives_a_signal() {
    for (number, script) in (0..).zip(SCRIPTS) {
        let (name, code) = [("TERM", 143), ("INT", 130), ("HUP", 129)][number % 3];
        let mark = format!("signal-{number}-{}", std::process::id());
        let (mut child, _stderr) = started(&mark, &[], script);
        signal(&child, name);
        assert_eq!(wait_end(&mut child, PATIENCE).unwrap(), Some(code), "{script}");
        none_is_left(&mark, script);
    }
}

#[test]
fn no_process_of_the_command_survives_the_time_limit() {
    for (number, script) in (0..).zip(SCRIPTS) {
        let mark = format!("timeout-{number}-{}", std::process::id());
        let (mut child, _stderr) = started(&mark, &["--timeout", "1s"], script);
        assert!(wait_end(&mut child, PATIENCE).unwrap().is_some(), "{script}");
        none_is_left(&mark, script);
    }
}

#[test]
fn no_process_survives_the_end_of_the_command_and_they_are_counted() {
    let mark = format!("left-{}", std::process::id());
    let script = "(setsid sleep 1000 &); sleep 1000 & exit 3";
    let mut command = marked(&mark);
    command.args([
        "run", NO_SERVER, "-l", ":0", "-q", "--json", "--", "sh", "-c", script,
    ]);
    let (stdout, stderr) = binary::run(&mut command, 1);
    none_is_left(&mark, script);
    let warning = "teetap: warning: ended 2 processes that the command had left running\n";
    assert!(stderr.contains(warning), "{stderr}");
    let last = json(stdout.lines().last().unwrap());
    assert_eq!(
        (&last["cmd_exit"], &last["cmd_stopped"]),
        (&3.into(), &false.into()),
        "{last}"
    );
}

#[test]
fn no_process_survives_where_the_run_ends_at_once_or_with_an_error() {
    let mark = format!("twice-{}", std::process::id());
    let (mut child, _stderr) = started(&mark, &[], SCRIPTS[4]);
    signal(&child, "INT");
    thread::sleep(Duration::from_millis(250));
    signal(&child, "INT");
    assert_eq!(
        wait_end(&mut child, PATIENCE).unwrap(),
        Some(130),
        "the exit code"
    );
    none_is_left(&mark, "INT twice");

    // The output cannot be written, which ends the run with an error.
    let mark = format!("full-{}", std::process::id());
    let (_folder, file) = place("x.pcapng");
    let mut command = marked(&mark);
    command.args(["run", NO_SERVER, "-l", ":0", "-w"]).arg(&file);
    command.args(["--timeout", "1s", "--", "sh", "-c", SCRIPTS[0]]);
    command
        .stdout(fs::File::options().write(true).open("/dev/full").unwrap())
        .stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    let end = wait_end(&mut child, PATIENCE).unwrap();
    assert!(end.is_some(), "the run does not end on a full disk");
    none_is_left(&mark, "a full disk");
}

#[test]
fn a_command_reads_the_terminal_and_ctrl_c_ends_it_with_the_run() {
    let mark = format!("terminal-{}", std::process::id());
    let cells = |count| NonZero::new(count).unwrap();
    let (mut terminal, inner) = Terminal::open(cells(80), cells(24)).unwrap();
    let script = "stty sane; read word; echo \"got $word\"; (setsid sleep 1000 &); sleep 1000";
    // A session with this terminal, as a shell has it.
    let mut command = Command::new("setsid");
    command
        .args(["--ctty", "--wait", crate::TEETAP])
        .args(["run", NO_SERVER, "-l", ":0", "-q"]);
    command.args(["--", "sh", "-c", script]).env(MARK, &mark);
    command
        .stdin(inner.try_clone().unwrap())
        .stdout(inner.try_clone().unwrap())
        .stderr(inner);
    let mut child = command.spawn().unwrap();
    terminal.press("word\r").unwrap();
    terminal.wait_for("got word", PATIENCE).unwrap();
    terminal.press("\x03").unwrap();
    assert_eq!(
        wait_end(&mut child, PATIENCE).unwrap(),
        Some(130),
        "the exit code"
    );
    none_is_left(&mark, "ctrl-c");
}

#[test]
fn a_hangup_that_is_ignored_from_the_start_does_not_end_a_run() {
    let mut command = Command::new("sh");
    command.args(["-c", "trap '' HUP; exec \"$0\" \"$@\"", TEETAP]);
    command.args(["run", NO_SERVER, "-l", ":0", "--json"]);
    command.stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    // Signals are handled from now on.
    stdout.read_line(&mut String::new()).unwrap();
    for signal in ["-HUP", "-TERM"] {
        binary::run(Command::new("kill").args([signal, &child.id().to_string()]), 0);
    }
    let ended = wait_end(&mut child, PATIENCE).unwrap();
    assert_eq!(ended, Some(143), "TERM ends it, HUP does not");
}
