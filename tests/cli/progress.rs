//! The progress of `open` and `grep`: shown on a terminal if reading takes long, and nowhere else.

use std::{
    fs::{self, OpenOptions},
    io::{Read as _, Write as _},
    process::{Child, ChildStdout, Command, Stdio},
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

use teetap_kit::{binary, real::PATIENCE};

use crate::TEETAP;

const CAPTURE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/captures/rich-dd16.pcap");

/// Returns the terminal output of `script`, a shell command in which `$TEETAP` and `$FIFO` are set. The capture is
/// written to the fifo bit by bit, until `is_enough` accepts the output or the capture ends.
fn watch(script: &str, is_enough: impl Fn(&str) -> bool) -> String {
    let (_folder, fifo) = binary::place("fifo");
    let status = Command::new("mkfifo").arg(&fifo).status().unwrap();
    assert!(status.success(), "mkfifo: {status}");
    // From util-linux: runs the command in its own terminal.
    let mut child = Command::new("script")
        .args(["--quiet", "--return", "--flush", "--command", script, "/dev/null"])
        .env("TEETAP", TEETAP)
        .env("FIFO", &fifo)
        .env("TERM", "xterm")
        .env_remove("TEETAP_QUIET")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let shown = listen(child.stdout.take().unwrap());
    let capture = fs::read(CAPTURE).unwrap();
    let mut input = OpenOptions::new().write(true).open(&fifo).unwrap();
    let (mut all, mut rest) = (Vec::new(), capture.as_slice());
    while !is_enough(&String::from_utf8_lossy(&all)) && rest.len() > 100 {
        let (bit, behind) = rest.split_at(100);
        input.write_all(bit).unwrap();
        rest = behind;
        all.extend(
            shown
                .recv_timeout(Duration::from_millis(20))
                .into_iter()
                .flatten(),
        );
    }
    input.write_all(rest).unwrap();
    drop(input);
    all.extend(shown.iter().flatten());
    end(&mut child);
    String::from_utf8(all).unwrap()
}

fn listen(mut output: ChildStdout) -> mpsc::Receiver<Vec<u8>> {
    let (sender, shown) = mpsc::channel();
    thread::spawn(move || {
        let mut block = [0; 4096];
        while let Ok(read @ 1..) = output.read(&mut block) {
            if sender.send(block[..read].to_vec()).is_err() {
                return;
            }
        }
    });
    shown
}

fn end(child: &mut Child) {
    let begun = Instant::now();
    while child.try_wait().unwrap().is_none() {
        assert!(begun.elapsed() < PATIENCE, "it does not end");
        thread::sleep(Duration::from_millis(5));
    }
}

/// Replaces the sequence that clears a line.
const CLEAR: char = '\u{f8ff}';

/// Returns the text left on the screen after everything was written to it, provided that no line is wrapped.
fn screen(written: &str) -> Vec<String> {
    let written = written.replace("\x1b[2K", &CLEAR.to_string());
    assert!(!written.contains('\x1b'), "{written:?}");
    let lines = written.split('\n').map(|line| {
        let mut cells: Vec<char> = Vec::new();
        let mut at = 0;
        for char in line.chars() {
            if char == '\r' {
                at = 0;
                continue;
            }
            if char == CLEAR {
                cells.clear();
                continue;
            }
            cells.resize(cells.len().max(at + 1), ' ');
            cells[at] = char;
            at += 1;
        }
        cells.into_iter().collect::<String>().trim_end().to_owned()
    });
    lines.collect()
}

#[test]
fn the_line_comes_and_goes() {
    let shown = watch(r#""$TEETAP" grep rcon_cmd "$FIFO" >/dev/null"#, |shown| {
        shown.contains("B/s, ")
    });
    assert!(
        shown.contains("teetap: ") && shown.contains(" matches"),
        "{shown:?}"
    );
    let screen = screen(&shown);
    let [first, last, rest @ ..] = screen.as_slice() else {
        panic!("{screen:?}")
    };
    assert!(
        first.starts_with("teetap ") && first.contains("begins"),
        "{screen:?}"
    );
    assert!(
        last.contains("2860 packets") && last.ends_with("exit 0"),
        "{screen:?}"
    );
    assert!(rest.iter().all(String::is_empty), "{screen:?}");
}

#[test]
fn lines_on_the_same_terminal_stay_whole() {
    let shown = watch(r#""$TEETAP" grep --color never --wide s2c "$FIFO""#, |shown| {
        shown.contains("B/s, ")
    });
    assert!(shown.contains("B/s, "), "{shown:?}");
    let screen = screen(&shown);
    let (ours, lines): (Vec<&String>, Vec<&String>) = screen
        .iter()
        .filter(|line| !line.is_empty())
        .partition(|line| line.starts_with("teetap"));
    assert_eq!(ours.len(), 2, "{ours:?}");
    assert!(lines.len() > 1000, "{}", lines.len());
    for line in lines {
        assert!(line.contains("s→c") && !line.contains("B/s"), "{line:?}");
    }
}

#[test]
fn quiet_or_without_a_terminal_there_is_no_progress() {
    for script in [
        r#""$TEETAP" grep --quiet rcon_cmd "$FIFO" >/dev/null"#,
        r#""$TEETAP" grep rcon_cmd "$FIFO" 2>&1 >/dev/null | cat"#,
    ] {
        // Long enough for several progress lines.
        let begun = Instant::now();
        let shown = watch(script, |_| begun.elapsed() > Duration::from_secs(1));
        assert!(shown.contains("2860 packets"), "{shown:?}");
        assert!(!shown.contains("B/s"), "{shown:?}");
    }
}
