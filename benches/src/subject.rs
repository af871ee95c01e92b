//! The subject of a measurement: a process between the clients and the server.
//!
//! Law: a process is always ended and reaped. If it does not start to listen, its output is shown.

use std::fs::{self, File};
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use clap::ValueEnum;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tempfile::NamedTempFile;

use crate::cores::Cores;
use crate::proc;

/// Time limit for a start or an end.
const PATIENCE: Duration = Duration::from_secs(10);

/// The kind of subject.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Which {
    /// The minimal forwarder.
    Minimal,
    /// The batching forwarder.
    Batching,
    /// The naive tokio forwarder.
    Naive,
    /// The built binary.
    Teetap,
}

impl Which {
    /// All kinds of subjects.
    pub(crate) const ALL: [Self; 4] = [Self::Minimal, Self::Batching, Self::Naive, Self::Teetap];
}

/// A running process.
#[derive(Debug)]
pub(crate) struct Subject {
    child: Child,
    stderr: NamedTempFile,
    /// Address on which the process listens.
    pub(crate) addr: SocketAddr,
}

impl Subject {
    /// Starts a subject in front of `target`. `teetap` is the path of the binary.
    pub(crate) fn start(which: Which, teetap: &Path, target: SocketAddr, cores: &Cores) -> Result<Self> {
        match which {
            Which::Teetap => Self::start_watched(teetap, &["-q"], target, cores),
            Which::Minimal => Self::start_forwarder("minimal", target, cores),
            Which::Batching => Self::start_forwarder("batching", target, cores),
            Which::Naive => Self::start_forwarder("naive", target, cores),
        }
    }

    /// Starts the binary with these options. Its stdout is discarded.
    pub(crate) fn start_watched(
        teetap: &Path,
        options: &[&str],
        target: SocketAddr,
        cores: &Cores,
    ) -> Result<Self> {
        Self::spawn(cores, None, |command, listen| {
            command
                .arg(teetap)
                .args(["run", &target.to_string(), "--listen", listen])
                .args(options);
            Ok(())
        })
    }

    /// Starts the binary with its terminal UI in a terminal.
    pub(crate) fn start_on_screen(
        teetap: &Path,
        terminal: File,
        target: SocketAddr,
        cores: &Cores,
    ) -> Result<Self> {
        Self::spawn(cores, Some(terminal), |command, listen| {
            command
                .arg(teetap)
                .args(["--tui", &target.to_string(), "--listen", listen])
                .env("TERM", "xterm-256color")
                .env_remove("NO_COLOR");
            Ok(())
        })
    }

    fn start_forwarder(kind: &str, target: SocketAddr, cores: &Cores) -> Result<Self> {
        Self::spawn(cores, None, |command, listen| {
            let own = std::env::current_exe()?;
            command
                .arg(own)
                .args(["forward", kind, listen, &target.to_string()]);
            Ok(())
        })
    }

    /// Starts a process. Without a terminal, it has no input, and its stdout is discarded.
    fn spawn(
        cores: &Cores,
        terminal: Option<File>,
        arguments: impl FnOnce(&mut Command, &str) -> Result<()>,
    ) -> Result<Self> {
        let addr = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?;
        // The usual limit of open files in a user's shell, independent of the needs of the load generator.
        let mut command = Command::new("sh");
        command.args(["-c", "ulimit -S -n 1024 && exec \"$@\"", "sh"]);
        arguments(&mut command, &addr.to_string())?;
        let stderr = NamedTempFile::new()?;
        let (stdin, stdout) = match terminal {
            Some(terminal) => (Stdio::from(terminal.try_clone()?), Stdio::from(terminal)),
            None => (Stdio::null(), Stdio::null()),
        };
        command.stdin(stdin).stdout(stdout).stderr(stderr.reopen()?);
        let child = cores.start(|| command.spawn()).context("cannot start a shell")?;
        let mut subject = Self { child, stderr, addr };
        subject.wait_until_it_listens()?;
        Ok(subject)
    }

    /// Returns the process id.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Returns the nanoseconds that the process has run.
    pub(crate) fn cpu_time(&self) -> Result<u64> {
        proc::cpu_time(self.pid())
    }

    /// Returns the nanoseconds that the process has run outside the kernel.
    pub(crate) fn user_time(&self) -> Result<u64> {
        proc::user_time(self.pid())
    }

    /// Returns the memory of the process in bytes: the current and the highest value.
    pub(crate) fn memory(&self) -> Result<(u64, u64)> {
        proc::memory(self.pid())
    }

    fn wait_until_it_listens(&mut self) -> Result<()> {
        let begun = Instant::now();
        // The kernel's table is read, because an attempt to bind the address here could make the process fail to bind
        // it.
        while proc::sockets_at(self.addr)? == 0 {
            if let Some(status) = self.child.try_wait()? {
                bail!("it ended with {status}: {}", self.words());
            }
            ensure!(begun.elapsed() < PATIENCE, "it does not listen: {}", self.words());
            std::thread::sleep(Duration::from_millis(2));
        }
        Ok(())
    }

    fn words(&self) -> String {
        fs::read_to_string(self.stderr.path()).unwrap_or_default()
    }
}

impl Drop for Subject {
    fn drop(&mut self) {
        if let Ok(pid) = i32::try_from(self.child.id()) {
            // The process may have ended by itself.
            let _gone = kill(Pid::from_raw(pid), Signal::SIGTERM);
        }
        let begun = Instant::now();
        while begun.elapsed() < PATIENCE {
            match self.child.try_wait() {
                Ok(None) => std::thread::sleep(Duration::from_millis(2)),
                Ok(Some(_)) | Err(_) => return,
            }
        }
        let _gone = self.child.kill();
        let _reaped = self.child.wait();
    }
}
