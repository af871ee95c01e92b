//! An X server without a screen for one client, and keyboard input for it.
//!
//! Xvfb picks the display number itself (`-displayfd`), so tests never compete for one. `-noreset` keeps the server
//! from resetting when its only client disconnects. One client per display: without a window manager the focus is
//! random.

use std::process::{Command, Output};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use tempfile::TempDir;

use super::{Launch, PATIENCE, Program, home, installed};

/// A running Xvfb.
#[derive(Debug)]
pub struct Display {
    name: String,
    _server: Program,
    _home: TempDir,
}

impl Display {
    /// Starts Xvfb and waits until it accepts clients.
    pub fn start() -> Result<Self> {
        let home = home("display")?;
        let launch = Launch::new("Xvfb", installed("/usr/bin/Xvfb", "xvfb")?, home.path());
        let args = [
            "-displayfd",
            "1",
            "-screen",
            "0",
            "640x480x24",
            "-nolisten",
            "tcp",
            "-noreset",
        ];
        let server = args
            .into_iter()
            .fold(launch, Launch::arg)
            .split_errors()
            .start()?;
        let number = match server.log().wait_for("^[0-9]+$", PATIENCE) {
            Ok(line) => line.text,
            Err(error) => bail!("{error}\n{}", server.errors().tail()),
        };
        Ok(Self {
            name: format!(":{number}"),
            _server: server,
            _home: home,
        })
    }

    /// Returns the value for `DISPLAY`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Presses a key in the visible window whose title contains `title`.
    pub fn press(&self, title: &str, key: &str) -> Result<()> {
        let deadline = Instant::now() + PATIENCE;
        let window = loop {
            let found = self.xdotool(&["search", "--onlyvisible", "--name", title])?;
            let text = String::from_utf8_lossy(&found.stdout).into_owned();
            if let Some(window) = text.lines().last() {
                break window.to_owned();
            }
            ensure!(Instant::now() < deadline, "no window {title:?} on {}", self.name);
            thread::sleep(Duration::from_millis(50));
        };
        for args in [&["windowfocus", "--sync", &window][..], &["key", key]] {
            let done = self.xdotool(args)?;
            ensure!(
                done.status.success(),
                "xdotool {args:?}: {}",
                String::from_utf8_lossy(&done.stderr)
            );
        }
        Ok(())
    }

    fn xdotool(&self, args: &[&str]) -> Result<Output> {
        let mut command = Command::new(installed("/usr/bin/xdotool", "xdotool")?);
        command
            .args(args)
            .env("DISPLAY", &self.name)
            .output()
            .context("run xdotool")
    }
}
