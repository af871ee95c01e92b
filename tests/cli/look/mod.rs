//! The look of the output of commands: colours, terminal width, folds, times and characters, on a terminal and in a
//! pipe.

mod colours;
mod columns;
mod width;

use std::{
    fs::{self, File},
    io::Read as _,
    path::PathBuf,
    process::{Command, Stdio},
};

use teetap_kit::{binary, real::PATIENCE, terminal};
use tempfile::TempDir;

use crate::teetap;

fn capture(name: &str) -> String {
    format!("{}/tests/captures/{name}", env!("CARGO_MANIFEST_DIR"))
}

/// Files for commands that need input files.
struct Files {
    _folder: TempDir,
    rules: String,
    wrong: String,
    capture: String,
}

impl Files {
    fn new() -> Self {
        let (folder, rules) = binary::place("good.tap");
        let wrong = folder.path().join("wrong.tap");
        fs::write(&rules, "drop when sv_emoticon\n").unwrap();
        fs::write(&wrong, "drop wen sv_emoticon\n").unwrap();
        let text = |path: PathBuf| path.into_os_string().into_string().unwrap();
        Self {
            _folder: folder,
            rules: text(rules),
            wrong: text(wrong),
            capture: capture("loss-tw07.pcap"),
        }
    }

    /// Returns commands that print text, each with true if it prints colours when they are enabled.
    fn commands(&self) -> Vec<(Vec<&str>, bool)> {
        let Self {
            rules,
            wrong,
            capture,
            ..
        } = self;
        vec![
            (vec!["open", capture], true),
            (vec!["open", "-v", capture], true),
            (vec!["open", "-vv", "-f", "resend", capture], true),
            (vec!["grep", "resend", capture], true),
            (vec!["grep", "-C", "1", "-m", "1", "resend", capture], true),
            (vec!["grep", "sv_chat.mesage == 1", capture], true),
            (vec!["open", "-f", "sv_chat.mesage == 1", capture], true),
            (vec!["check", wrong], true),
            (vec!["check", "--explain", rules], false),
            (vec!["check", "--against", capture, rules], false),
            (vec!["fmt", wrong], true),
            (vec!["fmt", rules], false),
            (vec!["run", "192.0.2.1:8303", "-R", wrong], true),
            (vec!["run", "192.0.2.1:8303", "-f", "nothing like it"], true),
            (vec!["explain", "100000040000"], false),
            (vec!["explain", "wrong-token"], false),
            (vec!["messages", "sv_chat"], false),
            (vec!["config", "show"], false),
            (
                vec!["torture", "127.0.0.1:1", "--timeout", "1s", "--", "false"],
                false,
            ),
            (vec!["shrink", wrong, "--", "false", "{faults}"], false),
            (vec!["ctl", "/nonexistent/socket", "sessions"], false),
            (vec!["scrub", wrong, "-o", "/nonexistent/out"], false),
            (vec!["open", "--bogus"], false),
            (vec!["open", "--help"], true),
            (vec!["--help"], true),
            (vec!["-h"], true),
            (vec!["demo", "--seconds", "1", "-l", "127.0.0.1:0"], true),
        ]
    }
}

/// Returns everything that a command writes to a terminal of this width, without carriage returns.
fn shown(command: &mut Command, columns: u16) -> String {
    let (outer, inner) = terminal::open(columns, 24).unwrap();
    command.stdout(inner.try_clone().unwrap()).stderr(inner);
    ended(command, outer)
}

/// Returns the stdout of a command if only stdout is a terminal.
fn shown_out(command: &mut Command, columns: u16) -> String {
    let (outer, inner) = terminal::open(columns, 24).unwrap();
    command.stdout(inner).stderr(Stdio::null());
    ended(command, outer)
}

fn ended(command: &mut Command, mut outer: File) -> String {
    let mut child = command.stdin(Stdio::null()).spawn().unwrap();
    // Closes our copies of the program's end of the terminal.
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let text = all(&mut outer);
    binary::wait_end(&mut child, PATIENCE).unwrap();
    text.replace('\r', "")
}

/// Reads until no process has the terminal open.
fn all(outer: &mut File) -> String {
    let (mut all, mut block) = (Vec::new(), [0; 4096]);
    while let Ok(read @ 1..) = outer.read(&mut block) {
        all.extend_from_slice(&block[..read]);
    }
    String::from_utf8(all).unwrap()
}

fn piped(command: &mut Command) -> String {
    let output = command.stdin(Stdio::null()).output().unwrap();
    String::from_utf8([output.stdout, output.stderr].concat()).unwrap()
}

fn plain_terminal() -> Command {
    let mut command = teetap();
    command.env("TERM", "xterm-256color").env_remove("NO_COLOR");
    command
}

/// Returns terminal output without control sequences.
fn without_escapes(text: &str) -> String {
    let mut parts = text.split("\x1b[");
    let first = parts.next().unwrap().to_owned();
    parts.fold(first, |line, part| {
        let end = part.find(|c: char| c.is_ascii_alphabetic()).unwrap();
        line + &part[end + 1..]
    })
}

/// Returns the lines of messages in the output of a command, without lines about the command itself.
fn messages(text: &str) -> Vec<&str> {
    text.lines()
        .filter(|line| !line.starts_with("teetap"))
        .filter(|line| line.contains(" c→s ") || line.contains(" s→c "))
        .collect()
}
