//! Many sessions at once, with watchers that stall: each snapshot is decoded once, and snapshots after a gap are as
//! correct as any other.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test may panic: that is how it fails"
)]

use std::{collections::BTreeMap, time::Duration};

use teetap_inspect::{DecodedEvent, Decoder};
use teetap_kit::{
    codec::{Head, Packing, Variant, put_chunk, seal},
    huffman::Ending,
    link::Random,
};
use teetap_proxy::{
    io::{Bus, Publisher, Seen, Watcher, Worker},
    session::{Datagram, Event, EventKind, Origin, SessionChange, SessionId, State, Time},
};
use teetap_wire::{
    Dir, Proto,
    def::{Class, Datum, Registry},
    snap::{Fate, ItemKey, Sizes, Snapshot},
};

const SESSIONS: u32 = 64;
/// Interval between snapshots, as a server with 50 ticks per second sends them to most clients.
const STEP: Duration = Duration::from_millis(40);
/// Number of snapshots that are sent before the ack of the first snapshot is received.
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
            world.insert(ItemKey { kind, id }, &[1; 22]).unwrap();
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
        self.event(EventKind::Session(change))
    }

    /// Returns the events of one step: a snapshot, as a delta to a snapshot that the client is known to have, and an
    /// ack.
    fn step(&mut self) -> [Event; 2] {
        self.tick += 2;
        let keys: Vec<ItemKey> = self.world.items().map(|(key, _)| key).collect();
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
        self.event(EventKind::Datagram(Datagram::new(
            dir,
            self.proto,
            Origin::Peer,
            &bytes,
            std::iter::once(&bytes[..]),
        )))
    }

    fn event(&self, what: EventKind) -> Event {
        Event {
            at: Time::ZERO,
            session: Some(self.id),
            what,
        }
    }
}

/// All games, and the pipeline to the watchers.
struct Stage {
    games: Vec<Game>,
    publisher: Publisher,
    worker: Worker<Decoder>,
    /// Checksums of all snapshots by session and tick.
    sums: BTreeMap<(u32, i32), i32>,
}

impl Stage {
    fn step(&mut self) {
        for game in &mut self.games {
            for event in game.step() {
                self.publisher.publish(event);
            }
            self.sums.insert((game.id.0, game.tick), game.world.crc());
        }
        assert!(self.worker.turn());
    }
}

/// A watcher, with the numbers of snapshots and missed events it has seen.
struct Viewer {
    watcher: Watcher<DecodedEvent>,
    snapshots: usize,
    missed: u64,
}

impl Viewer {
    fn new(bus: &Bus<DecodedEvent>) -> Self {
        Self {
            watcher: bus.watch(),
            snapshots: 0,
            missed: 0,
        }
    }

    /// Checks that every snapshot seen is correct.
    fn look(&mut self, sums: &BTreeMap<(u32, i32), i32>) {
        while let Some(seen) = self.watcher.poll() {
            let decoded = match seen {
                Seen::Event(decoded) => decoded,
                Seen::Gap(lost) => {
                    self.missed += lost;
                    continue;
                }
            };
            let messages = decoded.reading.iter().flat_map(|reading| &reading.messages);
            for snapshot in messages.filter_map(|message| message.completed.view()) {
                let session = decoded.event.session.unwrap().0;
                assert_eq!((snapshot.fate, snapshot.crc_ok()), (Fate::Kept, Some(true)));
                assert_eq!(snapshot.notes.iter().count(), 0);
                let sum = snapshot.snapshot().crc();
                assert_eq!(sums.get(&(session, snapshot.tick)), Some(&sum));
                self.snapshots += 1;
            }
        }
    }
}

#[test]
fn items_that_are_not_shown_are_not_kept() {
    let mut decoder = Decoder::new(Registry::builtin());
    decoder.ignore_items();
    let mut game = Game::new(1);
    let _opening = decoder.decode(game.begin());
    for _ in 0..3 * TRIP {
        let [snapshot, ack] = game.step();
        let reading = decoder.decode(snapshot).reading.unwrap();
        let snapshot = reading.messages[0].completed.view().unwrap();
        assert_eq!((snapshot.fate, snapshot.crc_ok()), (Fate::Kept, Some(true)));
        assert_eq!((snapshot.counts.items, snapshot.items().count()), (16, 0));
        let _ack = decoder.decode(ack);
    }
}

#[test]
fn after_a_stall_snapshots_are_right_at_once() {
    let bus = Bus::new();
    let (mut slow, mut quick) = (Viewer::new(&bus), Viewer::new(&bus));
    let (publisher, worker) = bus.open(Decoder::new(Registry::builtin()));
    let mut stage = Stage {
        games: (0..SESSIONS).map(Game::new).collect(),
        publisher,
        worker,
        sums: BTreeMap::new(),
    };
    for game in &stage.games {
        stage.publisher.publish(game.begin());
    }
    let mut steps = 0;
    for stall in [1, 10, 30] {
        // Sessions times steps with two datagrams each: from 7 s on, this exceeds the buffer.
        for _ in 0..(Duration::from_secs(stall).as_millis() / STEP.as_millis()) {
            stage.step();
            steps += 1;
            quick.look(&stage.sums);
        }
        let before = slow.missed;
        slow.look(&stage.sums);
        assert_eq!(slow.missed > before, stall > 7, "{stall} s");
    }
    let all = steps * SESSIONS as usize;
    assert_eq!((quick.snapshots, quick.missed), (all, 0));
    // Half of the events missed in two stalls are snapshots.
    let missed = usize::try_from(slow.missed / 2).unwrap();
    assert!((all - missed).abs_diff(slow.snapshots) <= 2, "{missed} of {all}");
    assert!(slow.snapshots > 0);
}
