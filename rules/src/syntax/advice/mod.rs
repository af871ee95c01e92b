//! Corrections of texts with an error: what to type instead.
//!
//! Law: a correction parses. Names are checked only later, so a correction keeps the names of the text. No correction
//! is searched for while another one is tried.

pub(super) mod action;
pub(crate) mod idiom;
mod joined;
pub(super) mod rule;
mod sentence;
mod text;

use teetap_wire::{is_deceptive, is_invisible};

use super::ast::{Expr, Kind};
use super::lex::Input;
use super::words::{ACTIONS, LINK_WORDS, MODIFIERS};
use crate::synonym;

pub(super) use joined::joined;
pub(super) use sentence::fraction;
pub(super) use text::{bare, direction, line, share_first, split_word};

/// Maximum length of a correction in characters.
const MAX_SHOWN: usize = 200;

/// Returns the first of the texts that is a valid statement, as help.
pub(super) fn first_statement(i: &Input<'_>, texts: impl IntoIterator<Item = String>) -> Option<String> {
    first(i.state.trials.statement, texts)
}

/// Returns the first of the texts that is a valid expression, as help.
pub(super) fn first_expression(i: &Input<'_>, texts: impl IntoIterator<Item = String>) -> Option<String> {
    first(i.state.trials.expression, texts)
}

/// Returns true if an expression may be a condition: none of its parts is a number, a word of the language that is no
/// condition, or a word that has something else to type.
pub(super) fn is_condition(expr: &Expr) -> bool {
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
        || text::CONDITIONS.contains(&word)
        || word != "close" && ACTIONS.contains(&word)
        || synonym::is_known(word)
}

fn first(is_valid: Option<fn(&str) -> bool>, texts: impl IntoIterator<Item = String>) -> Option<String> {
    let is_valid = is_valid?;
    let texts = texts.into_iter().map(|text| text.trim().to_owned());
    let mut valid = texts.filter(|text| is_quotable(text) && is_valid(text));
    valid.next().map(|text| format!("write `{text}`"))
}

/// Returns true if help can quote a text: it is short and has no backquote, comment or hidden character.
pub(crate) fn is_quotable(text: &str) -> bool {
    let is_hidden = |c: char| c.is_control() || is_deceptive(c) || is_invisible(c);
    text.chars().count() <= MAX_SHOWN && !text.contains(['`', '#']) && !text.contains(is_hidden)
}

/// Returns true if a text begins as a rule or a link line.
pub(crate) fn names_an_action(text: &str) -> bool {
    let word = split_word(text).0;
    ACTIONS.contains(&word) || word == "link"
}
