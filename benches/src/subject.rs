//! The subject of a measurement: a process between clients and server.
//!
//! Law: a process is ended and reaped whatever happens, and its output is shown when it failed.

use std::fs;
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

/// How long a start or an end may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// Which of the three.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Which {
    /// The minimal forwarder.
    Minimal,
    /// The naive tokio forwarder.
    Naive,
    /// The built binary.
    Teetap,
}

impl Which {
    /// All of them.
    pub(crate) const ALL: [Self; 3] = [Self::Minimal, Self::Naive, Self::Teetap];
}

/// A running process.
#[derive(Debug)]
pub(crate) struct Subject {
    child: Child,
    said: NamedTempFile,
    /// Where it listens.
    pub(crate) addr: SocketAddr,
}

impl Subject {
    /// Starts one in front of `target`. `teetap` is the binary.
    ///
    /// # Errors
    /// When it does not listen after ten seconds.
    pub(crate) fn start(which: Which, teetap: &Path, target: SocketAddr, cores: &Cores) -> Result<Self> {
        let addr = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?;
        let (listen, server) = (addr.to_string(), target.to_string());
        // The limit of open files that a user's shell mostly has, whatever the load generator needs for itself.
        let mut command = Command::new("sh");
        command.args(["-c", "ulimit -S -n 1024 && exec \"$@\"", "sh"]);
        match which {
            Which::Teetap => command
                .arg(teetap)
                .args(["run", &server, "--listen", &listen, "-q"]),
            Which::Minimal => forwarder(&mut command, "minimal", &listen, &server)?,
            Which::Naive => forwarder(&mut command, "naive", &listen, &server)?,
        };
        let said = NamedTempFile::new()?;
        command
            .stdin(Stdio::null())
            .stdout(said.reopen()?)
            .stderr(said.reopen()?);
        let child = cores.start(|| command.spawn()).context("cannot start a shell")?;
        let mut subject = Self { child, said, addr };
        subject.wait_until_it_listens()?;
        Ok(subject)
    }

    /// The process id.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Nanoseconds that it has run.
    ///
    /// # Errors
    /// The process has ended.
    pub(crate) fn cpu_time(&self) -> Result<u64> {
        proc::cpu_time(self.pid())
    }

    /// Returns its memory in bytes: now, and at its highest.
    ///
    /// # Errors
    /// The process has ended.
    pub(crate) fn memory(&self) -> Result<(u64, u64)> {
        proc::memory(self.pid())
    }

    fn wait_until_it_listens(&mut self) -> Result<()> {
        let begun = Instant::now();
        // From the kernel: trying to bind the address here would now and then take it away.
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
        fs::read_to_string(self.said.path()).unwrap_or_default()
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

fn forwarder<'a>(
    command: &'a mut Command,
    kind: &str,
    listen: &str,
    server: &str,
) -> Result<&'a mut Command> {
    let own = std::env::current_exe()?;
    Ok(command.arg(own).args(["forward", kind, listen, server]))
}
