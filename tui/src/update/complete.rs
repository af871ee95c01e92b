//! Completion of filters and rules: what contains the typed letters, in the order of the traffic.

use std::{cmp::Reverse, collections::BTreeMap};

use teetap_rules::completions;
use teetap_wire::def::{Class, Dialect, Field, Registry};

use super::send;
use crate::app::{
    App,
    prompt::{Candidates, Purpose},
};

/// Entered lines that are offered in an empty prompt.
const RECENT: usize = 3;

/// Operators for numbers and texts, with what they do.
const COMPARISONS: [(&str, &str, Kinds); 9] = [
    ("==", "is equal to", Kinds::All),
    ("!=", "is not equal to", Kinds::All),
    ("contains", "has this part", Kinds::Text),
    ("matches", "matches /an expression/", Kinds::Text),
    (">", "is greater than", Kinds::Number),
    (">=", "is at least", Kinds::Number),
    ("<", "is less than", Kinds::Number),
    ("<=", "is at most", Kinds::Number),
    ("in", "is in a range: 1..5", Kinds::Number),
];

/// Kinds of fields that an operator compares.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kinds {
    All,
    Text,
    Number,
}

/// Returns the words that can complete a filter or a rule before the cursor.
pub(super) fn candidates(app: &App, purpose: &Purpose, before: &str) -> Candidates {
    if before.trim().is_empty() {
        return examples(app, purpose);
    }
    let is_rule = matches!(purpose, Purpose::Rule(_));
    let registry = app.registry;
    let is_part = |char: char| char.is_ascii_alphanumeric() || matches!(char, '_' | '.');
    let head = before.trim_end_matches(is_part);
    let word = before.get(head.len()..).unwrap_or_default();
    if head.matches('"').count() % 2 == 1 {
        return Candidates::default();
    }
    let len = word.len();
    if let Some(values) = values(head, registry) {
        let values = values.into_iter().filter(|(value, _)| contains(value, word));
        return Candidates {
            len,
            words: values.collect(),
        };
    }
    if word.is_empty() {
        return Candidates {
            len,
            words: after(head, registry),
        };
    }
    Candidates {
        len,
        words: words(app, word, is_rule),
    }
}

/// Returns the words that contain the typed one: messages in the order of the traffic, those that it does not have last.
fn words(app: &App, word: &str, is_rule: bool) -> Vec<(String, String)> {
    let stem = word.rsplit_once('.').map_or("", |(head, _)| head);
    let stem = match stem {
        "" if !word.contains('.') => String::new(),
        stem => format!("{stem}."),
    };
    let (_, all) = completions(&stem, is_rule, app.registry);
    let typed = word.get(stem.len()..).unwrap_or_default().to_lowercase();
    let rest = |name: &str| name.get(stem.len()..).unwrap_or_default().to_lowercase();
    let counts = traffic(app);
    let mut found: Vec<(String, &str)> = all
        .into_iter()
        .filter(|(name, _)| name != word && rest(name).contains(&typed))
        .collect();
    let classes = [Class::Control, Class::System, Class::Game, Class::Connless].map(Class::name);
    found.sort_by_cached_key(|(name, what)| {
        let begins = rest(name).starts_with(&typed);
        // Words of the language that begin with the letters are as likely as any message.
        let count = match counts.get(name.as_str()) {
            Some(count) => *count,
            None if begins && !classes.contains(what) => u64::MAX,
            None => 0,
        };
        (Reverse(count), !begins, name.clone())
    });
    let explained = found.into_iter().map(|(name, what)| {
        let seen = counts.get(name.as_str());
        let what = seen.map_or_else(|| what.to_owned(), |count| format!("{what}, {count} seen"));
        (name, what)
    });
    explained.collect()
}

/// Returns the number of messages by name.
fn traffic(app: &App) -> BTreeMap<&str, u64> {
    let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
    for (_, name, count) in app.sessions.follow.total().messages() {
        *counts.entry(name).or_default() += count.messages;
    }
    counts
}

/// Returns lines to begin with: one like the selected row, lines entered before, and the names in the traffic.
fn examples(app: &App, purpose: &Purpose) -> Candidates {
    let lead = match purpose {
        Purpose::Rule(_) => "drop when ",
        _ => "",
    };
    let mut words: Vec<(String, String)> = Vec::new();
    let mut add = |word: String, what: String| {
        if !words.iter().any(|(known, _)| *known == word) {
            words.push((word, what));
        }
    };
    if let Ok(condition) = send::condition(app) {
        add(format!("{lead}{condition}"), "like the selected row".to_owned());
    }
    let entered = app.dialog.histories.lines(purpose);
    for line in (0..RECENT).filter_map(|back| entered.get(back)) {
        add(line.to_owned(), "entered before".to_owned());
    }
    let chat = "sv_chat.message contains \"gg\"";
    add(format!("{lead}{chat}"), "an example with a field".to_owned());
    let counts = traffic(app);
    let mut counts: Vec<_> = counts.into_iter().collect();
    counts.sort_by_key(|(name, count)| (Reverse(*count), *name));
    for (name, count) in counts {
        add(format!("{lead}{name}"), format!("{count} seen"));
    }
    Candidates { len: 0, words }
}

fn contains(name: &str, word: &str) -> bool {
    name != word && name.to_lowercase().contains(&word.to_lowercase())
}

