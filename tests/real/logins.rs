//! Logins at a real server that stall: each step of a client is omitted in turn, and the server refuses clients for
//! its own reasons. The notice and the summary of the built binary name the step, the side and the reason.

use std::{
    net::{SocketAddr, UdpSocket},
    path::Path,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;
use teetap_kit::{
    codec::Variant,
    peer::{Options, Peer, State, game},
    real::{DdnetServer, Server, Teetap, text, turn},
};

use crate::TEETAP;

/// The time that a client waits for an answer that is never sent.
const LONG: Duration = Duration::from_millis(1400);

/// The id of the last game message in a join: the client may enter.
const READY_TO_ENTER: i32 = 8;

/// A client of DDNet that omits a step, or sends it in a non-vital chunk.
struct Client {
    peer: Peer,
    socket: UdpSocket,
    begin: Instant,
    without: &'static str,
    not_vital: &'static str,
    version: &'static str,
    read: usize,
}

fn info(version: &str) -> Vec<u8> {
    let mut message = vec![3];
    message.extend(version.as_bytes());
    // The end of the version, and no password.
    message.extend([0, 0]);
    message
}

impl Client {
    fn new(server: SocketAddr) -> Result<Self> {
        let socket = UdpSocket::bind("127.0.0.1:0")?;
        socket.connect(server)?;
        socket.set_read_timeout(Some(Duration::from_millis(10)))?;
        Ok(Self {
            peer: Peer::client(Variant::Ddnet, Options::default(), 7),
            socket,
            begin: Instant::now(),
            without: "",
            not_vital: "",
            version: "0.6 626fce9a778df4d4",
            read: 0,
        })
    }

    fn now(&self) -> u64 {
        u64::try_from(self.begin.elapsed().as_micros()).unwrap_or(u64::MAX)
    }

    fn send(&mut self, name: &str, message: &[u8]) {
        if name == self.without {
            return;
        }
        let now = self.now();
        if name == self.not_vital {
            self.peer.send_nonvital(message, now);
        } else {
            self.peer.send_vital(message, now);
        }
        self.peer.flush(now);
    }

    /// Joins as far as possible for `time`.
    fn join(&mut self, time: Duration) -> Result<()> {
        let now = self.now();
        self.peer.connect(now);
        let mut is_online = false;
        let mut buffer = [0; 2048];
        while self.begin.elapsed() < time && !matches!(self.peer.state(), State::Closed { .. }) {
            let now = self.now();
            self.peer.update(now);
            if self.peer.is_online() && !std::mem::replace(&mut is_online, self.peer.is_online()) {
                self.send("info", &info(self.version));
            }
            self.answer();
            for datagram in std::mem::take(&mut self.peer.outgoing) {
                self.socket.send(&datagram)?;
            }
            if let Ok(len) = self.socket.recv(&mut buffer) {
                let now = self.now();
                self.peer.receive(&buffer[..len], now);
            }
        }
        Ok(())
    }

    fn answer(&mut self) {
        while let Some(delivered) = self.peer.delivered.get(self.read) {
            let message = delivered.data.clone();
            self.read += 1;
            let is_game = |id| game::int(&message).is_some_and(|(found, _)| found == id << 1);
            match game::system(&message) {
                Some((game::MAP_CHANGE, _)) => self.send("ready", &game::ready()),
                Some((game::CON_READY, _)) => self.send("cl_start_info", &game::start_info("scripted")),
                // 31 is enter_game: id 15 with the bit of the engine.
                None if is_game(READY_TO_ENTER) => self.send("enter_game", &[31]),
                _ => {}
            }
        }
    }

    fn leave(&mut self) -> Result<()> {
        let now = self.now();
        self.peer.close("bye", now);
        for datagram in std::mem::take(&mut self.peer.outgoing) {
            self.socket.send(&datagram)?;
        }
        Ok(())
    }
}

fn proxy(server: &dyn Server) -> Result<Teetap> {
    Teetap::start(Path::new(TEETAP), server.addr(), &[])
}

/// The outcome of a join, and its reason.
type Outcome = (String, String);

/// Ends the proxy. Returns the reported stalls, and the outcomes of the joins.
fn finish(teetap: Teetap) -> Result<(Vec<String>, Vec<Outcome>)> {
    let objects = teetap.stop()?;
    let stalls = objects
        .iter()
        .filter(|object| text(object, "kind") == "login_stalled");
    let stalls = stalls.map(|object| text(object, "text").to_owned()).collect();
    let summary = objects.last().context("no summary")?;
    let joins = summary
        .get("joins")
        .and_then(Value::as_array)
        .context("no joins")?;
    let joins = joins
        .iter()
        .map(|join| (text(join, "outcome").to_owned(), text(join, "why").to_owned()));
    Ok((stalls, joins.collect()))
}

/// Lets one client join and leave. Returns the reported stalls and the outcome.
fn visit(server: &DdnetServer, change: impl Fn(&mut Client)) -> Result<(Vec<String>, Outcome)> {
    let teetap = proxy(server)?;
    let mut client = Client::new(teetap.listen())?;
    change(&mut client);
    client.join(LONG)?;
    client.leave()?;
    let is_over = |object: &Value| text(object, "state") == "closed";
    teetap.wait_for("the end of the session", is_over)?;
    let (stalls, mut joins) = finish(teetap)?;
    ensure!(joins.len() == 1, "{joins:?}");
    Ok((stalls, joins.remove(0)))
}

#[test]
fn each_step_that_a_client_forgets_is_named() -> Result<()> {
    let _turn = turn::shared()?;
    let mut server = DdnetServer::start(&[])?;
    let (stalls, (outcome, why)) = visit(&server, |_| ())?;
    ensure!(
        stalls.is_empty() && outcome == "entered" && why.is_empty(),
        "{stalls:?} {outcome} {why}"
    );
    for (step, after) in [
        ("info", "accept"),
        ("ready", "map_change (acked)"),
        ("cl_start_info", "con_ready (acked)"),
        ("enter_game", "sv_ready_to_enter (acked)"),
    ] {
        let (stalls, (outcome, why)) = visit(&server, |client| client.without = step)?;
        let place = format!("after {after} the server waits for {step} from the client");
        ensure!(
            stalls == [format!("login stalled: {place}")],
            "{step}: {stalls:?}"
        );
        let never = format!("after {after} the client never sent {step}; closed by the client \"bye\"");
        ensure!(
            outcome == "never-entered" && why == never,
            "{step}: {outcome}: {why}"
        );
        let (stalls, (_, why)) = visit(&server, |client| client.not_vital = step)?;
        let misstep = "was sent in a chunk that is not vital and is ignored";
        ensure!(
            stalls[0].ends_with(&format!("{place}; {step} {misstep}")),
            "{step}: {stalls:?}"
        );
        ensure!(why.contains(misstep), "{step}: {why}");
    }
    server.stop()
}

#[test]
fn each_refusal_of_a_server_is_named() -> Result<()> {
    let _turn = turn::shared()?;
    for (setting, version, reason) in [
        ("password secret", "0.6 626fce9a778df4d4", "wrong password"),
        ("sv_name x", "0.5 b67d1f1a1eea234e", "wrong version"),
    ] {
        let mut server = DdnetServer::start(&[setting])?;
        let (stalls, (outcome, why)) = visit(&server, |client| client.version = version)?;
        // The server sends nothing but the CLOSE after its answer to CONNECT.
        ensure!(
            stalls.is_empty() && outcome == "never-entered",
            "{stalls:?} {outcome}"
        );
        ensure!(why.starts_with(&format!("{reason}, after info")), "{why}");
        server.stop()?;
    }
    for (setting, reason) in [
        ("sv_max_clients 1", "the server is full"),
        ("sv_max_clients_per_ip 1", "too many clients have this address"),
    ] {
        let mut server = DdnetServer::start(&[setting])?;
        let mut first = Client::new(server.addr())?;
        first.join(LONG / 4)?;
        let (_, (outcome, why)) = visit(&server, |_| ())?;
        ensure!(
            outcome == "never-online" || outcome == "never-entered",
            "{outcome}"
        );
        ensure!(why.starts_with(reason), "{setting}: {why}");
        first.leave()?;
        server.stop()?;
    }
    Ok(())
}
