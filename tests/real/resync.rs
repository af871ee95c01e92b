//! A resync with real peers: in the middle of a game the server sends a complete snapshot, and both continue to play.

use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use teetap_inspect::Decoder;
use teetap_kit::real::{Client, Game, PATIENCE, turn};
use teetap_proxy::io::{Bus, Clock, Listen, Nice, Proxy, Raw, Seen, Settings, Watcher};
use teetap_proxy::session::{Command, Config, Event, EventKind, Events, Notice, SessionId};
use teetap_rules::context::Context;
use teetap_wire::def::Registry;

/// Decodes events like a watcher that missed the start of the session.
struct Viewer {
    watcher: Watcher<Event>,
    decoder: Decoder,
}

impl Viewer {
    fn take(&mut self, event: &Event) {
        // Only the knowledge that the decoder gains matters.
        drop(self.decoder.decode(event.clone()));
    }

    /// Waits for a notice that `found` accepts.
    fn wait(&mut self, what: &str, found: impl Fn(&Notice) -> bool) -> Result<()> {
        let end = Instant::now() + PATIENCE;
        while Instant::now() < end {
            while let Some(seen) = self.watcher.poll() {
                let Seen::Event(event) = seen else {
                    panic!("events were missed")
                };
                self.take(&event);
                if let EventKind::Notice(notice) = &event.what
                    && found(notice)
                {
                    return Ok(());
                }
            }
            thread::sleep(Duration::from_millis(20));
        }
        anyhow::bail!("{what} never came");
    }

    fn has_snapshots(&self) -> bool {
        let store = self.decoder.contexts().get(1).and_then(Context::store);
        store.is_some_and(|store| store.whole() && store.newest().is_some())
    }
}

fn a_resync(game: Game, client: Client) -> Result<()> {
    let _turn = turn::shared()?;
    let mut server = game.start(&[])?;
    let bus = Bus::new();
    let mut viewer = Viewer {
        watcher: bus.watch(),
        decoder: Decoder::new(Registry::builtin()),
    };
    let proxy = Proxy::start(Settings {
        target: server.addr(),
        listen: Listen::At("127.0.0.1:0".parse()?),
        client_addresses: false,
        config: Config {
            seed: 0,
            secret: [7; 16],
            proto: None,
            patience: None,
            heals: false,
            events: Events::All,
            registry: Registry::builtin(),
        },
        bus,
        stage: Raw,
        nice: Nice::default(),
        clock: Clock::start(),
        input_log: None,
        journal: None,
        program: None,
    })?;
    let mut player = client.join("anna", proxy.addr)?;
    let end = Instant::now() + PATIENCE;
    while !viewer.has_snapshots() && Instant::now() < end {
        thread::sleep(Duration::from_millis(100));
        while let Some(Seen::Event(event)) = viewer.watcher.poll() {
            viewer.take(&event);
        }
    }
    ensure!(viewer.has_snapshots(), "no snapshot came");
    viewer.decoder.gap();
    ensure!(!viewer.has_snapshots());
    let session = SessionId(1);
    proxy.commands().command(Command::Resync { session })?;
    viewer.wait("resync", |notice| *notice == Notice::Resync)?;
    viewer.wait("the complete snapshot", |notice| *notice == Notice::Resynced)?;
    // The next snapshot is a difference to it.
    player.command("say still here")?;
    server.log().wait_for("chat.*: still here$", PATIENCE)?;
    while let Some(Seen::Event(event)) = viewer.watcher.poll() {
        viewer.take(&event);
    }
    ensure!(viewer.has_snapshots(), "the snapshots are not known again");
    player.quit()?;
    proxy.commands().stop("end of the test");
    proxy.join()?;
    server.stop()
}

#[test]
fn of_a_ddnet_server() -> Result<()> {
    a_resync(Game::Ddnet, Client::Ddnet)
}

#[test]
fn of_a_0_7_server() -> Result<()> {
    a_resync(Game::Seven, Client::Seven)
}
