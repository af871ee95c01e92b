//! The samples of `rules/examples/` that act on non-vital messages or on whole datagrams. The others are
//! among the examples.

use std::{cell::RefCell, collections::BTreeSet, fs, path::PathBuf};

use teetap_proxy::session::Notice;
use teetap_wire::def::Datum;

use crate::bench::{Bench, on_each_kind};
use crate::examples::{Step, enter_game, example, sample, say, send, wait};
use crate::facts::{message, set, text};

fn snapshot(bench: &Bench, tick: i64, size: usize) -> String {
    let fields = [
        ("tick", Datum::from(tick)),
        ("delta_tick", (tick + 1).into()),
        ("crc", 0.into()),
        ("data", Datum::Bytes(vec![1; size])),
    ];
    format!("-{}", message(bench, "snap_single", &fields))
}

/// Sends snapshots of this size. Returns the expected line for each, and the lines that were sent.
fn snapshots(bench: &mut Bench, count: i64, size: usize) -> Vec<(String, Vec<String>)> {
    let mut left = Vec::new();
    for tick in 0..count {
        let snapshot = snapshot(bench, tick, size);
        left.push((
            format!("C a1 {snapshot}"),
            bench.send(&format!("S a1 {snapshot}")),
        ));
    }
    left
}

#[test]
fn every_sample_is_tested() {
    let root = env!("CARGO_MANIFEST_DIR");
    let mut sources = String::new();
    let mut folders = vec![PathBuf::from(format!("{root}/tests/joins"))];
    while let Some(folder) = folders.pop() {
        for file in fs::read_dir(folder).unwrap() {
            let path = file.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                sources.push_str(&fs::read_to_string(path).unwrap());
            }
        }
    }
    let mut names = BTreeSet::new();
    for file in fs::read_dir(format!("{root}/../rules/examples")).unwrap() {
        let path = file.unwrap().path();
        assert_eq!(path.extension().unwrap(), "tap", "{path:?}");
        names.insert(path.file_stem().unwrap().to_str().unwrap().to_owned());
    }
    assert!(!names.is_empty());
    for name in names {
        assert!(sources.contains(&format!("sample(\"{name}\")")), "{name}");
        let text = sample(&name);
        assert_eq!(teetap_rules::syntax::format(&text).unwrap(), text, "{name}");
    }
}

#[test]
fn some_snapshots_are_dropped() {
    let source = sample("lossy-snapshots");
    let passing = source.replacen("drop", "pass", 1);
    for (source, expected) in [(source, 10..=45), (passing, 0..=0)] {
        on_each_kind(|bench| {
            set(bench, &source);
            let left = snapshots(bench, 500, 10);
            let dropped = left
                .iter()
                .filter(|(_, left)| *left == ["C a1 keepalive"])
                .count();
            assert!(expected.contains(&dropped), "{dropped}");
            let passed = left
                .iter()
                .filter(|(whole, left)| *left == [whole.clone()])
                .count();
            assert_eq!(dropped + passed, 500, "messages that were dropped or passed");
        });
    }
}

#[test]
fn emoticons_are_dropped() {
    example(&sample("no-emoticons"), "drop", |bench| {
        let emoticon = message(bench, "cl_emoticon", &[("emoticon", 2.into())]);
        let hi = say(bench, "hi");
        vec![
            send(format!("C a0 2{emoticon} 3{hi}"), &[format!("S a0 2{hi}")]),
            // A retransmission stays dropped.
            send(format!("C a0 2*{emoticon}"), &["S a0 keepalive".to_owned()]),
            send("S a2 keepalive", &["C a3 keepalive".to_owned()]),
        ]
    });
}

