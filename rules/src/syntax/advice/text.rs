//! Words around messages and conditions, and texts without them.

use crate::syntax::lex::{Input, rest, word_char};

/// Maximum number of words that are tried as the end of an action or a condition.
const MAX_WORDS: usize = 24;
/// Words that begin a condition in other languages.
pub(super) const CONDITIONS: [&str; 8] = ["if", "when", "whenever", "on", "where", "for", "while", "upon"];
/// Words that mean nothing before a condition or a modifier.
pub(super) const FILLERS: [&str; 23] = [
    "all", "every", "each", "any", "only", "of", "the", "with", "a", "an", "it", "its", "them", "at", "by",
    "message", "messages", "some", "times", "time", "packets", "copies", "is",
];
/// Functions that take a message in brackets.
pub(super) const FUNCTIONS: [&str; 8] = ["seen", "count", "since", "last", "len", "any", "all", "has"];

/// Returns the rest of the text on one line.
pub(in crate::syntax) fn line(i: &Input<'_>) -> String {
    rest(i)
        .lines()
        .map(str::trim)
        .collect::<Vec<_>>()
        .join(" ")
        .trim()
        .to_owned()
}

/// Returns the first word of a text, and the text after it.
pub(in crate::syntax) fn split_word(text: &str) -> (&str, &str) {
    let text = text.trim_start();
    let end = text.find(|c: char| !word_char(c)).unwrap_or(text.len());
    let (word, rest) = text.split_at_checked(end).unwrap_or((text, ""));
    (word, rest.trim_start())
}

/// Returns each way to split a text before a word, at most [`MAX_WORDS`].
pub(super) fn splits(text: &str) -> impl DoubleEndedIterator<Item = (&str, &str)> {
    let starts = text.match_indices(' ').take(MAX_WORDS).collect::<Vec<_>>();
    starts.into_iter().filter_map(|(at, _)| {
        let (before, after) = text.split_at_checked(at)?;
        Some((before.trim(), after.trim()))
    })
}

/// Returns the direction that two words such as `from client` mean.
pub(in crate::syntax) fn direction(text: &str) -> Option<&'static str> {
    let (first, more) = split_word(text);
    let more = match split_word(more) {
        ("the", more) => more,
        _ => more,
    };
    match (first, split_word(more).0) {
        ("from" | "by", "client") | ("to", "server") => Some("c2s"),
        ("from" | "by", "server") | ("to", "client") => Some("s2c"),
        _ => None,
    }
}

/// Returns the text without fillers at its start, and with `c2s` or `s2c` in place of `from client`.
pub(in crate::syntax) fn bare(text: &str) -> String {
    let mut text = text.trim();
    loop {
        if let Some(dir) = direction(text) {
            let (_, more) = split_word(text);
            let (_, more) = split_word(more.strip_prefix("the ").unwrap_or(more));
            return format!("{dir} {more}");
        }
        let (word, more) = split_word(text);
        let is_filler =
            FILLERS.contains(&word) || CONDITIONS.iter().any(|known| known.eq_ignore_ascii_case(word));
        if !is_filler || more.is_empty() {
            return text.to_owned();
        }
        text = more;
    }
}

/// Returns the percentage at the start of a text, and the text after it.
pub(in crate::syntax) fn share_first(text: &str) -> (Option<&str>, &str) {
    let end = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text.len());
    match text.split_at_checked(end) {
        Some((number, after)) if !number.is_empty() && after.starts_with('%') => {
            (text.get(..=end), after.get(1..).unwrap_or_default().trim())
        }
        _ => (None, text),
    }
}
