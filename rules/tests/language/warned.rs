//! Tests of warnings about rules.

use teetap_rules::{Diagnostic, Program, Severity, Style};
use teetap_wire::def::Registry;

use crate::stage::wrong;

/// Returns the code, the line and the sentence of each warning.
fn warned(source: &str) -> Vec<String> {
    let diagnostics = compiled(source);
    let diagnostics = diagnostics
        .iter()
        .filter(|one| one.severity() == Severity::Warning);
    let line = |diagnostic: &Diagnostic| {
        let text = diagnostic.render("rules.tap", source, Style::Plain);
        let place = text
            .lines()
            .find_map(|line| line.trim().strip_prefix("--> rules.tap:"));
        format!(
            "{} {} {}",
            diagnostic.code.name(),
            place.unwrap(),
            diagnostic.message
        )
    };
    diagnostics.map(line).collect()
}

fn compiled(source: &str) -> Vec<Diagnostic> {
    Program::compile(source, Registry::builtin()).unwrap().1
}

/// Such a rule needs a session for each CONNECT of a flood.
#[test]
fn a_rule_that_can_change_a_connect() {
    for (source, is_noted) in [
        ("delay 50ms when c2s", true),
        ("lose when connect", true),
        ("dup when s2c chance 5%", true),
        ("drop when c2s first 3", true),
        ("drop when connect_accept and count(cl_say) > 3", true),
        ("delay 50ms when c2s and not ctrl", false),
        // These rules decide without a session.
        ("drop when c2s chance 1%", false),
        ("drop when connect", false),
        // These rules change nothing.
        ("log when c2s", false),
        ("mark x when connect first 3", false),
        ("log when close", false),
        // These rules are about other messages.
        ("lose when cl_say", false),
        ("delay 50ms when close", false),
        ("delay 50ms when connless", false),
        ("link c2s delay 50ms", false),
    ] {
        let notes = compiled(source);
        let mut notes = notes.iter().filter(|note| note.code.name() == "N403");
        assert_eq!(notes.next().is_some(), is_noted, "{source}");
    }
}

#[test]
fn a_rule_that_another_hides() {
    let hidden = "W303 2:1 rule 2 can never match: rule 1 `drop when s2c` comes first";
    for second in [
        "lose when s2c and con_ready",
        "log when sv_chat",
        "dup when s2c chance 5%",
    ] {
        assert_eq!(warned(&format!("drop when s2c\n{second}")), [hidden], "{second}");
    }
    for source in [
        "drop when s2c\ndrop when c2s",
        "drop when s2c\ndrop when cl_say",
        "drop when s2c chance 50%\nlog when s2c",
        "drop when s2c from 5s\nlog when s2c",
        "drop when s2c after cl_say\nlog when s2c",
        "dup when s2c\nlog when s2c",
        "drop when s2c and sv_chat\nlog when s2c",
        "drop when s2c\ninject s2c sv_motd every 5s",
    ] {
        assert_eq!(warned(source), [""; 0], "{source}");
    }
    let named =
        "a: pass when sv_chat and vital\nlog when c2s\ndrop when vital and sv_chat and .client_id == 1";
    assert_eq!(
        warned(named),
        ["W303 3:1 rule 3 can never match: rule 1 `a` comes first"]
    );
}

#[test]
fn what_is_never_sent_again() {
    let lost = "W304 1:1 `lose` on `any_snap`: not vital, never resent, same as `drop`";
    assert_eq!(warned("lose when any_snap"), [lost]);
    for source in ["lose when s2c", "lose when sv_chat", "drop when any_snap"] {
        assert_eq!(warned(source), [""; 0], "{source}");
    }
}

#[test]
fn what_holds_the_join() {
    let held = "W305 1:1 a message that is held before the game begins holds the join as well";
    assert_eq!(warned("hold until seen(enter_game) when s2c and sv_motd"), [held]);
    for source in [
        "hold until seen(enter_game) unordered when s2c and sv_motd",
        "hold until cl_say when s2c and sv_chat",
    ] {
        assert_eq!(warned(source), [""; 0], "{source}");
    }
}

/// Actions that exclude each other, or can have no effect on any message of their condition, are errors.
#[test]
fn what_cannot_be_meant_is_refused() {
    let other = |what: &str| format!("`{what}` is of another message than the condition is about");
    let twice = |what: &str| format!("`{what}` is set twice; the second value would count");
    let exclude = |one: &str, other: &str| format!("`{one}` and `{other}` exclude each other");
    let there = |what: &str, side: &str| {
        format!("`reply {what}` is sent to the {side}, and no version of the game sends it there")
    };
    for (source, place, what) in [
        ("pass, drop when cl_say", "1:1 E112", exclude("pass", "drop")),
        (
            "lose 2 times, log, pass when cl_say",
            "1:1 E112",
            exclude("pass", "lose 2 times"),
        ),
        (
            "set sv_chat.message = \"a\", sv_chat.message = \"b\" when sv_chat",
            "1:28 E012",
            twice("sv_chat.message"),
        ),
        (
            "set .message = \"a\", log, set sv_chat.message = \"b\" when sv_chat",
            "1:30 E012",
            twice("sv_chat.message"),
        ),
        (
            "set snap.character[3].x = 1, snap.character[3].x = 2 when any_snap",
            "1:30 E012",
            twice("snap.character[3].x"),
        ),
        ("var $a = 1, var $a = 2 when cl_say", "1:17 E012", twice("$a")),
        (
            "set sv_chat.message = sv_motd.message when sv_chat",
            "1:23 E102",
            other("sv_motd.message"),
        ),
        (
            "set sv_chat.client_id = sv_team.team + 1 when sv_chat",
            "1:25 E102",
            other("sv_team.team + 1"),
        ),
        (
            "set sv_motd.message = \"x\" when sv_chat",
            "1:5 E102",
            other("sv_motd.message"),
        ),
        (
            "replace sv_motd.message /a/ with \"b\" when sv_chat",
            "1:9 E102",
            other("sv_motd.message"),
        ),
        (
            "reply sv_chat{message: sv_motd.message} when cl_say",
            "1:24 E102",
            other("sv_motd.message"),
        ),
        (
            "var $a = sv_motd.message when cl_say",
            "1:10 E102",
            other("sv_motd.message"),
        ),
        (
            "reply sv_chat when sv_motd",
            "1:1 E102",
            there("sv_chat", "server"),
        ),
        (
            "reply cl_say when cl_emoticon",
            "1:1 E102",
            there("cl_say", "client"),
        ),
    ] {
        assert_eq!(wrong(source), [format!("{place} {what}")], "{source}");
    }
}

