//! Real servers and clients not written by this project, each started for one test.
//!
//! Debian packages (`teeworlds`, `teeworlds-server`, `ddnet`, `ddnet-server`, `xvfb`, `xdotool`) and the npm package
//! `teeworlds`. Each peer has its own folder, ports and log, and ends with its handle. Scenarios are written against
//! [`Server`] and [`Player`] and run [`Via::Direct`] and [`Via::Proxy`]; the output of the peers must not differ.
//! Nothing here knows the wire format: the peers themselves decide whether the proxy is right.

mod bot;
mod cast;
mod ddnet;
mod display;
mod line;
mod log;
mod maps;
mod odd;
mod old;
mod process;
mod route;
mod scenario;
mod teetap;
mod teeworlds;
mod transcript;
pub mod turn;

use std::net::{Ipv4Addr, SocketAddr, TcpListener, UdpSocket};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};

pub use bot::{NpmBot, faulty};
pub use cast::{Client, Game};
pub use ddnet::{DdnetClient, DdnetServer};
pub use display::Display;
pub use line::{Line, Talk};
pub use log::{Entry, Log, Mark};
pub use maps::{BigMap, downloaded};
pub use odd::{UNDECLARED, is_odd_as_known};
pub use old::{OldServer, old_server};
pub use process::{Launch, Program, home};
pub use route::{Route, Via, both_ways};
pub use scenario::{chat_between, entered, kick, left, play, refused, visit};
pub use teetap::{Teetap, text};
pub use teeworlds::{TeeworldsClient, TeeworldsServer};
pub use transcript::server_transcript;
pub(crate) use transcript::show_difference;

/// Maximum wait for anything that must happen, on a busy machine; usually it happens within a second.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// A running game server.
pub trait Server {
    /// Returns the address that the server listens on (IPv4 loopback).
    fn addr(&self) -> SocketAddr;
    /// Returns the output of the server.
    fn log(&self) -> &Log;
    /// Runs a line in the server's console.
    fn command(&mut self, line: &str) -> Result<()>;
    /// Asks the server to end, and waits for its end.
    fn stop(&mut self) -> Result<()>;
    /// Ends the server silently, as a crash does.
    fn kill(&mut self) -> Result<()>;
    /// Waits until the server ends and restarts it on the same port with a new log.
    fn start_again(&mut self) -> Result<()>;
}

/// A game client that has joined a server.
pub trait Player {
    /// Returns the player's name.
    fn name(&self) -> &str;
    /// Returns the output of the player.
    fn log(&self) -> &Log;
    /// Waits until the player is in the game and can act.
    fn wait_joined(&self) -> Result<()>;
    /// Runs a line of the game's console: `say`, `rcon_auth`, `rcon`, `kill`.
    fn command(&mut self, line: &str) -> Result<()>;
    /// Quits the way a player does, and waits for the end.
    fn quit(&mut self) -> Result<()>;
}

/// Returns a file under `tests/peers`.
fn peers(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../peers").join(file)
}

/// Writes the shared settings of a peer, followed by the lines of this run, to `name` in the peer's own folder.
fn write_config(home: &Path, name: &str, lines: &[String]) -> Result<()> {
    let shared = peers(name);
    let mut text = std::fs::read_to_string(&shared).with_context(|| format!("read {}", shared.display()))?;
    for line in lines {
        text.push_str(line);
        text.push('\n');
    }
    std::fs::write(home.join(name), text).with_context(|| format!("write {name}"))
}

/// Returns a UDP port of IPv4 loopback that is free now. Another program may take it before the server binds it: the
/// launchers retry.
fn free_udp_port() -> Result<u16> {
    Ok(UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))
        .and_then(|socket| socket.local_addr())?
        .port())
}

/// Returns a UDP port that is free now and outside the range from which the system assigns ports, so that no other
/// program takes it by chance. Each port is tried once per process.
fn quiet_udp_port() -> Result<u16> {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    const RANGE: u16 = 20_000;
    // Other processes start elsewhere.
    let begin = u16::try_from(std::process::id() * 64 % u32::from(RANGE))?;
    for _ in 0..RANGE {
        let step = NEXT.fetch_add(1, Ordering::Relaxed) % RANGE;
        let port = 10_000 + (begin + step) % RANGE;
        if UdpSocket::bind((Ipv4Addr::UNSPECIFIED, port)).is_ok() {
            return Ok(port);
        }
    }
    bail!("no UDP port is free")
}

/// Starts a server on a fresh port; `start` returns `None` if another program took the port in between.
fn on_free_port<T>(name: &str, start: impl Fn(u16) -> Result<Option<T>>) -> Result<(T, SocketAddr)> {
    const ATTEMPTS: usize = 5;
    for _ in 0..ATTEMPTS {
        let port = free_udp_port()?;
        if let Some(started) = start(port)? {
            return Ok((started, (Ipv4Addr::LOCALHOST, port).into()));
        }
    }
    bail!("{name} found no free port in {ATTEMPTS} attempts")
}

/// Same as [`free_udp_port`], for TCP.
fn free_tcp_port() -> Result<u16> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
        .and_then(|socket| socket.local_addr())?
        .port())
}

/// Returns the path of an installed program, or an error that names its package.
fn installed(path: &'static str, package: &str) -> Result<&'static str> {
    ensure!(
        Path::new(path).exists(),
        "{path} is missing: install the Debian package {package} (tests/run does)"
    );
    Ok(path)
}
