//! Texts of other languages and of everyday English, turned into rules and filters that may be meant.
//!
//! Law: a text is only a proposal. The caller checks it with the names of messages before help shows it, so that a
//! proposal may be wrong, but not of another meaning.
//!
//! | module | part |
//! |---|---|
//! | `rule` | rules: calls, conditions before actions, SQL, `iptables`, parameters of `netem` |
//! | `change` | changes of fields, made messages, and texts with values |
//! | `filter` | filters: other search languages, times and amounts |

mod change;
mod filter;
mod rule;

use crate::synonym::{self, Place};
use crate::syntax::lex::word_char;
use crate::syntax::words::ACTIONS;

pub(crate) use filter::filters;
pub(crate) use rule::rules;

/// Returns the action that a word means: the action itself, a word of the table of synonyms, or a form of one of
/// these, such as `dropping`.
fn action_of(word: &str) -> Option<&'static str> {
    let lower = word.trim_end_matches('!').to_lowercase();
    let known = |word: &str| {
        let exact = ACTIONS.into_iter().find(|action| *action == word);
        exact.or_else(|| {
            let row = synonym::typed(Place::Action, word)?.split('`').nth(1)?;
            let row = row.split(' ').next()?;
            ACTIONS.into_iter().find(|action| *action == row)
        })
    };
    known(&lower).or_else(|| {
        let stem = ["ing", "ed", "ge", "es", "en", "s", "d"]
            .iter()
            .find_map(|end| lower.strip_suffix(end))?;
        let short = stem.get(..stem.len().checked_sub(1)?).unwrap_or(stem);
        known(stem)
            .or_else(|| known(short))
            .or_else(|| known(&format!("{stem}e")))
    })
}

/// Returns the first word of a text and the text after it. A word ends before a blank or a bracket.
fn first_word(text: &str) -> (&str, &str) {
    let text = text.trim();
    let end = text.find([' ', '\t', '(', '{']).unwrap_or(text.len());
    let (word, more) = text.split_at_checked(end).unwrap_or((text, ""));
    (word, more.trim())
}

/// Returns the name of a message for a word, by the table of synonyms; `None` if the word is no such name.
fn message_of(word: &str) -> Option<&str> {
    let is_message = |word: &str| word.starts_with("sv_") || word.starts_with("cl_");
    if is_message(word) {
        return Some(word);
    }
    let typed = synonym::typed(Place::Condition, word)?.split('`').nth(1)?;
    is_message(typed).then_some(typed)
}

/// Returns the direction in which the games send a message.
fn dir_of(name: &str) -> &'static str {
    match name.starts_with("cl_") {
        true => "c2s",
        false => "s2c",
    }
}

/// Returns true for words that mean every message.
fn is_everything(text: &str) -> bool {
    matches!(
        text.trim(),
        "all" | "everything" | "anything" | "*" | "any" | "alles" | "every message"
    )
}

/// Returns true if the text is a name, without blanks and signs.
fn is_name(text: &str) -> bool {
    !text.is_empty() && text.chars().all(word_char) && !text.starts_with(|c: char| c.is_ascii_digit())
}

/// Returns the texts in quotes.
fn quoted(text: &str) -> Vec<&str> {
    let mut texts = Vec::new();
    let mut rest = text;
    while let Some(start) = rest.find(['"', '\'']) {
        let quote = if rest.get(start..).is_some_and(|at| at.starts_with('"')) {
            '"'
        } else {
            '\''
        };
        let inner = rest.get(start + 1..).unwrap_or_default();
        let Some(end) = inner.find(quote) else { break };
        texts.push(inner.get(..end).unwrap_or_default());
        rest = inner.get(end + 1..).unwrap_or_default();
    }
    texts
}

/// Returns a text as a literal, in double quotes.
fn literal(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

/// Returns a condition without what other languages put around it: brackets, braces, `end`, and quotes around a name.
fn condition(text: &str) -> String {
    let mut text = text.trim().trim_end_matches([';', '{', '}', ':', ',', ' ']);
    text = text.strip_suffix(" end").unwrap_or(text).trim();
    if text.matches('(').count() > text.matches(')').count() {
        text = text.trim_start_matches('(').trim();
    } else if text.matches('(').count() < text.matches(')').count() {
        text = text.trim_end_matches(')').trim();
    }
    let inner = text.strip_prefix('(').and_then(|text| text.strip_suffix(')'));
    text = inner
        .filter(|inner| !inner.contains(['(', ')']))
        .unwrap_or(text)
        .trim();
    let bare = text.trim_matches(['"', '\'']);
    if is_name(bare) { bare } else { text }.to_owned()
}

/// Returns a number with its unit, joined: `5 seconds` and `100 ms` are `5s` and `100ms`, a number alone has `unit`. Also
/// returns the number of words used.
fn time(words: &[&str], unit: &str) -> Option<(String, usize)> {
    let first = words.first()?;
    let end = first
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(first.len());
    let (number, own) = first.split_at_checked(end)?;
    number.parse::<f64>().ok()?;
    let (named, used) = match (own, words.get(1)) {
        ("", Some(next)) if unit_of(next).is_some() => (unit_of(next), 2),
        ("", _) => (Some(unit), 1),
        (own, _) => (unit_of(own), 1),
    };
    Some((format!("{number}{}", named?), used))
}

/// Returns the unit of time that a word means.
fn unit_of(word: &str) -> Option<&'static str> {
    Some(match word.trim_end_matches([',', ';', ')']) {
        "ms" | "msec" | "msecs" | "millis" | "millisecond" | "milliseconds" => "ms",
        "s" | "sec" | "secs" | "second" | "seconds" | "sekunden" => "s",
        "us" | "usec" | "microseconds" => "us",
        "min" | "mins" | "minute" | "minutes" => "min",
        _ => return None,
    })
}
