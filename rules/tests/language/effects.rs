//! Tests of actions other than fates: log, mark, close, hold, and rules that act at certain times.

use std::time::Duration;

use teetap_rules::{
    Decide, Effect, Fate, Interest, Message, Opening, Order, PacketKind, ProtoDirs, RuleId, Shared,
};
use teetap_wire::def::Datum;
use teetap_wire::{Dir, Proto, Side};

use crate::stage::{OPENING, decide, first_copy, message, outcome, program, say, wrong};

fn chat(client: i64, text: &str) -> (Dir, Vec<u8>) {
    let fields = [("client_id", Datum::Int(client)), ("message", text.into())];
    (Dir::S2c, message("sv_chat", &fields))
}

/// Returns the texts that a rule reports.
fn logged(source: &str, message: &(Dir, Vec<u8>)) -> Vec<String> {
    let (verdict, effects) = outcome(source, message);
    assert_eq!((verdict.fate, verdict.edit), (Fate::Pass, None));
    let text = |effect| match effect {
        Effect::Log {
            rule: RuleId(0),
            text,
            whole: None,
        } => text.into_string(),
        other => panic!("{other:?}"),
    };
    effects.into_iter().map(text).collect()
}

#[test]
fn log_reports_a_text_with_values() {
    for (text, expected) in [
        ("log", "sv_chat"),
        ("log \"plain\"", "plain"),
        ("log \"{sv_chat.client_id}: {.message}!\"", "3: hi there!"),
        ("log \"{.client_id * 2 + 1} {len(.message)}\"", "7 8"),
        ("log \"{t} {sess.proto} {sess.id}\"", "1.5s ddnet 3"),
        ("log \"{sess.name}, {sess.rtt}, {cl_say.message}\"", "?, ?, ?"),
        ("log \"{{}} \\\"{ n }\\\"\"", "{} \"1\""),
    ] {
        let source = format!("{text} when sv_chat");
        let mut state = program(&source).open(OPENING, None);
        decide(&mut *state, &chat(3, "hi there"), OPENING.at + 1_500_000);
        let texts: Vec<_> = state
            .effects()
            .into_iter()
            .map(|effect| format!("{effect:?}"))
            .collect();
        let wanted = Effect::Log {
            rule: RuleId(0),
            text: expected.into(),
            whole: None,
        };
        assert_eq!(texts, [format!("{wanted:?}")], "{source}");
        assert_eq!(logged(&source, &say("x")), [""; 0]);
    }
    // Control characters from a peer do not reach the terminal.
    assert_eq!(
        logged("log \"{.message}\" when sv_chat", &chat(3, "\x1b[2J")),
        ["\u{fffd}[2J"]
    );
    let long = logged(
        "log \"{.message}{.message}\" when sv_chat",
        &chat(3, &"x".repeat(900)),
    );
    assert_eq!(long[0].len(), 1000);
}

/// Returns the texts that rules report about messages of the client, with dots for secrets and with the secrets.
fn reported(source: &str, messages: &[(&str, &[(&str, Datum)])]) -> Vec<(String, Option<String>)> {
    let mut state = program(source).open(OPENING, None);
    let mut texts = Vec::new();
    for (name, fields) in messages {
        decide(&mut *state, &(Dir::C2s, message(name, fields)), OPENING.at);
        texts.extend(state.effects().into_iter().map(|effect| match effect {
            Effect::Log { text, whole, .. } => (text.into_string(), whole.map(Into::into)),
            other => panic!("{other:?}"),
        }));
    }
    texts
}

