//! A command that is run, such as the client of a run, with all processes that it starts.
//!
//! Law: however a run ends, all processes that its command started end with it, and no process of another command.

pub mod tree;

use std::{
    ffi::{OsStr, OsString},
    fmt,
    fs::File,
    io,
    net::SocketAddr,
    os::unix::{
        ffi::{OsStrExt as _, OsStringExt as _},
        process::{CommandExt as _, ExitStatusExt as _},
    },
    process::{Child, Command, ExitStatus, Stdio},
    thread,
    time::{Duration, Instant},
};

use rustix::{
    process::{Pid, Signal, getpgrp, kill_process_group},
    termios::tcgetpgrp,
};
use teetap_wire::printable_path;

use self::tree::Processes;

/// Time to end after INT, and again after TERM, if a signal ended the run.
const HASTE: Duration = Duration::from_millis(200);

/// Time to end after TERM if something else ended the run.
const GRACE: Duration = Duration::from_millis(500);

/// Time in which the system ends processes after KILL.
const AT_ONCE: Duration = Duration::from_secs(1);

/// Time between two checks of processes that are about to end.
const STEP: Duration = Duration::from_millis(5);

/// Exit code of a process that was ended by KILL.
const KILLED: i32 = 137;

/// Reason why a command was not started.
#[derive(Debug, thiserror::Error)]
pub enum ChildError {
    /// No word names a program.
    #[error("no command after --")]
    NoCommand,
    /// The system cannot start the program.
    #[error("cannot start {program}: {error}")]
    Start {
        /// Path of the program, printable.
        program: String,
        /// Error of the system.
        error: io::Error,
    },
}

/// Process group of a command, and whether other commands run beside it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProcessGroup {
    /// In the process group of this program, so that the command can read the terminal and receives its signals. No
    /// other command runs.
    SharesTerminal,
    /// In its own process group. No other command runs.
    Alone,
    /// In its own process group, beside other commands.
    WithOthers,
}

/// A running command with all processes that it started. They end when this value is dropped.
#[derive(Debug)]
pub struct Running {
    child: Child,
    company: ProcessGroup,
    family: Processes,
    is_over: bool,
}

/// How a command ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct End {
    /// Exit code; 128+n if signal n ended the command.
    pub code: i32,
    /// True if the command was stopped because the run ended.
    pub is_stopped: bool,
    /// True if only KILL ended the command or a process that it started.
    pub is_killed: bool,
    /// Number of processes that the command started and that outlived it. They were ended.
    pub left: usize,
}

impl End {
    /// Returns true if the command ended with exit code 0.
    #[must_use]
    pub(crate) const fn is_success(self) -> bool {
        self.code == 0
    }

    /// Returns the end with exit code `code`.
    #[must_use]
    pub(crate) fn with(code: i32) -> Self {
        Self {
            code,
            ..Self::default()
        }
    }

    /// Returns the sentence about processes that outlived the command; `None` if there were none.
    #[must_use]
    pub fn left_text(self) -> Option<String> {
        let processes = match self.left {
            0 => return None,
            1 => "1 process".to_owned(),
            left => format!("{left} processes"),
        };
        Some(format!("ended {processes} that the command had left running"))
    }

    fn from_status(status: ExitStatus) -> Self {
        let by_signal = || 128 + status.signal().unwrap_or_default();
        Self::with(status.code().unwrap_or_else(by_signal))
    }
}

impl fmt::Display for End {
    /// Formats the exit code, with the name of its signal if there is one: "exit code 139 (SIGSEGV)".
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "exit code {}", self.code)?;
        let signal = self.code.checked_sub(128).and_then(Signal::from_named_raw);
        match signal.and_then(name_of) {
            Some(name) => write!(f, " ({name})"),
            None => Ok(()),
        }
    }
}

/// Returns the name of a signal that ends programs; `None` for other signals.
fn name_of(signal: Signal) -> Option<&'static str> {
    let names = [
        (Signal::HUP, "SIGHUP"),
        (Signal::INT, "SIGINT"),
        (Signal::QUIT, "SIGQUIT"),
        (Signal::ILL, "SIGILL"),
        (Signal::TRAP, "SIGTRAP"),
        (Signal::ABORT, "SIGABRT"),
        (Signal::BUS, "SIGBUS"),
        (Signal::FPE, "SIGFPE"),
        (Signal::KILL, "SIGKILL"),
        (Signal::SEGV, "SIGSEGV"),
        (Signal::PIPE, "SIGPIPE"),
        (Signal::ALARM, "SIGALRM"),
        (Signal::TERM, "SIGTERM"),
        (Signal::XCPU, "SIGXCPU"),
        (Signal::XFSZ, "SIGXFSZ"),
        (Signal::SYS, "SIGSYS"),
    ];
    let name = names.iter().find(|(known, _)| *known == signal);
    name.map(|(_, name)| *name)
}

