//! Snapshots that the network delivers late to the proxy or loses after it: the store reads every snapshot that the
//! client can read.

use std::collections::BTreeMap;

use super::recode::Server;
use super::*;
use crate::testing::Dice;

/// A client by the rules of the game, which keeps snapshots by their ticks.
#[derive(Debug)]
struct Client {
    /// The newest tick of which anything was received.
    newest: i32,
    parts: BTreeMap<usize, Vec<u8>>,
    kept: BTreeMap<i32, Snapshot>,
    /// The two ticks that it shows.
    shown: [i32; 2],
    /// The tick that the next input acks.
    ack: i32,
}

/// A datagram with one message of a snapshot.
#[derive(Debug, Clone)]
struct Sent {
    tick: i32,
    base: i32,
    part: usize,
    parts: usize,
    message: Vec<u8>,
}

impl Client {
    /// Returns the tick that the client can read now.
    fn receive(&mut self, sent: &Sent, worlds: &BTreeMap<i32, Snapshot>) -> Option<i32> {
        if sent.tick < self.newest || self.kept.contains_key(&sent.tick) {
            return None;
        }
        if sent.tick > self.newest {
            self.newest = sent.tick;
            self.parts.clear();
        }
        self.parts.insert(sent.part, sent.message.clone());
        if self.parts.len() < sent.parts {
            return None;
        }
        self.parts.clear();
        if sent.base >= 0 && !self.kept.contains_key(&sent.base) {
            self.ack = -1;
            return None;
        }
        // The client drops snapshots that are older than the base and older than the snapshots that it shows.
        self.kept = self.kept.split_off(&sent.base.min(self.shown[0]));
        self.kept.insert(sent.tick, worlds[&sent.tick].clone());
        self.shown = [self.shown[1], sent.tick];
        self.ack = sent.tick;
        Some(sent.tick)
    }
}

#[derive(Debug, Default)]
struct Tally {
    read: u32,
    late: u32,
    late_in_parts: u32,
    on_late: u32,
}

/// Messages in transit, by the step in which they arrive and their number.
struct Hop<T>(BTreeMap<(u64, u64), T>, u64);

impl<T> Hop<T> {
    fn new() -> Self {
        Self(BTreeMap::new(), 0)
    }

    fn send(&mut self, at: u64, item: T) {
        self.1 += 1;
        self.0.insert((at, self.1), item);
    }

    fn arrived(&mut self, now: u64) -> Vec<T> {
        let rest = self.0.split_off(&(now + 1, 0));
        std::mem::replace(&mut self.0, rest).into_values().collect()
    }
}

/// Simulates up to 40 ticks of reordering between server and proxy, and up to half of the packets lost between proxy
/// and client.
fn play(proto: Proto, seed: u64, tally: &mut Tally) {
    let mut server = Server {
        proto,
        sizes: sizes(proto),
        worlds: BTreeMap::new(),
        dice: Dice((seed * 7919) | 1),
    };
    let jitter = if seed % 4 == 3 { 40 } else { 1 + seed % 9 };
    let loss = 2 + seed % 7;
    let mut proxy = Session::new(proto);
    let mut client = Client {
        newest: 0,
        parts: BTreeMap::new(),
        kept: BTreeMap::new(),
        shown: [-1; 2],
        ack: -1,
    };
    let (mut up, mut acks) = (Hop::<Sent>::new(), Hop::<i32>::new());
    let mut fates: BTreeMap<i32, Fate> = BTreeMap::new();
    let mut world = Snapshot::new();
    let mut acked = -1;
    // A step is a tick; every second tick has a snapshot.
    for step in 0..600 {
        for ack in acks.arrived(step) {
            acked = ack;
            let input = [("ack_snapshot", ack)];
            proxy.send(Dir::C2s, "input", &input, &[]);
        }
        let tick = i32::try_from(10 + step).unwrap();
        if step % 2 == 0 {
            world = server.next_world(&world, step % 40 < 12);
            server.worlds.insert(tick, world.clone());
            // The server forgets snapshots older than 3 s.
            let base = if acked + 150 > tick { acked } else { -1 };
            let messages = server.messages(tick, base);
            let parts = messages.len();
            for (part, message) in messages.into_iter().enumerate() {
                let sent = Sent {
                    tick,
                    base,
                    part,
                    parts,
                    message,
                };
                up.send(step + 1 + server.dice.below(jitter), sent);
            }
        }
        for sent in up.arrived(step) {
            if let Some(done) = proxy.receive(Dir::S2c, &sent.message) {
                let is_read = matches!(done.fate, Fate::Kept | Fate::Late);
                if is_read {
                    assert_eq!(
                        done.snapshot(),
                        &server.worlds[&sent.tick],
                        "{proto} {seed}: {done}"
                    );
                }
                tally.late += u32::from(done.fate == Fate::Late);
                tally.late_in_parts += u32::from(done.fate == Fate::Late && sent.parts > 1);
                fates.insert(sent.tick, done.fate);
            }
            let notes = proxy.notes();
            if server.dice.below(loss) == 0 {
                continue;
            }
            if let Some(tick) = client.receive(&sent, &server.worlds) {
                let fate = fates.get(&tick);
                assert!(
                    matches!(fate, Some(Fate::Kept | Fate::Late)),
                    "{proto} {seed}: the client reads {tick} on {}, here {fate:?} {notes:?}",
                    sent.base
                );
                assert!(!notes.contains(&"snap-no-base"), "{proto} {seed}");
                tally.read += 1;
                tally.on_late += u32::from(fates.get(&sent.base) == Some(&Fate::Late));
            }
        }
        if step % 2 == 1 {
            // Inputs are reordered, too.
            acks.send(step + 1 + server.dice.below(3), client.ack);
        }
    }
}

