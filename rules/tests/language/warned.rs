//! Warnings about rules.

use teetap_rules::{Program, Style};
use teetap_wire::def::Registry;

/// The code, the line and the sentence of each warning.
fn warned(source: &str) -> Vec<String> {
    let (_, diagnostics) = Program::compile(source, Registry::builtin()).unwrap();
    let line = |diagnostic: &teetap_rules::Diagnostic| {
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
    diagnostics.iter().map(line).collect()
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
