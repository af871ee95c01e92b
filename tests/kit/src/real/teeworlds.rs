//! Debian's Teeworlds 0.7.5: server and client, protocol 0.7 only.
//!
//! Pitfalls of these programs: `-f` accepts only a path relative to the working directory (an absolute path is
//! ignored, and the server starts with defaults); console commands on the command line run before the connection
//! exists, so a client acts through a bound key; the server releases its port only when it has ended.

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use tempfile::TempDir;

use super::{
    Display, Launch, Log, PATIENCE, Player, Program, Server, free_tcp_port, home, installed, on_free_port,
    write_config,
};

/// The name of the server's configuration in its home folder.
const CONFIG: &str = "teeworlds-server.cfg";
/// Time after which a key press that was not executed is repeated (the focus may have been elsewhere).
const KEY: Duration = Duration::from_secs(5);
/// The line that the client prints when it executes the key.
const DOES: &str = r"executing 'act\.cfg'";

/// A running `teeworlds-server` 0.7.5, controlled through its econ.
#[derive(Debug)]
pub struct TeeworldsServer {
    program: Program,
    addr: SocketAddr,
    econ: TcpStream,
    settings: Vec<String>,
    home: TempDir,
}

impl TeeworldsServer {
    /// Starts a server with `settings` (console lines) after the shared settings.
    pub fn start(settings: &[&str]) -> Result<Self> {
        Self::start_with(settings, |_| Ok(()))
    }

    /// Same as [`TeeworldsServer::start`], but first calls `prepare` with the server's data folder (`maps` and so
    /// on).
    pub fn start_with(settings: &[&str], prepare: impl FnOnce(&Path) -> Result<()>) -> Result<Self> {
        let home = home("teeworlds-server")?;
        let data = home.path().join(".local/share/teeworlds");
        std::fs::create_dir_all(data.join("maps"))?;
        prepare(&data)?;
        let settings = settings.iter().map(|&line| line.to_owned()).collect::<Vec<_>>();
        let started = on_free_port("teeworlds-server", |port| {
            Self::launch(home.path(), &settings, port)
        });
        let ((program, econ), addr) = started?;
        Ok(Self {
            program,
            addr,
            econ,
            settings,
            home,
        })
    }

    /// Starts the program and opens its console on a new port, since a port that was connected stays taken for a
    /// while. `None` if a port is taken.
    fn launch(home: &Path, settings: &[String], port: u16) -> Result<Option<(Program, TcpStream)>> {
        let econ = free_tcp_port()?;
        let mut lines = settings.to_vec();
        lines.extend([format!("sv_port {port}"), format!("ec_port {econ}")]);
        write_config(home, CONFIG, &lines)?;
        let path = installed("/usr/games/teeworlds-server", "teeworlds-server")?;
        let launch = Launch::new("teeworlds-server", path, home);
        let program = launch.arg("-f").arg(CONFIG).start()?;
        // Econ is bound before the version line, which is printed last, after the game socket was opened.
        program
            .log()
            .wait_for(r"\[server\]: version 0\.7 |couldn't open socket", PATIENCE)?;
        if program.log().contains("couldn't open socket") {
            return Ok(None);
        }
        Ok(Some((program, open_econ(econ)?)))
    }
}

impl Server for TeeworldsServer {
    fn addr(&self) -> SocketAddr {
        self.addr
    }

    fn log(&self) -> &Log {
        self.program.log()
    }

    fn command(&mut self, line: &str) -> Result<()> {
        self.econ
            .write_all(format!("{line}\n").as_bytes())
            .context("econ of teeworlds-server")
    }

    fn stop(&mut self) -> Result<()> {
        self.program.stop().map(drop)
    }

    fn kill(&mut self) -> Result<()> {
        self.program.kill()
    }

    fn start_again(&mut self) -> Result<()> {
        self.program.wait_end(PATIENCE)?;
        let launched = Self::launch(self.home.path(), &self.settings, self.addr.port())?;
        (self.program, self.econ) = launched.context("a port of teeworlds-server is taken")?;
        Ok(())
    }
}

/// Logs in to the server's console, which accepts one line at a time and reports when it is ready for the next.
fn open_econ(port: u16) -> Result<TcpStream> {
    let mut econ = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).context("connect to econ")?;
    econ.set_read_timeout(Some(PATIENCE))?;
    expect(&mut econ, "Enter password:")?;
    econ.write_all(b"right-econ\n")?;
    expect(&mut econ, "Authentication successful")?;
    let mut rest = econ.try_clone()?;
    rest.set_read_timeout(None)?;
    // The output is in the log as well. It must be read here too, or the server's send buffer fills up. Ends with the
    // connection.
    thread::spawn(move || std::io::copy(&mut rest, &mut std::io::sink()));
    Ok(econ)
}