#[test]
fn some_snapshots_arrive_after_four_later_ones() {
    let source = sample("reordered-snapshots");
    let passing = source.replacen("reorder 4", "pass", 1);
    for (source, expected) in [(source, 3..=30), (passing, 0..=0)] {
        on_each_kind(|bench| {
            set(bench, &source);
            let sent = snapshots(bench, 500, 0);
            let wanted: Vec<String> = sent.iter().map(|(whole, _)| whole.clone()).collect();
            let mut got: Vec<String> = Vec::new();
            for line in sent.into_iter().flat_map(|(_, left)| left) {
                // A snapshot and the snapshot that it overtakes may share a datagram.
                let parts = line.trim_start_matches("C a1 ").split(' ');
                got.extend(
                    parts
                        .filter(|part| *part != "keepalive")
                        .map(|part| format!("C a1 {part}")),
                );
            }
            let late = wanted
                .iter()
                .enumerate()
                .filter(|(at, whole)| got.iter().position(|got| got == *whole) > Some(at + 3))
                .count();
            assert!(expected.contains(&late), "{late}");
            let rest = bench.wait(1100).len();
            assert!(got.len() + rest >= 500, "{} and {rest}", got.len());
        });
    }
}

#[test]
fn bits_of_some_large_messages_are_flipped() {
    let source = sample("corrupted-snapshots");
    let passing = source.replacen("corrupt 3 bits", "pass", 1);
    let bytes = |line: &str| -> Vec<u8> {
        let hex = line.rsplit('=').next().unwrap();
        let pairs = (0..hex.len()).step_by(2);
        pairs
            .map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap())
            .collect()
    };
    for (source, size, expected) in [
        (&source, 700, 1..=15),
        (&source, 300, 0..=0),
        (&passing, 700, 0..=0),
    ] {
        on_each_kind(|bench| {
            set(bench, source);
            let mut changed = 0;
            for (whole, left) in snapshots(bench, 500, size) {
                assert_eq!(left.len(), 1, "{left:?}");
                let [sent, got] = [&whole, &left[0]].map(|line| bytes(line));
                assert_eq!(sent.len(), got.len());
                let flipped: u32 = sent.iter().zip(&got).map(|(a, b)| (a ^ b).count_ones()).sum();
                assert!(matches!(flipped, 0 | 3), "{flipped}");
                changed += usize::from(flipped == 3);
            }
            assert!(expected.contains(&changed), "{changed}");
        });
    }
}

#[test]
fn vital_messages_are_lost_for_some_time() {
    example(&sample("lost-vitals"), "lose", |bench| {
        let enter = enter_game(bench);
        let [a, b] = ["a", "b"].map(|words| say(bench, words));
        let input = format!("-{}", message(bench, "input", &[]));
        let mut steps = vec![
            send(format!("C a0 2{enter}"), &[format!("S a0 2{enter}")]),
            send(format!("C a0 3{a}"), &[]),
            send(format!("C a0 3*{a}"), &[format!("S a0 3*{a}")]),
            send("S a3 keepalive", &["C a3 keepalive".to_owned()]),
        ];
        steps.extend((0..201).map(|_| send(format!("C a0 {input}"), &[format!("S a0 {input}")])));
        steps.push(send(format!("C a0 4{b}"), &[format!("S a0 4{b}")]));
        steps
    });
}

#[test]
fn inputs_seem_to_be_late() {
    let action = "set input_timing.time_left = input_timing.time_left - 20";
    example(&sample("input-margin"), action, |bench| {
        let enter = enter_game(bench);
        let timing = |left: i64| {
            let fields = [("input_pred_tick", 900.into()), ("time_left", left.into())];
            format!("-{}", message(bench, "input_timing", &fields))
        };
        vec![
            send(format!("C a0 2{enter}"), &[format!("S a0 2{enter}")]),
            send(format!("S a2 {}", timing(7)), &[format!("C a2 {}", timing(7))]),
            wait(5001, &[]),
            send(format!("S a2 {}", timing(7)), &[format!("C a2 {}", timing(-13))]),
        ]
    });
}

#[test]
fn the_session_ends_after_many_snapshots() {
    example(&sample("kick"), "close both \"kicked by test\"", |bench| {
        let step = |tick: i64| {
            let snapshot = snapshot(bench, tick, 1);
            (Step::Send(format!("S a1 {snapshot}")), format!("C a1 {snapshot}"))
        };
        let mut steps: Vec<_> = (0..501)
            .map(|tick| {
                let (step, leaves) = step(tick);
                (step, vec![leaves])
            })
            .collect();
        let closes = ["C a1 close kicked by test\0", "S a0 close kicked by test\0"];
        let (_, last) = &mut steps[500];
        last.extend(closes.map(str::to_owned));
        steps
    });
}

