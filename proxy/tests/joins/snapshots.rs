//! Snapshots that rules change: what a client reads that knows nothing of the rules, and what becomes of the differences
//! when rules are switched off, snapshots are lost, and acks are old. And rules on snapshots of several parts.

use std::collections::BTreeMap;

use teetap_proxy::session::{Action, Command, Notice, WhichRule};
use teetap_wire::{
    Dir, Proto,
    def::{Datum, Decoded},
    snap::{Fate, Key, PART, Sizes, Snapshot, Store},
};

use crate::bench::{Bench, KINDS, on_each_kind};
use crate::examples::sample;
use crate::facts::{message, proto, registry, set};

/// A server with the snapshots that it sent, and a client that reads those that it got.
struct Game<'b> {
    bench: &'b mut Bench,
    client: Store<'static>,
    worlds: BTreeMap<i32, Snapshot>,
}

/// A snapshot that the client has read.
#[derive(Debug, PartialEq, Eq)]
struct Got {
    tick: i32,
    snapshot: Snapshot,
}

/// The type of tees.
fn tee(proto: Proto) -> u16 {
    if proto == Proto::V7 { 10 } else { 9 }
}

/// Two tees, at places that depend on the tick, something of a type with a UUID, and `more` other items.
fn world(proto: Proto, tick: i32, more: u16) -> Snapshot {
    let mut world = Snapshot::new();
    let mut insert = |kind, id, ints: &[i32]| world.insert(Key { kind, id }, ints).unwrap();
    for id in [3, 4] {
        let mut ints = [7; 22];
        (ints[0], ints[1]) = (tick, 1000 * i32::from(id) + tick / 3);
        insert(tee(proto), id, &ints);
    }
    // `spec_char`
    let uuid: [i32; 4] = [0x4b80_1c74_u32, 0xe24c_3ce0, 0xb92c_b754, 0xd02c_fc8a].map(u32::cast_signed);
    insert(0, 0x7fff, &uuid);
    insert(0x7fff, 0, &[tick, 5]);
    for id in 0..more {
        insert(3, id, &[i32::MAX - i32::from(id) * tick; 5]);
    }
    world
}

/// The same with other places of some tees.
fn with_x(mut world: Snapshot, proto: Proto, change: impl Fn(u16, i32) -> i32) -> Snapshot {
    for id in [3, 4] {
        let key = Key { kind: tee(proto), id };
        let x = &mut world.get_mut(key).unwrap()[1];
        *x = change(id, *x);
    }
    world
}

impl<'b> Game<'b> {
    fn new(bench: &'b mut Bench) -> Self {
        let client = Store::new(registry(), proto(bench));
        Self {
            bench,
            client,
            worlds: BTreeMap::new(),
        }
    }

    fn proto(&self) -> Proto {
        proto(self.bench)
    }

    /// Returns the messages of the world at a tick, as the difference to that of another one.
    fn messages(&mut self, tick: i32, base: i32, world: &Snapshot) -> Vec<String> {
        let nothing = Snapshot::new();
        let from = self.worlds.get(&base).unwrap_or(&nothing);
        let sizes = Sizes::new(registry(), self.proto());
        let mut data = Vec::new();
        world.delta(from, &sizes, &mut data).unwrap();
        self.worlds.insert(tick, world.clone());
        let head = vec![("tick", Datum::from(tick)), ("delta_tick", (tick - base).into())];
        let part = |part: &[u8]| {
            let crc = ("crc", Datum::from(world.crc()));
            let data = ("data", Datum::Bytes(part.to_vec()));
            head.iter().cloned().chain([crc, data]).collect::<Vec<_>>()
        };
        let message = |name, fields: &[(&str, Datum)]| format!("-{}", message(self.bench, name, fields));
        match data.len() {
            0 => vec![message("snap_empty", &head)],
            1..=PART => vec![message("snap_single", &part(&data))],
            len => {
                let count = i64::try_from(len.div_ceil(PART)).unwrap();
                let of = |(at, bytes): (i64, &[u8])| {
                    let mut fields = part(bytes);
                    fields.extend([("num_parts", count.into()), ("part", at.into())]);
                    message("snap", &fields)
                };
                (0..).zip(data.chunks(PART)).map(of).collect()
            }
        }
    }

    /// The server sends messages, each in a datagram of its own. Returns the lines that leave.
    fn send(&mut self, messages: &[String]) -> Vec<String> {
        let lines = messages.iter().map(|message| format!("S a1 {message}"));
        lines.flat_map(|line| self.bench.send(&line)).collect()
    }

