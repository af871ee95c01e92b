//! Tests of named expressions and variables.

use teetap_rules::{Effect, Fate, Program, ProtoDirs, RuleId, Severity, Shared};
use teetap_wire::Dir;
use teetap_wire::def::{Datum, Registry};

use crate::stage::{OPENING, decide, first_copy, message, outcome, program, say, verdict, wrong};

fn chat(text: &str) -> (Dir, Vec<u8>) {
    let fields = [("client_id", Datum::Int(3)), ("message", text.into())];
    (Dir::S2c, message("sv_chat", &fields))
}

/// Returns the texts that rules report about messages, one per second.
fn logged(source: &str, messages: &[(Dir, Vec<u8>)]) -> Vec<String> {
    let mut state = program(source).open(OPENING, None);
    let mut texts = Vec::new();
    for (second, message) in (0..).zip(messages) {
        decide(&mut *state, message, OPENING.at + second * 1_000_000);
        texts.extend(state.effects().into_iter().map(|effect| match effect {
            Effect::Log { text, .. } => text.into_string(),
            other => format!("{other:?}"),
        }));
    }
    texts
}

#[test]
fn a_name_stands_for_its_expression_before_and_after_its_definition() {
    let source = "drop when loud and not quiet\nlet talk = sv_chat or cl_say\n\
                  let loud = talk and .message contains word\nlet word = \"!\"\nlet quiet = .message == \"sh!\"";
    for (message, fate) in [
        (say("hey!"), Fate::Drop),
        (chat("hey!"), Fate::Drop),
        (chat("hey"), Fate::Pass),
        (say("sh!"), Fate::Pass),
    ] {
        assert_eq!(verdict(source, &message).fate, fate, "{message:?}");
    }
    // The text of a rule identifies it, not the expressions for its names.
    assert_eq!(
        program(source).rule(RuleId(0)),
        Some("drop when loud and not quiet")
    );
    // No brackets are needed, since a name is a single value.
    let sum = "let two = 1 + 1\nlog \"{two * 3}\" when cl_say";
    assert_eq!(logged(sum, &[say("x")]), ["6"]);
}

#[test]
fn names_are_used_in_all_conditions_and_remember_by_themselves() {
    let source = "let often = count(cl_say) > 1\nlet a = cl_say.message == \"a\"\n\
                  hold until often when sv_chat\nlog \"one\" when often and c2s\n\
                  log \"two\" when c2s after a until often\nexpect often within 1s when a";
    let mut state = program(source).open(OPENING, None);
    assert!(matches!(
        decide(&mut *state, &chat("x"), 0).fate,
        Fate::Hold { .. }
    ));
    decide(&mut *state, &say("a"), 1);
    assert_eq!(state.effects(), []);
    assert_eq!(state.deadline(), Some(1_000_001));
    decide(&mut *state, &say("b"), 2);
    assert_eq!(state.deadline(), None);
    let effects = state.effects();
    assert!(
        matches!(&effects[..], [Effect::Release { .. }, Effect::Log { .. }]),
        "{effects:?}"
    );
}

#[test]
fn wrong_names() {
    for (source, expected) in [
        (
            "let = c2s",
            &["1:5 E001 expected a name, as in `let talk = sv_chat or cl_say`, found `=`"][..],
        ),
        ("let a c2s", &["1:7 E001 expected `=`, found `c2s`"]),
        (
            "let a == c2s",
            &["1:7 E008 `==` compares; to name an expression use `=`"],
        ),
        (
            "let a = c2s chance",
            &["1:13 E001 expected an operator or the end of the line, found `chance`"],
        ),
        ("let sv_chat = c2s", &["1:5 E102 `sv_chat` has a meaning already"]),
        ("let t = c2s", &["1:5 E102 `t` has a meaning already"]),
        (
            "let a = c2s\nlet a = s2c",
            &["2:5 E102 two expressions are called `a`"],
        ),
        (
            "let a = not b\nlet b = a or c2s\ndrop when a",
            &["2:9 E102 `a` is defined by itself"],
        ),
        // An error in an expression is reported once, even if nothing uses it.
        (
            "let a = sv_chat.mesage == 1",
            &["1:17 E103 message `sv_chat` has no field `mesage`"],
        ),
        (
            "let a = sv_chat.mesage == 1\ndrop when a\nlog when a",
            &["1:17 E103 message `sv_chat` has no field `mesage`"],
        ),
        (
            "let talking = cl_say\ndrop when talkin",
            &["2:11 E101 unknown message `talkin`"],
        ),
    ] {
        assert_eq!(wrong(source), expected, "{source}");
    }
    let errors = Program::compile("let talking = cl_say\ndrop when talkin", Registry::builtin()).unwrap_err();
    assert_eq!(errors[0].help.as_deref(), Some("did you mean `talking`?"));
    // A rule may be named `let`.
    assert_eq!(program("let: drop when c2s").rule(RuleId(0)), Some("let"));
    assert_eq!(program("let low = 5 + 2").rule(RuleId(0)), None);
}

/// Names whose expressions double in size, and names of names.
#[test]
fn expressions_are_bounded() {
    let doubled: Vec<String> = (1..40)
        .map(|n| format!("let a{n} = a{} and a{}", n - 1, n - 1))
        .collect();
    let source = format!(
        "let a0 = cl_say or sv_chat\n{}\ndrop when a39",
        doubled.join("\n")
    );
    let errors = wrong(&source);
    assert!(errors.iter().all(|error| error.contains("E007")), "{errors:?}");
    let nested: Vec<String> = (1..900).map(|n| format!("let a{n} = not a{}", n - 1)).collect();
    let source = format!("let a0 = cl_say\n{}\ndrop when a899", nested.join("\n"));
    let errors = wrong(&source);
    assert!(errors.iter().all(|error| error.contains("E007")), "{errors:?}");
}

