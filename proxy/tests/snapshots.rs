//! Many sessions at once, and a watcher that is too slow: the snapshots that it shows are right, or reported as
//! unknown, and right again soon.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test may panic: that is how it fails"
)]

use std::{collections::BTreeMap, time::Duration};

use teetap_kit::{
    codec::{Head, Packing, Variant, put_chunk, seal},
    huffman::Ending,
    link::Random,
};
use teetap_proxy::{
    io::{Buffers, Bus, Follower, Publisher, Seen, Watcher, follow},
    session::{Datagram, Event, Events, Origin, SessionChange, SessionId, State, Time, What},
};
use teetap_rules::context::{Context, Contexts};
use teetap_wire::{
    Dir, Proto,
    def::{Class, Datum, Registry},
    snap::{Key, Sizes, Snapshot},
};

const SESSIONS: u32 = 64;
/// Between two snapshots, as a server of 50 ticks sends them to most clients.
const STEP: Duration = Duration::from_millis(40);
/// Snapshots until an ack has come back.
const TRIP: usize = 3;

/// A server and its client.
struct Game {
    id: SessionId,
    variant: Variant,
    proto: Proto,
    sizes: Sizes,
    tick: i32,
    world: Snapshot,
    /// The snapshots that the client may have acked.
    sent: BTreeMap<i32, Snapshot>,
    acked: Option<i32>,
    dice: Random,
}

impl Game {
    fn new(number: u32) -> Self {
        let (variant, proto) = match number % 2 {
            0 => (Variant::Ddnet, Proto::Ddnet),
            _ => (Variant::V7, Proto::V7),
        };
        let mut world = Snapshot::new();
        for id in 0..16 {
            // Tees.
            let kind = if proto == Proto::V7 { 10 } else { 9 };
            world.insert(Key { kind, id }, &[1; 22]).unwrap();
        }
        Self {
            id: SessionId(number + 1),
            variant,
            proto,
            sizes: Sizes::new(Registry::builtin(), proto),
            tick: 100,
            world,
            sent: BTreeMap::new(),
            acked: None,
            dice: Random::new(number.into()),
        }
    }

    fn begin(&self) -> Event {
        let change = SessionChange {
            state: State::Opening,
            proto: self.proto,
            client: "127.0.0.1:5000".parse().unwrap(),
            server: None,
            upstream: None,
            by: None,
            reason: None,
        };
        self.event(What::Session(change))
    }

    /// A step: a snapshot, as a difference to one that the client is known to have, and an ack.
    fn step(&mut self) -> [Event; 2] {
        self.tick += 2;
        let keys: Vec<Key> = self.world.items().map(|(key, _)| key).collect();
        for key in keys {
            let ints = self.world.get_mut(key).unwrap();
            let at = usize::try_from(self.dice.below(ints.len() as u64)).unwrap();
            ints[at] += 7;
        }
        let mut data = Vec::new();
        let nothing = Snapshot::new();
        let base = self.acked.map_or(&nothing, |tick| &self.sent[&tick]);
        self.world.delta(base, &self.sizes, &mut data).unwrap();
        let fields = [
            ("tick", i64::from(self.tick)),
            (
                "delta_tick",
                i64::from(self.tick) - i64::from(self.acked.unwrap_or(-1)),
            ),
            ("crc", self.world.crc().into()),
            ("part_size", i64::try_from(data.len()).unwrap()),
        ];
        let snap = self.datagram(Dir::S2c, "snap_single", &fields, Some(data));
        self.sent.insert(self.tick, self.world.clone());
        self.acked = self.sent.keys().rev().nth(TRIP).copied().or(self.acked);
        let first = self.acked.unwrap_or(0);
        self.sent.retain(|tick, _| *tick >= first);
        let acked = self.acked.unwrap_or(-1).into();
        let fields = [
            ("ack_snapshot", acked),
            ("intended_tick", i64::from(self.tick) + 3),
        ];
        [snap, self.datagram(Dir::C2s, "input", &fields, None)]
    }

