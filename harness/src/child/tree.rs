//! The processes below this one, and the command to which each belongs.
//!
//! Law: after `adopt`, a process whose parent has ended stays below this one, whatever its process group or session.
//!
//! While several commands run, a process belongs to the command that is its ancestor, whose process group or session it
//! is in, or whose mark is in its environment. A process without any of these belongs to no command, and ends with this
//! program.

use std::{
    fs::{self, File},
    io::{self, Read as _},
    process::Command,
    str,
    sync::atomic::{AtomicU64, Ordering},
    thread,
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, WaitOptions, getpid, kill_process, set_child_subreaper, waitpid};

/// Maximum bytes read from a file that describes a process.
const LONGEST: u64 = 4096;

/// Maximum bytes read from the environment of a process; the system's limit for arguments and environment together is a
/// little higher.
const ENVIRONMENT: u64 = 4 << 20;

/// Environment variable that the processes of a marked command inherit.
const MARK: &str = "_TEETAP_COMMAND";

/// A running process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Process {
    pid: Pid,
    parent: Option<Pid>,
    group: Option<Pid>,
    session: Option<Pid>,
    /// True if the process has ended and its parent has not read its exit code.
    is_over: bool,
}

/// Makes this process the parent of all its descendants whose own parent ends.
pub(super) fn adopt() -> io::Result<()> {
    Ok(set_child_subreaper(Some(getpid()))?)
}

/// The processes of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Processes {
    /// All processes below this one, if no other command runs.
    All,
    /// Processes of the command with this root process and this mark.
    Of(Pid, String),
}

/// Marks a command before its start, so that its processes can be distinguished from the processes of other commands.
/// Returns the mark.
pub(super) fn mark(command: &mut Command) -> String {
    static LAST: AtomicU64 = AtomicU64::new(0);
    let number = LAST.fetch_add(1, Ordering::Relaxed);
    let mark = format!("{}.{number}", getpid().as_raw_nonzero());
    command.env(MARK, &mark);
    format!("{MARK}={mark}")
}

impl Processes {
    /// Returns the family of a marked command after its start.
    pub(super) const fn descendants(root: Pid, mark: String) -> Self {
        Self::Of(root, mark)
    }

    /// Returns the running processes of the command, parents before their children.
    fn members(&self) -> Vec<Pid> {
        let processes = processes();
        let all = below(&processes, getpid());
        match self {
            Self::All => all,
            Self::Of(root, mark) => {
                let own = below(&processes, *root);
                let is_own = |pid: &Pid| {
                    let found = processes.iter().find(|process| process.pid == *pid);
                    let is_near = found.is_some_and(|process| process.is_of(*root));
                    pid == root || is_near || own.contains(pid) || has_mark(*pid, mark)
                };
                all.into_iter().filter(is_own).collect()
            }
        }
    }

    /// Sends a signal to every process of the command. Returns the number of processes.
    pub(super) fn signal(&self, signal: Signal) -> usize {
        send(signal, &self.members())
    }

    /// Counts the running processes of the command.
    pub(super) fn count(&self) -> usize {
        self.members().len()
    }

    /// Reaps adopted processes of the command that have ended, except `child`, which is waited for elsewhere. Beside
    /// other commands, skips processes that left the process group and session of the command, since they might be
    /// commands that are waited for.
    pub(super) fn reap(&self, child: Pid) {
        let is_own = |process: &&Process| match self {
            Self::All => true,
            Self::Of(root, _) => process.is_of(*root),
        };
        let adopted = |process: &&Process| process.parent == Some(getpid()) && process.pid != child;
        for process in processes()
            .iter()
            .filter(adopted)
            .filter(is_own)
            .filter(|process| process.is_over)
        {
            let _ended = waitpid(Some(process.pid), WaitOptions::NOHANG);
        }
    }
}

impl Process {
    /// Returns true if the process is in the process group or session that `leader` leads.
    fn is_of(&self, leader: Pid) -> bool {
        self.group == Some(leader) || self.session == Some(leader)
    }
}

/// Sends a signal to each process. Returns the number of processes, including processes that could not be signalled.
fn send(signal: Signal, processes: &[Pid]) -> usize {
    for pid in processes {
        // An error means that the process has just ended, or belongs to another user.
        let _ended = kill_process(*pid, signal);
    }
    processes.len()
}

