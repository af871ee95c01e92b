//! The npm client `teeworlds` (0.6 with security tokens), driven by `tests/peers/bot.js`.
//!
//! Law: the bot is the npm package, unchanged, at the version of the lock file; the script only turns lines into calls
//! and events into lines.

use std::net::SocketAddr;

use anyhow::{Result, ensure};
use tempfile::TempDir;

use super::{Launch, Log, PATIENCE, Player, Program, home, peers};

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
        let package = peers("node_modules/teeworlds/package.json");
        ensure!(
            package.exists(),
            "{} is missing: run npm ci there (tests/run does)",
            package.display()
        );
        let home = home("npm-bot")?;
        let launch = Launch::new(&format!("npm bot ({name})"), "node", home.path()).arg(peers("bot.js"));
        let launch = launch
            .arg(server.ip().to_string())
            .arg(server.port().to_string())
            .arg(name);
        Ok(Self {
            program: launch.start()?,
            name: name.to_owned(),
            _home: home,
        })
    }

    /// Same as [`Player::wait_joined`], and returns it.
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
