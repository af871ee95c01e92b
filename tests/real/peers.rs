//! The peers of `teetap-peer` against programs not written by this project: its clients on real servers, real clients
//! on its server.
//!
//! There is no proxy here. A mistake of these peers would otherwise look like a fault of the proxy in every test
//! built on them.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use teetap_kit::real::{
    BigMap, DdnetClient, DdnetServer, NpmBot, OldServer, PATIENCE, Player, Server as _, TeeworldsClient,
    TeeworldsServer, downloaded, old_server, turn,
};
use teetap_peer::{
    Client, ClientConfig, ClientEvent, Delivered, Map, MapFile, Server, ServerConfig, ServerEvent, Variant,
    token,
};
use teetap_wire::snap::Fate;
use teetap_wire::{Dir, Proto};

/// Maximum wait for a datagram before the timers are checked.
const STEP: Duration = Duration::from_millis(5);

/// Waits at most `left` and at most [`STEP`] for a datagram.
pub(super) fn receive(socket: &UdpSocket, left: Duration) -> Result<Option<(Vec<u8>, SocketAddr)>> {
    socket.set_read_timeout(Some(left.clamp(Duration::from_millis(1), STEP)))?;
    let mut buffer = vec![0; 1400];
    match socket.recv_from(&mut buffer) {
        Ok((len, from)) => {
            buffer.truncate(len);
            Ok(Some((buffer, from)))
        }
        // No datagram, or a closed port: the timers of the peer handle both.
        Err(error)
            if matches!(
                error.kind(),
                std::io::ErrorKind::WouldBlock
                    | std::io::ErrorKind::TimedOut
                    | std::io::ErrorKind::ConnectionRefused
            ) =>
        {
            Ok(None)
        }
        Err(error) => Err(error).context("receive"),
    }
}

/// A client of the crate on a real socket.
struct Live {
    client: Client,
    socket: UdpSocket,
    server: SocketAddr,
    start: Instant,
    events: Vec<ClientEvent>,
}

impl Live {
    fn connect(config: ClientConfig, server: SocketAddr) -> Result<Self> {
        Ok(Self {
            client: Client::new(config),
            socket: UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?,
            server,
            start: Instant::now(),
            events: Vec::new(),
        })
    }

    /// Runs the client until `condition` holds.
    fn wait(&mut self, what: &str, condition: impl Fn(&Self) -> bool) -> Result<()> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let now = self.start.elapsed();
            self.client.tick(now);
            while let Some(datagram) = self.client.poll_transmit() {
                self.socket.send_to(&datagram, self.server)?;
            }
            self.events
                .extend(std::iter::from_fn(|| self.client.poll_event()));
            if condition(self) {
                return Ok(());
            }
            let end = self
                .events
                .iter()
                .find(|event| matches!(event, ClientEvent::Ended(_)));
            ensure!(end.is_none(), "{what}: {end:?}");
            ensure!(Instant::now() < deadline, "{what}: not within {PATIENCE:?}");
            let left = self.client.deadline().unwrap_or(now).saturating_sub(now);
            if let Some((datagram, from)) = receive(&self.socket, left)?
                && from == self.server
            {
                self.client.handle(self.start.elapsed(), &datagram);
            }
        }
    }

    /// Returns true if a message was received for which `holds` returns true.
    fn got(&self, name: &str, holds: impl Fn(&teetap_peer::Reading<'_>) -> bool) -> bool {
        let proto = self.client.proto();
        self.events.iter().any(|event| match event {
            ClientEvent::Message(message) => message
                .read(proto, Dir::S2c)
                .is_some_and(|message| message.name() == name && holds(&message)),
            _ => false,
        })
    }

    /// Returns the number of snapshots by fate.
    fn snapshots(&self) -> BTreeMap<String, usize> {
        let mut counts = BTreeMap::new();
        for event in &self.events {
            if let ClientEvent::Snapshot { fate, .. } = event {
                *counts.entry(format!("{fate:?}")).or_default() += 1;
            }
        }
        counts
    }
}