#[test]
fn a_secret_in_a_report_is_dots_as_in_the_line_of_its_message() {
    let auth: (&str, &[(&str, Datum)]) = (
        "rcon_auth",
        &[("name", "me".into()), ("password", "hunter2".into())],
    );
    let say = |text: &'static str| [("message", Datum::from(text))];
    for (source, shown, whole) in [
        ("log \"pw={.password}\" when rcon_auth", "pw=•••", "pw=hunter2"),
        (
            "log \"{.name}/{.password}!\" when rcon_auth",
            "•••/•••!",
            "me/hunter2!",
        ),
        // Through a variable, and through a variable that is assigned from another one.
        (
            "var $pw = .password, log \"{$pw}\" when rcon_auth",
            "•••",
            "hunter2",
        ),
        (
            "var $a = .password, var $b = $a, log \"{$b}\" when rcon_auth",
            "•••",
            "hunter2",
        ),
    ] {
        assert_eq!(
            reported(source, &[auth]),
            [(shown.to_owned(), Some(whole.to_owned()))],
            "{source}"
        );
    }
    // The size of the message shows the length anyway.
    let length = reported("log \"{len(.password)}\" when rcon_auth", &[auth]);
    assert_eq!(length, [("7".to_owned(), None)]);
    // The value of an earlier message.
    let last = "log \"{last(rcon_auth).password}\" when cl_say";
    assert_eq!(
        reported(last, &[auth, ("cl_say", &say("hi"))]),
        [("•••".to_owned(), Some("hunter2".to_owned()))]
    );
    // A part of a text is secret.
    for (text, shown, whole) in [
        ("/login me pw", "<•••>", Some("</login me pw>")),
        ("hello", "<hello>", None),
    ] {
        let shown = shown.replace("<•••>", "</login •••>");
        assert_eq!(
            reported("log \"<{.message}>\" when cl_say", &[("cl_say", &say(text))]),
            [(shown, whole.map(str::to_owned))],
            "{text}"
        );
    }
    // A variable is no longer secret after another value is assigned.
    let source = "var $x = .password when rcon_auth\nvar $x = .message, log \"{$x}\" when cl_say";
    assert_eq!(
        reported(source, &[auth, ("cl_say", &say("hi"))]),
        [("hi".to_owned(), None)]
    );
}

/// A rule that changes nothing does not renumber a direction, but runs in it.
#[test]
fn passive_rules_arm_nothing() {
    let program = program("log when sv_chat\nmark when cl_say\nclose when sv_motd\ndrop when cl_emoticon");
    let places = [(Proto::Ddnet, Dir::C2s), (Proto::Ddnet, Dir::S2c)];
    let Interest { acts, observes, .. } = program.interest();
    assert_eq!(
        places.map(|(proto, dir)| acts.contains(proto, dir)),
        [true, false]
    );
    assert_eq!(
        places.map(|(proto, dir)| observes.contains(proto, dir)),
        [true; 2]
    );
    let mut state = program.open(OPENING, None);
    state.observe(&first_copy(&chat(3, "x"), 5), &mut Shared::default());
    let log = Effect::Log {
        rule: RuleId(0),
        text: "sv_chat".into(),
        whole: None,
    };
    assert_eq!(state.effects(), [log]);
    assert_eq!(state.effects(), []);
    // A rule that changes messages does not run while it may not.
    let emoticon = (Dir::C2s, message("cl_emoticon", &[]));
    state.observe(&first_copy(&emoticon, 5), &mut Shared::default());
    assert_eq!(decide(&mut *state, &emoticon, 5).fate, Fate::Drop);
}

#[test]
fn mark_names_the_rule_or_has_a_word() {
    let source = "mark when cl_say\nodd: mark, mark even, dup when cl_say";
    let (verdict, effects) = outcome(source, &say("x"));
    assert_eq!((verdict.rules, effects), (vec![RuleId(0), RuleId(1)], vec![]));
    assert_eq!(
        verdict.marks.iter().map(|mark| &**mark).collect::<Vec<_>>(),
        ["mark when cl_say", "odd", "even"]
    );
}

#[test]
fn close_ends_the_session() {
    for (action, side, reason) in [
        ("close", None, ""),
        ("close both \"kicked by test\"", None, "kicked by test"),
        ("close client", Some(Side::Client), ""),
        ("close server \"x\"", Some(Side::Server), "x"),
    ] {
        let source = format!("{action} when count(cl_say) > 1\ndrop when cl_say");
        let mut state = program(&source).open(OPENING, None);
        assert_eq!(decide(&mut *state, &say("x"), 5).fate, Fate::Drop);
        assert_eq!(state.effects(), []);
        // The action ends the evaluation.
        assert_eq!(decide(&mut *state, &say("x"), 5).fate, Fate::Pass);
        let reason = reason.into();
        assert_eq!(state.effects(), [Effect::Close { side, reason }], "{action}");
    }
}

