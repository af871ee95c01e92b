//! One run of a cell: this program with one rule, whose JSON lines show how it went.

use std::{
    ffi::OsString,
    fmt,
    io::{BufRead as _, BufReader},
    path::PathBuf,
    process::{Child, Command, Stdio},
    sync::{
        Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use teetap_wire::printable_path;

use super::{cell::Cell, program, shown};
use crate::{cli::TortureOptions, exit::Failure, repeat::quoted};

/// The client is in the game: it gets snapshots a while after it entered, so that one more than the first has come.
const IN_GAME: &str = "any_snap and since(enter_game) > 200ms";

/// Variables that the runs of cells inherit.
const INHERITED: [&str; 2] = ["TEETAP_MESSAGES", "TEETAP_PROTO"];

/// The program, the server, the client and the limits of all runs.
pub(super) struct Plan {
    program: PathBuf,
    target: String,
    command: Vec<OsString>,
    seed: u64,
    timeout: Duration,
    /// The names of the messages that are tried; empty = all.
    pub(super) only: Vec<String>,
}

/// The end of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Joined {
    /// The client joined this long after its first request.
    After(Duration),
    /// The client did not join in time, or ended with success before.
    Never,
    /// The command ended with this code before it had joined; 128+n for signal n.
    Ended(i64),
}

impl fmt::Display for Joined {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::After(time) => write!(f, "joined after {:.2} s", time.as_secs_f64()),
            Self::Never => f.write_str("never joined"),
            Self::Ended(code) => write!(f, "the command ended with {code}"),
        }
    }
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

    fn add(&self, child: &Child) -> Pid {
        let pid = Pid::from_child(child);
        if let Ok(mut children) = self.children.lock() {
            children.push(pid);
        }
        if self.is_stopped.load(Ordering::SeqCst) {
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
            only: options.only.clone(),
        })
    }

    pub(super) fn target(&self) -> &str {
        &self.target
    }

    pub(super) const fn seed(&self) -> u64 {
        self.seed
    }

    /// Returns the line that repeats a cell.
    pub(super) fn line(&self, cell: &Cell) -> String {
        let mut words = vec![
            shown(&self.program),
            "run".to_owned(),
            quoted(self.target.as_ref()),
            format!("--seed {}", self.seed),
            format!("-r {}", quoted(cell.rule().as_ref())),
            "--".to_owned(),
        ];
        words.extend(self.command.iter().map(|word| quoted(word)));
        words.join(" ")
    }

    /// Runs the client through a proxy with the fault of a cell; `None`: without any. Returns the lines of the run up to
    /// the moment at which the client had joined.
    pub(super) fn run(
        &self,
        cell: Option<&Cell>,
        stopper: &Stopper,
    ) -> Result<(Joined, Vec<Value>), Failure> {
        let failed =
            |error| Failure::network(format!("cannot run {}: {error}", printable_path(&self.program)));
        let mut child = self.command(cell).spawn().map_err(failed)?;
        let pid = stopper.add(&child);
        let stdout = child.stdout.take();
        let mut lines: Vec<Value> = Vec::new();
        for line in stdout
            .into_iter()
            .flat_map(|stdout| BufReader::new(stdout).lines())
        {
            let line = line.map_err(failed)?;
            lines.extend(serde_json::from_str::<Value>(&line).ok());
        }
        // Its output has ended, so it is about to end.
        stopper.remove(pid);
        child.wait().map_err(failed)?;
        let summary = lines.last().filter(|line| event(line) == Some("summary"));
        let Some(summary) = summary else {
            return Err(Failure::network(match cell {
                Some(cell) => format!("a run could not start: {}", self.line(cell)),
                None => format!("the proxy in front of {} could not start", self.target),
            }));
        };
        Ok((joined(&lines, summary), lines))
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
        command.args(["--until", IN_GAME, "--seed", &self.seed.to_string()]);
        command
            .arg("--timeout")
            .arg(format!("{}ms", self.timeout.as_millis()));
        if let Some(cell) = cell {
            command.arg("--rule").arg(cell.rule());
        }
        command.arg("--").args(&self.command);
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        command
    }
}

fn event(line: &Value) -> Option<&str> {
    line.get("event")?.as_str()
}

/// Returns how a run ended.
fn joined(lines: &[Value], summary: &Value) -> Joined {
    let by = summary.get("ended_by");
    let kind = by.and_then(|by| by.get("kind")).and_then(Value::as_str);
    if kind == Some("until") {
        let at = by.and_then(|by| by.get("at")).and_then(Value::as_f64);
        let first = lines.iter().find(|line| {
            let dir = line.get("dir").and_then(Value::as_str);
            event(line) == Some("message") && dir == Some("c2s")
        });
        let begun = first.and_then(|line| line.get("t")).and_then(Value::as_f64);
        let took = at.unwrap_or_default() - begun.unwrap_or_default();
        return Joined::After(Duration::try_from_secs_f64(took).unwrap_or_default());
    }
    let is_stopped = summary.get("cmd_stopped").and_then(Value::as_bool);
    match summary.get("cmd_exit").and_then(Value::as_i64) {
        Some(code) if code != 0 && is_stopped != Some(true) => Joined::Ended(code),
        _ => Joined::Never,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_end_of_a_run_is_read_from_its_summary() {
        let lines = [
            json!({"event": "start", "t": 0.0}),
            json!({"event": "message", "t": 0.25, "dir": "c2s"}),
        ];
        let end = |summary: Value| joined(&lines, &summary);
        let until = json!({"ended_by": {"kind": "until", "at": 1.5}, "cmd_exit": 143, "cmd_stopped": true});
        assert_eq!(end(until), Joined::After(Duration::from_millis(1250)));
        let timeout = json!({"ended_by": {"kind": "timeout"}, "cmd_exit": 143, "cmd_stopped": true});
        assert_eq!(end(timeout), Joined::Never);
        let crash = json!({"ended_by": {"kind": "command"}, "cmd_exit": 139, "cmd_stopped": false});
        assert_eq!(end(crash), Joined::Ended(139));
        let left = json!({"ended_by": {"kind": "command"}, "cmd_exit": 0, "cmd_stopped": false});
        assert_eq!(end(left), Joined::Never);
    }
}
