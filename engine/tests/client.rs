//! A test of a client with a proxy in it: the library as a test kit.
//!
//! To test your own client, start it where [`Game`] has one of `teetap_peer`, and let it connect to [`Run::addr`].

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::print_stderr,
    reason = "a test fails by panicking, and says where its recording is"
)]

use std::{
    net::{SocketAddr, UdpSocket},
    path::PathBuf,
    thread,
    time::{Duration, Instant},
};

use teetap_capture::Target;
use teetap_engine::{Builder, Run};
use teetap_inspect::judge::Culprit;
use teetap_peer::{Client, ClientConfig, Server, ServerConfig, Variant, token};
use teetap_proxy::io::Seen;
use teetap_rules::Filter;
use teetap_wire::{Severity, def::Registry};
use tempfile::TempDir;

/// Maximum duration of a game.
const PATIENCE: Duration = Duration::from_secs(20);

/// A server and a client on the loopback interface.
struct Game {
    at_server: UdpSocket,
    at_client: UdpSocket,
    server: Server,
    client: Client,
    start: Instant,
}

impl Game {
    fn new(variant: Variant) -> Self {
        let socket = || {
            let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
            socket.set_nonblocking(true).unwrap();
            socket
        };
        Self {
            at_server: socket(),
            at_client: socket(),
            server: Server::new(ServerConfig::new(1)),
            client: Client::new(ClientConfig::new(variant, token(2, "tee"), "nameless tee")),
            start: Instant::now(),
        }
    }

    /// Plays for about a millisecond. The client sends to `addr`.
    fn play(&mut self, addr: SocketAddr) {
        assert!(self.start.elapsed() < PATIENCE, "the client does not join");
        thread::sleep(Duration::from_millis(1));
        let (now, mut buffer) = (self.start.elapsed(), [0; 1400]);
        self.client.tick(now);
        self.server.tick(now);
        while let Some(datagram) = self.client.poll_transmit() {
            self.at_client.send_to(&datagram, addr).unwrap();
        }
        while let Some((to, datagram)) = self.server.poll_transmit() {
            self.at_server.send_to(&datagram, to).unwrap();
        }
        while let Ok((len, from)) = self.at_server.recv_from(&mut buffer) {
            self.server.handle(now, from, &buffer[..len]);
        }
        while let Ok(len) = self.at_client.recv(&mut buffer) {
            self.client.handle(now, &buffer[..len]);
        }
    }
}

/// A folder for the recording of a test, which stays if the test fails.
struct Recording(TempDir);

impl Recording {
    fn path(&self) -> PathBuf {
        self.0.path().join("run.pcapng")
    }

    fn target(&self) -> Target {
        Target::parse(self.path().to_str().unwrap()).unwrap()
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.disable_cleanup(true);
            eprintln!("recording: {}", self.path().display());
        }
    }
}

/// Returns true if the awaited message was sent.
fn has_seen(run: &mut Run) -> bool {
    let mut seen = false;
    while let Some(event) = run.poll() {
        seen |= matches!(event, Seen::Event(decoded) if decoded.ending.is_some());
    }
    seen
}

#[test]
fn a_client_joins_although_its_start_info_is_lost() {
    for variant in [Variant::Ddnet, Variant::V7] {
        let (mut game, recording) = (Game::new(variant), Recording(TempDir::new().unwrap()));
        let rules = "lost: lose when cl_start_info first 1\nlink both delay 5ms";
        let awaited = Filter::parse("c2s and cl_start_info and resend", Registry::builtin());
        let server = game.at_server.local_addr().unwrap();
        let builder = Builder::new(server)
            .rules(rules)
            .until(awaited.unwrap().0)
            .seed(7);
        let mut run = builder.record(recording.target()).start().unwrap();

        let mut is_repeated = false;
        while !is_repeated || !game.client.has_joined() {
            game.play(run.addr());
            is_repeated |= has_seen(&mut run);
        }

        let summary = run.stop("the end of the test");
        let ended = summary.ended.unwrap();
        assert_eq!(ended.report.rules[0].hits.count, 1, "the first start info");
        let mut findings = summary.findings.unwrap().list.into_iter();
        let error = findings.find(|found| found.by == Culprit::Client && found.severity == Severity::Error);
        assert!(error.is_none(), "{}", error.unwrap());
        assert!(recording.path().metadata().unwrap().len() > 0);
    }
}