fn expect(econ: &mut TcpStream, wanted: &str) -> Result<()> {
    let (mut received, mut chunk) = (Vec::new(), [0; 512]);
    while !String::from_utf8_lossy(&received).contains(wanted) {
        let size = econ
            .read(&mut chunk)
            .with_context(|| format!("econ never printed {wanted:?}"))?;
        ensure!(
            size > 0,
            "econ closed before {wanted:?}: {:?}",
            String::from_utf8_lossy(&received)
        );
        received.extend(chunk.iter().take(size));
    }
    Ok(())
}

/// A running `teeworlds` 0.7.5 client.
#[derive(Debug)]
pub struct TeeworldsClient {
    program: Program,
    name: String,
    display: Option<Display>,
    home: TempDir,
}

impl TeeworldsClient {
    /// Starts a client that draws into memory: it joins, stays, receives and quits, but cannot act, since there is no
    /// keyboard.
    pub fn offscreen(name: &str, server: SocketAddr) -> Result<Self> {
        Self::start(name, server, None)
    }

    /// Starts a client on its own X server; it can run any console line.
    pub fn on_display(name: &str, server: SocketAddr) -> Result<Self> {
        Self::start(name, server, Some(Display::start()?))
    }

    /// Same as [`Player::wait_joined`], but returns the client.
    pub fn joined(self) -> Result<Self> {
        self.wait_joined()?;
        Ok(self)
    }

    /// Returns the home folder of the client.
    pub fn home(&self) -> &Path {
        self.home.path()
    }

    /// Atomically replaces the line that F5 executes, since the client may be reading the file.
    fn will_do(&self, line: &str) -> Result<()> {
        let fresh = self.home.path().join("act.fresh");
        std::fs::write(&fresh, format!("{line}\n"))?;
        std::fs::rename(&fresh, self.home.path().join("act.cfg"))?;
        Ok(())
    }

    fn start(name: &str, server: SocketAddr, display: Option<Display>) -> Result<Self> {
        let home = home("teeworlds-client")?;
        write_config(
            home.path(),
            "teeworlds-client.cfg",
            &[format!("player_name \"{name}\"")],
        )?;
        let path = installed("/usr/games/teeworlds", "teeworlds")?;
        let launch = Launch::new(&format!("teeworlds ({name})"), path, home.path())
            .env("SDL_AUDIODRIVER", "dummy")
            .env("LIBGL_ALWAYS_SOFTWARE", "1");
        let launch = match &display {
            Some(display) => launch.env("DISPLAY", display.name()),
            None => launch.env("SDL_VIDEODRIVER", "offscreen"),
        };
        let launch = launch
            .arg("-f")
            .arg("teeworlds-client.cfg")
            .arg(format!("connect {server}"));
        Ok(Self {
            program: launch.start()?,
            name: name.to_owned(),
            display,
            home,
        })
    }
}

impl Player for TeeworldsClient {
    fn name(&self) -> &str {
        &self.name
    }

    fn log(&self) -> &Log {
        self.program.log()
    }

    /// Waits until the map is loaded.
    fn wait_joined(&self) -> Result<()> {
        let loaded = self.log().wait_for(r"client/network\]: loading done", PATIENCE);
        loaded.map(drop)
    }

    /// Writes the line to the file that F5 executes, and waits until the client's log shows the execution.
    fn command(&mut self, line: &str) -> Result<()> {
        let Some(display) = &self.display else {
            bail!("an offscreen client cannot act: {line}")
        };
        self.will_do(line)?;
        let mark = self.log().mark();
        display.press("Teeworlds", "F5")?;
        if self.log().wait_after(mark, DOES, KEY).is_err() {
            display.press("Teeworlds", "F5")?;
            self.log().wait_after(mark, DOES, PATIENCE)?;
            // The first press may have been slow instead of lost: the second press then has nothing to do.
            self.will_do("")?;
            let deadline = Instant::now() + KEY;
            while self.log().count_after(mark, DOES)? < 2 && Instant::now() < deadline {
                thread::sleep(Duration::from_millis(50));
            }
        }
        Ok(())
    }

    /// Quits through the console's `quit`; the offscreen client through SIGTERM, which it treats as a closed window.
    fn quit(&mut self) -> Result<()> {
        if self.display.is_some() {
            self.command("quit")?;
        } else {
            self.program.stop()?;
        }
        self.program.ends_well()
    }
}