#[test]
fn inputs_arrive_late_and_in_order() {
    let source = sample("late-input");
    on_each_kind(|bench| {
        set(bench, &source);
        let inputs: Vec<String> = (0..20)
            .map(|tick| {
                let fields = [("intended_tick", Datum::from(tick))];
                format!("-{}", message(bench, "input", &fields))
            })
            .collect();
        let mut left = Vec::new();
        for (number, input) in (0_u64..).zip(&inputs) {
            let at_once = bench.send(&format!("C a0 {input}"));
            assert!(at_once.iter().all(|line| line == "S a0 keepalive"), "{at_once:?}");
            for line in bench.wait(20) {
                left.push((number * 20, line));
            }
        }
        left.extend(bench.wait(200).into_iter().map(|line| (400, line)));
        let mut arrived = Vec::new();
        for (begun, line) in left {
            let (ms, rest) = line.split_once(": S a0 ").unwrap();
            let at = begun + ms.parse::<u64>().unwrap();
            arrived.extend(rest.split(' ').map(|input| (at, input.to_owned())));
        }
        let order: Vec<&String> = arrived.iter().map(|(_, input)| input).collect();
        assert_eq!(order, inputs.iter().collect::<Vec<_>>());
        for (number, (at, _)) in (0_u64..).zip(&arrived) {
            let delay = at - number * 20;
            assert!((80..=121).contains(&delay), "{number}: {delay}");
        }
    });
}

#[test]
fn vital_messages_come_three_times() {
    example(&sample("repeated-messages"), "dup 2 gap 15ms", |bench| {
        let a = say(bench, "a");
        vec![
            send(format!("C a0 2{a}"), &[format!("S a0 2{a}")]),
            wait(40, &[format!("15: S a0 3{a}"), format!("30: S a0 4{a}")]),
            send("S a4 keepalive", &["C a2 keepalive".to_owned()]),
        ]
    });
}

#[test]
fn chat_is_logged_with_the_name_of_the_player() {
    let source = sample("chat-log");
    on_each_kind(|bench| {
        set(bench, &source);
        let info = message(bench, "cl_start_info", &[("name", text("me"))]);
        bench.send(&format!("C a0 2{info}"));
        let chat = message(bench, "sv_chat", &[("message", text("hi there"))]);
        bench.is(&format!("S a2 1{chat}"), &[&format!("C a2 1{chat}")]);
        let [Notice::RuleLog { rule, logged, .. }] = &*bench.notices else {
            panic!("{:?}", bench.notices);
        };
        assert_eq!((&**rule, &**logged), ("chatlog", "me: hi there"));
    });
}

#[test]
fn a_bad_link_delays_everything_and_loses_some() {
    let source = sample("bad-link");
    on_each_kind(|bench| {
        set(bench, &source);
        let mut arrived = Vec::new();
        for _ in 0..500 {
            assert_eq!(bench.send("S a1 -:x"), [""; 0]);
            arrived.extend(bench.wait(20));
        }
        arrived.extend(bench.wait(200));
        // 3 % are lost on average, in bursts.
        let lost = 500 - arrived.len();
        assert!((1..=60).contains(&lost), "{lost}");
        assert!(
            arrived.iter().all(|line| line.ends_with("C a1 -:x")),
            "{arrived:?}"
        );
        // The other direction, too.
        assert_eq!(bench.send("C a0 -:x"), [""; 0]);
    });
}

#[test]
fn nothing_reaches_the_client_for_four_seconds() {
    let source = sample("outage");
    on_each_kind(|bench| {
        set(bench, &source);
        // The session is a few seconds old.
        for (wait, passes) in [(0, true), (14_000, true), (4_000, false), (6_000, true)] {
            bench.wait(wait);
            let left = bench.send("S a1 -:x");
            assert_eq!(!left.is_empty(), passes, "after {wait}: {left:?}");
            assert_eq!(bench.send("C a0 -:y"), ["S a0 -:y"]);
        }
    });
}

