//! A real program in its own folder: started, read, stopped.
//!
//! Law: no program outlives the test. It runs in its own process group, the whole group is killed when the handle is
//! dropped (also by a panic), and `setpriv --pdeathsig` (util-linux) makes the kernel kill it if the test process
//! itself is killed. This module knows nothing of the game.

use std::ffi::OsStr;
use std::io::Write as _;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};
use std::{io, thread};

use anyhow::{Context as _, Result, anyhow, bail, ensure};
use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use tempfile::TempDir;

use super::PATIENCE;
use super::log::Log;
use crate::limit;

/// Maximum time until a program ends after a signal.
const ENDING: Duration = Duration::from_secs(10);
/// Time between two checks for the end of a program.
const STEP: Duration = Duration::from_millis(5);

/// A running program with its log.
#[derive(Debug)]
pub struct Program {
    name: String,
    child: Child,
    stdin: Option<ChildStdin>,
    log: Log,
    errors: Log,
}

/// The program to run.
#[derive(Debug)]
pub struct Launch {
    name: String,
    command: Command,
    split: bool,
    keeps: fn(&str) -> bool,
}

impl Launch {
    /// Prepares `program` with `home` as its home and working directory; errors show `name`.
    pub fn new(name: &str, program: impl AsRef<OsStr>, home: &Path) -> Self {
        let mut command = Command::new("setpriv");
        command
            .args(["--pdeathsig", "KILL", "--"])
            .arg(program)
            .current_dir(home)
            .env("HOME", home);
        for outside in [
            "XDG_DATA_HOME",
            "XDG_CONFIG_HOME",
            "DISPLAY",
            "WAYLAND_DISPLAY",
            "SDL_VIDEODRIVER",
        ] {
            command.env_remove(outside);
        }
        command
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        Self {
            name: name.to_owned(),
            command,
            split: false,
            keeps: |_| true,
        }
    }

    /// Adds an argument.
    pub fn arg(mut self, arg: impl AsRef<OsStr>) -> Self {
        self.command.arg(arg);
        self
    }

    /// Sets a variable of the program's environment.
    pub fn env(mut self, key: &str, value: impl AsRef<OsStr>) -> Self {
        self.command.env(key, value);
        self
    }

    /// Writes standard error to [`Program::errors`] instead of the main log.
    pub(crate) fn split_errors(mut self) -> Self {
        self.split = true;
        self
    }

    /// Keeps only those lines of standard output in the log that `keeps` accepts.
    pub fn keep(mut self, keeps: fn(&str) -> bool) -> Self {
        self.keeps = keeps;
        self
    }

    /// Starts the program. If it is missing, it appears as a program that ends with a line about that.
    pub fn start(self) -> Result<Program> {
        let Self {
            name,
            command,
            split,
            keeps,
        } = self;
        let mut child = spawn(command).with_context(|| format!("cannot start {name} with setpriv"))?;
        let log = Log::new(&name);
        let errors = if split {
            Log::new(&format!("{name} (stderr)"))
        } else {
            log.clone()
        };
        if let Some(pipe) = child.stdout.take() {
            log.follow_some(pipe, keeps);
        }
        if let Some(pipe) = child.stderr.take() {
            errors.follow(pipe);
        }
        let stdin = child.stdin.take();
        Ok(Program {
            name,
            child,
            stdin,
            log,
            errors,
        })
    }
}

impl Program {
    /// Returns the output of the program: standard output, and standard error unless they were split.
    pub fn log(&self) -> &Log {
        &self.log
    }

