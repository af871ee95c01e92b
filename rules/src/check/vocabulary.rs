//! The vocabulary of the language.
//!
//! Law: every list is made from the table that the checker uses.

use std::fmt::Write as _;

use teetap_wire::def::Class;
use teetap_wire::{Code as Lint, Severity};

use super::call::FUNCTIONS;
use super::fact;
use super::words::{self, ATOMS, VALUES, atom};
use crate::program::profiles;
use crate::syntax::{ACTIONS, LINK_WORDS, MODIFIERS, OPERATORS, Quantity, Unit};
use crate::wrap::at_spaces;

/// Width of the lists in columns.
const WIDTH: usize = 76;

/// Returns an overview of the language for people, as several terminated lines.
#[must_use]
pub fn vocabulary() -> String {
    let mut page = String::from(
        "and or not, also && || !, and ( )\n\
         == != < <= > >=, in {1 5..9}, contains \"text\", matches /regex/, + - * / %\n",
    );
    let mut part = |head: &str, words: Vec<String>| {
        let _infallible = writeln!(page, "\n{head}");
        append(&words, &mut page);
    };
    let owned = |words: Vec<&str>| words.into_iter().map(str::to_owned).collect();
    part(
        "Conditions; lint is any oddity that is a warning or an error:",
        owned(ATOMS.iter().map(|(word, _)| *word).collect()),
    );
    part(
        "Conditions on the message: its name, its number, or text in any of its fields:",
        owned(vec![
            "sv_chat",
            "sys.4",
            "game.ex.UUID",
            "\"gg\"",
            "/capital\\w+/",
        ]),
    );
    part(
        "Values: fields (of a message, of this one), items of snapshots; n is 1 where the filter matches for\n\
         the first time in its session, 2 for the second (n <= 3: the first three); t is the time in the session;\n\
         frame is the number of the datagram, as in a recording; action, rule and origin, like mark, touched\n\
         and link.delay, are about what teetap did, and only for filters:",
        owned(vec![
            "sv_chat.message",
            ".client_id",
            "snap.character[3].x",
            "n",
            "t",
            "frame",
            "action",
            "rule",
            "origin",
        ]),
    );
    part("Facts of datagram, session and snapshot:", owned(fact::names()));
    part(
        "Functions:",
        owned(FUNCTIONS.iter().map(|(_, form)| *form).collect()),
    );
    for (quantity, head) in [
        (Quantity::Duration, "Units of time:"),
        (Quantity::Size, "Units of size:"),
    ] {
        let units = Unit::ALL.iter().filter(|unit| unit.quantity() == quantity);
        part(head, owned(units.map(|unit| unit.name()).collect()));
    }
    for (severity, head) in [
        (
            Severity::Error,
            "Oddities, written as lint.CODE (lint.wrong_token). Errors: receivers drop a message or datagram:",
        ),
        (Severity::Warning, "Warnings: receivers differ, or ignore a part:"),
        (Severity::Info, "Harmless, and not included in `lint`:"),
    ] {
        let codes = Lint::ALL.iter().filter(|code| code.severity() == severity);
        part(head, codes.map(|code| written(*code)).collect());
    }
    page
}

/// Returns an overview of rules and link lines for people, as several terminated lines.
#[must_use]
pub fn rule_vocabulary() -> String {
    let mut page = String::from(
        "NAME: ACTION, ACTION when CONDITION MODIFIERS   (drop when sv_chat once)\n\
         link DIRECTION PARAMETERS                       (link both delay 40ms loss 1%)\n\
         use PROFILE, let $NAME = CONDITION, seed NUMBER\n",
    );
    let mut part = |head: &str, words: Vec<&str>| {
        let _infallible = writeln!(page, "\n{head}");
        let words: Vec<String> = words.into_iter().map(str::to_owned).collect();
        append(&words, &mut page);
    };
    part("Actions:", ACTIONS.to_vec());
    part("Modifiers:", MODIFIERS.to_vec());
    part("Parameters of link lines:", LINK_WORDS.to_vec());
    part("Profiles:", profiles().collect());
    page
}

