//! Rules as users write them, on a session of each kind: the messages that the receiver gets, and the acks
//! that the sender sees.
//!
//! Law: each test checks that its result would differ with `pass` in place of the action.

use teetap_proxy::{
    session::{Action, Notice},
    words::Word,
};
use teetap_wire::{Dir, def::Datum};

use crate::bench::{Bench, on_each_kind};
use crate::facts::{message, set, text};

/// One step: a line that a side sends, or a wait in milliseconds.
pub(crate) enum Step {
    Send(String),
    Wait(u64),
}

/// Runs the steps on a session of each kind with these rules, and compares the datagrams that are sent.
/// Checks that they differ with `pass` for `action`.
pub(crate) fn example(source: &str, action: &str, script: impl Fn(&Bench) -> Vec<(Step, Vec<String>)>) {
    assert!(source.contains(action), "{source}: {action}");
    let run = |source: &str, bench: &mut Bench, steps: Vec<(Step, Vec<String>)>| {
        set(bench, source);
        let mut leaves = Vec::new();
        for (step, expected) in steps {
            let got = match step {
                Step::Send(line) => bench.send(&line),
                Step::Wait(ms) => bench.wait(ms),
            };
            leaves.push((got, expected));
        }
        leaves
    };
    on_each_kind(|bench| {
        let steps = script(bench);
        for (at, (got, expected)) in run(source, bench, steps).into_iter().enumerate() {
            assert_eq!(got, expected, "{:?}: {source}: step {at}", bench.kind);
        }
    });
    let passing = source.replacen(action, "pass", 1);
    on_each_kind(|bench| {
        let steps = script(bench);
        let same = run(&passing, bench, steps);
        let is_same = same.iter().all(|(got, expected)| got == expected);
        assert!(!is_same, "{:?}: {passing}", bench.kind);
    });
}

pub(crate) fn send(line: impl Into<String>, leaves: &[String]) -> (Step, Vec<String>) {
    (Step::Send(line.into()), leaves.to_vec())
}

pub(crate) fn wait(ms: u64, leaves: &[String]) -> (Step, Vec<String>) {
    (Step::Wait(ms), leaves.to_vec())
}

/// Returns the text of a sample.
pub(crate) fn sample(name: &str) -> String {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../rules/examples");
    std::fs::read_to_string(format!("{folder}/{name}.tap")).unwrap()
}

/// Returns the message in the notation of the bench, in which a byte that is a letter or a sign is written as
/// that character.
pub(crate) fn enter_game(bench: &Bench) -> String {
    let enter = message(bench, "enter_game", &[]);
    let byte = char::from(u8::from_str_radix(&enter[2..], 16).unwrap());
    if byte.is_ascii_graphic() {
        format!(":{byte}")
    } else {
        enter
    }
}

pub(crate) fn chat(bench: &Bench, words: &str) -> String {
    let fields = [("client_id", Datum::Int(-1)), ("message", text(words))];
    message(bench, "sv_chat", &fields)
}

pub(crate) fn say(bench: &Bench, words: &str) -> String {
    message(bench, "cl_say", &[("message", text(words))])
}

#[test]
fn pause_what_the_admin_types() {
    example(&sample("pause-rcon"), "pause", |bench| {
        let command = message(bench, "rcon_cmd", &[("cmd", text("shutdown"))]);
        let say = say(bench, "x");
        vec![
            send(format!("C a0 2{command} 3{say}"), &["S a0 keepalive".to_owned()]),
            send("S a1 keepalive", &["C a3 keepalive".to_owned()]),
            wait(30_500, &[format!("30000: S a0 2{command} 3{say}")]),
        ]
    });
}

#[test]
fn swap_every_third() {
    example(&sample("swapped-chat"), "swap", |bench| {
        let [a, b, c, d, e] = ["a", "b", "c", "d", "e"].map(|words| chat(bench, words));
        let motd = message(bench, "sv_motd", &[("message", text("hi"))]);
        vec![
            send(format!("S a1 1{a} 2{b} 3{c}"), &[format!("C a1 1{a} 2{b}")]),
            // Other messages overtake the held message, but are not counted.
            send(format!("S a1 4{motd}"), &[format!("C a1 3{motd}")]),
            send(format!("S a1 5{d}"), &[format!("C a1 4{d} 5{c}")]),
            send(format!("S a1 6{e}"), &[format!("C a1 6{e}")]),
            send("C a6 keepalive", &["S a6 keepalive".to_owned()]),
        ]
    });
}

