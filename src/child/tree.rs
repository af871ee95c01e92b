//! The processes below this one.
//!
//! Law: a process whose parent has ended stays below this one after [`adopt`], in whatever process group or session it is.

use std::{
    fs::{self, File},
    io::{self, Read as _},
    str, thread,
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, WaitOptions, getpid, kill_process, set_child_subreaper, waitpid};

/// Maximum bytes read of a file that describes a process.
const LONGEST: u64 = 4096;

/// A running process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Process {
    pid: Pid,
    parent: Option<Pid>,
    /// True if it has ended and its parent has not looked at its exit code.
    is_over: bool,
}

/// Makes this process the parent of all processes below it whose own parent ends.
pub(crate) fn adopt() -> io::Result<()> {
    Ok(set_child_subreaper(Some(getpid()))?)
}

/// Sends a signal to every process below this one. Returns the number of processes.
pub(crate) fn signal(signal: Signal) -> usize {
    let below = below(&processes(), getpid());
    for pid in &below {
        // An error means that it has just ended, or belongs to another user.
        let _ended = kill_process(*pid, signal);
    }
    below.len()
}

/// Kills every process below this one, also those that start meanwhile, as long as it takes no more than `patience`.
pub(crate) fn kill(patience: Duration) {
    let start = Instant::now();
    while signal(Signal::KILL) > 0 && start.elapsed() < patience {
        thread::sleep(Duration::from_millis(1));
    }
}

/// Returns the number of processes below this one that run.
pub(crate) fn count() -> usize {
    below(&processes(), getpid()).len()
}

/// Forgets adopted processes that have ended; `child` is waited for elsewhere.
pub(crate) fn reap(child: Pid) {
    let adopted = |process: &&Process| process.parent == Some(getpid()) && process.pid != child;
    for process in processes()
        .iter()
        .filter(adopted)
        .filter(|process| process.is_over)
    {
        let _ended = waitpid(Some(process.pid), WaitOptions::NOHANG);
    }
}

/// Returns the running processes below `root`, parents before their children.
fn below(processes: &[Process], root: Pid) -> Vec<Pid> {
    let mut found = vec![root];
    let mut next = 0;
    while let Some(parent) = found.get(next).copied() {
        next += 1;
        let children = processes.iter().filter(|process| process.parent == Some(parent));
        // Process ids are reused while they are listed: a cycle would never end.
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

/// Returns all processes; none where the system does not list them.
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

/// Parses the file `stat` of a process: number, name in parentheses, state, parent. The name may hold any bytes.
fn described(pid: Pid, stat: &[u8]) -> Option<Process> {
    let name_end = stat.iter().rposition(|byte| *byte == b')')?;
    let mut words = str::from_utf8(stat.get(name_end + 1..)?)
        .ok()?
        .split_ascii_whitespace();
    let state = words.next()?;
    Some(Process {
        pid,
        parent: Pid::from_raw(words.next()?.parse().ok()?),
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
            is_over,
        };
        let processes = [
            process(1, 0, false),
            process(9, 7, false),
            process(5, 1, false),
            process(6, 5, true),
            process(7, 6, false),
            process(8, 5, false),
            // Listed twice around its end, below itself.
            process(10, 11, false),
            process(11, 10, false),
        ];
        assert_eq!(below(&processes, pid(5)), [pid(8), pid(7), pid(9)]);
        assert_eq!(below(&processes, pid(9)), []);
        assert_eq!(below(&processes, pid(10)), [pid(11)]);
    }

    #[test]
    fn a_name_may_look_like_the_rest() {
        let parsed = described(pid(42), b"42 (a) Z 1 (b\n\xff) S 7 42 42 0 -1").unwrap();
        assert_eq!(
            parsed,
            Process {
                pid: pid(42),
                parent: Pid::from_raw(7),
                is_over: false
            }
        );
        assert!(described(pid(42), b"42 (a) Z 7").unwrap().is_over);
        assert_eq!(described(pid(42), b"42 (a) Z"), None);
        assert_eq!(described(pid(42), b""), None);
    }
}