    fn datagram(&self, dir: Dir, name: &str, fields: &[(&str, i64)], data: Option<Vec<u8>>) -> Event {
        let mut named = Registry::builtin().named(self.proto, Some(Class::System), name);
        let fields = fields.iter().map(|(name, value)| (*name, Datum::Int(*value)));
        let data = data.into_iter().map(|data| ("data", Datum::Bytes(data)));
        let mut message = Vec::new();
        named
            .next()
            .unwrap()
            .encode(&Datum::group(fields.chain(data)), &mut message)
            .unwrap();
        let mut payload = Vec::new();
        put_chunk(&mut payload, self.variant, None, false, &message);
        let mut head = Head::new(self.variant, 5, Some([1, 2, 3, 4]));
        head.num_chunks = 1;
        let bytes = seal(&head, &payload, Packing::Always(Ending::Padded));
        self.event(What::Datagram(Datagram::new(
            dir,
            self.proto,
            Origin::Peer,
            &bytes,
            std::iter::once(&bytes[..]),
        )))
    }

    fn event(&self, what: What) -> Event {
        Event {
            at: Time::ZERO,
            session: Some(self.id),
            what,
        }
    }
}

/// All games, and the way to the watcher.
struct Stage {
    games: Vec<Game>,
    publisher: Publisher,
    follower: Follower,
    now: Time,
}

impl Stage {
    fn step(&mut self) {
        for game in &mut self.games {
            for event in game.step() {
                self.publisher.publish(event);
            }
        }
        self.now = self.now + STEP;
        assert!(self.follower.turn(self.now));
    }
}

/// A watcher.
struct Viewer {
    watcher: Watcher,
    contexts: Contexts,
    buffers: Buffers,
    gaps: u32,
}

impl Viewer {
    fn look(&mut self) {
        while let Some(seen) = self.watcher.poll() {
            match seen {
                Seen::Event(event) => {
                    follow(&mut self.contexts, Registry::builtin(), &event, &mut self.buffers)
                }
                Seen::Gap(_) => {
                    self.gaps += 1;
                    self.contexts.gap();
                }
                Seen::Snapshots(snapshots) => self.contexts.adopt_snapshots(&snapshots),
            }
        }
    }

    /// Sessions whose snapshots are not known. Of the others what is known is right.
    fn unknown(&self, games: &[Game]) -> usize {
        let unknown = games.iter().filter(|game| {
            let store = self.contexts.get(game.id.0).and_then(Context::store).unwrap();
            let notes: Vec<_> = store.notes().iter().collect();
            assert!(notes.is_empty(), "{notes:?}");
            if store.whole() {
                assert_eq!(store.newest(), Some((game.tick, &game.world)));
            }
            !store.whole()
        });
        unknown.count()
    }
}

#[test]
fn after_a_stall_snapshots_are_right_again_within_a_second() {
    let bus = Bus::new(Registry::builtin());
    let (watcher, nosy) = (bus.watch(), bus.watch());
    let (publisher, follower) = bus.open(Events::All);
    let mut stage = Stage {
        games: (0..SESSIONS).map(Game::new).collect(),
        publisher,
        follower,
        now: Time::ZERO,
    };
    let viewer = |watcher| Viewer {
        watcher,
        contexts: Contexts::new(Registry::builtin()),
        buffers: Buffers::default(),
        gaps: 0,
    };
    let (mut viewer, mut quick) = (viewer(watcher), viewer(nosy));
    for game in &stage.games {
        stage.publisher.publish(game.begin());
    }
    for _ in 0..50 {
        stage.step();
        viewer.look();
        assert_eq!(viewer.unknown(&stage.games), 0);
    }
    for stall in [1, 10, 30] {
        // Sessions times steps, two datagrams each: from 7 s on more than is kept.
        for _ in 0..(Duration::from_secs(stall).as_millis() / STEP.as_millis()) {
            stage.step();
            quick.look();
        }
        let gaps = viewer.gaps;
        viewer.look();
        let missed = viewer.gaps > gaps;
        assert_eq!(missed, stall > 7, "{stall} s");
        // Without help it never ends: servers know that the client has the snapshots that were missed.
        assert_eq!(viewer.unknown(&stage.games), if missed { 64 } else { 0 });
        let soon = Duration::from_secs(1).as_millis() / STEP.as_millis();
        let right = (1..=soon).find(|_| {
            stage.step();
            viewer.look();
            quick.look();
            viewer.unknown(&stage.games) == 0
        });
        assert!(right.is_some(), "{stall} s");
        assert_eq!((quick.gaps, quick.unknown(&stage.games)), (0, 0));
    }
    let held = viewer.contexts.held();
    assert!((1..64 * 64 * 1024).contains(&held), "{held}");
}