#[test]
fn swap_gives_up() {
    example("swap when s2c and sv_chat every 1", "swap", |bench| {
        let a = chat(bench, "a");
        vec![
            send(format!("S a1 1{a}"), &["C a1 keepalive".to_owned()]),
            wait(1100, &[format!("1000: C a1 1{a}")]),
        ]
    });
}

#[test]
fn copies_with_a_gap() {
    let source = "dup 2 gap 15ms when c2s and vital max 2 per 1s";
    example(source, "dup 2 gap 15ms", |bench| {
        let [a, b, c] = ["a", "b", "c"].map(|words| say(bench, words));
        vec![
            send(format!("C a0 2{a}"), &[format!("S a0 2{a}")]),
            wait(40, &[format!("15: S a0 3{a}"), format!("30: S a0 4{a}")]),
            send(format!("C a0 3{b} 4{c}"), &[format!("S a0 5{b} 6{c}")]),
            wait(40, &[format!("15: S a0 7{b}"), format!("30: S a0 8{b}")]),
            send("S a8 keepalive", &["C a4 keepalive".to_owned()]),
        ]
    });
}

#[test]
fn a_random_delay_keeps_the_order() {
    let source = "delay 80ms..120ms when c2s and cl_say";
    on_each_kind(|bench| {
        set(bench, source);
        let [a, b] = ["a", "b"].map(|words| say(bench, words));
        bench.is(&format!("C a0 2{a} 3{b}"), &["S a0 keepalive"]);
        let left = bench.wait(200);
        let times: Vec<u64> = left
            .iter()
            .map(|line| line.split(':').next().unwrap().parse().unwrap())
            .collect();
        assert!(times.iter().all(|time| (80..=120).contains(time)), "{left:?}");
        let sent: Vec<&str> = left
            .iter()
            .map(|line| line.split_once(": S a0 ").unwrap().1)
            .collect();
        assert_eq!(sent.join(" "), format!("2{a} 3{b}"));
    });
}

#[test]
fn the_first_one_is_lost() {
    example(&sample("lost-con-ready"), "lose", |bench| {
        let ready = message(bench, "con_ready", &[]);
        vec![
            send(format!("S a1 1{ready}"), &[]),
            // The server's retransmission arrives, and so does a second one.
            send(format!("S a1 1*{ready}"), &[format!("C a1 1*{ready}")]),
            send(format!("S a1 2{ready}"), &[format!("C a1 2{ready}")]),
        ]
    });
}

#[test]
fn only_in_a_window_of_time() {
    example(&sample("window"), "drop", |bench| {
        let [a, b, c] = ["a", "b", "c"].map(|words| chat(bench, words));
        vec![
            send(format!("S a1 1{a}"), &[format!("C a1 1{a}")]),
            send("C a1 keepalive", &["S a1 keepalive".to_owned()]),
            wait(8000, &[]),
            send(format!("S a1 2{b}"), &["C a1 keepalive".to_owned()]),
            wait(3000, &[]),
            send(format!("S a1 3{c}"), &[format!("C a1 2{c}")]),
        ]
    });
}

#[test]
fn after_one_message_until_another() {
    let source = "drop when c2s and cl_say after seen(sv_motd) until count(sv_motd) > 1";
    example(source, "drop", |bench| {
        let [a, b, c] = ["a", "b", "c"].map(|words| say(bench, words));
        let motd = message(bench, "sv_motd", &[("message", text("hi"))]);
        vec![
            send(format!("C a0 2{a}"), &[format!("S a0 2{a}")]),
            send(format!("S a2 1{motd}"), &[format!("C a2 1{motd}")]),
            send(format!("C a1 3{b}"), &["S a1 keepalive".to_owned()]),
            send(format!("S a2 2{motd}"), &[format!("C a3 2{motd}")]),
            send(format!("C a2 4{c}"), &[format!("S a2 3{c}")]),
        ]
    });
}

