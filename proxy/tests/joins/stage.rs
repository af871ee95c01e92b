//! A world with one client that joins one server, and the checks of the tests.

use std::{fmt, net::SocketAddr};

use teetap_kit::{
    codec::{Variant, control},
    link::{Conditions, MS, SECOND},
    peer::{Options, Peer, Policy, Server, State as PeerState},
    world::{self, Middle, Place, World, client_addr, hub},
};
use teetap_proxy::session::{Config, EventKind, Hub, Notice, SessionId, State};

/// The first message of a client.
pub(crate) const HELLO: &[u8] = b"hello";
/// The answer of the server.
pub(crate) const GREETING: &[u8] = b"greeting";

/// The variants of a client and its server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pair {
    pub(crate) client: Variant,
    pub(crate) server: Variant,
}

pub(crate) const fn pair(client: Variant, server: Variant) -> Pair {
    Pair { client, server }
}

impl Pair {
    /// All pairs that can play: 0.7, DDNet's 0.7 on either side, DDNet, 0.6.5, tokenless, and the fallbacks
    /// to tokenless.
    pub(crate) const ALL: [Self; 12] = [
        pair(Variant::V7, Variant::V7),
        pair(Variant::V7, Variant::D7),
        pair(Variant::D7, Variant::V7),
        pair(Variant::D7, Variant::D7),
        pair(Variant::Ddnet, Variant::Ddnet),
        pair(Variant::V65, Variant::V65),
        pair(Variant::V6, Variant::V6),
        pair(Variant::Ddnet, Variant::V6),
        pair(Variant::V65, Variant::V6),
        pair(Variant::V65, Variant::Ddnet),
        pair(Variant::V6, Variant::Ddnet),
        pair(Variant::D7, Variant::Ddnet),
    ];

    /// Returns true if the session ends up without a token.
    pub(crate) fn is_tokenless(self) -> bool {
        self.client == Variant::V6
            || self.server == Variant::V6
            || self.client == Variant::V65 && self.server == Variant::Ddnet
    }

    /// Returns true if the server is DDNet and creates the client's slot at the lone ACCEPT.
    pub(crate) fn has_lone_accept(self) -> bool {
        self == pair(Variant::Ddnet, Variant::Ddnet)
    }
}

/// The world of a test.
pub(crate) struct Stage {
    pub(crate) world: World,
    pub(crate) pair: Pair,
    seed: u64,
    talks: u32,
    /// Number of events seen so far.
    processed: usize,
    /// Sessions that are online, and the number of sessions that ever were.
    pub(crate) online: Vec<SessionId>,
    pub(crate) ever_online: usize,
}

impl Stage {
    /// Returns a client that has just begun to join through the proxy, on a good network.
    pub(crate) fn new(pair: Pair, seed: u64) -> Self {
        Self::with(pair, seed, Policy::default(), hub(seed, None, true))
    }

    /// Returns a client that has just begun to join, with a hub that repairs the loss of ACCEPT.
    pub(crate) fn healing(pair: Pair, seed: u64) -> Self {
        let config = Config {
            heals: true,
            ..world::config(seed, None, true)
        };
        let middle = Middle::Hub(Box::new(Hub::new(config, world::route())));
        Self::with(pair, seed, Policy::default(), middle)
    }

    pub(crate) fn with(pair: Pair, seed: u64, policy: Policy, middle: Middle) -> Self {
        let greeting = vec![GREETING.to_vec()];
        let policy = Policy { greeting, ..policy };
        let mut world = World::new(
            middle,
            Server::new(pair.server, policy, seed),
            Conditions::GOOD,
            seed,
        );
        world.network.sent = Some(Vec::new());
        let joins = world.server.policy.challenges;
        world.add(new_client(pair, joins, seed), Conditions::GOOD, seed);
        world.clients[0].peer.connect(0);
        Self {
            world,
            pair,
            seed,
            talks: 0,
            processed: 0,
            online: Vec::new(),
            ever_online: 0,
        }
    }

    /// Returns a client that is in session on both sides.
    pub(crate) fn joined(pair: Pair, seed: u64) -> Self {
        let mut stage = Self::new(pair, seed);
        stage.run(2 * SECOND);
        stage.assert_plays();
        stage
    }

    pub(crate) fn client(&mut self) -> &mut Peer {
        &mut self.world.clients[0].peer
    }

    /// Returns the only slot of the server.
    pub(crate) fn slot(&mut self) -> &mut Peer {
        let pair = self.pair;
        let count = self.world.server.peers().count();
        assert_eq!(count, 1, "{pair:?}: slots of the server");
        self.world.server.peers_mut().next().unwrap().1
    }

    /// Returns true if the hub has neither a session nor a socket.
    pub(crate) fn is_clear(&mut self) -> bool {
        self.world.sockets.is_empty() && self.world.hub().unwrap().sessions() == 0
    }

    /// Returns the current session of the client's address.
    pub(crate) fn session(&mut self) -> Option<SessionId> {
        self.world.hub().unwrap().session_of(client_addr(0))
    }

    pub(crate) fn step(&mut self) {
        self.world.step();
        self.follow();
    }

    pub(crate) fn run(&mut self, duration: u64) {
        let end = self.world.now + duration;
        while self.world.now < end {
            self.step();
        }
    }

    /// Ends the client's program silently and starts another one on the same port.
    pub(crate) fn restart(&mut self) {
        self.seed += 0x1_0000;
        let now = self.world.now;
        let mut peer = new_client(self.pair, self.client().options.joins, self.seed);
        peer.options.limits = self.client().options.limits;
        peer.connect(now);
        *self.client() = peer;
    }

