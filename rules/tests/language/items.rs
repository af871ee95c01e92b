//! Tests of rules on snapshot items, and on snapshots of several messages.

use teetap_rules::{By, Decision, Effect, Fate, Opening, Program, Shared, SnapshotPart, Verdict};
use teetap_wire::def::{Class, Datum, Def, Registry};
use teetap_wire::snap::{ItemEdit, ItemKey, PART, Sizes, Snapshot};
use teetap_wire::{Dir, Proto};

use crate::stage::{OPENING, first_copy, message, program, wrong};

fn object(name: &str) -> &'static Def {
    let mut named = Registry::builtin().named(Proto::Ddnet, Some(Class::Object), name);
    named.next().unwrap()
}

/// Returns two tees and a player, and `more` other items.
fn world(tick: i32, more: u16) -> Snapshot {
    let mut world = Snapshot::new();
    let mut tee = vec![0; 22];
    for id in [3, 4] {
        tee[0] = tick;
        tee[1] = 100 * i32::from(id);
        world.insert(ItemKey { kind: 9, id }, &tee).unwrap();
    }
    world
        .insert(ItemKey { kind: 10, id: 3 }, &[1, 3, 0, 50, 20])
        .unwrap();
    for id in 0..more {
        world.insert(ItemKey { kind: 3, id }, &[i32::MAX; 5]).unwrap();
    }
    world
}

/// Returns the messages of a complete snapshot.
pub(crate) fn snapshot(tick: i32, more: u16) -> Vec<(Dir, Vec<u8>)> {
    let (world, mut data) = (world(tick, more), Vec::new());
    let sizes = Sizes::new(Registry::builtin(), Proto::Ddnet);
    world.delta(&Snapshot::new(), &sizes, &mut data).unwrap();
    let parts: Vec<&[u8]> = data.chunks(PART).collect();
    let count = i64::try_from(parts.len()).unwrap();
    let part = |(number, data): (i64, &&[u8])| {
        let fields = [
            ("tick", tick.into()),
            ("delta_tick", (tick + 1).into()),
            ("crc", world.crc().into()),
            ("data", Datum::Bytes(data.to_vec())),
            ("num_parts", count.into()),
            ("part", number.into()),
        ];
        let (name, fields) = match count {
            1 => ("snap_single", &fields[..4]),
            _ => ("snap", &fields[..]),
        };
        (Dir::S2c, message(name, fields))
    };
    (0..).zip(&parts).map(part).collect()
}

/// Returns the verdicts on messages of a new session, and the effects.
fn decided(source: &str, messages: &[(Dir, Vec<u8>)]) -> (Vec<Verdict>, Vec<Effect>) {
    let (program, mut shared) = (program(source), Shared::default());
    let mut state = program.open(OPENING, None);
    let decide = |message| state.decide(&first_copy(message, OPENING.at), &mut shared);
    let verdicts = messages.iter().map(decide).collect();
    (verdicts, state.effects())
}

/// A changed item: its type, its id, and the different ints.
type Changed = (u16, u16, Vec<(usize, i32)>);

/// Returns the items that a rule changes in a snapshot.
fn changed(source: &str) -> Vec<Changed> {
    let (verdicts, effects) = decided(source, &snapshot(50, 0));
    assert_eq!(effects, [], "{source}");
    let differences = |edit: &ItemEdit| {
        let world = world(50, 0);
        let before = world.get(edit.key).unwrap();
        assert_eq!(before.len(), edit.ints.len());
        let both = before.iter().zip(&edit.ints).enumerate();
        let found = both.filter_map(|(at, (before, after))| (before != after).then_some((at, *after)));
        (edit.key.kind, edit.key.id, found.collect())
    };
    verdicts[0].items.iter().map(differences).collect()
}