/// Lets a client play: join, a map download if there is a file to compare with, snapshots, chat, a ping, inputs.
fn plays(variant: Variant, expected: Proto, server: SocketAddr, map: Option<&Path>) -> Result<()> {
    let mut config = ClientConfig::new(variant, token(5, variant), "scripted");
    if map.is_some() {
        config.maps.clear();
    }
    let mut live = Live::connect(config, server)?;
    live.wait("the join", |live| live.client.has_joined())?;
    ensure!(live.client.proto() == expected, "{:?}", live.client.proto());
    if let Some(path) = map {
        let bytes = std::fs::read(path).with_context(|| format!("read {}", path.display()))?;
        let is_map = |event: &ClientEvent| matches!(event, ClientEvent::Map(map) if map.data == bytes);
        ensure!(live.events.iter().any(is_map), "the map is not the server's");
        // The server computes the checksum in the same way as the crate.
        let file = MapFile::new(bytes.clone(), None)?;
        ensure!(file.crc() == downloaded_crc(&live.events), "another checksum");
    }
    let kept = format!("{:?}", Fate::Kept);
    live.wait("snapshots", |live| {
        live.snapshots().get(&kept).is_some_and(|count| *count >= 40)
    })?;
    ensure!(live.client.players() == 1, "{} players", live.client.players());
    let now = live.start.elapsed();
    live.client.say(now, "hello from a script")?;
    live.client.ping(now)?;
    live.wait("its own chat", |live| {
        live.got("sv_chat", |chat| {
            chat.text("message").as_deref() == Some("hello from a script")
        })
    })?;
    live.wait("the answer to a ping", |live| live.got("ping_reply", |_| true))?;
    live.wait("answers to inputs", |live| live.got("input_timing", |_| true))?;
    let fates = live.snapshots();
    ensure!(fates.keys().all(|fate| *fate == kept), "{fates:?}");
    let counters = live.client.counters();
    ensure!(counters.dropped == 0 && counters.gaps == 0, "{counters:?}");
    let now = live.start.elapsed();
    live.client.close(now, "enough");
    live.wait("the end", |live| live.client.is_over())
}

/// Returns the checksum that the server announced for the downloaded map.
fn downloaded_crc(events: &[ClientEvent]) -> u32 {
    let crc = events.iter().find_map(|event| match event {
        ClientEvent::Map(map) => Some(map.crc),
        _ => None,
    });
    crc.unwrap_or_default()
}

const SEVEN_DM1: &str = "/usr/share/games/teeworlds/data/maps/dm1.map";
const DDNET_DM1: &str = "/usr/share/games/ddnet/data/maps/dm1.map";

#[test]
fn scripted_clients_play_on_a_0_7_server() -> Result<()> {
    let _turn = turn::shared()?;
    let mut server = TeeworldsServer::start(&[])?;
    for variant in [Variant::V7, Variant::Ddnet7] {
        plays(variant, Proto::V7, server.addr(), Some(Path::new(SEVEN_DM1)))
            .with_context(|| variant.to_string())?;
    }
    server.stop()
}

#[test]
fn scripted_clients_of_every_variant_play_on_a_ddnet_server() -> Result<()> {
    let _turn = turn::shared()?;
    let mut server = DdnetServer::start(&[])?;
    for (variant, proto, map) in [
        (Variant::V6, Proto::V6, DDNET_DM1),
        (Variant::V65, Proto::V6, DDNET_DM1),
        (Variant::Ddnet, Proto::Ddnet, DDNET_DM1),
        (Variant::V7, Proto::V7, SEVEN_DM1),
        (Variant::Ddnet7, Proto::V7, SEVEN_DM1),
    ] {
        plays(variant, proto, server.addr(), Some(Path::new(map))).with_context(|| variant.to_string())?;
    }
    server.stop()
}