#[test]
fn hold_waits_for_a_message() {
    let hold = |source: &str| outcome(source, &chat(3, "x")).0.fate;
    let key = |source: &str| match hold(source) {
        Fate::Hold { key, .. } => key,
        other => panic!("{other:?}"),
    };
    let fate = |source: &str, max: u64, order| Fate::Hold {
        key: key(source),
        max: Duration::from_secs(max),
        order,
    };
    let until = "until cl_say.message == \"go\"";
    let source = format!("hold {until} when sv_chat");
    assert_eq!(hold(&source), fate(&source, 30, Order::Kept));
    let free = format!("hold {until} max 5s unordered when sv_chat");
    assert_eq!(hold(&free), fate(&free, 5, Order::Free));
    // A rule has the same key in another program.
    assert_eq!(key(&format!("drop when cl_emoticon\n{source}")), key(&source));
    let program = program(&source);
    let Interest { acts, observes, .. } = program.interest();
    assert!(observes.contains(Proto::Ddnet, Dir::C2s) && !acts.contains(Proto::Ddnet, Dir::C2s));
    let mut state = program.open(OPENING, None);
    let mut releases = |text: &str| {
        state.observe(&first_copy(&say(text), 5), &mut Shared::default());
        state.effects()
    };
    assert_eq!(releases("no"), []);
    let release = [Effect::Release { key: key(&source) }];
    assert_eq!(
        (releases("go"), releases("go")),
        (release.to_vec(), release.to_vec())
    );
    // If the condition already holds, no message is held.
    let mut state = crate::stage::program("hold until seen(cl_say) when sv_chat").open(OPENING, None);
    assert_ne!(decide(&mut *state, &chat(3, "x"), 5).fate, Fate::Pass);
    state.observe(&first_copy(&say("x"), 5), &mut Shared::default());
    assert_eq!(decide(&mut *state, &chat(3, "x"), 5).fate, Fate::Pass);
}

fn second(number: u64) -> u64 {
    OPENING.at + number * 1_000_000
}

#[test]
fn timers_run_from_the_start_of_the_game() {
    let source = "inject s2c sv_chat{client_id: -1, message: \"tick\"}, log \"tock\" every 5s";
    let program = program(source);
    assert!(program.interest().observes.contains(Proto::Ddnet, Dir::C2s));
    let mut state = program.open(OPENING, None);
    let shared = &mut Shared::default();
    assert_eq!(state.deadline(), None);
    let enter = (Dir::C2s, message("enter_game", &[]));
    state.observe(&first_copy(&enter, second(2)), shared);
    assert_eq!(state.deadline(), Some(second(7)));
    assert_eq!(state.on_time(second(7) - 1, shared), []);
    let made = state.on_time(second(7), shared);
    assert_eq!((made.len(), made[0].dir, made[0].vital), (1, Dir::S2c, true));
    assert_eq!(made[0].data, chat(-1, "tick").1);
    let tock = Effect::Log {
        rule: RuleId(0),
        text: "tock".into(),
        whole: None,
    };
    assert_eq!(state.effects(), [tock]);
    // Entering again changes nothing, and missed times are not repeated.
    state.observe(&first_copy(&enter, second(8)), shared);
    assert_eq!(state.deadline(), Some(second(12)));
    assert_eq!(state.on_time(second(23), shared).len(), 1);
    assert_eq!(state.deadline(), Some(second(27)));
    // A reload keeps the time. A program that is set later starts with the next message.
    let late = Opening {
        is_new: false,
        ..OPENING
    };
    let mut state = program.open(late, Some(state));
    assert_eq!(state.deadline(), Some(second(27)));
    state = program.open(late, None);
    assert_eq!(state.deadline(), None);
    state.observe(&first_copy(&say("x"), second(30)), shared);
    assert_eq!(state.deadline(), Some(second(35)));
}

