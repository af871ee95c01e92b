//! A client and a server in a session through the core, and an attacker that sends datagrams to both legs.

use std::fmt;

use teetap_kit::{
    codec::{Variant, control},
    hostile::{Shown, looks_seven},
    link::{Conditions, MS, SECOND},
    peer::{Options, Peer, Policy, Server},
    rules::pass_all,
    world::{self, Middle, Place, World, client_addr},
};
use teetap_proxy::session::{Config, EventKind, Hub, Input, SessionId, State, UpstreamId};
use teetap_wire::{Code, Side};

/// The pairs of client and server: all framings, DDNet on either side, and the fallback to a session without
/// tokens.
pub(crate) const PAIRS: [(Variant, Variant); 8] = [
    (Variant::V6, Variant::V6),
    (Variant::V65, Variant::V65),
    (Variant::Ddnet, Variant::Ddnet),
    (Variant::Ddnet, Variant::V6),
    (Variant::V65, Variant::Ddnet),
    (Variant::V7, Variant::V7),
    (Variant::D7, Variant::Ddnet),
    (Variant::V7, Variant::D7),
];

/// The phase of a session when the hostile datagrams are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// The server has not answered.
    Opening,
    /// The client was answered and has not sent a packet since.
    Answered,
    /// In session, in identity mode.
    Online,
    /// In session, renumbered.
    Renumbered,
    /// Closed by the client; late datagrams are expected.
    Closing,
}

impl Phase {
    pub(crate) const ALL: [Self; 5] = [
        Self::Opening,
        Self::Answered,
        Self::Online,
        Self::Renumbered,
        Self::Closing,
    ];

    pub(crate) fn is_online(self) -> bool {
        matches!(self, Self::Online | Self::Renumbered)
    }
}

pub(crate) struct Stage {
    pub(crate) world: World,
    pub(crate) client: Variant,
    talks: u32,
    checked: usize,
}

impl Stage {
    /// Returns a session in this phase.
    pub(crate) fn at(pair: (Variant, Variant), phase: Phase) -> Self {
        let mut stage = Self::new(pair);
        match phase {
            Phase::Opening => {
                stage.world.down.conditions.loss = 1.0;
                stage.run(300 * MS);
            }
            Phase::Answered => {
                while stage.sent_to_client(control::CONNECT_ACCEPT) == 0 {
                    stage.run(10 * MS);
                    assert!(stage.world.now < 5 * SECOND, "{pair:?} is not answered");
                }
                stage.world.clients[0].up.conditions.loss = 1.0;
                stage.run(100 * MS);
            }
            Phase::Online | Phase::Renumbered => {
                stage.run(2 * SECOND);
                if phase == Phase::Renumbered {
                    stage.world.input(Input::Program(pass_all()));
                }
                for _ in 0..3 {
                    stage.assert_talks();
                }
            }
            Phase::Closing => {
                stage.run(2 * SECOND);
                stage.assert_talks();
                let now = stage.world.now;
                stage.world.clients[0].peer.close("bye", now);
                stage.run(100 * MS);
            }
        }
        stage
    }

    fn new(pair: (Variant, Variant)) -> Self {
        let server = Server::new(pair.1, Policy::greets(b"greeting"), 5);
        // Datagrams that DDNet sends only once may be lost here.
        let config = Config {
            heals: true,
            ..world::config(9, None, true)
        };
        let middle = Middle::Hub(Box::new(Hub::new(config, world::route())));
        let mut world = World::new(middle, server, Conditions::GOOD, 3);
        world.network.sent = Some(Vec::new());
        world.add(client(pair.0, 1), Conditions::GOOD, 1);
        world.clients[0].peer.connect(0);
        Self {
            world,
            client: pair.0,
            talks: 0,
            checked: 0,
        }
    }

    /// Restores good conditions and lets a client that has left start anew. Checks that both sides talk in
    /// the end.
    pub(crate) fn recover(&mut self, phase: Phase) {
        self.world.set_conditions(Conditions::GOOD);
        if phase == Phase::Closing {
            let mut peer = client(self.client, 77);
            peer.connect(self.world.now);
            self.world.clients[0].peer = peer;
        }
        self.run(8 * SECOND);
        self.assert_talks();
    }

    pub(crate) fn run(&mut self, duration: u64) {
        self.world.run(duration);
        self.check_clients();
    }

    /// Checks that no client of 0.6 was sent a datagram that looks like 0.7.
    fn check_clients(&mut self) {
        let sent = self.world.network.sent.as_deref().unwrap();
        for sent in &sent[self.checked..] {
            let mine = sent.place == Place::ToClient && sent.addr == client_addr(0);
            if mine && !self.client.is_seven() {
                assert!(!looks_seven(&sent.bytes), "{:02x?}", sent.bytes);
            }
            assert!(sent.bytes.len() <= 1400, "{} bytes", sent.bytes.len());
        }
        self.checked = sent.len();
    }

    /// Sends a datagram of the attacker from the client's address.
    pub(crate) fn as_client(&mut self, bytes: &[u8]) {
        let addr = client_addr(0);
        self.world.stranger_sends(addr, bytes);
        self.check_clients();
    }