/// Lets clients play on a server of 0.6 that a variable of the environment names. If it is not set, the crate's own
/// server with these variants is used instead.
fn plays_on_old(variable: &str, stand_in: &[Variant], clients: &[(Variant, Proto, bool)]) -> Result<()> {
    let _turn = turn::shared()?;
    let play = |addr, map: &Path| {
        let mut each = clients.iter();
        each.try_for_each(|(variant, proto, downloads)| {
            plays(*variant, *proto, addr, Some(map).filter(|_| *downloads))
                .with_context(|| variant.to_string())
        })
    };
    if let Some(path) = old_server(variable) {
        let mut server = OldServer::start(&path)?;
        play(
            server.addr(),
            &path.parent().context("a folder")?.join("data/maps/dm1.map"),
        )?;
        return server.stop();
    }
    let file = MapFile::new(std::fs::read(DDNET_DM1)?, None)?;
    let mut config = ServerConfig::new(12);
    config.variants = stand_in.to_vec();
    config.challenges = stand_in == [Variant::V65];
    config.map = Map::new("dm1", file.clone(), file);
    let host = Host::start(config)?;
    play(host.addr, Path::new(DDNET_DM1))?;
    host.stop()
}

#[test]
fn scripted_clients_of_0_6_play_on_a_0_6_4_server() -> Result<()> {
    let clients = [Variant::V6, Variant::V65, Variant::Ddnet].map(|variant| (variant, Proto::V6, true));
    plays_on_old("TEETAP_SERVER_064", &[Variant::V6], &clients)
}

#[test]
fn scripted_clients_of_0_6_play_on_a_0_6_5_server() -> Result<()> {
    let clients = [
        // A client that proves its address must have the map of the challenge.
        (Variant::V6, Proto::V6, false),
        (Variant::V65, Proto::V65, true),
        (Variant::Ddnet, Proto::V6, false),
    ];
    plays_on_old("TEETAP_SERVER_065", &[Variant::V65], &clients)
}

/// A server of the crate on a real socket, in a thread.
struct Host {
    addr: SocketAddr,
    events: Receiver<ServerEvent>,
    stop: Sender<()>,
    thread: JoinHandle<Result<()>>,
}

impl Host {
    fn start(config: ServerConfig) -> Result<Self> {
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
        let addr = socket.local_addr()?;
        let (sender, events) = channel();
        let (stop, stopped) = channel();
        let thread = std::thread::spawn(move || serve(Server::new(config), &socket, &sender, &stopped));
        Ok(Self {
            addr,
            events,
            stop,
            thread,
        })
    }

    /// Waits for an event that `wanted` accepts.
    fn wait(&self, what: &str, wanted: impl Fn(&ServerEvent) -> bool) -> Result<ServerEvent> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let Ok(event) = self.events.recv_timeout(left) else {
                bail!("{what}: not within {PATIENCE:?}")
            };
            if wanted(&event) {
                return Ok(event);
            }
        }
    }

    fn stop(self) -> Result<()> {
        self.stop.send(()).context("the server has ended")?;
        match self.thread.join() {
            Ok(result) => result,
            Err(_) => bail!("the server panicked"),
        }
    }
}

fn serve(
    mut server: Server,
    socket: &UdpSocket,
    events: &Sender<ServerEvent>,
    stop: &Receiver<()>,
) -> Result<()> {
    let start = Instant::now();
    while stop.try_recv().is_err() {
        if let Some((datagram, from)) = receive(socket, STEP)? {
            server.handle(start.elapsed(), from, &datagram);
        }
        server.tick(start.elapsed());
        while let Some((to, datagram)) = server.poll_transmit() {
            socket.send_to(&datagram, to)?;
        }
        for event in std::iter::from_fn(|| server.poll_event()) {
            events.send(event).context("the test has ended")?;
        }
    }
    Ok(())
}