    /// The client reads lines that left. Returns its new snapshots; it takes none for damaged.
    fn reads(&mut self, lines: &[String]) -> Vec<Got> {
        let (kind, proto) = (self.bench.kind, self.proto());
        let mut got = Vec::new();
        for chunk in lines.iter().flat_map(|line| line.split(' ')) {
            let Some(hex) = chunk.strip_prefix("-:=") else {
                continue;
            };
            let byte = |at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap();
            let data: Vec<u8> = (0..hex.len()).step_by(2).map(byte).collect();
            let mut decoded = Decoded::new();
            let def = decoded.message(registry(), proto, Dir::S2c, &data).unwrap();
            if let Some(done) = self.client.on_message(Dir::S2c, def, &decoded, &data) {
                let is_readable = matches!(done.fate, Fate::Kept | Fate::Late | Fate::Again);
                assert!(is_readable, "{kind:?}: {done}");
                if done.fate == Fate::Kept {
                    got.push(Got {
                        tick: done.tick,
                        snapshot: done.snapshot().clone(),
                    });
                }
            }
        }
        got
    }

    /// The server sends the world of a tick, and the client reads what comes.
    fn play(&mut self, tick: i32, base: i32, more: u16) -> Vec<Got> {
        let world = world(self.proto(), tick, more);
        let messages = self.messages(tick, base, &world);
        let lines = self.send(&messages);
        self.reads(&lines)
    }

    /// The client has to read the world of this tick with other places of tees.
    #[track_caller]
    fn is(&mut self, (tick, base, more): (i32, i32, u16), change: impl Fn(u16, i32) -> i32) {
        let snapshot = with_x(world(self.proto(), tick, more), self.proto(), change);
        let kind = self.bench.kind;
        assert_eq!(self.play(tick, base, more), [Got { tick, snapshot }], "{kind:?}");
    }

    /// The messages of this tick have to pass byte for byte.
    #[track_caller]
    fn passes(&mut self, tick: i32, base: i32, more: u16) {
        let world = world(self.proto(), tick, more);
        let messages = self.messages(tick, base, &world);
        let lines: Vec<String> = messages.iter().map(|message| format!("C a1 {message}")).collect();
        assert_eq!(self.send(&messages), lines, "{:?}", self.bench.kind);
        self.reads(&lines);
    }
}

#[test]
fn moved_tees_are_where_the_sample_says() {
    on_each_kind(|bench| {
        set(bench, &sample("moved-tee"));
        let mut game = Game::new(bench);
        for (tick, base) in [(10, -1), (12, 10), (14, 10), (16, 14), (17, -1), (18, 16)] {
            game.is((tick, base, 0), |_, x| x + 64);
        }
        // Nothing changed.
        let world = game.worlds[&18].clone();
        let empty = game.messages(20, 18, &world);
        let lines = game.send(&empty);
        assert_eq!(lines, [format!("C a1 {}", empty[0])]);
        assert_eq!(game.reads(&lines).len(), 1);
        assert_eq!(game.bench.notices, [Notice::Renumbered { dir: Dir::S2c }]);
    });
}

#[test]
fn with_pass_instead_nothing_changes() {
    on_each_kind(|bench| {
        let source = "pass when any_snap and snap.character[3].x > 0";
        set(bench, source);
        let mut game = Game::new(bench);
        game.passes(10, -1, 0);
        game.passes(12, 10, 60);
    });
}

#[test]
fn values_are_constant_or_computed_and_only_named_items_change() {
    on_each_kind(|bench| {
        let rules = "set snap.character[3].x = 77, snap.character[3].health = 9 when any_snap\n\
                     set snap.character.armor = 2, snap.character[9].x = 1 when any_snap\n\
                     set snap.character[4].x = snap.character[3].x - 1000 when any_snap and snap.tick > 11";
        set(bench, rules);
        let mut game = Game::new(bench);
        let proto = game.proto();
        for (tick, base) in [(10, -1), (12, 10), (14, 12)] {
            // Values are those of the snapshot as the server sent it.
            let mut wanted = with_x(world(proto, tick, 0), proto, |id, x| match id {
                3 => 77,
                _ if tick > 11 => 3000 + tick / 3 - 1000,
                _ => x,
            });
            let kind = tee(proto);
            let def = registry().object(proto, kind.into()).unwrap();
            let at = |name: &str| {
                let mut decoded = Decoded::new();
                decoded.object(def, &[0; 22]);
                let record = decoded.find(&def.path(name).unwrap()).unwrap();
                usize::try_from(record.at).unwrap()
            };
            wanted.get_mut(Key { kind, id: 3 }).unwrap()[at("health")] = 9;
            for id in [3, 4] {
                wanted.get_mut(Key { kind, id }).unwrap()[at("armor")] = 2;
            }
            let got = game.play(tick, base, 0);
            assert_eq!(
                got,
                [Got {
                    tick,
                    snapshot: wanted
                }]
            );
        }
    });
}