#[test]
fn an_edited_message_and_its_resend() {
    let action = "set sv_chat.message = \"capitalism.\"";
    example(&sample("edited-chat"), action, |bench| {
        let by_tee = |words| {
            let fields = [("client_id", Datum::Int(0)), ("message", text(words))];
            message(bench, "sv_chat", &fields)
        };
        let [a, edited] = ["socialism.", "capitalism."].map(by_tee);
        vec![
            send(format!("S a1 1{a}"), &[format!("C a1 1{edited}")]),
            send(format!("S a1 1*{a}"), &[format!("C a1 1*{edited}")]),
            send("C a1 keepalive", &["S a1 keepalive".to_owned()]),
        ]
    });
}

#[test]
fn a_word_is_replaced() {
    let action = "replace cl_say.message /f[aeiou]g/ with \"***\"";
    example(&sample("censored-chat"), action, |bench| {
        let [a, edited, other] = ["the fog", "the ***", "the frog"].map(|words| say(bench, words));
        vec![
            send(
                format!("C a0 2{a} 3{other}"),
                &[format!("S a0 2{edited} 3{other}")],
            ),
            send("S a3 keepalive", &["C a3 keepalive".to_owned()]),
        ]
    });
}

#[test]
fn one_message_more() {
    let action = "inject s2c sv_broadcast{message: \"proxy: packet loss on\"}";
    example(&sample("announce"), action, |bench| {
        let enter = enter_game(bench);
        let words = text("proxy: packet loss on");
        let broadcast = message(bench, "sv_broadcast", &[("message", words)]);
        let [a, b] = ["a", "b"].map(|words| chat(bench, words));
        vec![
            send(format!("S a1 1{a}"), &[format!("C a1 1{a}")]),
            send(
                format!("C a1 2{enter}"),
                &[format!("S a1 2{enter}"), format!("C a1 2{broadcast}")],
            ),
            send(format!("C a2 3{enter}"), &[format!("S a1 3{enter}")]),
            send(format!("S a3 2{b}"), &[format!("C a3 3{b}")]),
            send("C a3 keepalive", &["S a2 keepalive".to_owned()]),
        ]
    });
}

#[test]
fn an_answer_in_place_of_the_server() {
    let action = "reply sv_chat{client_id: -1, message: \"pong\"}, drop";
    example(&sample("ping-command"), action, |bench| {
        let [ping, other] = ["/pingtap", "hi"].map(|words| say(bench, words));
        let pong = chat(bench, "pong");
        vec![
            send(
                format!("C a0 2{ping}"),
                &["S a0 keepalive".to_owned(), format!("C a2 1{pong}")],
            ),
            send(format!("C a1 3{other}"), &[format!("S a0 2{other}")]),
            send("S a2 keepalive", &["C a3 keepalive".to_owned()]),
        ]
    });
}

#[test]
fn what_does_not_fit_passes_with_a_notice() {
    let long = "x".repeat(1000);
    on_each_kind(|bench| {
        let source = format!("loud: replace .message /a/ with \"{long}\" when cl_say");
        set(bench, &source);
        let a = say(bench, "aa");
        bench.is(&format!("C a0 2{a}"), &[&format!("S a0 2{a}")]);
        let failures = bench.notices.iter().filter(|notice| {
            matches!(notice, teetap_proxy::session::Notice::RuleFailed { rule, .. } if &**rule == "loud")
        });
        assert_eq!(failures.count(), 1);
    });
}

#[test]
fn a_message_waits_for_another() {
    example(
        &sample("motd-after-join"),
        "hold until seen(enter_game) unordered",
        |bench| {
            let motd = message(bench, "sv_motd", &[("message", text("hi"))]);
            let a = chat(bench, "a");
            let enter = enter_game(bench);
            vec![
                send(format!("S a1 1{motd} 2{a}"), &[format!("C a1 1{a}")]),
                wait(500, &[]),
                send(
                    format!("C a1 2{enter}"),
                    &[format!("S a2 2{enter}"), format!("C a1 2{motd}")],
                ),
                send(format!("S a2 3{motd}"), &[format!("C a2 3{motd}")]),
            ]
        },
    );
}