/// Returns the fields of messages that a path names, such as `sv_chat.team` or `.team`.
fn fields<'r>(path: &str, registry: &'r Registry) -> impl Iterator<Item = &'r Field> + use<'r> {
    let (head, name) = path.rsplit_once('.').unwrap_or((path, ""));
    let message = head.rsplit('.').next().unwrap_or_default().to_owned();
    let name = name.to_owned();
    Dialect::ALL
        .into_iter()
        .flat_map(|dialect| registry.defs(dialect))
        .filter(move |def| def.class != Class::Object && (*def.name == *message || message.is_empty()))
        .flat_map(|def| def.parts(None))
        .map(|(_, field)| field)
        .filter(move |field| *field.name == *name)
}

/// Returns the path at the end of a text, without the spaces after it.
fn path(text: &str) -> &str {
    let text = text.trim_end();
    let is_part = |char: char| char.is_ascii_alphanumeric() || matches!(char, '_' | '.');
    let head = text.trim_end_matches(is_part);
    text.get(head.len()..).unwrap_or_default()
}

/// Returns the names of the values of a field that is compared at the end of a text; `None` if none is compared there.
fn values(head: &str, registry: &Registry) -> Option<Vec<(String, String)>> {
    let text = head.trim_end();
    let before = ["==", "!=", " contains"]
        .into_iter()
        .find_map(|operator| text.strip_suffix(operator))?;
    let mut values = Vec::new();
    for label in fields(path(before), registry)
        .filter_map(Field::set)
        .flat_map(|set| &set.labels)
    {
        let value = (label.name.to_string(), format!("= {}", label.value));
        if !values.contains(&value) {
            values.push(value);
        }
    }
    Some(values)
}

/// Returns the words that can follow a complete condition or a path of a field.
fn after(head: &str, registry: &Registry) -> Vec<(String, String)> {
    let path = path(head);
    if path.contains('.') && head.ends_with(' ') {
        let (mut is_text, mut is_number) = (false, false);
        for field in fields(path, registry) {
            is_text |= field.is_text();
            is_number |= field.is_number();
        }
        let is_known = is_text || is_number;
        let fits = |kinds: Kinds| match kinds {
            Kinds::All => true,
            Kinds::Text => is_text || !is_known,
            Kinds::Number => is_number || !is_known,
        };
        let comparisons = COMPARISONS.iter().filter(|(.., kinds)| fits(*kinds));
        let words = comparisons.map(|(word, what, _)| ((*word).to_owned(), (*what).to_owned()));
        return words.collect();
    }
    let last = head.trim_end();
    let is_over = last.ends_with([')', '"', '/']) || !path.is_empty() && !is_operator(path);
    if !is_over || !head.ends_with(' ') {
        return Vec::new();
    }
    [("and", "both conditions"), ("or", "one of them")]
        .map(|(word, what)| (word.to_owned(), what.to_owned()))
        .into()
}

/// Returns true for a word that is followed by a condition or a value.
fn is_operator(word: &str) -> bool {
    matches!(
        word,
        "and" | "or" | "not" | "contains" | "matches" | "in" | "when" | "chance" | "every"
    )
}

#[cfg(test)]
mod tests {
    use teetap_rules::Filter;

    use super::*;
    use crate::tests::feed::recorded;

    fn found(before: &str) -> (usize, Vec<String>) {
        let app = recorded();
        let candidates = candidates(&app, &Purpose::Filter, before);
        let words = candidates.words.into_iter().map(|(word, _)| word);
        (candidates.len, words.collect())
    }

    #[test]
    fn what_contains_the_letters_is_offered_in_the_order_of_the_traffic() {
        for (before, len, first) in [
            ("chat", 4, &["sv_chat"][..]),
            ("s2c and CHAT", 4, &["sv_chat"]),
            ("inp", 3, &["input", "input_timing"]),
            ("sv_chat.mess", 12, &["sv_chat.message"]),
            ("sv_chat.essa", 12, &["sv_chat.message"]),
            ("sv_chat.message ", 0, &["==", "!=", "contains", "matches"]),
            ("sv_chat.client_id ", 0, &["==", "!=", ">", ">=", "<", "<=", "in"]),
            ("sv_emoticon.emoticon == hea", 3, &["hearts"]),
            ("sv_chat ", 0, &["and", "or"]),
            ("sv_chat and ", 0, &[]),
            ("sv_chat.message contains \"sv_", 3, &[]),
        ] {
            let (found_len, words) = found(before);
            assert!(
                words.starts_with(&first.iter().map(ToString::to_string).collect::<Vec<_>>()),
                "{before}: {words:?}"
            );
            assert!(!first.is_empty() || words.is_empty(), "{before}: {words:?}");
            assert!(words.is_empty() || found_len == len, "{before}");
        }
    }

    #[test]
    fn an_empty_prompt_offers_valid_lines() {
        let app = recorded();
        for purpose in [Purpose::Filter, Purpose::Rule(None)] {
            let candidates = candidates(&app, &purpose, "");
            assert!(candidates.words.len() > 8);
            for (word, _) in candidates.words {
                let filter = word.strip_prefix("drop when ").unwrap_or(&word);
                assert!(Filter::parse(filter, app.registry).is_ok(), "{word}");
            }
        }
    }
}
