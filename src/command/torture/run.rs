//! One run of a cell: this program with one rule, whose JSON lines show how it went.

use std::{
    ffi::OsString,
    io::{BufRead, BufReader, Read},
    os::unix::process::CommandExt as _,
    path::PathBuf,
    process::{Child, Command, Stdio},
    sync::{
        Mutex,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use teetap_inspect::course::STOPPED;
use teetap_wire::{printable, printable_path};

use super::{cell::Cell, program, shown, watch::Watched};
use teetap_harness::child::tree;

use crate::{cli::TortureOptions, exit::Failure, repeat::quoted};

/// Beginnings of lines that a runtime prints after the error of its program.
const TRAILERS: [&str; 2] = ["Node.js v", "note: run with `RUST_BACKTRACE="];

/// Variables that the runs of cells inherit.
const INHERITED: [&str; 2] = ["TEETAP_MESSAGES", "TEETAP_PROTO"];

/// Beginnings of lines that this program prints on stderr.
const OWN_LINES: [&str; 4] = ["teetap:", "teetap 0", "  in the client:", "  in a DDNet client"];

/// Maximum bytes that are kept of a line of the client.
const LONGEST_LINE: usize = 240;

/// Maximum bytes of a JSON line that is read. A longer one is left out.
const LONGEST_JSON: usize = 1 << 20;

/// The program, the server, the client and the limits of all runs.
pub(super) struct Plan {
    program: PathBuf,
    target: String,
    command: Vec<OsString>,
    seed: u64,
    timeout: Duration,
    /// The time for which a client is watched after it has entered the game.
    stay: Duration,
    /// The names of the messages that are tried; empty = all.
    pub(super) only: Vec<String>,
}

/// One run.
#[derive(Clone, Debug, Default)]
pub(super) struct Run {
    pub(super) watched: Watched,
    /// The last line that the client printed.
    pub(super) said: Option<String>,
}

/// The runs at hand, to stop them.
#[derive(Default)]
pub(super) struct Stopper {
    is_stopped: AtomicBool,
    children: Mutex<Vec<Pid>>,
}

impl Stopper {
    /// Ends all runs; they end their commands. No more are started.
    pub(super) fn stop(&self) {
        self.is_stopped.store(true, Ordering::SeqCst);
        if let Ok(children) = self.children.lock() {
            for child in children.iter() {
                // An error means that it has just ended.
                let _ended = kill_process(*child, Signal::TERM);
            }
        }
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.is_stopped.load(Ordering::SeqCst)
    }

    fn add(&self, child: &Child) -> Pid {
        let pid = Pid::from_child(child);
        if let Ok(mut children) = self.children.lock() {
            children.push(pid);
        }
        if self.is_stopped() {
            let _ended = kill_process(pid, Signal::TERM);
        }
        pid
    }

    /// Forgets a run before its process is waited for, so that no other process with its number is ended.
    fn remove(&self, pid: Pid) {
        if let Ok(mut children) = self.children.lock() {
            children.retain(|known| *known != pid);
        }
    }
}

impl Plan {
    pub(super) fn new(options: &TortureOptions) -> Result<Self, Failure> {
        if options.command.is_empty() {
            return Err(Failure::usage(
                "no command after --; write teetap torture HOST -- CMD {addr}",
            ));
        }
        Ok(Self {
            program: program()?,
            target: options.target.to_string(),
            command: options.command.clone(),
            seed: options.seed.unwrap_or(1),
            timeout: options.timeout,
            stay: options.stay,
            only: options.only.clone(),
        })
    }

    pub(super) fn target(&self) -> &str {
        &self.target
    }

    pub(super) const fn seed(&self) -> u64 {
        self.seed
    }

    pub(super) const fn stay(&self) -> Duration {
        self.stay
    }

    /// Returns true if a word of the command becomes the address of the proxy.
    pub(super) fn has_place(&self) -> bool {
        let is_place = |word: &OsString| {
            let word = word.to_string_lossy();
            ["{addr}", "{host}", "{port}"]
                .iter()
                .any(|place| word.contains(place))
        };
        self.command.iter().any(is_place)
    }

    /// Returns the line that repeats a cell: its exit code is 0 if the client joins.
    pub(super) fn line(&self, cell: &Cell) -> String {
        let mut words = vec![
            shown(&self.program),
            "run".to_owned(),
            quoted(self.target.as_ref()),
        ];
        words.extend(self.limits().map(|word| quoted(word.as_ref())));
        words.push(format!("-r {}", quoted(cell.rule().as_ref())));
        words.push("--".to_owned());
        words.extend(self.command.iter().map(|word| quoted(word)));
        words.join(" ")
    }

    /// Returns the options that end a run: some time after the client is in the game, or when its time is over.
    fn limits(&self) -> [String; 6] {
        let until = format!("any_snap and since(enter_game) > {}ms", self.stay.as_millis());
        let timeout = format!("{}ms", (self.timeout + self.stay).as_millis());
        let seed = self.seed.to_string();
        [
            "--until".to_owned(),
            until,
            "--timeout".to_owned(),
            timeout,
            "--seed".to_owned(),
            seed,
        ]
    }

    /// Runs the client through a proxy with the fault of a cell; `None`: without any.
    pub(super) fn run(&self, cell: Option<&Cell>, stopper: &Stopper) -> Result<Run, Failure> {
        let failed =
            |error| Failure::network(format!("cannot run {}: {error}", printable_path(&self.program)));
        tree::adopt().map_err(failed)?;
        let mut child = self.command(cell).spawn().map_err(failed)?;
        let pid = stopper.add(&child);
        let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
        let mut watched = Watched::default();
        let (own, said) = thread::scope(|scope| {
            let said = scope.spawn(|| stderr.map_or_else(Default::default, last_lines));
            if let Some(stdout) = stdout {
                watch(stdout, &mut watched);
            }
            said.join().unwrap_or_default()
        });
        // Its output has ended, so it is about to end.
        stopper.remove(pid);
        child.wait().map_err(failed)?;
        if watched.summary.is_none() && !stopper.is_stopped() {
            let why = own.map_or_else(
                || "a run could not start".to_owned(),
                |own| own.replacen("teetap: ", "", 1),
            );
            return Err(Failure::network(why));
        }
        Ok(Run { watched, said })
    }

    fn command(&self, cell: Option<&Cell>) -> Command {
        let mut command = Command::new(&self.program);
        for (name, _) in std::env::vars_os() {
            let is_ours = name.to_string_lossy().starts_with("TEETAP_");
            if is_ours && !INHERITED.iter().any(|kept| name == *kept) {
                command.env_remove(name);
            }
        }
        command.args(["run", &self.target, "--json", "--listen", ":0"]);
        command.args(self.limits());
        if let Some(cell) = cell {
            command.arg("--rule").arg(cell.rule());
        }
        command.arg("--").args(&self.command);
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            // Only this program ends it, so that it can end its command.
            .process_group(0);
        command
    }
}

/// Records the JSON lines of a run.
fn watch(stdout: impl Read, watched: &mut Watched) {
    let mut reader = BufReader::new(stdout);
    let mut line = Vec::new();
    while let Some(is_whole) = read_line(&mut reader, &mut line, LONGEST_JSON) {
        if let Some(line) = serde_json::from_slice::<Value>(&line).ok().filter(|_| is_whole) {
            watched.line(line);
        }
    }
}

/// Returns the last line that this program printed and the last one of the client, which share stderr.
fn last_lines(stderr: impl Read) -> (Option<String>, Option<String>) {
    let (mut own, mut said) = (None, None);
    let mut reader = BufReader::new(stderr);
    let mut line = Vec::new();
    while let Some(is_whole) = read_line(&mut reader, &mut line, LONGEST_LINE) {
        let text = printable(line.trim_ascii_end());
        if OWN_LINES.iter().any(|start| text.starts_with(start)) {
            own = Some(text);
        } else if is_worth_showing(&text) {
            let cut = if is_whole { "" } else { "..." };
            said = Some(format!("{}{cut}", text.trim()));
        }
    }
    (own, said)
}

/// Returns true for a line of the client that may say what is wrong: not for a frame of a stack, lines of runtimes and those about the end
/// of the run.
fn is_worth_showing(line: &str) -> bool {
    let is_frame = line.starts_with(char::is_whitespace) && line.trim_start().starts_with("at ");
    let is_trailer = TRAILERS.iter().any(|start| line.starts_with(start));
    line.contains(char::is_alphanumeric) && !is_frame && !is_trailer && !line.contains(STOPPED)
}

/// Reads the next line, without its rest if it is too long. Returns true if it is whole, `None` at the end.
fn read_line(reader: &mut impl BufRead, line: &mut Vec<u8>, most: usize) -> Option<bool> {
    line.clear();
    let mut is_whole = true;
    loop {
        let part = reader.fill_buf().ok().filter(|part| !part.is_empty());
        let Some(part) = part else {
            return (!line.is_empty()).then_some(is_whole);
        };
        let end = part.iter().position(|byte| *byte == b'\n');
        let text = part.get(..end.unwrap_or(part.len())).unwrap_or_default();
        let room = most.saturating_sub(line.len());
        is_whole &= text.len() <= room;
        line.extend(text.iter().take(room));
        let len = end.map_or(part.len(), |end| end + 1);
        reader.consume(len);
        if end.is_some() {
            return Some(is_whole);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_is_too_long_is_left_out_and_takes_no_memory() {
        let text = format!(
            "{{\"event\": \"x\", \"y\": \"{}\"}}\n{{\"event\": \"summary\", \"exit\": 4}}\n",
            "x".repeat(3 * LONGEST_JSON)
        );
        let mut watched = Watched::default();
        watch(text.as_bytes(), &mut watched);
        let summary = watched.summary.as_ref().and_then(|line| line.get("exit"));
        assert_eq!(summary, Some(&Value::from(4)), "the line after it is read");
        let mut line = Vec::new();
        let whole = read_line(&mut text.as_bytes(), &mut line, LONGEST_JSON);
        assert_eq!((whole, line.len()), (Some(false), LONGEST_JSON));
    }

    #[test]
    fn the_last_line_of_the_client_is_found_between_those_of_the_run() {
        let text = "teetap 0.1.0: listening\n  in the client:  x\nError: no\x1b[2J answer\r\n\nteetap: warning: silent\nleft: teetap was stopped\n";
        let (own, said) = last_lines(text.as_bytes());
        assert_eq!(own.as_deref(), Some("teetap: warning: silent"));
        assert_eq!(said.as_deref(), Some("Error: no\u{fffd}[2J answer"));
        assert_eq!(last_lines(&b""[..]), (None, None));
        assert_eq!(last_lines(&b"no end"[..]), (None, Some("no end".to_owned())));
        let node = "/c.js:3\n  throw new Error('no');\n  ^\n\nError: no\n    at main (/c.js:3:9)\n\nNode.js v20.20.2\n";
        assert_eq!(last_lines(node.as_bytes()).1.as_deref(), Some("Error: no"));
        let rust = "thread 'main' panicked at c.rs:2:5:\nno answer\nnote: run with `RUST_BACKTRACE=1` environment variable\n";
        assert_eq!(last_lines(rust.as_bytes()).1.as_deref(), Some("no answer"));
        // Megabytes in one line.
        let (_, said) = last_lines("x".repeat(3_000_000).as_bytes());
        assert_eq!(said, Some(format!("{}...", "x".repeat(LONGEST_LINE))));
    }
}
