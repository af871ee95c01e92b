//! Completions for the text being typed.
//!
//! Law: every list is made from the table that the checker uses.

use std::collections::BTreeMap;

use teetap_wire::def::{Class, Dialect, Registry};

use super::call::FUNCTIONS;
use super::fact;
use super::vocabulary::{class_of, lints};
use super::words::{ATOMS, VALUES, is_for_filters};
use crate::syntax::{ACTIONS, MODIFIERS, OPERATORS};

/// A word with a short explanation.
pub type Completion = (String, &'static str);

/// Returns the words that can complete the end of a text, and the number of bytes at its end that they replace. `rule`
/// is true for the text of a rule, which also has actions and modifiers.
#[must_use]
pub fn completions(text: &str, rule: bool, registry: &Registry) -> (usize, Vec<Completion>) {
    let is_part = |char: char| char.is_ascii_alphanumeric() || matches!(char, '_' | '.');
    let start = text
        .char_indices()
        .rev()
        .take_while(|(_, char)| is_part(*char))
        .last();
    let word = start.map_or("", |(at, _)| text.get(at..).unwrap_or_default());
    let mut found: BTreeMap<String, &'static str> = BTreeMap::new();
    let mut add = |name: String, what: &'static str| {
        if name.starts_with(word) && name != word {
            found.entry(name).or_insert(what);
        }
    };
    match word.rsplit_once('.') {
        Some(("lint", _)) => lints()
            .into_iter()
            .for_each(|lint| add(format!("lint.{lint}"), "note")),
        Some((head, _)) if rule && is_for_filters(head) => {}
        Some((head, _)) => members(head, registry, &mut add),
        None => {
            for name in OPERATORS {
                add(name.to_owned(), "operator");
            }
            let is_known = |name: &str| !rule || !is_for_filters(name);
            ATOMS
                .iter()
                .filter(|(name, _)| is_known(name))
                .for_each(|(name, _)| add((*name).to_owned(), "condition"));
            let values = VALUES.iter().filter(|name| is_known(name));
            values.for_each(|name| add((*name).to_owned(), "value"));
            FUNCTIONS
                .iter()
                .for_each(|(name, form)| add(format!("{name}("), form));
            if rule {
                ACTIONS.iter().for_each(|name| add((*name).to_owned(), "action"));
                let modifiers = MODIFIERS.iter().chain(&["when"]);
                modifiers.for_each(|name| add((*name).to_owned(), "modifier"));
            }
            messages(registry, |class, name| add(name.to_owned(), class.name()));
            fact::names()
                .into_iter()
                .filter(|name| is_known(name))
                .for_each(|name| add(name.to_owned(), "fact"));
        }
    }
    (word.len(), found.into_iter().collect())
}

/// Returns true if a statement can begin with a word.
#[must_use]
pub fn is_rule_word(word: &str) -> bool {
    ACTIONS.contains(&word) || ["link", "let", "use", "seed", "profile"].contains(&word)
}

/// Adds the words that can follow a name and a dot.
fn members(head: &str, registry: &Registry, add: &mut impl FnMut(String, &'static str)) {
    fact::names()
        .into_iter()
        .filter(|name| name.strip_prefix(head).is_some_and(|rest| rest.starts_with('.')))
        .for_each(|name| add(name.to_owned(), "fact"));
    if let Some(class) = class_of(head) {
        for def in all(registry).filter(|def| def.class == class) {
            add(format!("{head}.{}", def.name), class.name());
        }
    }
    for def in
        all(registry).filter(|def| def.class != Class::Object && (*def.name == *head || head.is_empty()))
    {
        for (_, field) in def.parts(None) {
            add(format!("{head}.{}", field.name), "field");
        }
    }
}

fn messages(registry: &Registry, mut each: impl FnMut(Class, &str)) {
    let defs = all(registry).filter(|def| def.class != Class::Object);
    defs.for_each(|def| each(def.class, &def.name));
}

fn all(registry: &Registry) -> impl Iterator<Item = &teetap_wire::def::Def> {
    Dialect::ALL
        .into_iter()
        .flat_map(|dialect| registry.defs(dialect))
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests choose the built-in definitions")]
mod tests {
    use super::*;

    fn words(text: &str, rule: bool) -> (usize, Vec<String>) {
        let (len, found) = completions(text, rule, Registry::builtin());
        (len, found.into_iter().map(|(word, _)| word).collect())
    }

    #[test]
    fn words_names_fields_and_facts_complete_what_is_typed() {
        for (text, rule, len, word) in [
            ("s2c and sv_ch", false, 5, "sv_chat"),
            ("sv_chat.mes", false, 11, "sv_chat.message"),
            ("not .mes", false, 4, ".message"),
            ("lint.wrong_t", false, 12, "lint.wrong_token"),
            ("sess.r", false, 6, "sess.rtt"),
            ("snap.char", false, 9, "snap.character"),
            ("sys.con_r", false, 9, "sys.con_ready"),
            ("cou", false, 3, "count("),
            ("dro", true, 3, "drop"),
            ("drop whe", true, 3, "when"),
        ] {
            let (found, list) = words(text, rule);
            assert!(
                found == len && list.contains(&word.to_owned()),
                "{text}: {list:?}"
            );
        }
        let (_, list) = words("dro", false);
        assert!(!list.contains(&"drop".to_owned()));
        // Rules know neither the number of a datagram nor what is done to a message.
        for (text, word) in [
            ("c2s and fra", "frame"),
            ("touc", "touched"),
            ("acti", "action"),
            ("orig", "origin"),
            ("link.del", "link.delay"),
            ("link.l", "link.lost"),
        ] {
            assert!(words(text, false).1.contains(&word.to_owned()), "{text}");
            let is_known = words(text, true).1.contains(&word.to_owned());
            assert!(!is_known, "{text}");
        }
        assert_eq!(words("sv_chat.message == \"é", false).0, 0);
        assert!(words("", true).1.len() > 100);
    }
}
