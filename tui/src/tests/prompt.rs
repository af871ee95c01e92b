//! Tests of the control commands that a person types on the command line.

use teetap_inspect::control::{Command, command_help};
use teetap_proxy::session::{Level, SessionId};

use super::{
    feed::{press, type_text},
    live::{command, held_message},
};
use crate::{
    App,
    app::{Overlay, View},
    request::Reply,
};

/// Returns a screen with a proxy, two held messages, and the view `key`. The session #1 is shown in the view 4.
fn screen(key: &str) -> App {
    let mut app = super::proxied::app();
    app.orders.is_live = true;
    let list = vec![
        held_message(1, "cl_say{message: \"one\"}"),
        held_message(2, "cl_say{message: \"two\"}"),
    ];
    app.answer(&Command::Held { session: None }.into(), Ok(Reply::Held(list)));
    app.sessions.pick(SessionId(1));
    press(&mut app, key);
    app.take_requests();
    app.dialog.status = None;
    app
}

fn closed(reason: &str) -> String {
    format!("Close {{ session: Some(SessionId(1)), all: false, side: Both, reason: {reason:?} }}")
}

#[test]
fn a_reason_is_the_rest_of_the_line() {
    for reason in [
        "",
        "bye",
        "see you",
        "two  spaces",
        "-",
        "--",
        "-x",
        "-- x",
        "--all bye",
        "--side client bye",
        "--session 2 x",
        "--help",
        "'single quoted'",
        "\"double quoted\"",
        "it's",
        r"a\b \n",
        "#x",
    ] {
        let mut app = screen("4");
        assert_eq!(command(&mut app, &format!("close {reason}")), [closed(reason)]);
    }
    for line in ["resync", "resync now", "resync --session 2"] {
        let mut app = screen("4");
        assert_eq!(
            command(&mut app, line),
            ["Resync { session: Some(SessionId(1)) }"],
            "{line}"
        );
    }
}

#[test]
fn a_control_command_has_the_arguments_of_ctl() {
    let place = |kind: &str, place: &str| format!("{kind}(HeldPlace {{ held: HeldId({place} }})");
    let selected = "1), session: Some(SessionId(1)), dir: Some(C2s)";
    // A held message of another session than the shown one is found.
    let other = "3), session: Some(SessionId(2)), dir: Some(S2c)";
    let any = "3), session: None, dir: None";
    for (view, line, request) in [
        ("1", "release", place("Release", selected)),
        ("1", "drop", place("Drop", selected)),
        ("1", "release 3", place("Release", any)),
        ("4", "release 3", place("Release", any)),
        ("4", "release 2/s2c/3", place("Release", other)),
        ("4", "drop 3", place("Drop", any)),
        ("4", "drop 2/s2c/3", place("Drop", other)),
        (
            "4",
            "drop when sv_chat",
            r#"Add { text: "drop when sv_chat" }"#.to_owned(),
        ),
        (
            "4",
            "x: drop when sv_chat",
            r#"Add { text: "x: drop when sv_chat" }"#.to_owned(),
        ),
        ("4", "rules off quiet", r#"Off { name: "quiet" }"#.to_owned()),
        (
            "4",
            "rules add 'log \"a  b\" when sv_chat'",
            r#"Add { text: "log \"a  b\" when sv_chat" }"#.to_owned(),
        ),
        (
            "4",
            r#"rules swap 'log when c2s' it\'s"#,
            r#"Swap { name: "log when c2s", with: "it's" }"#.to_owned(),
        ),
    ] {
        let mut app = screen(view);
        assert_eq!(command(&mut app, line), [request], "{line}");
    }
    let mut app = screen("4");
    let found = command(&mut app, r#"edit 2/s2c/3 'sv_motd{message: "a b"}'"#);
    assert!(
        found[0].contains(r#"message: Some("sv_motd{message: \"a b\"}")"#),
        "{found:?}"
    );
    for (line, view) in [
        ("sessions", View::Sessions),
        ("stats", View::Stats),
        ("rules", View::Rules),
        ("rules list", View::Rules),
    ] {
        let mut app = screen("4");
        assert!(command(&mut app, line).is_empty(), "{line}");
        assert_eq!(app.panes.view, view, "{line}");
    }
}

#[test]
fn a_refused_line_has_its_reason_in_one_line_and_stays() {
    for (line, why) in [
        ("resyn", "unknown command 'resyn'; did you mean 'resync'?"),
        ("held", "unknown command 'held'; did you mean 'help'?"),
        ("sessions x", "unknown command 'sessions'"),
        ("subscribe sv_chat", "unknown command 'subscribe'; help, command"),
        ("unsubscribe", "unknown command 'unsubscribe'"),
        ("drop x", "expected `,` or `when`, found `x`"),
        ("drop first 2", "expected `,` or `when`, found `first`"),
        ("release x", "invalid value 'x' for '<ID>': expected a number"),
        ("release --all", "unexpected argument '--all' found"),
        ("release 'x", "a quote has no end"),
        ("release --help", "unexpected argument '--help' found"),
        (
            "edit 3",
            "the following required arguments were not provided: <MESSAGE>",
        ),
        ("rules x", "unrecognized subcommand 'x'"),
        ("rules off x --session 1", "'rules' does not act on a session"),
    ] {
        let mut app = screen("4");
        assert!(command(&mut app, line).is_empty(), "{line}");
        let Some((Level::Warning, found)) = app.dialog.status.take() else {
            panic!("{line}: no reason");
        };
        assert!(found.starts_with(why) && !found.contains('\n'), "{line}: {found}");
        assert!(
            matches!(app.dialog.overlay, Some(Overlay::Prompt(_))),
            "{line}: closed"
        );
    }
}

/// Each row of the help that is a control command is accepted, or refused because of its arguments.
#[test]
fn the_help_lists_the_control_commands_of_the_command_line() {
    let app = screen("4");
    let rows = crate::app::help::rows(&app.dialog.keymap, app.panes.focus);
    let listed: Vec<&str> = rows.iter().filter_map(|row| row.name.strip_prefix(':')).collect();
    for own in [
        "close REASON",
        "resync",
        "release ID",
        "edit ID MESSAGE",
        "drop ID",
        "rules COMMAND",
    ] {
        let count = listed.iter().filter(|name| **name == own).count();
        assert_eq!(count, 1, "{own}: {listed:?}");
    }
    let control = command_help();
    for name in &listed {
        let (name, _) = name.split_once(' ').unwrap_or((name, ""));
        if !control.iter().any(|command| command.name == name) {
            continue;
        }
        let mut app = screen("4");
        let asked = command(&mut app, &format!("{name} 1"));
        let said = app.dialog.status.take().map(|(_, text)| text).unwrap_or_default();
        assert!(
            !asked.is_empty() || !said.contains("unknown command"),
            "{name}: {said}"
        );
    }
}

#[test]
fn an_action_completes_a_line_once_with_its_own_sentence() {
    for (text, words) in [
        ("rel", vec!["release", "release-all"]),
        ("resy", vec!["resync"]),
        ("subs", vec![]),
        ("rules ", vec![]),
    ] {
        let mut app = screen("4");
        press(&mut app, ":");
        type_text(&mut app, text);
        let Some(Overlay::Prompt(prompt)) = &app.dialog.overlay else {
            panic!("{text}")
        };
        let found: Vec<&str> = prompt.candidates.words.iter().map(|(word, _)| &**word).collect();
        assert_eq!(found, words, "{text}");
        if let Some((_, help)) = prompt.candidates.words.iter().find(|(word, _)| word == "release") {
            assert_eq!(help, "Release the selected held message");
        }
    }
}