#[test]
fn what_can_be_meant_is_accepted() {
    for source in [
        "pass, log when cl_say",
        "hold until sv_motd, pass when cl_say",
        "set sv_chat.message = last(sv_motd).message when sv_chat",
        "set snap.character.x = 1, snap.character[3].x = 2 when any_snap",
        "set sv_chat.message = \"a\", sv_chat.client_id = 1 when sv_chat",
        "set .message = \"x\" when sv_chat or cl_say",
        "reply sv_chat when cl_say",
        "reply cl_say when sv_chat",
    ] {
        assert!(Program::compile(source, Registry::builtin()).is_ok(), "{source}");
    }
}

/// Actions without an effect next to another one, or on some messages, cause warnings.
#[test]
fn what_does_nothing_is_said() {
    let beside = |one: &str, other: &str| format!("W306 1:1 `{one}` has no effect beside `{other}`");
    let braces = |place: &str, value: &str, verb: &str| {
        format!(
            "W307 {place} `{{{value}}}` in the text of `{verb}` is written as it is: values in braces are for `log`, `set`, `inject`, `reply` and `fail`"
        )
    };
    let copies = "W306 1:1 the copies of `dup` do not wait as the message does with `hold until sv_motd`";
    let silent = "W306 1:1 `reply sv_chat` does nothing for messages of the server";
    let unknown = "W306 1:7 `sv_motd.message` has no value for the messages of this condition: `?` is logged";
    let first = "W308 1:1 `drop` looks at first copies only, which have the mark `resend` if an earlier copy was lost";
    for (source, expected) in [
        ("drop, delay 5ms when cl_say", beside("delay 5ms", "drop")),
        ("swap, pause when cl_say", beside("swap", "pause")),
        (
            "lose, hold until sv_motd when cl_say",
            beside("hold until sv_motd", "lose"),
        ),
        ("drop, drop when cl_say", beside("drop", "drop")),
        ("dup 2, drop when cl_say", beside("dup 2", "drop")),
        (
            "corrupt 1 bits, drop when cl_say",
            beside("corrupt 1 bits", "drop"),
        ),
        ("dup, hold until sv_motd when cl_say", copies.to_owned()),
        ("reply sv_chat when cl_say or sv_motd", silent.to_owned()),
        ("log \"{sv_motd.message}\" when sv_chat", unknown.to_owned()),
        (
            "close client \"at {t}\" when sv_chat",
            braces("1:1", "t", "close"),
        ),
        (
            "replace .message /a/ with \"{n}\" when cl_say",
            braces("1:18", "n", "replace"),
        ),
        ("drop when c2s and resend", first.to_owned()),
    ] {
        assert_eq!(warned(source), [expected], "{source}");
    }
    for source in [
        "delay 5ms, delay 6ms when cl_say",
        "drop, log when cl_say",
        "reply sv_chat, drop when cl_say",
        "dup, delay 5ms when cl_say",
        "dup, lose when cl_say",
        "set .message = \"{{}}\" when sv_chat",
        "set .message = \"{sess.name}: hi\" when sv_chat",
        "fail \"{.message}\" when sv_chat",
        "reply sv_chat{message: \"{$a}\"}, var $a = t when cl_say",
        "log \"{.message}\" when sv_chat",
        "log \"{last(sv_motd).message}\" when sv_chat",
        "log, drop when resend",
        "mark when resend",
        "drop when not resend",
    ] {
        assert_eq!(warned(source), [""; 0], "{source}");
    }
}

/// The memory of regular expressions and the size of named expressions are limited per text.
#[test]
fn all_of_a_text_together_has_a_limit() {
    let memory = "E007 the regular expressions of this text take too much memory together";
    let length = "E007 with the expressions that names stand for this text is too long";
    let large = "let a = cl_say.message matches /[a-z]{5000}/\n";
    let wide = format!("let b = {}\n", ["cl_say.team == 1"; 700].join(" or "));
    for (source, expected) in [
        (format!("{large}{}", "log when a\n".repeat(900)), memory),
        (
            format!("log when {}", ["/[a-z]{4000}/"; 300].join(" or ")),
            memory,
        ),
        (format!("{wide}{}", "log when b\n".repeat(1000)), length),
    ] {
        let errors = wrong(&source);
        assert!(errors.len() == 1 && errors[0].ends_with(expected), "{errors:?}");
    }
    // Usual texts are far below the limit.
    let usual = "log when sv_chat.message matches /\\w+ (foo|bar)\\d*/\n".repeat(40);
    assert!(Program::compile(&usual, Registry::builtin()).is_ok());
}
