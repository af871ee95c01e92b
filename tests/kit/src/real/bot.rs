//! The npm client `teeworlds` (0.6 with security tokens), driven by `tests/peers/bot.js`.
//!
//! Law: the bot is the unmodified npm package at the version of the lock file; the script only turns lines into calls
//! and events into lines. [`faulty`] runs the same client with one fault.

use std::net::SocketAddr;
use std::path::Path;

use anyhow::{Result, ensure};
use tempfile::TempDir;

use super::{Launch, Log, PATIENCE, Player, Program, home, peers};

/// Runs the npm client with a fault, named as in `tests/peers/faulty.js`, against a server; returns its output lines.
pub fn faulty(fault: &str, server: SocketAddr) -> Result<Vec<String>> {
    let home = home("npm-faulty")?;
    let mut program = launch("faulty.js", "faulty", server, home.path())?
        .arg(fault)
        .start()?;
    let status = program.wait_end(PATIENCE)?;
    program.log().drain(PATIENCE)?;
    let lines: Vec<String> = program
        .log()
        .lines()
        .iter()
        .map(|line| line.text.clone())
        .collect();
    // The server may close the connection first.
    ensure!(
        status.success() || status.code() == Some(3),
        "{fault} ended with {status}: {lines:?}"
    );
    Ok(lines)
}

/// Returns the launch of a script that uses the npm package.
fn launch(script: &str, name: &str, server: SocketAddr, home: &Path) -> Result<Launch> {
    let package = peers("node_modules/teeworlds/package.json");
    ensure!(
        package.exists(),
        "{} is missing: run npm ci there (tests/run does)",
        package.display()
    );
    let launch = Launch::new(&format!("npm bot ({name})"), "node", home).arg(peers(script));
    Ok(launch
        .arg(server.ip().to_string())
        .arg(server.port().to_string())
        .arg(name))
}

/// A running bot.
#[derive(Debug)]
pub struct NpmBot {
    program: Program,
    name: String,
    _home: TempDir,
}

impl NpmBot {
    /// Starts a bot that connects to `server`.
    pub fn start(name: &str, server: SocketAddr) -> Result<Self> {
        let home = home("npm-bot")?;
        let launch = launch("bot.js", name, server, home.path())?;
        Ok(Self {
            program: launch.start()?,
            name: name.to_owned(),
            _home: home,
        })
    }

    /// Same as [`Player::wait_joined`], but returns the bot.
    pub fn joined(self) -> Result<Self> {
        self.wait_joined()?;
        Ok(self)
    }
}

impl Player for NpmBot {
    fn name(&self) -> &str {
        &self.name
    }

    fn log(&self) -> &Log {
        self.program.log()
    }

    fn wait_joined(&self) -> Result<()> {
        let line = format!("^joined {}$", self.name);
        self.log().wait_for(&line, PATIENCE).map(drop)
    }

    fn command(&mut self, line: &str) -> Result<()> {
        self.program.feed(line)
    }

    fn quit(&mut self) -> Result<()> {
        self.command("quit")?;
        self.program.ends_well()
    }
}