/// Memory has a limit for all sessions together, and those that still talk are known.
#[test]
fn sessions_that_are_silent_give_way() {
    let mut contexts = Contexts::new(Registry::builtin()).with_limit(200 << 10);
    let mut buffers = Buffers::default();
    let mut games: Vec<Game> = (0..SESSIONS).map(Game::new).collect();
    let mut most = 0;
    for game in &mut games {
        follow(&mut contexts, Registry::builtin(), &game.begin(), &mut buffers);
        for _ in 0..40 {
            game.step()
                .iter()
                .for_each(|event| follow(&mut contexts, Registry::builtin(), event, &mut buffers));
            most = most.max(contexts.held());
        }
        assert_eq!(
            contexts.get(game.id.0).and_then(Context::store).unwrap().newest(),
            Some((game.tick, &game.world))
        );
    }
    assert!((100 << 10..=200 << 10).contains(&most), "{most}");
    assert!(contexts.get(games[0].id.0).and_then(Context::store).is_none());
    // It comes back, and says that it does not know.
    games[0]
        .step()
        .iter()
        .for_each(|event| follow(&mut contexts, Registry::builtin(), event, &mut buffers));
    let store = contexts.get(games[0].id.0).and_then(Context::store).unwrap();
    assert!(!store.whole() && store.is_empty() && store.notes().is_empty());
}

#[test]
fn a_session_that_ends_is_forgotten_and_a_repeat_is_not_heard() {
    let mut contexts = Contexts::new(Registry::builtin());
    let mut buffers = Buffers::default();
    let mut game = Game::new(0);
    let vital = |resend| {
        let mut payload = Vec::new();
        // A map change, with a name and nothing else.
        put_chunk(&mut payload, Variant::Ddnet, Some(7), resend, b"\x05dm1\0\0\0");
        let mut head = Head::new(Variant::Ddnet, 5, Some([1, 2, 3, 4]));
        head.num_chunks = 1;
        let bytes = seal(&head, &payload, Packing::Clear);
        let datagram = Datagram::new(
            Dir::S2c,
            Proto::Ddnet,
            Origin::Peer,
            &bytes,
            std::iter::once(&bytes[..]),
        );
        Event {
            at: Time::ZERO,
            session: Some(SessionId(1)),
            what: What::Datagram(datagram),
        }
    };
    follow(&mut contexts, Registry::builtin(), &game.begin(), &mut buffers);
    follow(&mut contexts, Registry::builtin(), &vital(false), &mut buffers);
    game.step()
        .iter()
        .for_each(|event| follow(&mut contexts, Registry::builtin(), event, &mut buffers));
    follow(&mut contexts, Registry::builtin(), &vital(true), &mut buffers);
    assert_eq!(contexts.get(game.id.0).and_then(Context::store).unwrap().len(), 1);
    follow(&mut contexts, Registry::builtin(), &vital(false), &mut buffers);
    assert_eq!(contexts.get(game.id.0).and_then(Context::store).unwrap().len(), 0);
    game.acked = None;
    game.step()
        .iter()
        .for_each(|event| follow(&mut contexts, Registry::builtin(), event, &mut buffers));
    assert!(contexts.held() > 0);
    let mut end = game.begin();
    if let What::Session(change) = &mut end.what {
        change.state = State::Closed;
    }
    follow(&mut contexts, Registry::builtin(), &end, &mut buffers);
    assert!(contexts.get(game.id.0).and_then(Context::store).is_none() && contexts.held() == 0);
}
