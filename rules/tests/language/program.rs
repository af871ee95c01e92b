//! Tests of programs: decisions of their rules, and errors in their texts.

use std::time::Duration;

use teetap_rules::{Fate, Filter, Order, Program, RuleId, Verdict};
use teetap_wire::def::Registry;
use teetap_wire::{Code, Dir, Property, Proto};

use crate::stage::{OPENING, decide, program, say, verdict, wrong};

#[test]
fn each_action_has_its_verdict() {
    let ms = Duration::from_millis;
    let delay = |for_, order| Fate::Delay { for_, order };
    let cases = [
        ("pass", Fate::Pass, 0),
        ("drop", Fate::Drop, 0),
        ("lose", Fate::Lose { times: 1 }, 0),
        ("lose 3 times", Fate::Lose { times: 3 }, 0),
        ("delay 80ms", delay(ms(80), Order::Kept), 0),
        ("delay 1.5s unordered", delay(ms(1500), Order::Free), 0),
        ("delay 80ms, delay 20ms", delay(ms(100), Order::Kept), 0),
        ("swap", Fate::Reorder { group: 0, after: 1 }, 0),
        ("reorder 4", Fate::Reorder { group: 0, after: 4 }, 0),
        (
            "pause max 5s",
            Fate::Pause {
                max: Duration::from_secs(5),
                order: Order::Kept,
            },
            0,
        ),
        (
            "delay 80ms, pause unordered",
            Fate::Pause {
                max: Duration::from_secs(30),
                order: Order::Free,
            },
            0,
        ),
        ("delay 80ms, pause unordered, drop", Fate::Drop, 0),
        ("drop, delay 80ms", Fate::Drop, 0),
        ("lose, lose 3 times, pause", Fate::Lose { times: 3 }, 0),
        ("dup", Fate::Pass, 1),
        ("delay 1s..1s", delay(ms(1000), Order::Kept), 0),
        ("dup 2, lose", Fate::Lose { times: 1 }, 2),
        ("dup 2, drop", Fate::Drop, 0),
        ("drop, dup 2", Fate::Drop, 0),
    ];
    for (action, fate, copies) in cases {
        let expected = Verdict {
            fate,
            copies: vec![Duration::ZERO; copies],
            rules: vec![RuleId(0)],
            by: (fate != Fate::Pass).then_some(RuleId(0)),
            copied_by: (copies > 0).then_some(RuleId(0)),
            ..Verdict::PASS
        };
        assert_eq!(
            verdict(&format!("{action} when cl_say"), &say("hi")),
            expected,
            "{action}"
        );
        assert_eq!(
            verdict(&format!("{action} when cl_say.message == \"ho\""), &say("hi")),
            Verdict::PASS,
            "{action}"
        );
    }
}

#[test]
fn copies_have_a_gap() {
    let copies = |action: &str| verdict(&format!("{action} when cl_say"), &say("hi")).copies;
    assert_eq!(copies("dup gap 15ms"), [Duration::from_millis(15)]);
    assert_eq!(copies("dup 3 gap 2s"), [2, 4, 6].map(Duration::from_secs));
}

#[test]
fn a_random_delay_is_within_its_range() {
    let mut state = program("delay 80ms..120ms when cl_say").open(OPENING, None);
    let mut delays = Vec::new();
    for _ in 0..1000 {
        match decide(&mut *state, &say("hi"), OPENING.at).fate {
            Fate::Delay { for_, .. } => delays.push(for_.as_micros()),
            other => panic!("{other:?}"),
        }
    }
    let mean = delays.iter().sum::<u128>() / 1000;
    let [least, most] = [delays.iter().min(), delays.iter().max()].map(Option::unwrap);
    assert!((80_000..82_000).contains(least) && (118_000..=120_000).contains(most));
    assert!((98_500..101_500).contains(&mean), "{mean}");
}

