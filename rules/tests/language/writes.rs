//! Tests of actions that write fields of messages, or create messages.

use teetap_rules::{Effect, Opening, Program, Verdict};
use teetap_wire::def::{Datum, Decoded, Registry, Source};
use teetap_wire::{Dir, Proto};

use crate::stage::{OPENING, decide, message, outcome, program, say, wrong};

fn chat(client: i64, text: &str) -> (Dir, Vec<u8>) {
    let fields = [("client_id", Datum::Int(client)), ("message", text.into())];
    (Dir::S2c, message("sv_chat", &fields))
}

/// Returns the bytes of a message of DDNet after the rules.
fn edited(source: &str, message: &(Dir, Vec<u8>)) -> Vec<u8> {
    let (verdict, effects) = outcome(source, message);
    assert_eq!(effects, [], "{source}");
    verdict.edit.unwrap_or_else(|| message.1.clone())
}

/// Returns the fields of a message of DDNet.
fn fields(name: &str, data: &[u8]) -> String {
    let def = Registry::builtin()
        .named(Proto::Ddnet, None, name)
        .next()
        .unwrap();
    let mut decoded = Decoded::new();
    decoded.read(def, data, 1);
    let Datum::Group(fields) = decoded.datum(def, Source::Bytes(data)) else {
        panic!("{name} has fields");
    };
    let field = |(name, value): &(std::sync::Arc<str>, Datum)| match value {
        Datum::Bytes(text) => format!("{name}={}", String::from_utf8_lossy(text)),
        Datum::Int(value) => format!("{name}={value}"),
        other => format!("{name}={other:?}"),
    };
    fields.iter().map(field).collect::<Vec<_>>().join(" ")
}

#[test]
fn set_changes_only_the_fields_that_it_names() {
    for (source, message, expected) in [
        (
            "set sv_chat.message = \"capitalism.\" when sv_chat and sv_chat.client_id >= 0",
            chat(3, "hi"),
            chat(3, "capitalism."),
        ),
        ("set .message = \"yes\" when cl_say", say("no"), say("yes")),
        (
            "set sv_chat.client_id = sv_chat.client_id + 1, .message = \"x\" when sv_chat",
            chat(3, "hi"),
            chat(4, "x"),
        ),
        // Each value is read from the message as received.
        (
            "set .client_id = .client_id * 2 when sv_chat\nset .client_id = .client_id + 1 when sv_chat",
            chat(3, "hi"),
            chat(4, "hi"),
        ),
        (
            "set .client_id = len(.message) when sv_chat",
            chat(3, "four"),
            chat(4, "four"),
        ),
        ("set .client_id = n when sv_chat", chat(3, "hi"), chat(1, "hi")),
        // A field of another message.
        (
            "set cl_say.message = \"x\" when sv_chat or cl_say",
            chat(3, "hi"),
            chat(3, "hi"),
        ),
        ("set .message = \"x\", dup when cl_say", say("no"), say("x")),
    ] {
        assert_eq!(edited(source, &message), expected.1, "{source}");
    }
    // A number with an unusual encoding, and bytes after the known fields, are kept.
    let (dir, mut data) = chat(3, "hi");
    let at = data.len();
    data.extend(b"more");
    data.splice(2..3, [0x83, 0x00]);
    let odd = (dir, data.clone());
    let edit = edited("set .message = \"hey\" when sv_chat", &odd);
    data.splice(at - 2..at - 1, *b"hey");
    data.remove(at - 2 + 3);
    let (head, tail) = (&edit[..4], &edit[edit.len() - 4..]);
    assert_eq!((head, tail), (&odd.1[..4], &b"more"[..]));
}

#[test]
fn a_label_is_a_value() {
    let emoticon = (Dir::C2s, message("cl_emoticon", &[]));
    let labels = Registry::builtin()
        .named(Proto::Ddnet, None, "cl_emoticon")
        .next()
        .unwrap()
        .fields[0]
        .set()
        .unwrap()
        .labels
        .clone();
    let label = &labels[2];
    let source = format!("set .emoticon = {} when cl_emoticon", label.name);
    let edit = edited(&source, &emoticon);
    assert_eq!(fields("cl_emoticon", &edit), format!("emoticon={}", label.value));
}

