//! Corrections of texts with an error: what to type instead.
//!
//! Law: a correction parses. Names are checked only later, so a correction keeps the names of the text. No correction
//! is searched for while another one is tried.

mod joined;
mod rule;

use teetap_wire::{is_deceptive, is_invisible};
use winnow::stream::{LocatingSlice, Stateful};

use super::action::action_words;
use super::ast::{Expr, Kind};
use super::error::MODIFIERS;
use super::lex::{Counts, Input, rest, word_char};
use super::link::LINK_WORDS;
use super::parse::expression;
use super::statement::{Statement, statement};
use crate::synonym;

pub(super) use joined::joined;
pub(super) use rule::{actions_behind, no_action, no_condition, wanted_time, written};

/// Maximum length of a correction in characters.
const MAX_SHOWN: usize = 200;
/// Maximum number of words that are tried as the end of an action or a condition.
const MAX_WORDS: usize = 24;
/// Words that begin a condition in other languages.
const CONDITIONS: [&str; 8] = ["if", "when", "whenever", "on", "where", "for", "while", "upon"];
/// Words that mean nothing before a condition or a modifier.
const FILLERS: [&str; 23] = [
    "all", "every", "each", "any", "only", "of", "the", "with", "a", "an", "it", "its", "them", "at", "by",
    "message", "messages", "some", "times", "time", "packets", "copies", "is",
];
/// Functions that take a message in brackets.
const FUNCTIONS: [&str; 8] = ["seen", "count", "since", "last", "len", "any", "all", "has"];

/// Returns the first of the texts that is a valid statement, as help.
pub(super) fn first_statement(i: &Input<'_>, texts: impl IntoIterator<Item = String>) -> Option<String> {
    first(i, texts, |i| {
        let is_meant = match statement(i) {
            Ok(Statement::Rule(rule)) => rule.when.as_ref().is_none_or(is_condition),
            Ok(_) => true,
            Err(_) => false,
        };
        is_meant && rest(i).trim().is_empty() && i.state.errors.is_empty()
    })
}

/// Returns the first of the texts that is a valid expression, as help.
pub(super) fn first_expression(i: &Input<'_>, texts: impl IntoIterator<Item = String>) -> Option<String> {
    first(i, texts, is_expression)
}

fn is_expression(i: &mut Input<'_>) -> bool {
    expression(i).is_ok_and(|expr| is_condition(&expr)) && rest(i).trim().is_empty()
}

/// Returns true if an expression may be a condition: none of its parts is a number, a word of the language that is no
/// condition, or a word that has something else to type.
fn is_condition(expr: &Expr) -> bool {
    match &expr.kind {
        Kind::Any(parts) | Kind::All(parts) => parts.iter().all(is_condition),
        Kind::Not(inner) => is_condition(inner),
        Kind::Number(_) | Kind::Arith(..) | Kind::Negate(_) => false,
        Kind::Path(path) if path.segments.len() == 1 && !path.dot => {
            let word = expr.to_string().to_ascii_lowercase();
            !is_other_word(&word)
        }
        _ => true,
    }
}

/// Returns true for a word that is no condition.
fn is_other_word(word: &str) -> bool {
    const WORDS: [&str; 19] = [
        "when",
        "then",
        "yes",
        "n",
        "t",
        "leg",
        "frame",
        "pkt",
        "sess",
        "seen",
        "since",
        "last",
        "len",
        "has",
        "times",
        "false",
        "unordered",
        "no",
        "do",
    ];
    WORDS.contains(&word)
        || MODIFIERS.contains(&word)
        || LINK_WORDS.contains(&word)
        || CONDITIONS.contains(&word)
        || word != "close" && action_words().contains(&word)
        || synonym::is_known(word)
}

fn first(
    i: &Input<'_>,
    texts: impl IntoIterator<Item = String>,
    is_valid: impl Fn(&mut Input<'_>) -> bool,
) -> Option<String> {
    if i.state.advises {
        return None;
    }
    let texts = texts.into_iter().map(|text| text.trim().to_owned());
    let mut valid = texts.filter(|text| is_shown(text) && is_valid(&mut trial(text)));
    valid.next().map(|text| format!("write `{text}`"))
}

/// Returns the input for a text that is tried.
fn trial(text: &str) -> Input<'_> {
    Stateful {
        input: LocatingSlice::new(text),
        state: Counts {
            advises: true,
            ..Counts::default()
        },
    }
}

/// Returns true if a text can be shown on a line as it is.
fn is_shown(text: &str) -> bool {
    let is_hidden = |c: char| c.is_control() || is_deceptive(c) || is_invisible(c);
    text.chars().count() <= MAX_SHOWN && !text.contains(['`', '#']) && !text.contains(is_hidden)
}

/// Returns the rest of the text on one line.
pub(super) fn line(i: &Input<'_>) -> String {
    rest(i)
        .lines()
        .map(str::trim)
        .collect::<Vec<_>>()
        .join(" ")
        .trim()
        .to_owned()
}

/// Returns the first word of a text, and the text after it.
pub(super) fn split_word(text: &str) -> (&str, &str) {
    let text = text.trim_start();
    let end = text.find(|c: char| !word_char(c)).unwrap_or(text.len());
    let (word, rest) = text.split_at_checked(end).unwrap_or((text, ""));
    (word, rest.trim_start())
}

/// Returns each way to split a text before a word, at most [`MAX_WORDS`].
fn splits(text: &str) -> impl DoubleEndedIterator<Item = (&str, &str)> {
    let starts = text.match_indices(' ').take(MAX_WORDS).collect::<Vec<_>>();
    starts.into_iter().filter_map(|(at, _)| {
        let (before, after) = text.split_at_checked(at)?;
        Some((before.trim(), after.trim()))
    })
}

/// Returns the direction that two words such as `from client` mean.
pub(super) fn direction(text: &str) -> Option<&'static str> {
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
pub(super) fn bare(text: &str) -> String {
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
