//! Gists: the templates and their results.

use proptest::prelude::*;

use super::properties::{Choices, body, defs};
use super::text::{errors, pairs};
use super::*;

const LOOK: GistStyle = GistStyle {
    secrets: Secrets::Hide,
    line: 160,
    value: 64,
};

fn names(id: i64) -> Option<&'static [u8]> {
    match id {
        0 => Some(b"nameless tee"),
        1 => Some(b"x\": \x1b[2J"),
        _ => None,
    }
}

fn gist(def: &Def, values: &Datum, secrets: Secrets) -> Option<String> {
    let (data, decoded) = made(def, values);
    decoded
        .view()
        .gist(def, Source::Bytes(&data), GistStyle { secrets, ..LOOK }, &names)
}

/// Returns the line of a game message with these values.
fn line<const N: usize>(proto: Proto, name: &str, values: [(&str, Datum); N]) -> String {
    gist(game(proto, name), &Datum::group(values), Secrets::Hide).unwrap()
}

/// Returns the line of a custom message with a number, three numbers, two texts and an optional field.
fn own(template: &str, values: Datum) -> Option<String> {
    let text = format!(
        "for 0.7\nenum mood\n  0 bored\n  1 glad\ngame 90 x s2c\n  n  int\n  m  mood\n  l  int[3]\n  s  str\n  secret  str  secret\n  o  int?\n{template}"
    );
    let registry = Registry::with("my.tw", &text).unwrap_or_else(|errors| panic!("{errors:?}"));
    let def = registry.named(Proto::V7, None, "x").next().unwrap();
    gist(def, &values, Secrets::Hide)
}

fn values(n: i64, text: &str, o: Datum) -> Datum {
    let list = Datum::List(vec![1.into(), 2.into(), 3.into()]);
    Datum::group([
        ("n", n.into()),
        ("m", 1.into()),
        ("l", list),
        ("s", text.into()),
        ("secret", "pw".into()),
        ("o", o),
    ])
}

