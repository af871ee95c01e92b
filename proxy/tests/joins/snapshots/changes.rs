//! Snapshots that rules change, and the deltas to them after rules are disabled, snapshots are lost, or acks
//! are old.

use teetap_proxy::session::{Command, Notice};
use teetap_wire::{Dir, Proto, def::Decoded, snap::ItemKey};

use super::{Game, Got, chunks, tee, with_x, world};
use crate::bench::{Bench, KINDS, on_each_kind};
use crate::examples::sample;
use crate::facts::{registry, set};

#[test]
fn moved_tees_are_where_the_sample_says() {
    on_each_kind(|bench| {
        set(bench, &sample("moved-tee"));
        let mut game = Game::new(bench);
        for (tick, base) in [(10, -1), (12, 10), (14, 10), (16, 14), (17, -1), (18, 16)] {
            game.is((tick, base, 0), |_, x| x + 64);
        }
        // An empty snapshot: nothing differs.
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
            // Rules see the values of the snapshot as the server sent it.
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
            wanted.get_mut(ItemKey { kind, id: 3 }).unwrap()[at("health")] = 9;
            for id in [3, 4] {
                wanted.get_mut(ItemKey { kind, id }).unwrap()[at("armor")] = 2;
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
        let key = ItemKey { kind: 0x7fff, id: 0 };
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
fn lost_snapshots_and_old_acks() {
    on_each_kind(|bench| {
        set(bench, "set snap.character[3].x = snap.tick when any_snap");
        let mut game = Game::new(bench);
        let moved = |tick: i32| move |id, x| if id == 3 { tick } else { x };
        game.is((10, -1, 0), moved(10));
        game.is((12, 10, 0), moved(12));
        // A snapshot that the client never receives, and deltas to older ones.
        let lost = world(game.proto(), 14, 0);
        let messages = game.messages(14, 12, &lost);
        game.send(&messages);
        game.is((16, 12, 0), moved(16));
        game.is((18, 10, 70), moved(18));
        game.is((20, 16, 0), moved(20));
        // A snapshot that arrives after a newer one: it is the base of a later one if the newer one is lost.
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
        // A complete snapshot.
        game.is((28, -1, 40), moved(28));
    });
}

/// A way to stop a rule: its modifier, whether the program then has no such rule, and the action.
type Stop<'a> = (&'static str, bool, &'a dyn Fn(&mut Game<'_>));

#[test]
fn after_the_rule_stops_differences_to_changed_snapshots_are_still_right() {
    let toggle = |game: &mut Game<'_>| {
        game.bench.command(Command::ToggleNamed {
            rule: "move".into(),
            enabled: false,
        });
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
            // An ack that was overtaken by a later one.
            game.is((24, 12, 0), |_, x| x);
            game.passes(50, 24, 0);
            game.passes(52, 50, 0);
            if is_gone {
                // Parts do not wait either, since no rule could change a later one.
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
        let why = "the base of the snapshot is unknown; run resync to request a complete snapshot";
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
        // All parts are sent at the same time.
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
        assert_eq!(chunks(&lines), 2 * messages.len());
        assert_eq!(game.reads(&lines), [wanted(16, 75)]);
        // All parts of the older snapshot follow the newer one: the client ignores them.
        assert_eq!(game.play(18, 16, 0), []);
        let newer = world(proto, 20, 0);
        let messages = game.messages(20, 16, &newer);
        let lines = game.send(&messages);
        assert_eq!(game.reads(&lines), [wanted(20, 0)]);
        assert!(chunks(&lines) >= 2, "{lines:?}");
        game.is((22, 20, 5), |_, x| x + 64);
    });
}