#[test]
fn a_rule_closes_the_session() {
    let source = "close both \"kicked by test\" when count(sv_motd) > 1 per session";
    example(source, "close both \"kicked by test\"", |bench| {
        let motd = message(bench, "sv_motd", &[("message", text("hi"))]);
        vec![
            send(format!("S a1 1{motd}"), &[format!("C a1 1{motd}")]),
            send(
                format!("S a1 2{motd}"),
                &[
                    format!("C a1 2{motd}"),
                    "C a1 close kicked by test\0".to_owned(),
                    "S a0 close kicked by test\0".to_owned(),
                ],
            ),
            wait(5000, &[]),
        ]
    });
}

#[test]
fn a_rule_acts_at_times() {
    let source = sample("ticker");
    on_each_kind(|bench| {
        set(bench, &source);
        let [tick, a] = ["tick", "a"].map(|words| chat(bench, words));
        // The program was set in the middle of the session: its time begins with the next message.
        bench.after(4000, &[]);
        bench.is(
            &format!("C a0 2{}", say(bench, "hi")),
            &[&format!("S a0 2{}", say(bench, "hi"))],
        );
        bench.after(5100, &[&format!("5000: C a1 1{tick}")]);
        bench.is("C a1 keepalive", &["S a0 keepalive"]);
        bench.is(&format!("S a2 1{a}"), &[&format!("C a2 2{a}")]);
    });
}

#[test]
fn rules_end_the_run_and_mark_messages() {
    let source =
        "mark odd, fail \"no\" when sv_chat\nexpect sv_motd within 2s when cl_say\nexit 17 when sv_motd";
    on_each_kind(|bench| {
        set(bench, source);
        let (a, hi) = (chat(bench, "a"), say(bench, "hi"));
        let motd = message(bench, "sv_motd", &[("message", text("hi"))]);
        bench.is(&format!("S a1 1{a}"), &[&format!("C a1 1{a}")]);
        let marks = bench.placed.iter().flat_map(|placed| &placed.marks);
        assert_eq!(marks.map(|mark| &**mark).collect::<Vec<_>>(), ["odd"]);
        bench.is(&format!("S a1 2{motd}"), &[&format!("C a1 2{motd}")]);
        bench.is(&format!("C a2 2{hi}"), &[&format!("S a2 2{hi}")]);
        bench.wait(1999);
        assert_eq!(bench.notices.len(), 2, "{:?}", bench.notices);
        bench.wait(1);
        bench.is(&format!("C a2 3{hi}"), &[&format!("S a2 3{hi}")]);
        bench.is("C a2 close bye", &["S a2 close bye\0"]);
        let why = |end| format!("expected `sv_motd` within 2 s: {end}");
        let failed = |why: &str, expected, dir, name: &str| Notice::AssertionFailed {
            rule: match expected {
                true => "expect sv_motd within 2s when cl_say",
                false => "mark odd, fail \"no\" when sv_chat",
            }
            .into(),
            expected,
            why: why.into(),
            dir: Some(Word(dir)),
            message: Some(name.into()),
        };
        let expected = [
            failed("no", false, Dir::S2c, "sv_chat"),
            Notice::ExitRequested {
                rule: "exit 17 when sv_motd".into(),
                exit: 17,
                dir: Some(Word(Dir::S2c)),
                message: Some("sv_motd".into()),
            },
            failed(&why("it was not received"), true, Dir::C2s, "cl_say"),
            failed(&why("the session ended first"), true, Dir::C2s, "cl_say"),
        ];
        assert_eq!(bench.notices, expected, "{:?}", bench.kind);
    });
}