#[test]
fn fields_of_items_are_set() {
    let (character, player) = (object("character"), object("player_info"));
    assert_eq!(
        [&character.name, &player.name].map(|name| &**name),
        ["character", "player_info"]
    );
    let same = Vec::<Changed>::new;
    for (source, expected) in [
        (
            "set snap.character[3].x = 77 when any_snap",
            vec![(9, 3, vec![(1, 77)])],
        ),
        (
            "set snap.character.x = snap.character.x + 64 when any_snap",
            vec![(9, 3, vec![(1, 364)]), (9, 4, vec![(1, 464)])],
        ),
        // All values are the values before the change; an item without an id is the changed item.
        (
            "set snap.character[3].x = snap.character[4].x, snap.character[4].x = snap.character[3].x, \
             snap.character[4].y = snap.character.x / 4 when s2c",
            vec![(9, 3, vec![(1, 400)]), (9, 4, vec![(1, 300), (2, 100)])],
        ),
        (
            "set snap.player_info[3].score = snap.tick + 1, \
             snap.character[3].x = snap.player_info[3].latency when any_snap",
            vec![(9, 3, vec![(1, 20)]), (10, 3, vec![(3, 51)])],
        ),
        // Later rules change the result of earlier ones.
        (
            "set snap.character[3].x = 1 when any_snap\n\
             set snap.character[3].y = 2 when any_snap\n\
             set snap.character[3].x = 300 when any_snap",
            vec![(9, 3, vec![(2, 2)])],
        ),
        ("set snap.character[3].x = 300 when any_snap", same()),
        ("set snap.character[9].x = 3 when any_snap", same()),
        ("set snap.flag.x = 3 when any_snap", same()),
        (
            "set snap.character.x = 3 when any_snap and snap.character[3].x > 300",
            same(),
        ),
    ] {
        assert_eq!(changed(source), expected, "{source}");
    }
}

#[test]
fn only_the_message_that_completes_a_snapshot_is_changed() {
    let parts = snapshot(50, 120);
    assert!(parts.len() > 2);
    let source = "set snap.character.x = 1, mark x when any_snap every 2\n";
    let program = program(source);
    let mut state = program.open(OPENING, None);
    let mut shared = Shared::default();
    let mut changed = Vec::new();
    for tick in [50, 52, 54, 56] {
        for part in snapshot(tick, 120) {
            let verdict = state.decide(&first_copy(&part, OPENING.at), &mut shared);
            assert_eq!(verdict.items.is_empty(), verdict.rules.is_empty());
            changed.push(verdict.items.len());
        }
    }
    let mut expected = vec![0; parts.len()];
    expected.extend(vec![0; parts.len() - 1]);
    expected.push(2);
    assert_eq!(changed, [expected.clone(), expected].concat());
}

#[test]
fn a_change_that_is_impossible_is_reported_and_nothing_changes() {
    let source =
        "set snap.character[4].x = 1, snap.character.health = snap.character.x * 10000000 when any_snap";
    let (verdicts, effects) = decided(source, &snapshot(50, 0));
    assert_eq!(verdicts[0].items, []);
    let [Effect::Failed { why, .. }] = &effects[..] else {
        panic!("{effects:?}");
    };
    assert!(why.contains("health"), "{why}");
    // A delta to a snapshot that was never seen.
    let fields = [("tick", 60.into()), ("delta_tick", 5.into())];
    let unknown = (Dir::S2c, message("snap_empty", &fields));
    let (verdicts, effects) = decided("set snap.character.x = 1 when any_snap", &[unknown]);
    assert_eq!(verdicts[0].items, []);
    let why = "the base of the snapshot is unknown; run resync to request a complete snapshot";
    assert!(matches!(&effects[..], [Effect::Failed { why: found, .. }] if **found == *why));
}

