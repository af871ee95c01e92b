//! Tests of every kind of error, with the exact messages.

use teetap_rules::{Filter, Program, Style};
use teetap_wire::def::Registry;

/// Returns the messages for each text.
fn messages(texts: &[&str]) -> String {
    let registry = Registry::builtin();
    let mut messages = String::new();
    for text in texts {
        let diagnostics = match Filter::parse(text, registry) {
            Ok((_, diagnostics)) => diagnostics,
            Err(diagnostics) => diagnostics,
        };
        assert!(!diagnostics.is_empty(), "nothing is wrong with {text}");
        for diagnostic in diagnostics {
            messages.push_str(&diagnostic.render("filter", text, Style::Plain));
            messages.push_str("\n\n");
        }
    }
    messages
}

fn shown(name: &str, texts: &[&str]) {
    insta::with_settings!({omit_expression => true, prepend_module_to_snapshot => false}, {
        insta::assert_snapshot!(name, messages(texts));
    });
}

#[test]
fn syntax() {
    shown(
        "syntax",
        &[
            "",
            "c2s and",
            "and c2s",
            "c2s sv_chat",
            "c2s adn sv_chat",
            "c2s & sv_chat",
            "sv_chat.team = 1",
            "sv_chat.message =~ \"x\"",
            "0 < sv_chat.team < 3",
            "sv_chat.team in {1} in {2}",
            "(c2s or s2c",
            "c2s)",
            "sv_chat.team in 1",
            "sv_chat.team in {}",
            "sv_chat.team in {1 2",
            "sv_chat.team == 007",
            "sv_chat.team == 0xfg",
            "sv_chat.team == 99999999999999999999",
            "sv_chat.team == 1_000",
            "t > 5sek",
            "t > 0.5us",
            "sv_chat.message == \"ab",
            "sv_chat.message == \"\\q\"",
            "/ab",
            "/ab/i",
            "sv_chat. team",
            "snap.character[x].x > 1",
            "\u{fc} or c2s",
            "sv_chat chance 5%",
            "((((((((((((((((((((((((((((((((((c2s",
        ],
    );
}

#[test]
fn names() {
    shown(
        "names",
        &[
            "sv_caht",
            "sv_chat.mesage contains \"buy gold\"",
            "c2s and sv_chat.team == 1 or sv_cat.x == 1",
            "sv_chat.teem == 1 and cl_sai and t > 5",
            "sv_chat and .mesage == \"x\"",
            ".nosuchfield == 1",
            "sys and .team == 1",
            "sys.77.x == 1",
            "character.x > 1",
            "team == 1",
            "sys.inffo",
            "sys.99999999999",
            "sys.ex.1234",
            "pkt.sze > 1",
            "pkt > 1",
            "sess.id.x == 1",
            "snap.charakter[3].x > 1",
            "snap.character[3].xx > 1",
            "snap.delta_tick > 1",
            "lint.overlong-in",
            "sen(enter_game)",
            "seen()",
            "seen(5)",
            "seen(sv_chat.team)",
            "last(sv_chat) == 1",
            "count(enter_gam) > 1",
            "has(sv_chat)",
            "any(sv_chat.team == 1)",
            "$joined > 1s",
            "sv_chat[1]",
            "sv_chat.message[1] == \"x\"",
            "sv_chat.message.x == \"x\"",
            "cl_start_info.skin_part_names[9] == \"x\"",
        ],
    );
}