    /// Ends the client's program silently.
    pub(crate) fn vanish(&mut self) {
        *self.client() = new_client(self.pair, false, self.seed);
    }

    /// Updates the sessions that are online; fails if there are two.
    fn follow(&mut self) {
        for event in self.world.events.iter().skip(self.processed) {
            let (EventKind::Session(change), Some(id)) = (&event.what, event.session) else {
                continue;
            };
            self.online.retain(|online| *online != id);
            if change.state == State::Online {
                self.online.push(id);
                self.ever_online += 1;
            }
        }
        self.processed = self.world.events.len();
        self.check(self.online.len() <= 1, "two sessions online");
    }

    pub(crate) fn transcript(&self) -> String {
        let lines: Vec<String> = self.world.events.iter().map(world::transcript).collect();
        lines.join("\n")
    }

    /// Fails with the transcript unless `holds`.
    #[track_caller]
    pub(crate) fn check(&self, holds: bool, what: impl fmt::Display) {
        assert!(holds, "{:?} {what}\n{}", self.pair, self.transcript());
    }

    /// Fails with the transcript unless both are equal.
    #[track_caller]
    pub(crate) fn equal<T: PartialEq + fmt::Debug>(&self, got: T, wanted: T, what: impl fmt::Display) {
        assert_eq!(got, wanted, "{:?} {what}\n{}", self.pair, self.transcript());
    }

    /// Fails unless the hub has no session and no socket.
    #[track_caller]
    pub(crate) fn assert_clear(&mut self, what: impl fmt::Display) {
        let clear = self.is_clear();
        self.check(clear, what);
    }

    /// Returns true if both peers are in session with each other.
    pub(crate) fn plays(&self) -> bool {
        let client = &self.world.clients[0].peer;
        let slots: Vec<&Peer> = self.world.server.peers().map(|(_, peer)| peer).collect();
        client.is_online()
            && matches!(slots[..], [slot] if slot.is_online() && has(slot, HELLO))
            && has(client, GREETING)
    }

    /// Checks that there is one session and one slot, and that messages of either side reach the other.
    pub(crate) fn assert_plays(&mut self) {
        self.check(self.plays(), "not in session");
        let talks = self.talks(SECOND);
        self.check(talks, "no talk");
        assert_eq!(self.online.len(), 1, "{:?}", self.pair);
    }

    /// Sends new messages from both sides. Returns true if they arrive within this time.
    pub(crate) fn talks(&mut self, within: u64) -> bool {
        let [up, down] = self.say();
        let end = self.world.now + within;
        while self.world.now < end {
            self.step();
            if self.arrived(&up, &down) {
                return true;
            }
        }
        false
    }

    fn arrived(&self, up: &[u8], down: &[u8]) -> bool {
        self.world.server.peers().any(|(_, slot)| has(slot, up)) && has(&self.world.clients[0].peer, down)
    }

    /// Sends messages from both sides, if they can send. Returns the messages.
    pub(crate) fn say(&mut self) -> [Vec<u8>; 2] {
        self.talks += 1;
        let now = self.world.now;
        let up = format!("up {}", self.talks).into_bytes();
        let down = format!("down {}", self.talks).into_bytes();
        if self.client().send_vital(&up, now) {
            self.client().flush(now);
        }
        for (_, slot) in self.world.server.peers_mut() {
            slot.send_vital(&down, now);
            slot.flush(now);
        }
        [up, down]
    }

    /// Returns the number of control messages of this kind that were sent at that place.
    pub(crate) fn count(&self, place: Place, message: u8) -> usize {
        let sent = self.world.network.sent.as_deref().unwrap_or_default();
        sent.iter()
            .filter(|sent| sent.place == place && control::message(&sent.bytes) == Some(message))
            .count()
    }

    /// Returns the notices so far.
    pub(crate) fn notices(&self) -> Vec<Notice> {
        let notices = self.world.events.iter().filter_map(|event| match &event.what {
            EventKind::Notice(notice) => Some(notice.clone()),
            _ => None,
        });
        notices.collect()
    }

    /// Returns the number of times that this notice was emitted.
    pub(crate) fn times(&self, wanted: &Notice) -> usize {
        self.notices().iter().filter(|notice| *notice == wanted).count()
    }

    /// Returns the addresses and final states of the slots that the server no longer has.
    pub(crate) fn ended_slots(&self) -> Vec<(SocketAddr, PeerState)> {
        let finished = self.world.server.finished.iter();
        finished
            .map(|(addr, peer)| (*addr, peer.state().clone()))
            .collect()
    }

    /// Returns the final states of the slots that the server no longer has.
    pub(crate) fn ends(&self) -> Vec<PeerState> {
        self.ended_slots().into_iter().map(|(_, end)| end).collect()
    }

    /// Closes the client with a reason.
    pub(crate) fn leave(&mut self, reason: &str) {
        let now = self.world.now;
        self.client().close(reason, now);
    }
}

fn new_client(pair: Pair, joins: bool, seed: u64) -> Peer {
    let options = Options::saying(HELLO);
    Peer::client(pair.client, Options { joins, ..options }, seed)
}

pub(crate) fn has(peer: &Peer, message: &[u8]) -> bool {
    peer.delivered.iter().any(|delivered| delivered.data == message)
}

/// Returns the state of a peer whose other side ended the session.
pub(crate) fn closed(reason: &str) -> PeerState {
    PeerState::Closed {
        reason: reason.to_owned(),
        by_peer: true,
    }
}

/// Interval between two datagrams of a talking peer.
pub(crate) const PAUSE: u64 = 200 * MS;