#[test]
fn items_of_types_with_a_uuid_change() {
    let mut bench = Bench::with(KINDS[2], teetap_kit::world::config(3, None, true));
    set(&mut bench, "set snap.spec_char[0].x = 12345 when any_snap");
    let mut game = Game::new(&mut bench);
    for (tick, base) in [(10, -1), (12, 10), (14, 12)] {
        let mut wanted = world(Proto::Ddnet, tick, 0);
        let key = Key { kind: 0x7fff, id: 0 };
        wanted.get_mut(key).unwrap()[0] = 12345;
        assert_eq!(
            game.play(tick, base, 0),
            [Got {
                tick,
                snapshot: wanted
            }]
        );
    }
}

#[test]
fn a_snapshot_of_several_parts_goes_when_it_is_complete() {
    on_each_kind(|bench| {
        set(bench, &sample("moved-tee"));
        let mut game = Game::new(bench);
        game.is((10, -1, 0), |_, x| x + 64);
        game.is((12, 10, 80), |_, x| x + 64);
        // All are deleted again, and one part suffices.
        game.is((14, 12, 0), |_, x| x + 64);
        let proto = game.proto();
        let crowd = world(proto, 16, 80);
        let messages = game.messages(16, 14, &crowd);
        assert!(messages.len() > 2);
        let (last, first) = messages.split_last().unwrap();
        let lines = game.send(first);
        assert!(lines.iter().all(|line| line == "C a1 keepalive"), "{lines:?}");
        assert!(
            game.bench
                .placed
                .iter()
                .all(|placed| placed.action != Action::Drop)
        );
        // A part that comes twice is not sent twice.
        let again = game.send(&first[..1]);
        assert_eq!(again, ["C a1 keepalive"]);
        let lines = game.send(std::slice::from_ref(last));
        let got = game.reads(&lines);
        let snapshot = with_x(crowd, proto, |_, x| x + 64);
        assert_eq!(got, [Got { tick: 16, snapshot }]);
        // One of which a part is lost never goes, and the next one has an older base.
        let lost = world(proto, 18, 90);
        let messages = game.messages(18, 16, &lost);
        let lines = game.send(&messages[1..]);
        assert!(lines.iter().all(|line| line == "C a1 keepalive"), "{lines:?}");
        game.is((20, 16, 3), |_, x| x + 64);
    });
}

#[test]
fn lost_snapshots_and_old_acks() {
    on_each_kind(|bench| {
        set(bench, "set snap.character[3].x = snap.tick when any_snap");
        let mut game = Game::new(bench);
        let moved = |tick: i32| move |id, x| if id == 3 { tick } else { x };
        game.is((10, -1, 0), moved(10));
        game.is((12, 10, 0), moved(12));
        // One that the client never gets, and differences to older ones.
        let lost = world(game.proto(), 14, 0);
        let messages = game.messages(14, 12, &lost);
        game.send(&messages);
        game.is((16, 12, 0), moved(16));
        game.is((18, 10, 70), moved(18));
        game.is((20, 16, 0), moved(20));
        // One that comes late, after a newer one: it is the base of a later one, if the newer one is lost.
        let proto = game.proto();
        let [late, newer] = [(22, 20), (24, 20)].map(|(tick, base)| {
            let world = world(proto, tick, 0);
            game.messages(tick, base, &world)
        });
        game.send(&newer);
        let lines = game.send(&late);
        let snapshot = with_x(world(proto, 22, 0), proto, moved(22));
        assert_eq!(game.reads(&lines), [Got { tick: 22, snapshot }]);
        game.is((26, 22, 0), moved(26));
        // A complete one.
        game.is((28, -1, 40), moved(28));
    });
}

/// A way in which a rule stops: its modifier, if the program then has no such rule, and what is done.
type Stop<'a> = (&'static str, bool, &'a dyn Fn(&mut Game<'_>));