#[test]
fn chat_lines_name_their_sender() {
    let chat = |team: i64, id: i64, text: &str| {
        let values = [
            ("team", team.into()),
            ("client_id", id.into()),
            ("message", text.into()),
        ];
        line(Proto::Ddnet, "sv_chat", values)
    };
    assert_eq!(chat(0, 0, "gg"), r#"0 "nameless tee": gg"#);
    assert_eq!(chat(1, 7, "gg !"), r#"(team) 7: "gg !""#);
    assert_eq!(chat(3, 1, ""), "(whisper) 1 \"x\\\": \u{fffd}[2J\": \"\"");
    assert_eq!(chat(2, 0, "\"a\""), r#"(whisper) to 0 "nameless tee": "\"a\"""#);
    assert_eq!(chat(0, -1, "'x' joined"), "server: 'x' joined");
    assert_eq!(chat(0, -1, "use /load abc"), "server: use /load •••");
    assert_eq!(
        line(
            Proto::V7,
            "sv_chat",
            [
                ("mode", "whisper".into()),
                ("client_id", 0.into()),
                ("target_id", 3.into()),
                ("message", "psst".into()),
            ]
        ),
        r#"(whisper) 0 "nameless tee" to 3: psst"#
    );
    let say = [("team", 0.into()), ("message", "/timeout abc".into())];
    assert_eq!(line(Proto::V6, "cl_say", say), "all: /timeout •••");
}

#[test]
fn what_people_look_for() {
    let kill = |weapon: &str, special: i64| {
        let values = [
            ("killer", 2.into()),
            ("victim", 0.into()),
            ("weapon", weapon.into()),
            ("mode_special", special.into()),
        ];
        line(Proto::V7, "sv_kill_msg", values)
    };
    assert_eq!(kill("grenade", 0), r#"2 killed 0 "nameless tee" with grenade"#);
    assert_eq!(
        kill("grenade", 3),
        r#"2 killed 0 "nameless tee" with grenade (who had a flag)(with a flag)"#
    );
    assert_eq!(kill("world", 0), r#"0 "nameless tee" died: world"#);
    let input = Datum::group([
        ("ack_snapshot", 4705.into()),
        ("intended_tick", 4711.into()),
        ("input_size", 40.into()),
        (
            "input",
            Datum::group([
                ("direction", (-1).into()),
                ("target_x", 120.into()),
                ("target_y", (-33).into()),
                ("jump", 1.into()),
                ("fire", 5.into()),
                ("hook", 0.into()),
                ("player_flags", 1.into()),
                ("wanted_weapon", 0.into()),
                ("next_weapon", 0.into()),
                ("prev_weapon", 0.into()),
            ]),
        ),
    ]);
    assert_eq!(
        gist(system(Proto::Ddnet, "input"), &input, Secrets::Hide).unwrap(),
        "tick 4711 ack 4705: left jump fire 5 aim 120,-33 (playing)"
    );
    let info = [("version", "0.6".into()), ("password", "hunter2".into())];
    let def = system(Proto::V6, "info");
    assert_eq!(
        gist(def, &Datum::group(info.clone()), Secrets::Hide).unwrap(),
        r#""0.6", password •••"#
    );
    assert_eq!(
        gist(def, &Datum::group(info), Secrets::Show).unwrap(),
        r#""0.6", password "hunter2""#
    );
    let race = [
        ("time", 62_340.into()),
        ("check", (-150).into()),
        ("finish", 1.into()),
    ];
    assert_eq!(
        line(Proto::V6, "sv_ddrace_time_legacy", race),
        "finished in 10:23.40, -1.50 s to the best"
    );
    let mut options = vec![Datum::from(""); 15];
    options[0] = "a".into();
    options[1] = "b".into();
    let list = [("num_options", 2.into()), ("description", Datum::List(options))];
    assert_eq!(line(Proto::V6, "sv_vote_option_list_add", list), r#"2: "a", "b""#);
}

#[test]
fn templates_render_as_documented() {
    let some = || values(-3, "a b", 5.into());
    let none = || values(0, "", Datum::Absent);
    for (template, with, without) in [
        ("gist \"\"", Some(""), Some("")),
        (
            "gist \"{n} {m} {m:number} {n:hex}\"",
            Some("-3 glad 1 fffffffd"),
            Some("0 glad 1 0"),
        ),
        (
            "gist \"{l} {l:count} {l[1]}\"",
            Some("1, 2, 3 3 2"),
            Some("1, 2, 3 3 2"),
        ),
        ("gist \"{o}\"", Some("5"), None),
        ("gist \"[{o}][ {s}]\"", Some("5 \"a b\""), Some("")),
        (
            "gist \"[n? n {n}] [!n? none] [o? o]\"",
            Some("n -3 o"),
            Some("none"),
        ),
        (
            "gist \"[n<-2?less][n>-1?more][n!=-3?other][m=glad?!][m&1?1][m=2?2]\"",
            Some("less!1"),
            Some("moreother!1"),
        ),
        (
            "gist \"[s?text {s}] [m=1?{o}]\"",
            Some("text \"a b\" 5"),
            Some(""),
        ),
        ("gist \"{secret} [secret?set]\"", Some("••• set"), Some("••• set")),
        (
            "gist \"a  {n}\"\n  gist \"# {s:raw}\" # why",
            Some("a -3 # a b"),
            Some("a 0 # \"\""),
        ),
        // A field may be called `gist`.
        ("gist int", None, None),
    ] {
        let template = format!("  {template}\n");
        if with.is_some() {
            assert_eq!(own(&template, some()).as_deref(), with, "{template}");
            assert_eq!(own(&template, none()).as_deref(), without, "{template}");
        } else {
            assert_eq!(errors(&format!("for 0.7\ngame 90 x s2c\n{template}")), [""; 0]);
        }
    }
}

#[test]
fn long_values_and_lines_are_cut() {
    let long = "x".repeat(300);
    let shown = own("  gist \"{s} {n}\"\n", values(1, &long, 1.into())).unwrap();
    assert_eq!(shown, format!("\"{}\"… 1", "x".repeat(61)));
    let shown = own("  gist \"s: {s:raw}\"\n", values(1, &long, 1.into())).unwrap();
    assert_eq!(shown, format!("s: {}…", "x".repeat(156)));
    let shown = own("  gist \"{n} {s}\"\n", values(1, &long, 1.into())).unwrap();
    assert_eq!(shown, format!("1 \"{}\"…", "x".repeat(155)));
}

/// Wrong templates of the message `x` below, each with the position and the text of the reported error.
const WRONG: &str = r#"
"{mesage}"
  10: `x` has no field `mesage` (did you mean `message`?)
"é {list[0].z}"
  20: `list` has no parts
"{n[0]}"
  12: `n` is not a list
"{n:plaer}"
  12: unknown form `plaer` (did you mean `player`?)
"{message:player}"
  18: `message` is not a number
"{n:count}"
  12: `n` is not a list
"{message:size}"
  18: `message` is not raw bytes
"a {n:raw}"
  14: `n` is not one text
"{message:raw}"
  18: text without quotes needs something before it
"a {message:raw}."
  24: nothing can follow text without quotes: it would look like a part of it
"a {message:raw}[{n}]"
  25: nothing can follow text without quotes: it would look like a part of it
"{n"
  9: a `{` without a `}`
"n}"
  10: unexpected `}`
"n]"
  10: unexpected `]`
"[n [{n}]]"
  12: unexpected `[`
"[{n}"
  9: a `[` without a `]`
"[n]"
  9: nothing in these brackets can be missing
"[kind=gld?x]"
  15: `kind` cannot be `gld` (did you mean `glad`?)
"[message=3?x]"
  17: `message` is not one number
"[list=1?x]"
  14: `list` is not one number
"[n!3?x]"
  11: expected =, !=, <, > or &
"[zzz?x]"
  10: `x` has no field `zzz` (message, n, kind, list)
"a
  8: a text without a quote at its end
"a" b
  12: expected one text in quotes after `gist`
"#;

#[test]
fn wrong_templates_are_reported_with_their_place() {
    let control = [("\"a\u{9b}b\"", "10: a control character")];
    for (template, expected) in pairs(WRONG).chain(control) {
        let text = format!(
            "for 0.7\nenum mood\n  1 glad\ngame 90 x s2c\n  gist {template}\n  message str\n  n int\n  kind mood\n  list int[2]\n"
        );
        assert_eq!(errors(&text), [format!("my.tw:5:{expected}")], "{template}");
    }
    let in_struct = "for 0.7\nstruct s\n  a  int\n  gist \"{a}\"\n";
    assert_eq!(
        errors(in_struct),
        ["my.tw:4:3: a struct cannot have a gist (put it into the messages that include the struct)"]
    );
}

#[test]
fn what_a_user_replaces_may_leave_messages_without_a_gist() {
    let text = "for ddnet\nenum team\n  0 all\nstruct appearance\n  name str\nenum player_input\n  0 x\n";
    let registry = Registry::with("my.tw", text).unwrap_or_else(|errors| panic!("{errors:?}"));
    let has_gist = |name: &str| {
        let mut defs = registry.named(Proto::Ddnet, Some(Class::Game), name);
        defs.next().unwrap().gist.is_some()
    };
    assert_eq!(
        ["sv_chat", "cl_start_info", "sv_kill_msg"].map(has_gist),
        [false, false, true]
    );
    let input = registry.named(Proto::Ddnet, None, "input").next().unwrap();
    assert!(input.fields.len() > 10 && input.gist.is_some());
}

fn is_clean(line: &str) -> bool {
    line.chars().count() <= LOOK.line && !line.chars().any(char::is_control)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    /// Every template finds all its fields in every correct message.
    #[test]
    fn what_is_right_has_a_gist(seed in any::<u64>()) {
        let mut choices = Choices(seed);
        for def in defs(|class| class != Class::Object).into_iter().filter(|def| def.gist.is_some()) {
            let values = choices.group(def, None);
            let line = gist(def, &values, Secrets::Show);
            prop_assert!(line.as_deref().is_some_and(is_clean), "{} {line:?} {values:?}", def.name);
        }
    }

    /// Any bytes give a line without a panic or control characters, within the maximum length.
    #[test]
    fn any_bytes_have_a_clean_gist(
        bytes in prop::collection::vec(prop_oneof![any::<u8>(), Just(0), Just(0x80), 1u8..8], 0..400),
        start in prop::sample::select(vec![0, 1, 17]),
    ) {
        let mut decoded = Decoded::new();
        for def in defs(|class| class != Class::Object).into_iter().filter(|def| def.gist.is_some()) {
            decoded.read(def, &bytes, start.min(bytes.len()));
            let line = decoded.view().gist(def, Source::Bytes(&bytes), LOOK, &names);
            prop_assert!(line.as_deref().is_none_or(is_clean), "{} {line:?}", def.name);
        }
    }
}

/// A secret does not appear in the line.
#[test]
fn secrets_are_dots() {
    let mut choices = Choices(7);
    let mut decoded = Decoded::new();
    let mut secrets = 0;
    for def in defs(|class| class != Class::Object)
        .into_iter()
        .filter(|def| def.gist.is_some())
    {
        for _ in 0..20 {
            let mut data = Vec::new();
            def.encode(&choices.group(def, None), &mut data).unwrap();
            decoded.read(def, &data, body(def, &data));
            let source = Source::Bytes(&data);
            let line = decoded.view().gist(def, source, LOOK, &names).unwrap();
            for record in decoded.records() {
                let Some(secret) = decoded
                    .view()
                    .secret(def, record, source)
                    .filter(|secret| secret.len() > 5)
                else {
                    continue;
                };
                secrets += 1;
                let text = String::from_utf8_lossy(&data[secret]).into_owned();
                assert!(!line.contains(&text), "{} {line} {text}", def.name);
            }
        }
    }
    assert!(secrets > 50, "{secrets}");
}
