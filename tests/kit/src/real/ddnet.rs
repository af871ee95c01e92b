//! Debian's DDNet 16.4: the server (0.6 with security tokens, and 0.7) and the client (0.6 only).
//!
//! Pitfalls of these programs: the server needs `sv_ipv4only 1` to bind 127.0.0.1, and its econ has no such switch,
//! so it is controlled by its input FIFO; it refuses 0.7 clients unless the map has a counterpart in `maps7`; it
//! writes its database into the working directory. The client needs an X server (GLX) and queries the project's web
//! servers at startup, which fails in the network namespace of `tests/run` and is harmless elsewhere.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::net::SocketAddr;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::process::ExitStatus;

use anyhow::{Context as _, Result};
use rustix::fs::OFlags;
use tempfile::TempDir;

use super::{
    Display, Launch, Log, PATIENCE, Player, Program, Server, home, installed, on_free_port, quiet_udp_port,
    write_config,
};

/// The name of the server's configuration in its home folder.
const CONFIG: &str = "ddnet-server.cfg";
/// The maps that the server also has in their 0.7 form.
const MAPS7: [&str; 3] = ["dm1", "dm2", "ctf1"];

/// A running `DDNet-Server` 16.4 that accepts 0.6 and 0.7 clients.
#[derive(Debug)]
pub struct DdnetServer {
    program: Program,
    addr: SocketAddr,
    home: TempDir,
}

impl DdnetServer {
    /// Starts a server with `settings` (console lines) after the shared settings.
    pub fn start(settings: &[&str]) -> Result<Self> {
        Self::start_with(settings, |_| Ok(()))
    }

    /// Same as [`DdnetServer::start`], but first calls `prepare` with the server's data folder (`maps`, `maps7`).
    pub fn start_with(settings: &[&str], prepare: impl FnOnce(&Path) -> Result<()>) -> Result<Self> {
        let home = home("ddnet-server")?;
        let data = home.path().join(".local/share/ddnet");
        std::fs::create_dir_all(data.join("maps"))?;
        std::fs::create_dir_all(data.join("maps7"))?;
        let packaged = installed("/usr/share/games/teeworlds/data/maps", "teeworlds-data")?;
        for map in MAPS7.map(|map| format!("{map}.map")) {
            std::fs::copy(Path::new(packaged).join(&map), data.join("maps7").join(&map)).context(map)?;
        }
        prepare(&data)?;
        let (program, addr) = on_free_port("DDNet-Server", |port| {
            let mut lines: Vec<String> = settings.iter().map(|&line| line.to_owned()).collect();
            lines.push(format!("sv_port {port}"));
            write_config(home.path(), CONFIG, &lines)?;
            Self::launch(home.path())
        })?;
        Ok(Self { program, addr, home })
    }

    /// Starts the program with the configuration in its home folder; `None` if the port is taken.
    fn launch(home: &Path) -> Result<Option<Program>> {
        let path = installed("/usr/games/DDNet-Server", "ddnet-server")?;
        let launch = Launch::new("DDNet-Server", path, home);
        let mut program = launch.arg("-f").arg(CONFIG).start()?;
        // The version line is printed last, after the socket was opened. Econ is not configured, so a complaint is
        // about the game socket.
        program
            .log()
            .wait_for(r"server: version 16\.4|couldn't open socket", PATIENCE)?;
        if program.log().contains("couldn't open socket") {
            program.wait_end(PATIENCE)?;
            return Ok(None);
        }
        Ok(Some(program))
    }
}

impl Server for DdnetServer {
    fn addr(&self) -> SocketAddr {
        self.addr
    }

    fn log(&self) -> &Log {
        self.program.log()
    }

    fn command(&mut self, line: &str) -> Result<()> {
        write_fifo(&self.home.path().join("server.fifo"), line)
    }

    fn stop(&mut self) -> Result<()> {
        self.program.stop().map(drop)
    }

    fn kill(&mut self) -> Result<()> {
        self.program.kill()
    }

    fn start_again(&mut self) -> Result<()> {
        self.program.wait_end(PATIENCE)?;
        self.program = Self::launch(self.home.path())?.context("the port of DDNet-Server is taken")?;
        Ok(())
    }
}

/// A running `DDNet` 16.4 client on an X server of its own, controlled by its input FIFO.
#[derive(Debug)]
pub struct DdnetClient {
    program: Program,
    name: String,
    home: TempDir,
    _display: Display,
}

impl DdnetClient {
    /// Starts a client that connects to `server`.
    pub fn start(name: &str, server: SocketAddr) -> Result<Self> {
        let (home, display) = (home("ddnet-client")?, Display::start()?);
        let mut lines = vec![format!("player_name \"{name}\"")];
        // The client continues without IPv4 if it picks a port that is taken.
        for setting in ["cl_port", "cl_dummy_port", "cl_contact_port"] {
            lines.push(format!("{setting} {}", quiet_udp_port()?));
        }
        write_config(home.path(), "ddnet-client.cfg", &lines)?;
        let path = installed("/usr/games/DDNet", "ddnet")?;
        let launch = Launch::new(&format!("DDNet ({name})"), path, home.path())
            .env("SDL_AUDIODRIVER", "dummy")
            .env("LIBGL_ALWAYS_SOFTWARE", "1")
            .env("DISPLAY", display.name())
            .arg("-f")
            .arg("ddnet-client.cfg")
            .arg(format!("connect {server}"));
        Ok(Self {
            program: launch.start()?,
            name: name.to_owned(),
            home,
            _display: display,
        })
    }

    /// Same as [`Player::wait_joined`], but returns the client.
    pub fn joined(self) -> Result<Self> {
        self.wait_joined()?;
        Ok(self)
    }

    /// Waits until the client ends, for whatever reason.
    pub fn wait_end(&mut self) -> Result<ExitStatus> {
        self.program.wait_end(PATIENCE)
    }

    /// Returns the home folder of the client.
    pub fn home(&self) -> &Path {
        self.home.path()
    }
}

impl Player for DdnetClient {
    fn name(&self) -> &str {
        &self.name
    }

    fn log(&self) -> &Log {
        self.program.log()
    }

    /// Waits until the player's entry is reported and the tee is drawn. Before its first snapshots the client drops
    /// the chat of others, since their names arrive with the snapshots; the race recorder starts with the first
    /// snapshots.
    fn wait_joined(&self) -> Result<()> {
        self.log()
            .wait_for(&format!("chat: .*'{}' entered", self.name), PATIENCE)?;
        self.log()
            .wait_for("demo_recorder: Recording to", PATIENCE)
            .map(drop)
    }

    fn command(&mut self, line: &str) -> Result<()> {
        write_fifo(&self.home.path().join("client.fifo"), line)
    }

    fn quit(&mut self) -> Result<()> {
        self.command("quit")?;
        self.program.ends_well()
    }
}

/// Writes one line to a FIFO that has a reader; fails without a reader instead of waiting forever.
fn write_fifo(path: &Path, line: &str) -> Result<()> {
    let flags = i32::try_from(OFlags::NONBLOCK.bits()).context("O_NONBLOCK")?;
    let opened = OpenOptions::new().write(true).custom_flags(flags).open(path);
    let mut fifo = opened.with_context(|| format!("no server reads {}", path.display()))?;
    fifo.write_all(format!("{line}\n").as_bytes())
        .with_context(|| format!("write {}", path.display()))
}