#[test]
fn after_the_rule_stops_differences_to_changed_snapshots_are_still_right() {
    let toggle = |game: &mut Game<'_>| {
        let rule = WhichRule::Name("move".into());
        game.bench.command(Command::Toggle { rule, enabled: false });
    };
    let reload = |game: &mut Game<'_>| set(game.bench, "drop when cl_say");
    let none = |game: &mut Game<'_>| drop(game.bench.set(None));
    let nothing = |_: &mut Game<'_>| {};
    let stops: [Stop<'_>; 5] = [
        ("", false, &toggle),
        ("", true, &reload),
        ("", true, &none),
        (" first 2", false, &nothing),
        (" until snap.tick >= 14", false, &nothing),
    ];
    for (modifier, is_gone, stop) in stops {
        on_each_kind(|bench| {
            let source =
                format!("move: set snap.character.x = snap.character.x + 64 when any_snap{modifier}");
            set(bench, &source);
            let mut game = Game::new(bench);
            game.is((10, -1, 0), |_, x| x + 64);
            game.is((12, 10, 70), |_, x| x + 64);
            stop(&mut game);
            game.is((14, 12, 70), |_, x| x);
            game.is((16, 10, 0), |_, x| x);
            game.is((18, 12, 80), |_, x| x);
            game.passes(20, 14, 0);
            game.passes(22, 18, 0);
            // An ack that was overtaken.
            game.is((24, 12, 0), |_, x| x);
            game.passes(50, 24, 0);
            game.passes(52, 50, 0);
            if is_gone {
                // Parts do not wait either, as no rule could change a later one.
                game.passes(54, 52, 90);
            }
            assert!(
                game.bench
                    .notices
                    .iter()
                    .all(|notice| !matches!(notice, Notice::RuleFailed { .. }))
            );
        });
    }
}

#[test]
fn a_rule_that_comes_late_waits_for_a_complete_snapshot() {
    on_each_kind(|bench| {
        set(bench, "mark when cl_say");
        let mut game = Game::new(bench);
        game.passes(10, -1, 0);
        game.passes(12, 10, 0);
        set(game.bench, &sample("moved-tee"));
        game.passes(14, 12, 0);
        game.passes(16, 14, 0);
        game.bench.wait(100);
        game.passes(18, 14, 0);
        let failed = |bench: &Bench| {
            let notices = bench.notices.iter();
            let failed = notices.filter_map(|notice| match notice {
                Notice::RuleFailed { why, .. } => Some(why.to_string()),
                _ => None,
            });
            failed.collect::<Vec<_>>()
        };
        let why = "the base of the snapshot is not known; a resync requests a complete one";
        assert_eq!(failed(game.bench), [why]);
        game.is((20, -1, 0), |_, x| x + 64);
        game.is((22, 20, 0), |_, x| x + 64);
        assert_eq!(failed(game.bench).len(), 1);
    });
}

#[test]
fn a_changed_snapshot_can_be_dropped_delayed_doubled_and_reordered() {
    on_each_kind(|bench| {
        let rules = "set snap.character.x = snap.character.x + 64 when any_snap\n\
                     drop when any_snap and snap.tick == 12\n\
                     delay 50ms when any_snap and snap.tick == 14\n\
                     dup when any_snap and snap.tick == 16\n\
                     swap when any_snap and snap.tick in {18 20}";
        set(bench, rules);
        let mut game = Game::new(bench);
        game.is((10, -1, 0), |_, x| x + 64);
        assert_eq!(game.play(12, 10, 70), []);
        // All parts come at the same time.
        assert_eq!(game.play(14, 10, 70), []);
        let lines = game.bench.wait(60);
        let proto = game.proto();
        let got = game.reads(&lines);
        let wanted = |tick, more| Got {
            tick,
            snapshot: with_x(world(proto, tick, more), proto, |_, x| x + 64),
        };
        assert_eq!(got, [wanted(14, 70)]);
        assert!(lines.iter().all(|line| line.starts_with("50: ")), "{lines:?}");
        let doubled = world(proto, 16, 75);
        let messages = game.messages(16, 14, &doubled);
        let lines = game.send(&messages);
        let chunks = lines
            .iter()
            .flat_map(|line| line.split(' '))
            .filter(|word| word.starts_with("-:="));
        assert_eq!(chunks.count(), 2 * messages.len());
        assert_eq!(game.reads(&lines), [wanted(16, 75)]);
        // All parts of the older one come after the newer one: the client ignores them.
        assert_eq!(game.play(18, 16, 0), []);
        let newer = world(proto, 20, 0);
        let messages = game.messages(20, 16, &newer);
        let lines = game.send(&messages);
        assert_eq!(game.reads(&lines), [wanted(20, 0)]);
        let chunks = lines
            .iter()
            .flat_map(|line| line.split(' '))
            .filter(|word| word.starts_with("-:="));
        assert!(chunks.count() >= 2, "{lines:?}");
        game.is((22, 20, 5), |_, x| x + 64);
    });
}

