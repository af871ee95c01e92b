//! Names that the language gives a meaning of its own.

use teetap_wire::def::Class;

use super::{fact, name};
use crate::syntax::OPERATORS;

/// Values that are one word: matches so far, and the time in the session.
pub(super) const VALUES: [&str; 2] = ["n", "t"];

/// What the word before the dot says about a name: `sys` of `sys.snap`, `snap` of `snap.character`.
#[must_use]
pub fn class_of(prefix: &str) -> Option<Class> {
    match prefix {
        "snap" => Some(Class::Object),
        _ => name::class(prefix),
    }
}

/// Whether an expression would take the name of a message, or the name of an object behind `snap.`, for something else.
#[must_use]
pub fn is_word(class: Class, name: &str) -> bool {
    let facts = fact::names();
    let mut facts = facts.iter().filter_map(|fact| fact.split_once('.'));
    match class {
        Class::Object => facts.any(|(head, tail)| head == "snap" && tail == name),
        _ => {
            super::atom(name).is_some()
                || OPERATORS.contains(&name)
                || VALUES.contains(&name)
                || facts.any(|(head, _)| head == name)
        }
    }
}

#[cfg(test)]
mod tests {
    use teetap_wire::def::Registry;

    use super::*;
    use crate::check::call::FUNCTIONS;
    use crate::check::{ATOMS, check};
    use crate::diagnostic::Severity;
    use crate::syntax::parse;

    /// What an expression means.
    fn meaning(text: &str, registry: &Registry) -> Option<String> {
        let (program, diagnostics) = check(&parse(text).ok()?, registry);
        let is_wrong = diagnostics.iter().any(|said| said.severity() == Severity::Error);
        (!is_wrong).then(|| format!("{program:?}"))
    }

    #[test]
    fn a_name_that_is_no_word_means_its_message_and_every_word_means_something_else() {
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
            // What the class in front of it makes clear in any case.
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