#[test]
fn timers_have_modifiers() {
    let enter = (Dir::C2s, message("enter_game", &[]));
    let ticks = |modifiers: &str| {
        let source = format!("inject s2c sv_motd every 1s {modifiers}");
        let mut state = program(&source).open(OPENING, None);
        let shared = &mut Shared::default();
        state.observe(&first_copy(&enter, second(0)), shared);
        let tick = |number| state.on_time(second(number), shared).len();
        (1..=10)
            .map(tick)
            .map(|count| if count > 0 { 'x' } else { '.' })
            .collect::<String>()
    };
    assert_eq!(ticks(""), "xxxxxxxxxx");
    assert_eq!(ticks("skip 2 first 3"), "..xxx.....");
    assert_eq!(ticks("from 3s to 6s"), "..xxx.....");
    assert_eq!(ticks("max 2 per 5s"), "xx...xx...");
    let drawn = ticks("chance 50%");
    assert!((2..9).contains(&drawn.matches('x').count()), "{drawn}");
}

/// Rules with an error in an action, and the diagnostics.
const WRONG_EFFECTS: &[(&str, &[&str])] = &[
    (
        "log \"{.mesage}\" when sv_chat",
        &["1:8 E103 message `sv_chat` has no field `mesage`"],
    ),
    (
        "log \"{\" when sv_chat",
        &["1:7 E002 a string without its closing `\"`"],
    ),
    ("log \"}\" when sv_chat", &["1:6 E001 unmatched `}`"]),
    (
        "log \"x when sv_chat",
        &["1:5 E002 a string without its closing `\"`"],
    ),
    (
        "hold when sv_chat",
        &["1:6 E001 expected `until`, as in `hold until seen(enter_game)`, found `when`"],
    ),
    (
        "hold until cl_sya when sv_chat",
        &["1:12 E101 unknown message `cl_sya`"],
    ),
    (
        "pause max when sv_chat",
        &["1:11 E001 expected a duration, as in `max 5s`, found `when`"],
    ),
    ("pause every 5s", &["1:1 E102 `pause` needs a message"]),
    (
        "stall when sv_chat",
        &["1:7 E001 expected a duration, as in `stall 3s`, found `when`"],
    ),
    (
        "swap when ctrl.connect",
        &["1:1 E102 `swap` cannot act on a control message"],
    ),
    (
        "set ctrl.connect.magic = \"x\" when ctrl.connect",
        &[
            "1:1 E102 `set ctrl.connect.magic = \"x\"`: only the reason of `close` can be set in a control message",
        ],
    ),
    (
        "pause, drop when connless",
        &["1:1 E102 `pause` cannot act on a message outside a connection"],
    ),
    ("drop when leg == both", &["1:18 E108 `leg` is never `both`"]),
    ("drop every 5s", &["1:1 E102 `drop` needs a message"]),
    (
        "log \"{frame}\" when sv_chat and frame < 9",
        &[
            "1:7 E102 `frame` is not known to rules",
            "1:32 E102 `frame` is not known to rules",
        ],
    ),
    ("log every 5s", &["1:1 E102 `log` needs a message"]),
    (
        "reply sv_chat every 5s",
        &["1:1 E102 `reply sv_chat` needs a message"],
    ),
    (
        "inject s2c sv_chat{client_id: len(.message)} every 5s",
        &["1:1 E102 `inject s2c sv_chat{client_id: len(.message)}` needs a message"],
    ),
    (
        "inject s2c sv_motd every 5",
        &["1:20 E001 expected `,` or `when`, found `every`"],
    ),
    (
        "seed",
        &["1:5 E001 expected a number, as in `seed 42`, found the end"],
    ),
    ("seed 5s", &["1:6 E202 expected a number, found `5s`"]),
    ("seed 5 6", &["1:8 E001 expected the end of the line, found `6`"]),
    ("seed 5\nseed 6", &["2:1 E012 `seed` stands twice"]),
];

#[test]
fn wrong_effects_are_reported() {
    for (source, expected) in WRONG_EFFECTS {
        assert_eq!(wrong(source), *expected, "{source}");
    }
    // A rule may be named `seed`.
    assert_eq!(program("seed: drop when cl_say").rule(RuleId(0)), Some("seed"));
    assert_eq!(
        (program("seed 0x10").seed(), program("").seed()),
        (Some(16), None)
    );
}

