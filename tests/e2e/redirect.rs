//! Redirects through the built binary: a client that a server redirects to another server stays behind the proxy and
//! plays there, returns, and reconnects to the same server.

use std::collections::VecDeque;
use std::io::ErrorKind;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use crate::TEETAP;
use anyhow::{Context as _, Result, bail, ensure};
use serde_json::Value;
use teetap_kit::codec::{Variant, extended};
use teetap_kit::peer::{Options, Peer, Policy, Server};
use teetap_kit::real::{PATIENCE, Teetap, home};

/// A server on its own socket.
struct Host {
    server: Server,
    socket: UdpSocket,
}

/// Two servers on one machine, and a client that follows redirects.
struct Stage {
    begun: Instant,
    variant: Variant,
    hosts: [Host; 2],
    client: Peer,
    socket: UdpSocket,
    /// The address that the client is connected to.
    dialled: SocketAddr,
    joins: u64,
    talks: u32,
}

fn socket() -> Result<UdpSocket> {
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).context("a socket for a scripted peer")?;
    socket.set_nonblocking(true)?;
    Ok(socket)
}

/// Returns all datagrams that are available.
fn received(socket: &UdpSocket) -> Result<VecDeque<(SocketAddr, Vec<u8>)>> {
    let (mut all, mut buffer) = (VecDeque::new(), [0; 2048]);
    loop {
        match socket.recv_from(&mut buffer) {
            Ok((len, from)) => all.push_back((from, buffer.iter().take(len).copied().collect())),
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(all),
            Err(error) => return Err(error.into()),
        }
    }
}

fn has_received(peer: &Peer, message: &[u8]) -> bool {
    peer.delivered.iter().any(|one| one.data == message)
}

impl Host {
    fn new(variant: Variant, seed: u64) -> Result<Self> {
        Ok(Self {
            server: Server::new(variant, Policy::greets(b"greeting"), seed),
            socket: socket()?,
        })
    }

    fn addr(&self) -> Result<SocketAddr> {
        Ok(self.socket.local_addr()?)
    }

    fn step(&mut self, now: u64) -> Result<()> {
        for (from, bytes) in received(&self.socket)? {
            self.server.receive(from, &bytes, now);
        }
        self.server.update(now);
        for (to, bytes) in self.server.take_outgoing() {
            self.socket.send_to(&bytes, to)?;
        }
        Ok(())
    }

    /// Sends a message to all clients.
    fn says(&mut self, message: &[u8], now: u64) {
        for (_, slot) in self.server.peers_mut() {
            slot.send_vital(message, now);
            slot.flush(now);
        }
    }
}

impl Stage {
    fn new(variant: Variant) -> Result<Self> {
        Ok(Self {
            begun: Instant::now(),
            variant,
            hosts: [Host::new(variant, 1)?, Host::new(variant, 2)?],
            client: Peer::client(variant, Options::default(), 0),
            socket: socket()?,
            dialled: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            joins: 0,
            talks: 0,
        })
    }

    fn now(&self) -> u64 {
        u64::try_from(self.begun.elapsed().as_micros()).unwrap_or(u64::MAX)
    }

    /// Returns the first server, or the one to which it redirects its clients.
    fn host(&mut self, first: bool) -> &mut Host {
        let [one, other] = &mut self.hosts;
        if first { one } else { other }
    }

    fn step(&mut self) -> Result<()> {
        let now = self.now();
        for (from, bytes) in received(&self.socket)? {
            // A client ignores datagrams from any other address than its server's.
            if from == self.dialled {
                self.client.receive(&bytes, now);
            }
        }
        self.client.update(now);
        for bytes in self.client.outgoing.drain(..) {
            self.socket.send_to(&bytes, self.dialled)?;
        }
        self.hosts.iter_mut().try_for_each(|host| host.step(now))
    }