/// Returns the configuration of a server with a map that no client has.
fn settings(six: &BigMap, seven: &BigMap) -> Result<ServerConfig> {
    let file = |map: &BigMap| MapFile::new(map.bytes().to_vec(), None);
    let mut config = ServerConfig::new(11);
    config.map = Map::new("teetap-scripted", file(six)?, file(seven)?);
    "motd of a script".clone_into(&mut config.motd);
    Ok(config)
}

/// Returns the text of a chat line.
fn said(message: &Delivered, proto: Proto) -> Option<String> {
    let message = message.read(proto, Dir::C2s)?;
    (message.name() == "cl_say").then(|| message.text("message"))?
}

/// Lets a real client visit the server of the crate: it enters, plays for a while and quits.
fn visited(host: &Host, variant: Variant, player: &mut dyn Player, chats: bool) -> Result<()> {
    let entered = host.wait("the join", |event| matches!(event, ServerEvent::Entered { .. }))?;
    ensure!(
        matches!(entered, ServerEvent::Entered { client: 0 }),
        "{entered:?}"
    );
    let is_input = |event: &ServerEvent| match event {
        ServerEvent::Message { message, .. } => message
            .read(variant.proto(), Dir::C2s)
            .is_some_and(|message| message.name() == "input" && message.int("ack_snapshot") > Some(0)),
        _ => false,
    };
    // A client acks a snapshot only if its sum is right.
    for _ in 0..30 {
        host.wait("inputs that ack snapshots", is_input)?;
    }
    if chats {
        player.command("say hello")?;
        host.wait("chat", |event| match event {
            ServerEvent::Message { message, .. } => {
                said(message, variant.proto()).as_deref() == Some("hello")
            }
            _ => false,
        })?;
    }
    player.quit()?;
    let left = host.wait("the quit", |event| matches!(event, ServerEvent::Left { .. }))?;
    let ServerEvent::Left { client, .. } = left else {
        bail!("{left:?}")
    };
    ensure!(
        client.variant == variant && client.name == player.name(),
        "{client:?}"
    );
    ensure!(client.counters.dropped == 0, "{client:?}");
    Ok(())
}

#[test]
fn an_npm_client_plays_on_a_scripted_server() -> Result<()> {
    let _turn = turn::shared()?;
    let host = Host::start(settings(&BigMap::six(50_000)?, &BigMap::seven(50_000)?)?)?;
    let mut player = NpmBot::start("guest", host.addr)?;
    visited(&host, Variant::Ddnet, &mut player, true)?;
    ensure!(player.log().contains("motd \"motd of a script\""), "no motd");
    ensure!(
        !player.log().contains("snapshot crc error"),
        "a snapshot was wrong"
    );
    host.stop()
}

#[test]
fn a_0_7_client_downloads_the_map_of_a_scripted_server_and_plays() -> Result<()> {
    let _turn = turn::shared()?;
    let seven = BigMap::seven(300_000)?;
    let host = Host::start(settings(&BigMap::six(50_000)?, &seven)?)?;
    let mut player = TeeworldsClient::offscreen("guest", host.addr)?;
    visited(&host, Variant::V7, &mut player, false)?;
    let map = std::fs::read(downloaded(player.home(), "teeworlds")?)?;
    ensure!(map == seven.bytes(), "another map was downloaded");
    host.stop()
}

#[test]
fn a_ddnet_client_downloads_the_map_of_a_scripted_server_and_plays() -> Result<()> {
    let _turn = turn::shared()?;
    let six = BigMap::six(100_000)?;
    let host = Host::start(settings(&six, &BigMap::seven(50_000)?)?)?;
    let mut player = DdnetClient::start("guest", host.addr)?;
    visited(&host, Variant::Ddnet, &mut player, true)?;
    let map = std::fs::read(downloaded(player.home(), "ddnet")?)?;
    ensure!(map == six.bytes(), "another map was downloaded");
    host.stop()
}