#[test]
fn replace_changes_what_matches() {
    for (source, text, expected) in [
        (
            "replace cl_say.message /f[aeiou]g/ with \"***\" when cl_say",
            "fog or fig",
            "*** or ***",
        ),
        (
            "replace .message /f[aeiou]g/ with \"***\" when cl_say",
            "frog",
            "frog",
        ),
        (
            "replace .message /(\\w+) (\\w+)/ with \"$2 $1\" when cl_say",
            "a b c d",
            "b a d c",
        ),
        ("replace .message /^/ with \"> \" when cl_say", "x", "> x"),
        ("replace .message /b/ with \"\" when cl_say", "abba", "aa"),
        (
            "replace .message /a/ with \"b\" when cl_say\nreplace .message /b/ with \"c\" when cl_say",
            "ab",
            "cc",
        ),
    ] {
        assert_eq!(edited(source, &say(text)), say(expected).1, "{source}");
    }
}

#[test]
fn what_cannot_be_written_is_refuseded_and_passes() {
    let refused = |source: &str, message: &(Dir, Vec<u8>)| {
        let (verdict, effects) = outcome(source, message);
        assert_eq!(verdict.edit, None, "{source}");
        let why = |effect| match effect {
            Effect::Failed { why, .. } => why.into_string(),
            other => panic!("{other:?}"),
        };
        effects.into_iter().map(why).collect::<Vec<_>>()
    };
    for (source, expected) in [
        (
            "set .client_id = .client_id * 2000000000 when sv_chat",
            "6000000000 does not fit `client_id`",
        ),
        (
            "set .message = \"y\", .client_id = 1 / (.client_id - 3) when sv_chat",
            "the value for `sv_chat.client_id` is missing",
        ),
        (
            "replace .message /./ with \"0123456789\" when sv_chat",
            "the new `sv_chat.message` is longer than 1400 bytes",
        ),
    ] {
        assert_eq!(
            refused(source, &chat(3, &"x".repeat(200))),
            [expected],
            "{source}"
        );
    }
    // At most one notice per second.
    let mut state = program("set .client_id = .client_id * 2000000000 when sv_chat").open(OPENING, None);
    let mut count = |at: u64| {
        decide(&mut *state, &chat(3, "x"), OPENING.at + at);
        state.effects().len()
    };
    assert_eq!(
        [count(0), count(999_999), count(1_000_000), count(1_000_001)],
        [1, 0, 1, 0]
    );
}

/// Returns the messages that rules create: the direction, `+` if vital, name and fields.
fn made(source: &str, message: &(Dir, Vec<u8>)) -> [Vec<String>; 2] {
    let (Verdict { before, after, .. }, effects) = outcome(source, message);
    assert_eq!(effects, [], "{source}");
    [before, after].map(|all| {
        let text = |made: teetap_rules::Made| {
            let found = Registry::builtin()
                .message(Proto::Ddnet, made.dir, &made.data)
                .unwrap();
            let sign = if made.vital { "+" } else { "" };
            format!(
                "{} {sign}{} {}",
                made.dir,
                found.def.name,
                fields(&found.def.name, &made.data)
            )
        };
        all.into_iter().map(text).collect()
    })
}