#[test]
fn what_the_client_can_read_is_read() {
    for proto in [Proto::V6, Proto::V65, Proto::Ddnet, Proto::V7] {
        let mut tally = Tally::default();
        for seed in 0..63 {
            play(proto, seed, &mut tally);
        }
        let Tally {
            read,
            late,
            late_in_parts,
            on_late,
        } = tally;
        assert!(
            read > 3_000 && late > 500 && late_in_parts > 20 && on_late > 50,
            "{proto}: {tally:?}"
        );
    }
}

/// A late snapshot with a difference to a snapshot that was dropped long ago is not an oddity.
#[test]
fn a_late_one_without_its_base_is_no_error() {
    let mut session = Session::new(Proto::V7);
    let worlds: Vec<Snapshot> = (0..4).map(|int| snapshot(&[(4, 1, &[int; 3])])).collect();
    assert_eq!(session.complete(100, &worlds[0]), Fate::Kept);
    assert_eq!(
        session.single(400, 100, &worlds[0], &worlds[1]).unwrap().fate,
        Fate::Kept
    );
    assert_eq!(
        session.single(402, 400, &worlds[1], &worlds[2]).unwrap().fate,
        Fate::Kept
    );
    let done = session.single(398, 100, &worlds[0], &worlds[3]).unwrap();
    assert_eq!(done.fate, Fate::NoBase);
    assert_eq!(session.notes(), ["snap-late"]);
    assert!(session.store.whole());
    // In a snapshot that is not late, it is an oddity.
    assert_eq!(
        session.single(404, 100, &worlds[0], &worlds[3]).unwrap().fate,
        Fate::NoBase
    );
    assert_eq!(session.notes(), ["snap-no-base"]);
}

/// The base of a late snapshot stays until the client acks a snapshot that it can read only after dropping that base.
#[test]
fn bases_are_dropped_when_the_client_dropped_them() {
    let mut session = Session::new(Proto::V7);
    let worlds: Vec<Snapshot> = (0..3).map(|int| snapshot(&[(4, 1, &[int; 3])])).collect();
    assert_eq!(session.complete(100, &worlds[0]), Fate::Kept);
    for (tick, base, from, fate) in [
        (150, 100, 0, Fate::Kept),
        (154, 150, 1, Fate::Kept),
        (152, 100, 0, Fate::Late),
    ] {
        let done = session.single(tick, base, &worlds[from], &worlds[1]).unwrap();
        assert_eq!(done.fate, fate, "{tick}");
    }
    let ack = [("ack_snapshot", 154), ("intended_tick", 160)];
    assert!(session.send(Dir::C2s, "input", &ack, &[]).is_none());
    assert!(session.store.at(100).is_none() && session.store.at(150).is_some());
    let done = session.single(153, 100, &worlds[0], &worlds[2]).unwrap();
    assert_eq!(done.fate, Fate::NoBase);
    assert_eq!(session.notes(), ["snap-late"]);
}

/// Many snapshots in 64 parts that never become complete hold a bounded number of bytes.
#[test]
fn parts_of_older_snapshots_are_bounded() {
    let mut session = Session::new(Proto::V7);
    for tick in 0..300 {
        let fields = [
            ("tick", 1000 + tick),
            ("delta_tick", -1),
            ("num_parts", 64),
            ("part", 0),
            ("crc", 0),
            ("part_size", 0),
        ];
        assert!(session.send(Dir::S2c, "snap", &fields, &[]).is_none());
        assert!(session.store.memory() < 400 << 10, "{}", session.store.memory());
    }
}