/// The number of snapshot messages in lines.
fn chunks(lines: &[String]) -> usize {
    let words = lines.iter().flat_map(|line| line.split(' '));
    words.filter(|word| word.starts_with("-:=")).count()
}

#[test]
fn a_decision_about_a_part_covers_the_snapshot() {
    // With how many of sixty snapshots something happens.
    let rules = [
        ("drop when any_snap chance 50%", 15..=45),
        ("lose when s2c chance 50%", 15..=45),
        ("drop when any_snap every 3", 20..=20),
        ("drop when any_snap first 7", 7..=7),
        ("drop when any_snap skip 50", 10..=10),
        ("drop when any_snap and n <= 5", 5..=5),
        ("drop when any_snap max 4 per 1h", 4..=4),
        ("drop when sys.snap.part == 0 every 2 per global", 30..=30),
    ];
    for (source, expected) in rules {
        on_each_kind(|bench| {
            set(bench, source);
            let mut game = Game::new(bench);
            let mut dropped = 0;
            for tick in 0..60 {
                let world = world(game.proto(), tick, 70);
                let messages = game.messages(tick, -1, &world);
                assert!(messages.len() >= 3);
                let sent = chunks(&game.send(&messages));
                assert!(
                    sent == 0 || sent == messages.len(),
                    "{source}: {sent} of {}",
                    messages.len()
                );
                dropped += usize::from(sent == 0);
            }
            assert!(expected.contains(&dropped), "{source}: {dropped}");
        });
    }
}

#[test]
fn the_parts_of_a_snapshot_have_the_same_delay() {
    on_each_kind(|bench| {
        set(bench, "delay 5ms..90ms unordered when any_snap");
        let mut game = Game::new(bench);
        let mut times = Vec::new();
        for tick in 0..12 {
            let world = world(game.proto(), tick, 70);
            let messages = game.messages(tick, -1, &world);
            assert_eq!(chunks(&game.send(&messages)), 0);
            let lines = game.bench.wait(100);
            assert_eq!(chunks(&lines), messages.len());
            let time = |line: &String| line.split(':').next().unwrap().to_owned();
            let mut of: Vec<String> = lines.iter().map(time).collect();
            of.dedup();
            assert_eq!(of.len(), 1, "{lines:?}");
            times.extend(of);
        }
        times.sort();
        times.dedup();
        assert!(times.len() > 4, "{times:?}");
    });
}

#[test]
fn a_snapshot_of_several_parts_changes_places_as_a_whole() {
    for set_too in ["", "set snap.character[3].x = 5 when any_snap\n"] {
        on_each_kind(|bench| {
            set(bench, &format!("{set_too}swap when any_snap"));
            let mut game = Game::new(bench);
            let proto = game.proto();
            let [old, new] = [2, 4].map(|tick| {
                let world = world(proto, tick, 70);
                game.messages(tick, -1, &world)
            });
            assert_eq!(chunks(&game.send(&old)), 0);
            let lines = game.send(&new);
            assert_eq!(chunks(&lines), old.len() + new.len(), "{lines:?}");
            assert_eq!(game.bench.wait(1500), [""; 0]);
        });
    }
}

#[test]
fn messages_that_are_made_or_logged_come_once_for_a_snapshot() {
    on_each_kind(|bench| {
        set(
            bench,
            "log \"one\", inject s2c sv_broadcast{message: \"x\"}, dup when any_snap",
        );
        let mut game = Game::new(bench);
        let world = world(game.proto(), 2, 70);
        let messages = game.messages(2, -1, &world);
        let lines = game.send(&messages);
        assert_eq!(chunks(&lines), 2 * messages.len());
        let logs = game
            .bench
            .notices
            .iter()
            .filter(|notice| matches!(notice, Notice::RuleLog { .. }));
        assert_eq!(logs.count(), 1);
        let made = lines
            .iter()
            .flat_map(|line| line.split(' '))
            .filter(|word| word.starts_with("1:"));
        assert_eq!(made.count(), 1, "{lines:?}");
    });
}