/// Returns the command in `words`, with `{addr}`, `{host}` and `{port}` replaced by the address to connect to.
///
/// # Errors
/// Returns [`ChildError::NoCommand`] if `words` is empty.
pub fn command(words: &[OsString], connect: SocketAddr) -> Result<Command, ChildError> {
    let words: Vec<OsString> = words.iter().map(|word| fill_in(word, connect)).collect();
    let (program, arguments) = words.split_first().ok_or(ChildError::NoCommand)?;
    let mut command = Command::new(program);
    command.args(arguments);
    Ok(command)
}

/// Returns true if a word contains a placeholder for the address to connect to.
#[must_use]
pub fn has_place(word: &OsStr) -> bool {
    let word = word.to_string_lossy();
    ["{addr}", "{host}", "{port}"]
        .iter()
        .any(|place| word.contains(place))
}

/// Starts the client of a run. The client's stdout is redirected to stderr, since the stdout of this program contains
/// only lines about the traffic.
///
/// # Errors
/// `words` is empty, or the system cannot start the command.
pub fn start(words: &[OsString], connect: SocketAddr) -> Result<Running, ChildError> {
    let mut command = command(words, connect)?;
    command.stdout(Stdio::from(io::stderr()));
    let company = if is_in_foreground() {
        ProcessGroup::SharesTerminal
    } else {
        ProcessGroup::Alone
    };
    spawn(command, company)
}

/// Starts a command.
///
/// # Errors
/// The system cannot start the command.
pub fn spawn(mut command: Command, company: ProcessGroup) -> Result<Running, ChildError> {
    if company != ProcessGroup::SharesTerminal {
        command.process_group(0);
    }
    let mark = (company == ProcessGroup::WithOthers).then(|| tree::mark(&mut command));
    let child = tree::adopt().and_then(|()| command.spawn());
    child
        .map(|child| Running {
            family: mark.map_or(Processes::All, |mark| {
                Processes::descendants(Pid::from_child(&child), mark)
            }),
            child,
            company,
            is_over: false,
        })
        .map_err(|error| ChildError::Start {
            program: printable_path(command.get_program()),
            error,
        })
}

/// Returns true if this program is in the foreground of a terminal.
fn is_in_foreground() -> bool {
    File::open("/dev/tty").is_ok_and(|tty| tcgetpgrp(&tty).is_ok_and(|group| group == getpgrp()))
}

impl Running {
    /// Returns how the command ended; `None` while it runs.
    ///
    /// # Errors
    /// The system does not report the state of the command.
    pub fn ended(&mut self) -> io::Result<Option<End>> {
        Ok(self.child.try_wait()?.map(End::from_status))
    }

    /// Reaps processes that the command started and that have ended after their parents.
    pub fn reap(&self) {
        self.family.reap(Pid::from_child(&self.child));
    }

    const fn is_apart(&self) -> bool {
        !matches!(self.company, ProcessGroup::SharesTerminal)
    }

    /// Ends the command with all processes that it started: sends TERM, waits, sends KILL. `by_signal` is the signal
    /// that ended the run.
    ///
    /// # Errors
    /// The system does not report how the command ended.
    pub fn stop(&mut self, by_signal: Option<Signal>) -> io::Result<End> {
        let own = self.ended()?;
        let left = own.map_or(0, |_| self.left());
        let is_killed = if own.is_some() && left == 0 {
            false
        } else {
            self.force(by_signal)?
        };
        self.is_over = true;
        let end = match own {
            Some(end) => end,
            None => End {
                is_stopped: true,
                ..self.ended()?.unwrap_or(End {
                    code: KILLED,
                    ..End::default()
                })
            },
        };
        Ok(End {
            is_killed,
            left,
            ..end
        })
    }

    /// Ends all processes. Returns true if KILL was needed.
    fn force(&mut self, by_signal: Option<Signal>) -> io::Result<bool> {
        let grace = by_signal.map_or(GRACE, |_| HASTE);
        if by_signal == Some(Signal::INT) {
            // A terminal has sent the signal to its foreground group.
            if self.is_apart() {
                self.signal(Signal::INT);
            }
            if self.wait(grace)? {
                return Ok(false);
            }
        }
        self.signal(Signal::TERM);
        // A stopped process handles TERM only once it continues.
        self.signal(Signal::CONT);
        if self.wait(grace)? {
            return Ok(false);
        }
        self.kill()?;
        Ok(true)
    }