#[test]
fn a_variable_is_unknown_until_it_is_set() {
    let source = "log \"{$joined}\" when cl_say\nlog \"late\" when cl_say and $joined > 1s\n\
                  log \"early\" when cl_say and not $joined > 1s\nvar $joined = t when sv_chat";
    let both = [say("a"), chat("x"), say("b"), chat("y"), say("c")];
    assert_eq!(logged(source, &both), ["?", "1s", "early", "3s", "late"]);
}

#[test]
fn variables_have_every_kind_of_value() {
    for (value, when, expected) in [
        ("5", "$x == 5 and $x + 1 > 5", "5"),
        ("1500ms", "$x in {1s..2s}", "1.5s"),
        (
            "\"pong\"",
            "$x == \"pong\" and $x contains \"on\" and len($x) == 4",
            "pong",
        ),
        (".message", "$x matches /^hi/ and $x == .message", "hi there"),
        ("true", "$x", "1"),
        ("seen(cl_say)", "not $x", "0"),
        ("sv_chat.team == 0", "$x == yes", "1"),
        ("sess.proto", "$x == ddnet", "ddnet"),
        (".client_id * 2", "$x in {5 6}", "6"),
        ("n", "$x == 1", "1"),
    ] {
        let source = format!("var $x = {value} when sv_chat\nlog \"{{$x}}\" when sv_chat and {when}");
        assert_eq!(logged(&source, &[chat("hi there")]), [expected], "{source}");
    }
}

#[test]
fn variables_are_in_values_and_count() {
    let source = "var $n = 0 when cl_say.message == \"start\"\nvar $n = $n + 1, var $text = .message when sv_chat\n\
                  set cl_say.message = $text when cl_say.message == \"?\" and $n > 1";
    let mut state = program(source).open(OPENING, None);
    for message in [say("start"), chat("a"), chat("b")] {
        assert_eq!(decide(&mut *state, &message, 5).edit, None);
    }
    let edit = decide(&mut *state, &say("?"), 5).edit.unwrap();
    assert!(edit.windows(2).any(|part| part == b"b\0"), "{edit:?}");
    // Nothing can be counted without an initial value.
    let (_, effects) = outcome(source, &chat("a"));
    let missing = "the value for `$n` is missing";
    assert!(
        matches!(&effects[..], [Effect::Failed { why, .. }] if **why == *missing),
        "{effects:?}"
    );
    // These rules do not renumber any direction, each session has its own variables, and a long text is truncated.
    let interest = program("var $x = t when sv_chat").interest();
    assert_eq!(interest.acts, ProtoDirs::NONE);
    let long = "var $x = .message, log \"{len($x)}\" when sv_chat";
    assert_eq!(logged(long, &[chat(&"x".repeat(1200))]), ["1024"]);
}

#[test]
fn variables_outlive_a_reload_if_their_kind_is_the_same() {
    let source = "var $x = 7, var $y = \"a\" when sv_chat";
    let mut state = program(source).open(OPENING, None);
    decide(&mut *state, &chat("a"), 5);
    let next = program("log \"{$y} {$x}\" when cl_say\nvar $y = 1, var $x = 8 when sv_motd");
    let mut state = next.open(OPENING, Some(state));
    state.decide(&first_copy(&say("x"), 6), &mut Shared::default());
    let effects = state.effects();
    assert!(
        matches!(&effects[..], [Effect::Log { text, .. }] if **text == *"? 7"),
        "{effects:?}"
    );
}

#[test]
fn wrong_variables() {
    for (source, expected) in [
        (
            "var x = 1 when c2s",
            &["1:5 E001 expected a variable, as in `var $joined = t`, found `x`"][..],
        ),
        ("var $x when c2s", &["1:8 E001 expected `=`, found `when`"]),
        ("drop when $x > 1", &["1:11 E110 the variable `$x` is never set"]),
        (
            "drop when $join > 1s\nvar $joined = t when c2s",
            &["1:11 E110 the variable `$join` is never set"],
        ),
        (
            "drop when $x > 1\nvar $x = t when c2s",
            &["1:16 E202 expected a duration, found `1`"],
        ),
        (
            "var $x = 1 when c2s\nvar $x = \"a\" when s2c",
            &["2:10 E201 `$x` is a number elsewhere, not text"],
        ),
        (
            "var $x = $x + 1 when c2s",
            &["1:10 E110 `$x` is only computed from itself"],
        ),
        (
            "var $x = .mesage when sv_chat\ndrop when $x == \"a\"",
            &["1:11 E103 message `sv_chat` has no field `mesage`"],
        ),
        ("var $x = 1 every 5s", &["1:1 E102 `var $x = 1` needs a message"]),
    ] {
        assert_eq!(wrong(source), expected, "{source}");
    }
    let source = "drop when $join > 1s\nvar $joined = t when c2s";
    let errors = Program::compile(source, Registry::builtin()).unwrap_err();
    assert_eq!(errors[0].help.as_deref(), Some("did you mean `$joined`?"));
    assert!(errors.iter().all(|error| error.severity() == Severity::Error));
}