#[test]
fn kinds() {
    shown(
        "kinds",
        &[
            "sv_chat.team == \"red\"",
            "sv_chat.team == rd",
            "sv_chat.message == red",
            "sv_chat.message == 5",
            "sv_chat.message < \"x\"",
            "sv_chat.message contains /x/",
            "sv_chat.message == /x/",
            "sv_chat.message matches \"x\"",
            "sv_chat.message matches /(/",
            "sv_chat.message matches /a{1000}{1000}/",
            "sv_chat.message contains \"\"",
            "sv_chat.team contains 1",
            "sv_chat.client_id == 5s",
            "sv_chat.client_id == 5000000000",
            "sv_chat.client_id == 1.5",
            "since(enter_game) > 100",
            "t > 5%",
            "t + 5 > 10s",
            "sess.rtt > pkt.size",
            "sv_chat.client_id / 0 == 1",
            "sv_chat.client_id in {5..1}",
            "sv_chat.message in {1..5}",
            "sess.state == on_line",
            "sess.proto == 0.8",
            "sess.name == x",
            "snap.crc_ok == 1",
            "sv_chat.team",
            "sv_chat == 1",
            "5",
            "5 == 5",
            "not pkt.size",
            "(c2s == s2c)",
            "cl_start_info.skin_part_names == \"x\"",
            "any(cl_start_info.skin_part_names == \"x\" and cl_start_info.use_custom_colors)",
            "len(sv_chat.team) > 1",
            "input.input == 5",
            "sv_chat.message == sv_chat.team",
            "sys.ex == 1 or \"\"",
        ],
    );
}

#[test]
fn warnings_and_notes() {
    shown(
        "warnings_and_notes",
        &[
            "c2s and sv_chat",
            "sys and game",
            "sv_chat.client_id == 4000",
            "sv_chat.client_id > 127",
            "sv_chat.mode == 1",
            "sv_chat.target_id == 1",
            "sv_kill_msg.weapon == laser",
            "sv_team.team == red",
            "seen(sv_team)",
            "c2s or snap",
            "connless and info",
        ],
    );
}

#[test]
fn all_at_once_and_in_order() {
    let text = "t > 5 and sv_chat.mesage == 1 or\n  lint.nothing and sv_chat.team == blu";
    let errors = Filter::parse(text, Registry::builtin()).unwrap_err();
    let codes: Vec<_> = errors.iter().map(|error| error.code.name()).collect();
    assert_eq!(codes, ["E202", "E103", "E109", "E108"]);
    shown("all_at_once", &[text]);
}

/// A number can be used only as a message, not as a field.
#[test]
fn a_number_is_no_field() {
    let got = crate::stage::wrong("drop when sys.3.4 == 1");
    assert_eq!(got, ["1:17 E001 expected a name, found `4`"]);
}

/// Statements that are wrong or unlikely to be intended, one per line.
const STATEMENTS: &str = include_str!("wrong.tap");

/// Compares the diagnostics of each statement in the list with the stored text.
#[test]
fn statements() {
    let registry = Registry::builtin();
    let mut messages = String::new();
    for text in STATEMENTS.lines() {
        let diagnostics = match Program::compile(text, registry) {
            Ok((_, diagnostics)) => diagnostics,
            Err(diagnostics) => diagnostics,
        };
        assert!(!diagnostics.is_empty(), "nothing is wrong with {text}");
        for diagnostic in diagnostics {
            messages.push_str(&diagnostic.render("rules", text, Style::Plain));
            messages.push_str("\n\n");
        }
    }
    insta::with_settings!({omit_expression => true, prepend_module_to_snapshot => false}, {
        insta::assert_snapshot!("statements", messages);
    });
}

/// An index is refused at both words of a fact.
#[test]
fn no_fact_is_a_list() {
    for fact in [
        "pkt.size",
        "pkt.ack",
        "sess.id",
        "sess.rtt",
        "snap.tick",
        "snap.parts",
    ] {
        let (head, name) = fact.split_once('.').unwrap();
        for text in [format!("{head}[1].{name} > 1"), format!("{head}.{name}[1] > 1")] {
            let errors = Filter::parse(&text, Registry::builtin()).map(|_| ()).unwrap_err();
            let lines: Vec<String> = errors
                .iter()
                .map(|error| {
                    let rendered = error.render("filter", &text, Style::Plain);
                    rendered.lines().next().unwrap_or_default().to_owned()
                })
                .collect();
            assert_eq!(lines, [format!("error[E111]: `{fact}` is not a list")], "{text}");
        }
    }
}
