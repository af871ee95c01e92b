//! Snapshots of several parts: a rule decides about all parts at once.

use teetap_proxy::session::{Action, Notice};
use teetap_wire::{
    Dir, Proto,
    def::{Decoded, Record},
};

use super::{Game, Got, bytes, chunks, with_x, world};
use crate::bench::on_each_kind;
use crate::examples::sample;
use crate::facts::{registry, set};

#[test]
fn a_snapshot_of_several_parts_goes_when_it_is_complete() {
    on_each_kind(|bench| {
        set(bench, &sample("moved-tee"));
        let mut game = Game::new(bench);
        game.is((10, -1, 0), |_, x| x + 64);
        game.is((12, 10, 80), |_, x| x + 64);
        // All additional items are deleted again, and one part suffices.
        game.is((14, 12, 0), |_, x| x + 64);
        let proto = game.proto();
        let crowd = world(proto, 16, 80);
        let messages = game.messages(16, 14, &crowd);
        assert!(messages.len() > 2, "{} parts", messages.len());
        let (last, first) = messages.split_last().unwrap();
        let lines = game.send(first);
        assert!(lines.iter().all(|line| line == "C a1 keepalive"), "{lines:?}");
        assert!(
            game.bench
                .placed
                .iter()
                .all(|placed| placed.action != Action::Drop)
        );
        // A part that is received twice is not sent twice.
        let again = game.send(&first[..1]);
        assert_eq!(again, ["C a1 keepalive"]);
        let lines = game.send(std::slice::from_ref(last));
        let got = game.reads(&lines);
        let snapshot = with_x(crowd, proto, |_, x| x + 64);
        assert_eq!(got, [Got { tick: 16, snapshot }]);
        // A snapshot that lacks a part is never sent, and the next one has an older base.
        let lost = world(proto, 18, 90);
        let messages = game.messages(18, 16, &lost);
        let lines = game.send(&messages[1..]);
        assert!(lines.iter().all(|line| line == "C a1 keepalive"), "{lines:?}");
        game.is((20, 16, 3), |_, x| x + 64);
    });
}

#[test]
fn a_decision_about_a_part_covers_the_snapshot() {
    // The number of the sixty snapshots on which the rule acts.
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
                assert!(messages.len() >= 3, "{} parts", messages.len());
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

/// Returns the tick of a snapshot message in a line, and the number of its part; `None` for other words.
fn tick_and_part(proto: Proto, word: &str) -> Option<(i64, i64)> {
    let data = bytes(word)?;
    let mut decoded = Decoded::new();
    let def = decoded.message(registry(), proto, Dir::S2c, &data)?;
    let field = |path| decoded.find(&def.path(path).ok()?).and_then(Record::int);
    Some((field("tick")?, field("part")?))
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
            assert!(old.len() >= 3, "{} parts", old.len());
            let lines = game.send(&new);
            assert_eq!(chunks(&lines), old.len() + new.len(), "{lines:?}");
            let sent: Vec<(i64, i64)> = lines
                .iter()
                .flat_map(|line| line.split(' '))
                .filter_map(|word| tick_and_part(proto, word))
                .collect();
            assert_eq!(sent[0], (4, 0), "{:?} {set_too}", game.bench.kind);
            for (tick, messages) in [(2, &old), (4, &new)] {
                let parts: Vec<i64> = sent
                    .iter()
                    .filter(|(of, _)| *of == tick)
                    .map(|(_, part)| *part)
                    .collect();
                let count = i64::try_from(messages.len()).unwrap();
                assert_eq!(parts, Vec::from_iter(0..count), "{tick} {set_too}");
            }
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