#[test]
fn rules_make_messages() {
    let none: Vec<String> = Vec::new();
    let hi = "s2c +sv_chat team=0 client_id=-1 message=hi".to_owned();
    for (source, before, after) in [
        (
            "inject s2c sv_chat{client_id: -1, message: \"hi\"} when cl_say",
            vec![],
            vec![hi.clone()],
        ),
        (
            "inject before s2c sv_chat{client_id: -1, message: \"hi\"}, drop when cl_say",
            vec![hi.clone()],
            vec![],
        ),
        (
            "reply sv_chat{client_id: -1, message: \"hi\"}, drop when cl_say.message == \"a\"",
            vec![],
            vec![hi.clone()],
        ),
        (
            "inject s2c sv_chat{client_id: -1, message: \"hi\"} nonvital when cl_say",
            vec![],
            vec![hi.replace('+', "")],
        ),
        // The text of the message, and default values.
        (
            "reply sv_chat{message: .message} when cl_say",
            vec![],
            vec!["s2c +sv_chat team=0 client_id=0 message=a".to_owned()],
        ),
        (
            "reply sv_motd when cl_say once",
            vec![],
            vec!["s2c +sv_motd message=".to_owned()],
        ),
        (
            "inject c2s cl_say{message: \"b\"} when cl_say",
            vec![],
            vec!["c2s +cl_say team=0 message=b".to_owned()],
        ),
        ("inject s2c sv_motd when sv_chat", vec![], vec![]),
    ] {
        assert_eq!(made(source, &say("a")), [before, after], "{source}");
    }
    assert_eq!(
        made("pass, inject s2c sv_motd when cl_say", &say("a")),
        [none, vec!["s2c +sv_motd message=".to_owned()]]
    );
    let other = Opening { seed: 9, ..OPENING };
    let mut state = program("inject s2c sv_motd when cl_say").open(other, None);
    assert_eq!(decide(&mut *state, &say("a"), 5).after.len(), 1);
}

/// `last` refers to the previous message.
#[test]
fn last_is_the_one_before() {
    let source = "reply sv_chat{message: last(cl_say).message} when cl_say";
    let mut state = program(source).open(OPENING, None);
    let mut texts = Vec::new();
    for text in ["a", "b", "c"] {
        let verdict = decide(&mut *state, &say(text), OPENING.at);
        texts.push(verdict.after.first().map(|made| fields("sv_chat", &made.data)));
        assert_eq!(state.effects().len(), usize::from(text == "a"));
    }
    let chat = |text: &str| Some(format!("team=0 client_id=0 message={text}"));
    assert_eq!(texts, [None, chat("a"), chat("b")]);
}

/// Rules that write an unsuitable value, and the diagnostics.
const WRONG_VALUES: &[(&str, &[&str])] = &[
    (
        "set sv_chat.mesage = \"x\" when sv_chat",
        &["1:13 E103 message `sv_chat` has no field `mesage`"],
    ),
    (
        "set sv_chat.message = 5 when sv_chat",
        &["1:23 E201 `sv_chat.message` is text, not a number"],
    ),
    (
        "set sv_chat.client_id = \"x\" when sv_chat",
        &["1:25 E201 `sv_chat.client_id` is a number, not text"],
    ),
    (
        "set sv_chat.client_id = 5000000000 when sv_chat",
        &["1:25 E204 `sv_chat.client_id` is never 5000000000: it has room for -2147483648 to 2147483647"],
    ),
    (
        "set sv_chat.client_id = t when sv_chat",
        &["1:25 E201 `sv_chat.client_id` is a number, not a duration"],
    ),
    (
        "set sv_chat.message == \"x\" when sv_chat",
        &["1:21 E008 `==` compares; to set use `=`"],
    ),
    (
        "set pkt.size = 5 when sv_chat",
        &["1:5 E102 `pkt.size` cannot be changed"],
    ),
    (
        "set sv_chat = 5 when sv_chat",
        &["1:5 E206 `sv_chat` is a condition, not a value"],
    ),
    (
        "replace sv_chat.client_id /x/ with \"y\" when sv_chat",
        &["1:9 E201 `sv_chat.client_id` is not text"],
    ),
    (
        "replace sv_chat.message \"x\" with \"y\" when sv_chat",
        &["1:25 E001 expected a regular expression, as in `/text/`, found a string"],
    ),
    (
        "replace sv_chat.message /(/ with \"y\" when sv_chat",
        &["1:25 E010 not a regular expression: unclosed group"],
    ),
    (
        "inject input when s2c",
        &["1:8 E001 expected `c2s` or `s2c`, found `input`"],
    ),
    (
        "inject c2s sv_chat when s2c",
        &["1:12 E102 `sv_chat` is never sent c2s"],
    ),
    (
        "inject s2c ctrl.close when s2c",
        &["1:12 E102 `ctrl.close` is not a message of a session"],
    ),
    (
        "inject s2c sv_chat{mesage: \"x\"} when s2c",
        &["1:20 E103 message `sv_chat` has no field `mesage`"],
    ),
    (
        "inject s2c sv_chat{message: 5, client_id: \"x\"} when s2c",
        &[
            "1:29 E201 `sv_chat.message` is text, not a number",
            "1:43 E201 `sv_chat.client_id` is a number, not text",
        ],
    ),
    (
        "inject s2c sv_chat{message: \"x\", message: \"y\"} when s2c",
        &["1:34 E012 `message` has a value already"],
    ),
    (
        "inject s2c sv_chat{message \"x\"} when s2c",
        &["1:28 E001 expected `:`, found a string"],
    ),
    (
        "reply sv_chat.message when c2s",
        &["1:7 E102 `sv_chat.message` is a field, not a message"],
    ),
    ("reply sv_shat when c2s", &["1:7 E101 unknown message `sv_shat`"]),
];