    /// Runs all peers until `so` returns true.
    fn until(&mut self, what: &str, so: impl Fn(&Self) -> bool) -> Result<()> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            self.step()?;
            if so(self) {
                return Ok(());
            }
            ensure!(
                Instant::now() < deadline,
                "{what}: not so ({:?})",
                self.client.state()
            );
            thread::sleep(Duration::from_millis(1));
        }
    }

    /// Leaves, as DDNet's client does, and joins the server at `to` from the same socket.
    fn connect(&mut self, to: SocketAddr) -> Result<()> {
        let now = self.now();
        self.client.close("", now);
        self.step()?;
        self.dialled = to;
        self.joins += 1;
        self.client = Peer::client(self.variant, Options::saying(b"hello"), self.joins);
        self.client.connect(self.now());
        self.until("a join", |stage| has_received(&stage.client, b"greeting"))
    }

    /// Checks that the client plays on that server alone: each receives the messages of the other.
    fn plays_on(&mut self, first: bool) -> Result<()> {
        self.talks += 1;
        let (up, down) = (format!("up {}", self.talks), format!("down {}", self.talks));
        let now = self.now();
        ensure!(
            self.client.send_vital(up.as_bytes(), now),
            "the client is not online"
        );
        self.client.flush(now);
        self.host(first).says(down.as_bytes(), now);
        self.until("a talk", |stage| {
            let [one, other] = &stage.hosts;
            let (here, there) = if first { (one, other) } else { (other, one) };
            let slots: Vec<&Peer> = here.server.peers().map(|(_, slot)| slot).collect();
            has_received(&stage.client, down.as_bytes())
                && matches!(slots[..], [slot] if has_received(slot, up.as_bytes()))
                && there.server.peers().next().is_none()
        })
    }

    /// Redirects the client away from that server; returns the port that the client receives.
    fn redirected(&mut self, first: bool, port: u16) -> Result<u16> {
        let now = self.now();
        self.host(first).says(&extended::redirect(port), now);
        let redirected = |stage: &Self| {
            let mut messages = stage.client.delivered.iter();
            messages.find_map(|message| extended::redirect_port(&message.data))
        };
        self.until("a redirect", |stage| redirected(stage).is_some())?;
        redirected(self).context("a redirect")
    }
}

fn has_text(object: &Value, text: &str) -> bool {
    object["event"] == "notice" && object["text"].as_str().is_some_and(|line| line.contains(text))
}

/// Redirects the client to the other server, back, and to the same server.
fn follows(variant: Variant) -> Result<()> {
    let folder = home("log")?;
    let log = folder.path().join("run.log");
    let mut stage = Stage::new(variant)?;
    let (here, there) = (stage.host(true).addr()?, stage.host(false).addr()?);
    let options = ["--input-log", log.to_str().context("a path")?];
    let teetap = Teetap::start(Path::new(TEETAP), here, &options)?;
    let listen = teetap.listen();
    stage.connect(listen)?;
    stage.plays_on(true)?;

    let port = stage.redirected(true, there.port())?;
    let behind = SocketAddr::new(listen.ip(), port);
    ensure!(
        ![here, there, listen].contains(&behind),
        "redirected to port {port}"
    );
    let status = format!("redirect: {behind} now forwards to {there}");
    teetap.wait_for("where the other server is", |object| has_text(object, &status))?;
    teetap
        .errors()
        .wait_for(&format!("^teetap: {status}$"), PATIENCE)?;
    teetap.wait_for("the datagram that the client receives", |object| {
        object["session"] == 1 && has_text(object, &format!("redirect to port {}", there.port()))
    })?;
    teetap.wait_for("the message that was edited", |object| {
        let uuid = object["uuid"].as_str().unwrap_or_default();
        uuid.starts_with("4efe406a")
            && object
                .pointer("/actions/0/action")
                .is_some_and(|action| action == "edit")
    })?;
    stage.connect(behind)?;
    stage.plays_on(false)?;
    teetap.wait_for("the session on the other server", |object| {
        object["session"] == 2 && object["state"] == "online" && object["server"] == there.to_string()
    })?;

    ensure!(stage.redirected(false, there.port())? == port, "its own port");
    stage.connect(behind)?;
    stage.plays_on(false)?;
    ensure!(
        stage.redirected(false, here.port())? == listen.port(),
        "the way back"
    );
    stage.connect(listen)?;
    stage.plays_on(true)?;
    // A redirect that would form a loop is forwarded unchanged, since it already leads to the proxy.
    ensure!(stage.redirected(true, port)? == port, "a port of the proxy's own");
    teetap.wait_for("a warning", |object| {
        object["level"] == "warning" && has_text(object, "this is the proxy's own listen address")
    })?;
    let now = stage.now();
    stage.host(true).says(&extended::RECONNECT, now);
    stage.until("reconnect", |stage| {
        has_received(&stage.client, &extended::RECONNECT)
    })?;
    stage.connect(listen)?;
    stage.plays_on(true)?;

    let objects = teetap.stop()?;
    let online = objects.iter().filter(|object| object["state"] == "online");
    ensure!(online.count() == 5, "sessions");
    let replay = Command::new(TEETAP)
        .args(["replay", "--check"])
        .arg(&log)
        .output()?;
    if !replay.status.success() {
        bail!("{}", String::from_utf8_lossy(&replay.stdout));
    }
    Ok(())
}

#[test]
fn ddnet_peers_stay_behind_the_proxy() -> Result<()> {
    follows(Variant::Ddnet)
}

#[test]
fn ddnet_peers_of_0_7_stay_behind_the_proxy() -> Result<()> {
    follows(Variant::D7)
}
