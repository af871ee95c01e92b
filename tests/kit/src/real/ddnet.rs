//! Debian's DDNet 16.4: the server (0.6 with security tokens, and 0.7) and the client (0.6 only).
//!
//! Traps of these programs: the server wants `sv_ipv4only 1` to bind 127.0.0.1, and its econ has no such switch, so it is
//! controlled by its input FIFO; it refuses 0.7 clients unless the map has a twin in `maps7`; it writes its database into the
//! working directory. The client needs an X server (GLX) and asks the project's web servers at its start, which goes
//! nowhere in the network namespace of `tests/run` and does no harm elsewhere.

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

/// The server's configuration in its home.
const CONFIG: &str = "ddnet-server.cfg";
/// The maps that the server has in their 0.7 forms, too.
const MAPS7: [&str; 3] = ["dm1", "dm2", "ctf1"];

/// A running `DDNet-Server` 16.4 that takes 0.6 and 0.7 clients.
#[derive(Debug)]
pub struct DdnetServer {
    program: Program,
    addr: SocketAddr,
    home: TempDir,
}

impl DdnetServer {
    /// Starts a server with `settings` (console lines) behind the shared ones.
    pub fn start(settings: &[&str]) -> Result<Self> {
        Self::start_with(settings, |_| Ok(()))
    }

    /// Same as [`DdnetServer::start`]; `prepare` gets the server's data folder (`maps`, `maps7`) first.
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

    /// Starts the program with the configuration in its home; `None` when the port is taken.
    fn launch(home: &Path) -> Result<Option<Program>> {
        let path = installed("/usr/games/DDNet-Server", "ddnet-server")?;
        let launch = Launch::new("DDNet-Server", path, home);
        let mut program = launch.arg("-f").arg(CONFIG).start()?;
        // The version line comes last, when the socket is open. Econ is not configured, so the complaint is the game's.
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
        // Where it draws a port that is taken it goes on without IPv4.
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

    /// Same as [`Player::wait_joined`], and returns it.
    pub fn joined(self) -> Result<Self> {
        self.wait_joined()?;
        Ok(self)
    }

    /// Waits for its end, whatever ends it.
    pub fn wait_end(&mut self) -> Result<ExitStatus> {
        self.program.wait_end(PATIENCE)
    }

    /// The home folder of the client.
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

    /// Waits until the entrance is reported and the tee is drawn. Before its first snapshots it drops what others say, as their
    /// names come with these; the race recorder starts with them.
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

/// Writes one line to a FIFO that has a reader; without a reader this is an error instead of a wait for ever.
fn write_fifo(path: &Path, line: &str) -> Result<()> {
    let flags = i32::try_from(OFlags::NONBLOCK.bits()).context("O_NONBLOCK")?;
    let opened = OpenOptions::new().write(true).custom_flags(flags).open(path);
    let mut fifo = opened.with_context(|| format!("no server reads {}", path.display()))?;
    fifo.write_all(format!("{line}\n").as_bytes())
        .with_context(|| format!("write {}", path.display()))
}
