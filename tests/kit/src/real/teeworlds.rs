//! Debian's Teeworlds 0.7.5: server and client, protocol 0.7 only.
//!
//! Traps of these programs: `-f` takes a path relative to the working directory only (an absolute one is ignored, and
//! the server starts with defaults); console commands on the command line run before the connection exists, so a client
//! acts by a bound key; the server frees its port only when it has ended.

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

/// The server's configuration in its home.
const CONFIG: &str = "teeworlds-server.cfg";
/// The time that a key press may take to be executed before it is pressed again (the focus may have been elsewhere).
const KEY: Duration = Duration::from_secs(5);
/// The line that the client prints when the key is executed.
const DOES: &str = r"executing 'act\.cfg'";

/// A running `teeworlds-server` 0.7.5, controlled by its econ.
#[derive(Debug)]
pub struct TeeworldsServer {
    program: Program,
    addr: SocketAddr,
    econ: TcpStream,
    settings: Vec<String>,
    home: TempDir,
}

impl TeeworldsServer {
    /// Starts a server with `settings` (console lines) behind the shared ones.
    pub fn start(settings: &[&str]) -> Result<Self> {
        Self::start_with(settings, |_| Ok(()))
    }

    /// Same as [`TeeworldsServer::start`]; `prepare` gets the server's data folder (`maps` and so on) first.
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

    /// Starts the program and opens its console, which has a fresh port each time: one that was connected stays taken for
    /// a while. `None` when a port is taken.
    fn launch(home: &Path, settings: &[String], port: u16) -> Result<Option<(Program, TcpStream)>> {
        let econ = free_tcp_port()?;
        let mut lines = settings.to_vec();
        lines.extend([format!("sv_port {port}"), format!("ec_port {econ}")]);
        write_config(home, CONFIG, &lines)?;
        let path = installed("/usr/games/teeworlds-server", "teeworlds-server")?;
        let launch = Launch::new("teeworlds-server", path, home);
        let program = launch.arg("-f").arg(CONFIG).start()?;
        // Econ is bound before the version line, which comes last, when the game socket is open.
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

/// Logs in to the server's console, which takes one line at a time and says when it is ready for the next.
fn open_econ(port: u16) -> Result<TcpStream> {
    let mut econ = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).context("connect to econ")?;
    econ.set_read_timeout(Some(PATIENCE))?;
    expect(&mut econ, "Enter password:")?;
    econ.write_all(b"right-econ\n")?;
    expect(&mut econ, "Authentication successful")?;
    let mut rest = econ.try_clone()?;
    rest.set_read_timeout(None)?;
    // The output goes to the log as well; read it away, or the server's send buffer fills. Ends with the connection.
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
    /// Starts a client that draws into memory: it joins, stays, receives and quits, but cannot act (there is no keyboard).
    pub fn offscreen(name: &str, server: SocketAddr) -> Result<Self> {
        Self::start(name, server, None)
    }

    /// Starts a client on an X server of its own; it runs any console line.
    pub fn on_display(name: &str, server: SocketAddr) -> Result<Self> {
        Self::start(name, server, Some(Display::start()?))
    }

    /// Same as [`Player::wait_joined`], and returns it.
    pub fn joined(self) -> Result<Self> {
        self.wait_joined()?;
        Ok(self)
    }

    /// The home folder of the client.
    pub fn home(&self) -> &Path {
        self.home.path()
    }

    /// Gives F5 a meaning, at once: the client may be reading the file.
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

    /// The map is loaded.
    fn wait_joined(&self) -> Result<()> {
        let loaded = self.log().wait_for(r"client/network\]: loading done", PATIENCE);
        loaded.map(drop)
    }

    /// Writes the line to the file that F5 executes; the client's log shows that it did.
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
            // The first press may have been slow and not lost: the second then finds nothing to do.
            self.will_do("")?;
            let deadline = Instant::now() + KEY;
            while self.log().count_after(mark, DOES)? < 2 && Instant::now() < deadline {
                thread::sleep(Duration::from_millis(50));
            }
        }
        Ok(())
    }

    /// By the console's `quit`; the offscreen client by SIGTERM, which it takes for a closed window.
    fn quit(&mut self) -> Result<()> {
        if self.display.is_some() {
            self.command("quit")?;
        } else {
            self.program.stop()?;
        }
        self.program.ends_well()
    }
}