/// Returns the class for the word before a dot: `sys` in `sys.snap`, `snap` in `snap.character`.
#[must_use]
pub fn class_of(prefix: &str) -> Option<Class> {
    match prefix {
        "snap" => Some(Class::Object),
        _ => words::class(prefix),
    }
}

/// Returns true if the name of a message, or the name of an object after `snap.`, has another meaning in expressions.
#[must_use]
pub fn is_word(class: Class, name: &str) -> bool {
    let facts = fact::names();
    let mut facts = facts.iter().filter_map(|fact| fact.split_once('.'));
    match class {
        Class::Object => facts.any(|(head, tail)| head == "snap" && tail == name),
        _ => {
            atom(name).is_some()
                || OPERATORS.contains(&name)
                || VALUES.contains(&name)
                || facts.any(|(head, _)| head == name)
        }
    }
}

/// Returns all lints as written in expressions.
pub(super) fn lints() -> Vec<String> {
    Lint::ALL.iter().map(|code| written(*code)).collect()
}

fn written(code: Lint) -> String {
    code.name().replace('-', "_")
}

/// Appends words in lines of at most [`WIDTH`] columns, unless a single word is longer.
fn append(words: &[String], page: &mut String) {
    let options = at_spaces(WIDTH).initial_indent("  ").subsequent_indent("  ");
    page.push_str(&textwrap::fill(&words.join("  "), options));
    page.push('\n');
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests choose the built-in definitions")]
mod tests {
    use super::*;
    use crate::check::cond::check;
    use crate::diagnostic::Severity as Level;
    use crate::syntax::parse;
    use teetap_wire::def::Registry;

    #[test]
    fn every_line_is_short_and_every_lint_is_taken() {
        let page = vocabulary();
        assert!(page.lines().all(|line| line.chars().count() < 110), "{page}");
        for lint in lints() {
            assert!(page.contains(&lint));
            assert!(crate::Filter::parse(&format!("lint.{lint}"), Registry::builtin()).is_ok());
        }
    }

    /// Returns the meaning of an expression as a comparable text; `None` if it has an error.
    fn meaning(text: &str, registry: &Registry) -> Option<String> {
        let (program, diagnostics) = check(&parse(text).ok()?, registry, None);
        let is_wrong = diagnostics.iter().any(|found| found.severity() == Level::Error);
        (!is_wrong).then(|| format!("{program:?}"))
    }

    #[test]
    fn only_names_that_are_words_have_another_meaning() {
        let words = ATOMS.iter().map(|(word, _)| *word).chain(OPERATORS);
        let words = words.chain(VALUES).chain(["pkt", "sess", "snap"]);
        let others = FUNCTIONS.iter().filter_map(|(name, _)| name.split('(').next());
        let others = others.chain(["mine", "ctrl_", "tick", "when", "max"]);
        let words: Vec<(&str, bool)> = words
            .map(|word| (word, true))
            .chain(others.map(|word| (word, false)))
            .collect();
        for (word, wanted) in words {
            let text = format!("for 0.6 ddnet 0.7\ngame 900 {word} s2c vital\n  x  int\n");
            let registry = Registry::with("own.tw", &text).unwrap();
            let bare = meaning(word, &registry);
            // With its class a name is always unambiguous.
            let whole = meaning(&format!("game.{word}"), &registry);
            assert!(whole.is_some(), "{word}");
            assert_eq!(bare != whole, wanted, "{word}");
            assert_eq!(is_word(Class::Game, word), wanted, "{word}");
        }
    }

    #[test]
    fn an_object_is_not_called_as_a_fact_of_the_snapshot() {
        for (name, wanted) in [("tick", true), ("crc_ok", true), ("lint", false), ("seq", false)] {
            let text = format!("for 0.6 ddnet 0.7\nobject 900 {name}\n  x  int\n");
            let registry = Registry::with("own.tw", &text).unwrap();
            let found = meaning(&format!("snap.{name}[1].x == 1"), &registry).is_some();
            assert_eq!((is_word(Class::Object, name), !found), (wanted, wanted), "{name}");
        }
    }

    #[test]
    fn classes_of_prefixes() {
        assert_eq!(class_of("snap"), Some(Class::Object));
        assert_eq!(class_of("ctrl"), Some(Class::Control));
        assert_eq!(class_of("sv_chat"), None);
    }
}