    /// Sends a datagram of the attacker from the server's address.
    pub(crate) fn as_server(&mut self, bytes: &[u8]) {
        let upstream = self.upstream();
        self.world.server_sends(upstream, bytes);
        self.check_clients();
    }

    pub(crate) fn throw(&mut self, from: Side, bytes: &[u8]) {
        match from {
            Side::Client => self.as_client(bytes),
            Side::Server => self.as_server(bytes),
        }
    }

    /// Returns the socket of the client's session (relays of the browser are opened later).
    pub(crate) fn upstream(&self) -> UpstreamId {
        let session = self.world.sockets.iter().find(|upstream| {
            let at = world::upstream_addr(**upstream);
            self.world.server.peer(at).is_some()
        });
        *session.unwrap_or_else(|| self.world.sockets.first().unwrap())
    }

    pub(crate) fn session(&mut self) -> Option<SessionId> {
        self.world.hub().unwrap().session_of(client_addr(0))
    }

    /// Returns the token that the peer at `side` sends, its last ack, and its next sequence number.
    pub(crate) fn shown(&self, side: Side) -> Shown {
        let peer = match side {
            Side::Client => &self.world.clients[0].peer,
            Side::Server => self.slot().unwrap_or(&self.world.clients[0].peer),
        };
        Shown::of_peer(peer)
    }

    fn slot(&self) -> Option<&Peer> {
        self.world.server.peers().map(|(_, peer)| peer).next()
    }

    /// Returns the last datagram that a peer sent in the session.
    pub(crate) fn last_from(&self, side: Side) -> Vec<u8> {
        let place = match side {
            Side::Client => Place::FromClient,
            Side::Server => Place::FromServer,
        };
        let mut sent = self.world.network.sent.as_deref().unwrap().iter().rev();
        sent.find(|sent| sent.place == place)
            .map(|sent| sent.bytes.clone())
            .unwrap_or_default()
    }

    /// Sends a new message from both sides and checks that both are received.
    pub(crate) fn assert_talks(&mut self) {
        self.talks += 1;
        let now = self.world.now;
        let (up, down) = (format!("up {}", self.talks), format!("down {}", self.talks));
        let peer = &mut self.world.clients[0].peer;
        assert!(
            peer.send_vital(up.as_bytes(), now),
            "{:?}\n{}",
            peer.state().clone(),
            self.transcript()
        );
        self.world.clients[0].peer.flush(now);
        for (_, slot) in self.world.server.peers_mut() {
            slot.send_vital(down.as_bytes(), now);
            slot.flush(now);
        }
        // Hostile sequence numbers may have caused a retransmission.
        self.run(1500 * MS);
        let has = |peer: &Peer, text: &str| {
            peer.delivered
                .iter()
                .filter(|one| one.data == text.as_bytes())
                .count()
                == 1
        };
        let arrived = self.world.server.peers().any(|(_, slot)| has(slot, &up));
        assert!(
            arrived,
            "the server did not receive {up:?}\n{}",
            self.transcript()
        );
        let client = &self.world.clients[0].peer;
        assert!(
            has(client, &down),
            "the client did not receive {down:?}\n{}",
            self.transcript()
        );
    }

    /// Checks that a datagram is refused with this note and no other.
    #[track_caller]
    pub(crate) fn refuses(&mut self, from: Side, bytes: &[u8], code: Code, case: impl fmt::Display) {
        let report = self.report(from, bytes);
        assert_eq!(
            (report.codes, report.sent),
            (vec![code], 0),
            "{case}: {bytes:02x?}"
        );
    }

    pub(crate) fn transcript(&self) -> String {
        let events = &self.world.events;
        let last = &events[events.len().saturating_sub(60)..];
        last.iter().map(world::transcript).collect::<Vec<_>>().join("\n")
    }

    fn sent_to_client(&self, message: u8) -> usize {
        let sent = self.world.network.sent.as_deref().unwrap().iter();
        let to_client = sent.filter(|sent| sent.place == Place::ToClient);
        to_client
            .filter(|sent| control::message(&sent.bytes) == Some(message))
            .count()
    }

    /// Returns the report on a hostile datagram: its notes, the number of datagrams that were sent, and the
    /// number of events.
    pub(crate) fn report(&mut self, from: Side, bytes: &[u8]) -> Report {
        self.world.events.clear();
        self.throw(from, bytes);
        let mut report = Report::default();
        for event in &self.world.events {
            match &event.what {
                EventKind::Datagram(datagram) => {
                    report.codes.extend(datagram.notes.iter().map(|note| note.code));
                    report.sent += datagram.sent().count();
                    report.events += 1;
                }
                EventKind::Connless(connless) => {
                    report.sent += usize::from(connless.forwarded);
                    report.events += 1;
                }
                EventKind::Notice(_) | EventKind::Answer(_) => report.events += 1,
                EventKind::Session(change) => assert!(change.state != State::Closed, "{change:?}"),
            }
        }
        report
    }
}

/// See [`Stage::report`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Report {
    pub(crate) codes: Vec<Code>,
    /// Number of datagrams that the proxy sent because of the hostile datagram.
    pub(crate) sent: usize,
    pub(crate) events: usize,
}

fn client(variant: Variant, seed: u64) -> Peer {
    Peer::client(variant, Options::saying(b"hello"), seed)
}