#[test]
fn wrong_targets_are_reported() {
    for (source, expected) in [
        (
            "set snap.character[3] = 5 when any_snap",
            &["1:5 E102 `snap.character[3]` is an item, which rules can neither add nor remove"][..],
        ),
        (
            "set snap.tick = 5 when any_snap",
            &["1:5 E102 `snap.tick` cannot be changed"],
        ),
        (
            "set snap.charcter[3].x = 5 when any_snap",
            &["1:10 E107 unknown snapshot item `charcter`"],
        ),
        (
            "set snap.character[3].xx = 5 when any_snap",
            &["1:23 E103 snapshot item `character` has no field `xx`"],
        ),
        (
            "set snap.character[3].x = 5000000000 when any_snap",
            &["1:27 E204 `snap.character.x` is never 5000000000: it has room for -2147483648 to 2147483647"],
        ),
        (
            "set snap.character[3].x = \"a\" when any_snap",
            &["1:27 E201 `snap.character.x` is a number, not text"],
        ),
        (
            "set snap.ex_uuid_type[32767].uuid = 5 when any_snap",
            &["1:5 E102 `snap.ex_uuid_type.uuid` is the UUID of a type, which cannot be changed"],
        ),
        (
            "set snap.character[3].x = snap.player_info.score when any_snap",
            &["1:27 E207 `snap.player_info.score` is a list, not one value"],
        ),
        (
            "set snap.character[3].x = 5 when sv_chat",
            &[
                "1:1 E102 `set snap…` acts on messages that complete a snapshot, and this condition is about others",
            ],
        ),
        (
            "set snap.character[3].x = 5 every 5s",
            &["1:1 E102 `set snap.character[3].x = 5` needs a message"],
        ),
    ] {
        assert_eq!(wrong(source), expected, "{source}");
    }
}

/// Rules that draw and count.
const RULES: &str = "\
drop when any_snap chance 20%
delay 5ms..90ms when any_snap chance 40%
set snap.character[3].x = 5 when any_snap chance 50%
corrupt 2 bits when s2c and any_snap every 7
swap when any_snap every 5";

fn run(program: &Program, opening: Opening) -> (Vec<Vec<Verdict>>, Vec<Decision>) {
    let mut shared = program.share(Shared::default());
    shared.record();
    let mut state = program.open(opening, None);
    let mut verdicts = Vec::new();
    for tick in 10..80 {
        let parts = snapshot(tick, if tick % 3 == 0 { 0 } else { 120 });
        let decide = |part| state.decide(&first_copy(part, opening.at), &mut shared);
        verdicts.push(parts.iter().map(decide).collect());
    }
    (verdicts, shared.decisions())
}

#[test]
fn one_decision_covers_the_parts_and_another_run_makes_the_same() {
    let program = program(RULES);
    let (verdicts, decisions) = run(&program, OPENING);
    let mut fates = [0; 4];
    for parts in &verdicts {
        let (first, rest) = parts.split_first().unwrap();
        for part in rest {
            assert_eq!(part.fate, first.fate);
        }
        let follows = parts.iter().filter_map(|part| part.part.map(|part| part.follows));
        let expected = (0..parts.len()).map(|at| at > 0);
        if matches!(first.fate, Fate::Reorder { .. }) && !rest.is_empty() {
            assert_eq!(follows.collect::<Vec<_>>(), expected.collect::<Vec<_>>());
        }
        let at = match first.fate {
            Fate::Pass => 0,
            Fate::Drop => 1,
            Fate::Delay { .. } => 2,
            _ => 3,
        };
        fates[at] += 1;
    }
    assert!(fates.iter().all(|count| *count > 3), "{fates:?}");
    let of = |name: &str| {
        let is_of =
            |decision: &&Decision| matches!(&decision.by, By::Rule { rule, .. } if rule.starts_with(name));
        decisions.iter().filter(is_of).count()
    };
    assert_eq!(of("drop"), fates[1]);
    assert!(
        of("set") > 10 && of("corrupt") > 5,
        "{} {}",
        of("set"),
        of("corrupt")
    );
    let other = Opening { seed: 9, ..OPENING };
    assert_ne!(run(&program, other).0, verdicts);
    let repeating = program.repeating(&decisions).unwrap();
    assert_eq!(run(&repeating, other), (verdicts, decisions));
}

#[test]
fn a_part_knows_the_tick_of_its_snapshot() {
    let (verdicts, _) = decided("swap when any_snap", &snapshot(50, 120));
    let parts: Vec<_> = verdicts.iter().map(|verdict| verdict.part).collect();
    let part = |follows| Some(SnapshotPart { tick: 50, follows });
    assert_eq!(parts[..3], [part(false), part(true), part(true)]);
}