#[test]
fn bits_and_bytes_are_corrupted() {
    let message = say("some text that is long enough");
    let mut seen = std::collections::BTreeSet::new();
    for (count, unit) in [(1, "bit"), (3, "bits"), (100, "bits"), (1, "byte"), (5, "bytes")] {
        let mut state = program(&format!("corrupt {count} {unit} when cl_say")).open(OPENING, None);
        for _ in 0..50 {
            let edit = decide(&mut *state, &message, OPENING.at).edit.unwrap();
            assert_eq!(edit.len(), message.1.len());
            let differences = edit.iter().zip(&message.1).map(|(new, old)| new ^ old);
            let found: u32 = match unit.starts_with("bit") {
                true => differences.map(u8::count_ones).sum(),
                false => differences.map(|bits| u32::from(bits != 0)).sum(),
            };
            assert_eq!(found, count, "{unit}");
            seen.insert(edit);
        }
    }
    assert!(seen.len() > 200, "{}", seen.len());
    // There are no more positions than bytes in the message.
    let edit = verdict("corrupt 100 bytes when cl_say", &message).edit.unwrap();
    assert!(edit.iter().zip(&message.1).all(|(new, old)| new != old));
}

/// Matches that are not a turn of the rule still overtake.
#[test]
fn other_matches_overtake() {
    let mut state = program("swap when cl_say every 2").open(OPENING, None);
    let mut of = |text: &str| {
        let verdict = decide(&mut *state, &say(text), OPENING.at);
        (verdict.fate, verdict.overtakes)
    };
    assert_eq!(of("a"), (Fate::Pass, vec![0]));
    assert_eq!(of("b"), (Fate::Reorder { group: 0, after: 1 }, vec![]));
    assert_eq!(of("c"), (Fate::Pass, vec![0]));
}

#[test]
fn rules_run_from_top_to_bottom_until_one_ends_it() {
    let source = "
# One line each; what is indented goes on.
dup when c2s
first: delay 10ms
  when cl_say  # a comment
    and vital
drop when cl_say.message contains \"x\"
dup when c2s
";
    let program = program(source);
    let of = |text: &str| {
        let verdict = decide(&mut *program.open(OPENING, None), &say(text), OPENING.at);
        let names = verdict
            .rules
            .iter()
            .map(|id| program.rule(*id).unwrap().to_owned());
        (verdict.fate, verdict.copies.len(), names.collect::<Vec<_>>())
    };
    let delay = Fate::Delay {
        for_: Duration::from_millis(10),
        order: Order::Kept,
    };
    let names = ["dup when c2s", "first", "dup when c2s #2"].map(str::to_owned);
    assert_eq!(of("hi"), (delay, 2, names.to_vec()));
    let names = ["dup when c2s", "first", "drop when cl_say.message contains \"x\""].map(str::to_owned);
    // A dropped message has no copies.
    assert_eq!(of("x"), (Fate::Drop, 0, names.to_vec()));
    assert_eq!(program.source(), source);
    assert_eq!(program.rule(RuleId(4)), None);
}

#[test]
fn a_program_acts_where_a_rule_can_match_and_observes_what_it_depends_on() {
    const PLACES: [(Proto, Dir); 3] = [
        (Proto::Ddnet, Dir::C2s),
        (Proto::Ddnet, Dir::S2c),
        (Proto::V7, Dir::C2s),
    ];
    let acts = |source: &str| {
        let acts = program(source).interest().acts;
        PLACES.map(|(proto, dir)| acts.contains(proto, dir))
    };
    let observes = |source: &str| {
        let interest = program(source).interest();
        let needs = (interest.measures, interest.inspects);
        (
            PLACES.map(|(proto, dir)| interest.observes.contains(proto, dir)),
            needs,
        )
    };
    assert_eq!(acts("# nothing"), [false; 3]);
    assert_eq!(acts("drop when cl_say"), [true, false, true]);
    assert_eq!(acts("drop when s2c"), [false, true, false]);
    assert_eq!(
        acts("drop when cl_say and sess.proto == ddnet")[..2],
        [true, false]
    );
    assert_eq!(acts("drop when sv_chat and seen(cl_say)"), [false, true, false]);
    // Only a message in the wrong direction can match.
    assert_eq!(acts("drop when s2c and cl_say"), [false, true, false]);
    let nothing = (false, false);
    for (source, places, needs) in [
        ("# nothing", [false; 3], nothing),
        ("drop when sv_chat", [false, true, false], nothing),
        ("drop when sv_chat and seen(cl_say)", [true; 3], nothing),
        (
            "drop when sv_chat and seen(sv_motd)",
            [false, true, false],
            nothing,
        ),
        (
            "drop when cl_say and last(sv_chat).client_id == 3",
            [true; 3],
            nothing,
        ),
        ("drop when sv_chat and sess.name == \"x\"", [true; 3], nothing),
        // Clients send the acks of snapshots.
        ("drop when snap.tick > 5", [true; 3], nothing),
        (
            "drop when sv_chat and sess.rtt > 5ms",
            [false, true, false],
            (true, false),
        ),
        (
            "drop when sv_chat and malformed",
            [false, true, false],
            (false, true),
        ),
        // The oddities of a snapshot depend on earlier snapshots.
        ("drop when s2c and lint", [true; 3], (false, true)),
    ] {
        assert_eq!(observes(source), (places, needs), "{source}");
    }
}