/// Returns true if the environment with which the program of a process started contains `variable`.
fn has_mark(pid: Pid, variable: &str) -> bool {
    let read = || -> io::Result<Vec<u8>> {
        let file = File::open(format!("/proc/{}/environ", pid.as_raw_nonzero()))?;
        let mut bytes = Vec::new();
        file.take(ENVIRONMENT).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    // An error means that the process has just ended, or belongs to another user.
    let environment = read().unwrap_or_default();
    let mut variables = environment.split(|byte| *byte == 0);
    variables.any(|found| found == variable.as_bytes())
}

/// Kills every process below this one, including processes that start meanwhile, for at most `patience`.
pub fn kill(patience: Duration) {
    let start = Instant::now();
    while Processes::All.signal(Signal::KILL) > 0 && start.elapsed() < patience {
        thread::sleep(Duration::from_millis(1));
    }
}

/// Returns the running processes below `root`, parents before their children.
fn below(processes: &[Process], root: Pid) -> Vec<Pid> {
    let mut found = vec![root];
    let mut next = 0;
    while let Some(parent) = found.get(next).copied() {
        next += 1;
        let children = processes.iter().filter(|process| process.parent == Some(parent));
        // Process ids are reused while they are listed. Without this check a cycle would never end.
        let new: Vec<Pid> = children
            .map(|process| process.pid)
            .filter(|pid| !found.contains(pid))
            .collect();
        found.extend(new);
    }
    let is_running = |pid: &Pid| {
        processes
            .iter()
            .any(|process| process.pid == *pid && !process.is_over)
    };
    found.into_iter().skip(1).filter(is_running).collect()
}

/// Returns all processes; empty if the system does not list them.
fn processes() -> Vec<Process> {
    let listed = fs::read_dir("/proc").into_iter().flatten().flatten();
    let numbers = listed.filter_map(|entry| entry.file_name().to_str()?.parse().ok().and_then(Pid::from_raw));
    numbers.filter_map(process).collect()
}

fn process(pid: Pid) -> Option<Process> {
    let file = File::open(format!("/proc/{}/stat", pid.as_raw_nonzero())).ok()?;
    let mut bytes = Vec::new();
    file.take(LONGEST).read_to_end(&mut bytes).ok()?;
    described(pid, &bytes)
}

/// Parses the file `stat` of a process: number, name in parentheses, state, parent, process group, session. The name
/// may contain any bytes.
fn described(pid: Pid, stat: &[u8]) -> Option<Process> {
    let name_end = stat.iter().rposition(|byte| *byte == b')')?;
    let mut words = str::from_utf8(stat.get(name_end + 1..)?)
        .ok()?
        .split_ascii_whitespace();
    let state = words.next()?;
    // A process that is being removed has neither a group nor a session: the system reports -1.
    let mut number = || {
        let raw: i32 = words.next()?.parse().ok()?;
        Some(Pid::from_raw(raw.max(0)))
    };
    Some(Process {
        pid,
        parent: number()?,
        group: number()?,
        session: number()?,
        is_over: matches!(state, "Z" | "X"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pid(number: i32) -> Pid {
        Pid::from_raw(number).unwrap()
    }

    #[test]
    fn the_processes_below_one_are_found_over_all_generations() {
        let process = |number, parent, is_over| Process {
            pid: pid(number),
            parent: Pid::from_raw(parent),
            group: None,
            session: None,
            is_over,
        };
        let processes = [
            process(1, 0, false),
            process(9, 7, false),
            process(5, 1, false),
            process(6, 5, true),
            process(7, 6, false),
            process(8, 5, false),
            // Listed twice while they ended, so that each is below the other.
            process(10, 11, false),
            process(11, 10, false),
        ];
        assert_eq!(below(&processes, pid(5)), [pid(8), pid(7), pid(9)]);
        assert_eq!(below(&processes, pid(9)), []);
        assert_eq!(below(&processes, pid(10)), [pid(11)]);
    }

    #[test]
    fn a_name_may_look_like_the_rest() {
        let parsed = described(pid(42), b"42 (a) Z 1 (b\n\xff) S 7 42 41 0 -1").unwrap();
        assert_eq!(
            parsed,
            Process {
                pid: pid(42),
                parent: Pid::from_raw(7),
                group: Pid::from_raw(42),
                session: Pid::from_raw(41),
                is_over: false
            }
        );
        assert!(described(pid(42), b"42 (a) Z 7 42 41").unwrap().is_over);
        assert_eq!(described(pid(42), b"42 (a) Z"), None);
        assert_eq!(described(pid(42), b"42 (a) Z 7"), None);
        let removed = described(pid(42), b"42 (a) X 0 -1 -1").unwrap();
        assert_eq!((removed.group, removed.session), (None, None));
        assert_eq!(described(pid(42), b""), None);
    }
}