    /// Sends a signal to all processes of the command.
    fn signal(&mut self, signal: Signal) {
        let is_listed = self.family.signal(signal) > 0;
        // Needed if the system lists no processes. Once the command has been reaped, its group number may belong to
        // another group.
        if !is_listed && self.is_apart() && matches!(self.child.try_wait(), Ok(None)) {
            let _ended = kill_process_group(Pid::from_child(&self.child), signal);
        }
    }

    /// Kills all processes of the command, including processes that start meanwhile.
    fn kill(&mut self) -> io::Result<()> {
        let start = Instant::now();
        while start.elapsed() < AT_ONCE {
            self.signal(Signal::KILL);
            if self.wait(STEP)? {
                break;
            }
        }
        Ok(())
    }

    /// Counts the running processes of the command. A process has no readable environment for a moment before it runs its
    /// program, and its parent may have ended already. So only a second count of 0 means that no process runs.
    fn left(&self) -> usize {
        match self.family.count() {
            0 => {
                thread::sleep(STEP);
                self.family.count()
            }
            count => count,
        }
    }

    /// Waits until no process of the command runs. Returns false if some still run after `patience`.
    fn wait(&mut self, patience: Duration) -> io::Result<bool> {
        let start = Instant::now();
        loop {
            let is_over = self.ended()?.is_some() && self.left() == 0;
            if is_over || start.elapsed() >= patience {
                return Ok(is_over);
            }
            thread::sleep(STEP);
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if !self.is_over {
            // Another error has ended the run, and is reported.
            let _stopped = self.stop(None);
        }
    }
}

/// Replaces the three placeholders; other braces stay.
fn fill_in(word: &OsStr, connect: SocketAddr) -> OsString {
    let words: [(&[u8], String); 3] = [
        (b"{addr}", connect.to_string()),
        (b"{host}", connect.ip().to_string()),
        (b"{port}", connect.port().to_string()),
    ];
    let mut rest = word.as_bytes();
    let mut filled = Vec::with_capacity(rest.len());
    while let Some((first, after)) = rest.split_first() {
        match words.iter().find(|(name, _)| rest.starts_with(name)) {
            Some((name, value)) => {
                filled.extend_from_slice(value.as_bytes());
                rest = rest.get(name.len()..).unwrap_or_default();
            }
            None => {
                filled.push(*first);
                rest = after;
            }
        }
    }
    OsString::from_vec(filled)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_is_filled_in() {
        let addr = "[::1]:8304".parse().unwrap();
        for (word, filled) in [
            ("connect {addr}", "connect [::1]:8304"),
            ("{host}:{port}{port}", "::1:83048304"),
            ("{}{x}{addr", "{}{x}{addr"),
        ] {
            assert_eq!(fill_in(OsStr::new(word), addr), OsString::from(filled));
        }
    }

    #[test]
    fn the_code_of_the_command_is_kept() {
        for (status, code, is_success) in [
            (0, 0, true),
            (7 << 8, 7, false),
            (9, KILLED, false),
            (11 | 0x80, 139, false),
        ] {
            let end = End::from_status(ExitStatus::from_raw(status));
            assert_eq!(
                end,
                End {
                    code,
                    ..End::default()
                }
            );
            assert_eq!(end.is_success(), is_success);
        }
    }

    /// Commands that run beside each other end only their own processes, even processes that left their process group.
    #[test]
    fn two_commands_end_apart() {
        let start = || {
            let mut command = Command::new("sh");
            command.args(["-c", "(setsid sleep 1000 &); exec sleep 1000"]);
            spawn(command, ProcessGroup::WithOthers).unwrap()
        };
        let (mut one, mut other) = (start(), start());
        let begun = Instant::now();
        while (one.family.count(), other.family.count()) != (2, 2) {
            assert!(
                begun.elapsed() < Duration::from_secs(20),
                "the processes did not start"
            );
            thread::sleep(STEP);
        }
        let end = one.stop(None).unwrap();
        assert_eq!((end.code, end.is_stopped), (143, true));
        assert_eq!((one.family.count(), other.family.count()), (0, 2));
        assert_eq!(other.ended().unwrap(), None, "the other command still runs");
        other.stop(None).unwrap();
        assert_eq!(other.family.count(), 0);
    }
}
