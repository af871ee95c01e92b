//! The control socket of the built binary: each command, the documentation, and hostile peers.

#![expect(clippy::indexing_slicing, reason = "a field that a JSON value lacks is null")]

mod commands;
mod languages;
mod life;
mod load;
mod page;
mod shell;

use std::io::Read as _;
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;
use teetap_kit::{
    binary::{place, run},
    control::Control,
    real::PATIENCE,
};
use tempfile::TempDir;

use crate::teetap;

/// A demo with a control socket, which is killed when it is dropped.
struct Demo {
    child: Child,
    path: PathBuf,
    _folder: TempDir,
}

impl Demo {
    fn start(options: &[&str]) -> Result<Self> {
        let (folder, path) = place("run.sock");
        let mut command = teetap();
        command
            .args(["demo", "--seconds", "120", "-q", "-l", ":0", "--control"])
            .arg(&path)
            .args(options)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        let child = command.spawn()?;
        Ok(Self {
            child,
            path,
            _folder: folder,
        })
    }

    fn connect(&self) -> Result<Control> {
        Control::connect(&self.path)
    }

    /// Connects once both bots are online. Also returns the number of the DDNet bot's session.
    fn joined(&self) -> Result<(Control, u64)> {
        let mut control = self.connect()?;
        let deadline = Instant::now() + PATIENCE;
        loop {
            let sessions = control.done(json!({"cmd": "sessions"}))?;
            let sessions = sessions["sessions"].as_array().context("no list")?.clone();
            let online = sessions.iter().filter(|session| session["state"] == "online");
            let of_ddnet = online.clone().find(|session| session["proto"] == "ddnet");
            if let (2, Some(found)) = (online.count(), of_ddnet) {
                let number = found["session"].as_u64();
                return Ok((control, number.context("no number")?));
            }
            ensure!(Instant::now() < deadline, "the bots do not join");
            thread::sleep(Duration::from_millis(20));
        }
    }

    fn signal(&self, signal: Signal) -> Result<()> {
        let pid = Pid::from_raw(i32::try_from(self.child.id())?).context("no process")?;
        Ok(kill_process(pid, signal)?)
    }

    /// Ends the demo with SIGTERM; returns its stderr.
    fn stop(&mut self) -> Result<String> {
        self.signal(Signal::TERM)?;
        let mut errors = String::new();
        self.child
            .stderr
            .take()
            .context("no stderr")?
            .read_to_string(&mut errors)?;
        let status = self.child.wait()?;
        ensure!(status.code() == Some(128 + 15), "{status}: {errors}");
        ensure!(!errors.contains("panicked"), "{errors}");
        ensure!(!self.path.exists(), "the socket stays");
        Ok(errors)
    }

    fn ctl(&self, args: &[&str], code: i32) -> (String, String) {
        run(teetap().arg("ctl").arg(&self.path).args(args), code)
    }
}

impl Drop for Demo {
    fn drop(&mut self) {
        let _ended = self.child.kill();
        let _reaped = self.child.wait();
    }
}