    /// Returns the process id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Returns the resident memory in KiB, without the pages of files such as the program.
    pub fn resident(&self) -> Result<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id()))
            .with_context(|| format!("{} is gone", self.name))?;
        let field = status.lines().find_map(|line| line.strip_prefix("RssAnon:"));
        let field = field.with_context(|| format!("{} has no memory any more", self.name))?;
        let number = field.trim().trim_end_matches(" kB");
        number.parse().with_context(|| format!("RssAnon: {field}"))
    }

    /// Returns standard error alone if it was split, else the same as [`Program::log`].
    pub fn errors(&self) -> &Log {
        &self.errors
    }

    /// Writes a line to the program's standard input.
    pub fn feed(&mut self, line: &str) -> Result<()> {
        let stdin = self
            .stdin
            .as_mut()
            .ok_or_else(|| anyhow!("{} has no input", self.name))?;
        writeln!(stdin, "{line}")
            .and_then(|()| stdin.flush())
            .with_context(|| format!("{} is gone", self.name))
    }

    /// Sends the program a signal.
    pub fn signal(&self, signal: Signal) -> Result<()> {
        kill_process(self.pid()?, signal).with_context(|| format!("signal to {}", self.name))
    }

    /// Waits until the program ends by itself. Fails after `patience`, and the program keeps running.
    pub fn wait_end(&mut self, patience: Duration) -> Result<ExitStatus> {
        let deadline = Instant::now() + patience;
        loop {
            if let Some(status) = self
                .child
                .try_wait()
                .with_context(|| format!("wait for {}", self.name))?
            {
                return Ok(status);
            }
            if Instant::now() >= deadline {
                bail!(
                    "{} still runs after {patience:?}; its log ends with\n{}",
                    self.name,
                    self.log.tail()
                );
            }
            thread::sleep(STEP);
        }
    }

    /// Waits until the program ends by itself, and requires that it succeeded.
    pub(super) fn ends_well(&mut self) -> Result<()> {
        let status = self.wait_end(PATIENCE)?;
        ensure!(
            status.success(),
            "{} ended with {status}:\n{}",
            self.name,
            self.log.tail()
        );
        Ok(())
    }

    /// Asks the program to end with SIGTERM and waits for its end.
    pub fn stop(&mut self) -> Result<ExitStatus> {
        if let Some(status) = self.child.try_wait()? {
            bail!(
                "{} was gone before its stop ({status}); its log ends with\n{}",
                self.name,
                self.log.tail()
            );
        }
        self.signal(Signal::TERM)?;
        self.wait_end(ENDING)
    }

    /// Kills the program and waits for its end.
    pub fn kill(&mut self) -> Result<()> {
        if let Some(status) = self.child.try_wait()? {
            bail!("{} was gone before its end ({status})", self.name);
        }
        kill_process_group(self.pid()?, Signal::KILL)?;
        self.wait_end(ENDING).map(drop)
    }

    fn pid(&self) -> Result<Pid> {
        let raw = i32::try_from(self.child.id()).ok();
        raw.and_then(Pid::from_raw)
            .ok_or_else(|| anyhow!("{} has no process id", self.name))
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        if let Ok(Some(_)) = self.child.try_wait() {
            return;
        }
        // The group has the number of its leader, which is not reaped yet, so the number is still ours.
        let killed = self
            .pid()
            .and_then(|pid| Ok(kill_process_group(pid, Signal::KILL)?));
        if killed.is_ok() {
            // An error loses only the status: the process is reaped in any case.
            drop(self.child.wait());
        }
    }
}

/// Creates a folder for one peer, which is removed with the handle.
pub fn home(name: &str) -> Result<TempDir> {
    limit::begin();
    tempfile::Builder::new()
        .prefix(&format!("teetap-{name}-"))
        .tempdir()
        .context("a temporary folder")
}

type Order = (Command, Sender<io::Result<Child>>);

/// Spawns children from a thread that lives as long as the process: the parent-death signal is tied to the *thread*
/// that forked (prctl(2)), and a peer may outlive the helper thread of a test that started it.
fn spawn(command: Command) -> io::Result<Child> {
    static ORDERS: OnceLock<Mutex<Sender<Order>>> = OnceLock::new();
    let orders = ORDERS.get_or_init(|| {
        let (sender, orders) = channel::<Order>();
        thread::spawn(move || {
            for (mut command, answer) in orders {
                // The caller may have given up; the child is then dropped, and ends with the process.
                drop(answer.send(command.spawn()));
            }
        });
        Mutex::new(sender)
    });
    let (answer, child) = channel();
    let sent = orders
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .send((command, answer));
    sent.map_err(io::Error::other)?;
    child.recv().map_err(io::Error::other)?
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(20);

    #[test]
    fn a_dropped_program_ends_with_its_children() {
        let home = home("process").unwrap();
        let script = "sleep 600 & echo child $!; wait";
        let program = Launch::new("sh", "sh", home.path())
            .arg("-c")
            .arg(script)
            .start()
            .unwrap();
        let line = program.log().wait_for("child", LONG).unwrap().text;
        let pid: i32 = line.rsplit(' ').next().unwrap().parse().unwrap();
        drop(program);
        let deadline = Instant::now() + LONG;
        let alive =
            || std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z "));
        while alive() {
            assert!(Instant::now() < deadline, "the child {pid} lives on");
            thread::sleep(STEP);
        }
    }

    #[test]
    fn stop_reports_a_program_that_had_ended() {
        let home = home("process").unwrap();
        let mut program = Launch::new("true", "true", home.path()).start().unwrap();
        assert!(program.wait_end(LONG).unwrap().success());
        assert!(program.stop().is_err());
    }

    #[test]
    fn input_reaches_the_program() {
        let home = home("process").unwrap();
        let mut program = Launch::new("cat", "cat", home.path()).start().unwrap();
        program.feed("hello").unwrap();
        program.log().wait_for("^hello$", LONG).unwrap();
        assert_eq!(
            std::os::unix::process::ExitStatusExt::signal(&program.stop().unwrap()),
            Some(15)
        );
    }
}