#[test]
fn the_text_of_a_rule_is_canonical() {
    for (source, expected) in [
        (
            "log \"{ n+1 }{{ \\\"\" when sv_chat",
            "log \"{n + 1}{{ \\\"\" when sv_chat",
        ),
        ("close when c2s", "close both when c2s"),
        (
            "hold until seen(enter_game) max 30s unordered when s2c",
            "hold until seen(enter_game) unordered when s2c",
        ),
        ("stall 1500ms when c2s", "stall 1500ms when c2s"),
        ("pause max 30s when rcon_cmd", "pause when rcon_cmd"),
        (
            "pause max 1500ms  unordered, mark when c2s",
            "pause max 1500ms unordered, mark when c2s",
        ),
        ("log \"x\"  once every 1500ms", "log \"x\" every 1500ms once"),
    ] {
        assert_eq!(program(source).rule(RuleId(0)), Some(expected));
        assert_eq!(program(expected).rule(RuleId(0)), Some(expected));
    }
}

/// Returns the fates of control messages on a leg.
fn control(state: &mut dyn Decide, dir: Dir, leg: Side, bytes: &[u8], count: usize) -> Vec<Fate> {
    let data = (dir, bytes.to_vec());
    let message = Message {
        form: PacketKind::Control(leg),
        vital: false,
        seq: None,
        id: None,
        ..first_copy(&data, 5)
    };
    let fate = |_| state.decide(&message, &mut Shared::default()).fate;
    (0..count).map(fate).collect()
}

#[test]
fn control_messages_have_a_leg_and_are_lost_so_many_times() {
    const CONNECT: &[u8] = b"\x01TKEN";
    let open = |source: &str| crate::stage::program(source).open(OPENING, None);
    let (lost, pass) = (Fate::Lose { times: 2 }, Fate::Pass);
    let mut state = open("lose 2 times when ctrl");
    let of_client = control(&mut *state, Dir::C2s, Side::Client, CONNECT, 4);
    assert_eq!(of_client, [lost, lost, pass, pass]);
    assert_eq!(control(&mut *state, Dir::C2s, Side::Server, CONNECT, 1), [pass]);
    // Each message is counted separately.
    assert_eq!(control(&mut *state, Dir::C2s, Side::Client, b"\x03", 1), [lost]);
    // The next copy has the fate that earlier rules decided.
    let delayed = control(
        &mut *open("delay 15ms when ctrl"),
        Dir::C2s,
        Side::Client,
        CONNECT,
        1,
    );
    let mut state = open("delay 15ms when ctrl\ndup, lose when ctrl");
    let fates = control(&mut *state, Dir::C2s, Side::Client, CONNECT, 2);
    assert_eq!(fates, [Fate::Lose { times: 1 }, delayed[0]]);
    let mut state = open("drop when leg == server");
    assert_eq!(control(&mut *state, Dir::C2s, Side::Client, CONNECT, 1), [pass]);
    assert_eq!(
        control(&mut *state, Dir::C2s, Side::Server, CONNECT, 1),
        [Fate::Drop]
    );
    // A rule that can only act on chunks does not affect control messages.
    let mut state = open("swap when c2s");
    assert_eq!(control(&mut *state, Dir::C2s, Side::Client, CONNECT, 1), [pass]);
}

#[test]
fn rules_on_control_messages_renumber_nothing() {
    let interest = program("drop when ctrl.close").interest();
    assert!(interest.controls && !interest.browses);
    assert_eq!(interest.acts, ProtoDirs::NONE);
    let interest = program("drop when c2s").interest();
    assert!(interest.controls && interest.browses && interest.acts.contains(Proto::V7, Dir::C2s));
    let interest = program("drop when cl_say").interest();
    assert!(!interest.controls && !interest.browses);
}

#[test]
fn a_stall_has_a_direction_or_both() {
    let second = Duration::from_secs(1);
    let (_, effects) = outcome("stall 1s when sv_chat", &chat(3, "x"));
    let stall = |dir| Effect::Stall { dir, for_: second };
    assert_eq!(effects, [stall(Some(Dir::S2c))]);
    let mut state = crate::stage::program("stall 1s every 5s").open(OPENING, None);
    decide(&mut *state, &(Dir::C2s, message("enter_game", &[])), OPENING.at);
    state.on_time(OPENING.at + 5_000_000, &mut Shared::default());
    assert_eq!(state.effects(), [stall(None)]);
}