/// Runs the steps and returns the notices of rules that fail or end the run.
fn endings(source: &str, steps: impl Fn(&mut Bench)) -> Vec<Notice> {
    let endings = RefCell::new(Vec::new());
    on_each_kind(|bench| {
        set(bench, source);
        steps(bench);
        let of_rules = |notice: &&Notice| {
            matches!(
                notice,
                Notice::AssertionFailed { .. } | Notice::ExitRequested { .. }
            )
        };
        let found: Vec<Notice> = bench.notices.iter().filter(of_rules).cloned().collect();
        assert!(found.len() <= 1, "{found:?}");
        endings.borrow_mut().extend(found);
    });
    endings.into_inner()
}

#[test]
fn a_wrong_checksum_fails_the_run() {
    let source = sample("crc-check");
    for (crc, failures) in [(0, 0), (5, 4)] {
        let found = endings(&source, |bench| {
            let fields = [
                ("tick", Datum::from(20)),
                ("delta_tick", 21.into()),
                ("crc", crc.into()),
                ("data", Datum::Bytes(vec![0, 0, 0])),
            ];
            let snapshot = message(bench, "snap_single", &fields);
            bench.is(&format!("S a1 -{snapshot}"), &[&format!("C a1 -{snapshot}")]);
        });
        assert_eq!(found.len(), failures, "{found:?}");
    }
}

#[test]
fn a_late_answer_fails_the_run() {
    let source = sample("answer-in-time");
    for (ms, failures) in [(1900, 0), (2100, 4)] {
        let found = endings(&source, |bench| {
            let [ready, con_ready] = ["ready", "con_ready"].map(|name| message(bench, name, &[]));
            bench.send(&format!("C a0 2{ready}"));
            bench.wait(ms);
            bench.send(&format!("S a2 1{con_ready}"));
            bench.wait(3000);
        });
        assert_eq!(found.len(), failures, "{found:?}");
    }
}

#[test]
fn the_game_ends_the_run() {
    let found = endings(&sample("stop-after-join"), |bench| {
        let enter = enter_game(bench);
        bench.is(&format!("C a0 2{enter}"), &[&format!("S a0 2{enter}")]);
    });
    assert_eq!(found.len(), 4);
    assert!(
        found
            .iter()
            .all(|notice| matches!(notice, Notice::ExitRequested { exit: 10, .. }))
    );
}

/// Returns the texts that rules reported.
fn logged(bench: &Bench) -> Vec<String> {
    let notices = bench.notices.iter().filter_map(|notice| match notice {
        Notice::RuleLog { logged, .. } => Some(logged.to_string()),
        _ => None,
    });
    notices.collect()
}

#[test]
fn resends_are_reported_now_and_then() {
    let source = sample("resend-storm");
    on_each_kind(|bench| {
        set(bench, &source);
        let motd = message(bench, "sv_motd", &[("message", text("hi"))]);
        bench.is(&format!("S a1 1{motd}"), &[&format!("C a1 1{motd}")]);
        assert_eq!(logged(bench), [""; 0]);
        for (ms, reports) in [(10, 1), (10, 1), (5000, 2)] {
            bench.wait(ms);
            bench.is(&format!("S a1 1*{motd}"), &[&format!("C a1 1*{motd}")]);
            assert_eq!(logged(bench), vec!["resend storm"; reports]);
        }
    });
}

#[test]
fn the_time_of_a_join_is_kept_and_reported() {
    let source = sample("join-time");
    on_each_kind(|bench| {
        set(bench, &source);
        let (enter, hi) = (enter_game(bench), say(bench, "hi"));
        bench.send(&format!("C a0 2{hi}"));
        // The client is not in the game yet.
        assert_eq!(logged(bench), [""; 0]);
        bench.send(&format!("C a0 3{enter}"));
        bench.wait(1000);
        bench.send(&format!("C a0 4{hi}"));
        let texts = logged(bench);
        let [text] = &*texts else { panic!("{texts:?}") };
        let time = text.strip_prefix("in the game after ").unwrap();
        let time: f64 = time.strip_suffix('s').unwrap().parse().unwrap();
        assert!((2.0..4.0).contains(&time), "{text}");
    });
}