#[test]
fn a_rule_logs_and_changes_nothing() {
    let source = "chatlog: log \"{sess.proto}: {sv_chat.message}\" when sv_chat";
    on_each_kind(|bench| {
        set(bench, source);
        let a = chat(bench, "hi there");
        bench.is(&format!("S a1 1{a}"), &[&format!("C a1 1{a}")]);
        // A retransmission is logged again, and the direction keeps its numbers.
        bench.is(&format!("S a1 1*{a}"), &[&format!("C a1 1*{a}")]);
        let [
            Notice::RuleLog {
                rule, logged: text, ..
            },
            again,
        ] = &*bench.notices
        else {
            panic!("{:?}", bench.notices);
        };
        assert_eq!(&**rule, "chatlog");
        assert!(text.ends_with(": hi there"), "{text}");
        assert_eq!(again, &bench.notices[0]);
    });
}

#[test]
fn a_rule_reports_resends_in_directions_that_keep_their_numbers_and_in_others() {
    let storm = "storm: log \"resend storm\" when resend max 1 per 5s\n\
                 seen: log \"{count(sv_chat)} {n}\", mark odd when sv_chat skip 1";
    for armed in ["", "\ndrop when s2c and sv_motd"] {
        on_each_kind(|bench| {
            set(bench, &format!("{storm}{armed}"));
            let [a, b] = ["a", "b"].map(|words| chat(bench, words));
            bench.is(&format!("S a1 1{a}"), &[&format!("C a1 1{a}")]);
            for _ in 0..2 {
                bench.is(&format!("S a1 1*{a}"), &[&format!("C a1 1*{a}")]);
            }
            // A message ahead of a missing one is not a retransmission yet.
            bench.send(&format!("S a1 3{b}"));
            bench.is(&format!("S a1 2*{b}"), &[&format!("C a1 2*{b}")]);
            let texts = bench.notices.iter().filter_map(|notice| match notice {
                Notice::RuleLog { rule, logged, .. } => Some(format!("{rule} {logged}")),
                _ => None,
            });
            let texts: Vec<String> = texts.collect();
            assert_eq!(
                texts,
                ["storm resend storm", "seen 1 ?", "seen 1 ?", "seen 2 2"],
                "{armed}"
            );
            let marked = bench.placed.iter().filter(|placed| !placed.marks.is_empty());
            assert_eq!(marked.count(), 3, "{:?}", bench.placed);
        });
    }
}

/// The decision about the first copy is final. On a retransmission, the rule performs only its other actions.
#[test]
fn a_rule_that_drops_only_marks_the_resend() {
    on_each_kind(|bench| {
        set(bench, "mark gone, log \"{n}\", drop when c2s and cl_say first 1");
        let [a, b] = ["a", "b"].map(|words| say(bench, words));
        bench.is(&format!("C a0 2{a}"), &["S a0 keepalive"]);
        bench.is(&format!("C a0 2*{a}"), &["S a0 keepalive"]);
        bench.is(&format!("C a0 3{b}"), &[&format!("S a0 2{b}")]);
        let actions: Vec<_> = bench
            .placed
            .iter()
            .map(|placed| (placed.action, placed.marks.len()))
            .collect();
        let expected = [(Action::Drop, 1), (Action::Known, 1), (Action::Pass, 0)];
        assert_eq!(actions, expected, "{:?}", bench.notices);
    });
}

/// The receiver gets the same for a retransmission as for the first copy.
#[test]
fn a_retransmission_names_the_rule_that_acted_on_the_first_copy() {
    for (source, action, corrupted) in [
        ("drop when c2s and cl_say first 1", Action::Known, false),
        ("lose 2 times when c2s and cl_say first 1", Action::Lose, false),
        ("set .message = \"c\" when cl_say first 1", Action::Repeat, false),
        ("corrupt 1 bits when cl_say first 1", Action::Repeat, true),
    ] {
        on_each_kind(|bench| {
            set(bench, source);
            let a = say(bench, "a");
            for flag in ["", "*"] {
                bench.send(&format!("C a0 2{flag}{a}"));
            }
            let placed = &bench.placed[1];
            assert_eq!(
                (placed.action, placed.rules.len(), placed.corrupted),
                (action, 1, corrupted),
                "{source}"
            );
        });
    }
}