#[test]
fn wrong_values_are_reported() {
    for (source, expected) in WRONG_VALUES {
        assert_eq!(wrong(source), *expected, "{source}");
    }
}

#[test]
fn the_text_of_a_rule_is_canonical() {
    for (source, expected) in [
        (
            "set .message=\"a\\\"\",.client_id=1+2*3,drop when sv_chat",
            "set .message = \"a\\\"\", .client_id = 1 + 2 * 3, drop when sv_chat",
        ),
        (
            "replace .message /a\\/b/ with \"$1\" when sv_chat once",
            "replace .message /a\\/b/ with \"$1\" when sv_chat once",
        ),
        (
            "inject before s2c sv_chat {message:\"x\",client_id : -1,} nonvital when c2s",
            "inject before s2c sv_chat{message: \"x\", client_id: -1} nonvital when c2s",
        ),
        ("reply sv_motd{} when c2s", "reply sv_motd when c2s"),
    ] {
        let id = teetap_rules::RuleId(0);
        assert_eq!(program(source).rule(id), Some(expected));
        assert_eq!(program(expected).rule(id), Some(expected));
    }
}

/// Texts contain values in braces, as in `log`.
#[test]
fn texts_are_composed_of_values() {
    for (source, message, expected) in [
        (
            "set .message = \"{.message} ({sess.proto}, {t}, {n})\" when cl_say",
            say("hi"),
            say("hi (ddnet, 0s, 1)"),
        ),
        (
            "set .message = \"{{x}} \\\"{.message}\\\"\" when cl_say",
            say("hi"),
            say("{x} \"hi\""),
        ),
        ("set .message = \"{{}}\" when cl_say", say("hi"), say("{}")),
        (
            "set .message = \"{.client_id + 1}\" when sv_chat",
            chat(3, "hi"),
            chat(3, "4"),
        ),
    ] {
        assert_eq!(edited(source, &message), expected.1, "{source}");
    }
    let (verdict, _) = outcome(
        "reply sv_chat{client_id: -1, message: \"you said {.message}\"} when cl_say",
        &say("hi"),
    );
    assert_eq!(verdict.after[0].data, chat(-1, "you said hi").1);
    // A value that is missing, or a secret, changes nothing, and is reported.
    let auth = (Dir::C2s, message("rcon_auth", &[("password", "hunter2".into())]));
    for (source, message, why) in [
        (
            "set .message = \"{sess.name}\" when cl_say",
            say("hi"),
            "the value for `cl_say.message` is missing",
        ),
        (
            "inject s2c sv_motd{message: \"{.password}\"} when rcon_auth",
            auth.clone(),
            SECRET,
        ),
        (
            "inject s2c sv_motd{message: rcon_auth.password} when rcon_auth",
            auth.clone(),
            SECRET,
        ),
        (
            "let word = .password\nreply sv_motd{message: \"{word}!\"} when rcon_auth",
            auth.clone(),
            SECRET,
        ),
        // The secret follows a text that is shown.
        (
            "inject c2s cl_say{message: \"{.password} /login x\"} when rcon_auth",
            auth,
            SECRET,
        ),
    ] {
        let (verdict, effects) = outcome(source, &message);
        assert_eq!((verdict.edit, verdict.after), (None, vec![]), "{source}");
        assert!(
            matches!(&effects[..], [Effect::Failed { why: found, .. }] if **found == *why),
            "{source}: {effects:?}"
        );
    }
}