#[test]
fn everything_wrong_is_said_with_its_place() {
    let cases: [(&str, &[&str]); 23] = [
        ("drp when s2c", &["1:1 E011 unknown action `drp`"]),
        (
            "hide when s2c\ndrop when\n",
            &[
                "1:1 E011 unknown action `hide`",
                "2:10 E001 expected a condition or a value, found the end",
            ],
        ),
        ("drop", &["1:5 E001 expected `,` or `when`, found the end"]),
        ("drop once", &["1:6 E001 expected `,` or `when`, found `once`"]),
        ("drop s2c", &["1:6 E001 expected `,` or `when`, found `s2c`"]),
        ("a: a: drop when s2c", &["1:4 E011 unknown action `a`"]),
        ("drop, when s2c", &["1:7 E011 unknown action `when`"]),
        (
            "delay when s2c",
            &["1:7 E001 expected a duration, as in `delay 80ms`, found `when`"],
        ),
        (
            "delay 100 when s2c",
            &["1:7 E202 expected a duration, found `100`"],
        ),
        (
            "delay 20ms..10ms when s2c",
            &["1:7 E209 the range 20ms..10ms ends before it starts"],
        ),
        (
            "delay 20ms.. when s2c",
            &["1:14 E001 expected a duration, as in `delay 80ms..120ms`, found `when`"],
        ),
        ("dup gap 3 when s2c", &["1:9 E202 expected a duration, found `3`"]),
        (
            "corrupt 3 when s2c",
            &["1:11 E001 expected `bits` or `bytes`, found `when`"],
        ),
        ("delay 2h when s2c", &["1:7 E204 a delay is at most 3600 s"]),
        (
            "lose 2 x when s2c",
            &["1:8 E001 expected `,` or `when`, found `x`"],
        ),
        ("dup 0 when s2c", &["1:5 E204 expected a number from 1 to 100"]),
        (
            "reorder when s2c",
            &["1:9 E001 expected how many overtake, as in `reorder 4`, found `when`"],
        ),
        (
            "drop when s2c chanc 5%",
            &["1:15 E001 expected an operator or a modifier, found `chanc`"],
        ),
        (
            "x: drop when s2c\nx: pass when c2s\ny: link both loss 1%\ny: drop when s2c",
            &[
                "2:1 E102 two rules or link lines are called `x`",
                "4:1 E102 two rules or link lines are called `y`",
            ],
        ),
        (
            "\n\ndrop when sv_chat.mesage == \"x\" # no\n",
            &["3:19 E103 message `sv_chat` has no field `mesage`"],
        ),
        (
            "drop when lint.seq_ahead",
            &["1:16 E102 a rule does not see `lint.seq_ahead`"],
        ),
        (
            "hold until lint.late-reply when s2c",
            &["1:17 E102 a rule does not see `lint.late-reply`"],
        ),
        (
            "let odd = lint.ack_gap or lint.wrong_token\nlink both loss 5% after odd",
            &["1:16 E102 a rule does not see `lint.ack_gap`"],
        ),
    ];
    for (source, expected) in cases {
        assert_eq!(wrong(source), expected, "{source}");
    }
    let many = "drop when s2c\n".repeat(1025);
    assert_eq!(wrong(&many), ["1025:1 E007 more than 1024 statements"]);
}

/// Every code can be used in a filter, and in a rule unless it needs the whole stream.
#[test]
fn rules_see_the_codes_that_need_no_stream() {
    let registry = Registry::builtin();
    for code in Code::ALL {
        let lint = format!("lint.{}", code.name().replace('-', "_"));
        assert!(Filter::parse(&lint, registry).is_ok(), "{lint}");
        let rule = Program::compile(&format!("drop when {lint}"), registry);
        assert_eq!(rule.is_err(), code.has(Property::NeedsStream), "{lint}");
    }
}