const SECRET: &str = "the value contains a secret, which would be readable; only secret fields and the texts of `log` and \
                      `fail` hide it";

#[test]
fn a_secret_is_copied_to_where_output_hides_it() {
    let auth = (Dir::C2s, message("rcon_auth", &[("password", "hunter2".into())]));
    for (source, name, field, value) in [
        (
            "inject c2s rcon_cmd{cmd: .password} when rcon_auth",
            "rcon_cmd",
            "cmd",
            "hunter2",
        ),
        (
            "inject c2s cl_say{message: \"/login {.password}\"} when rcon_auth",
            "cl_say",
            "message",
            "/login hunter2",
        ),
    ] {
        let (verdict, effects) = outcome(source, &auth);
        assert!(effects.is_empty(), "{effects:?}");
        assert_eq!(
            verdict.after[0].data,
            message(name, &[(field, value.into())]),
            "{source}"
        );
    }
    assert_eq!(
        edited("set .password = \"{.password}!\" when rcon_auth", &auth),
        message("rcon_auth", &[("password", "hunter2!".into())])
    );
}

#[test]
fn names_of_expressions_are_replaced_in_braces() {
    let named = "let who = .client_id + 1\nlet word = \"hi\"\nlet line = \"{word} {who}\"\n";
    for (rule, text) in [
        ("set .message = \"{word} {who}\" when sv_chat", "hi 4"),
        ("set .message = line when sv_chat", "hi 4"),
    ] {
        assert_eq!(
            edited(&format!("{named}{rule}"), &chat(3, "x")),
            chat(3, text).1,
            "{rule}"
        );
    }
    let (_, effects) = outcome(
        &format!("{named}log \"{{word}} {{who}}\" when sv_chat"),
        &chat(3, "x"),
    );
    assert!(
        matches!(&effects[..], [Effect::Log { text, .. }] if **text == *"hi 4"),
        "{effects:?}"
    );
    let errors = |rule: &str| {
        let errors = Program::compile(&format!("{named}{rule}"), Registry::builtin()).unwrap_err();
        errors
            .iter()
            .map(|error| (error.message.clone(), error.help.clone()))
            .collect::<Vec<_>>()
    };
    let help = "write the text and its values in place of the name".to_owned();
    assert_eq!(
        errors("log \"{line}\" when sv_chat"),
        [(
            "\"{word} {who}\" has values in braces, and is itself in braces".to_owned(),
            Some(help)
        )]
    );
    let near = errors("set .message = \"{wort}\" when sv_chat");
    assert!(
        near[0].1.as_ref().is_some_and(|help| help.contains("`word`")),
        "{near:?}"
    );
}

#[test]
fn wrong_values_in_braces_have_their_place() {
    for (source, expected) in [
        (
            "set .message = \"a {cl_say.mesage}\" when cl_say",
            "1:27 E103 message `cl_say` has no field `mesage`",
        ),
        ("set .message = \"a}\" when cl_say", "1:18 E001 unmatched `}`"),
        (
            "set .client_id = \"{t}\" when sv_chat",
            "1:18 E201 `sv_chat.client_id` is a number, not text with values in braces",
        ),
        (
            "set .message = \"{sv_chat.message}\" when cl_say",
            "1:16 E102 `\"{sv_chat.message}\"` is of another message than the condition is about",
        ),
        (
            "inject s2c sv_motd{message: \"{t}\"} every 5s",
            "1:1 E102 `inject s2c sv_motd{message: \"{t}\"}` needs a message",
        ),
        ("fail \"{t}\" every 5s", "1:1 E102 `fail \"{t}\"` needs a message"),
    ] {
        assert_eq!(wrong(source), [expected], "{source}");
    }
}
