//! Names and numbers.

use crate::def::error::Errors;
use crate::def::lex::Word;
use crate::def::mark::Mark;
use crate::def::mark::Name;

/// The maximum length of a name in bytes.
const MAX_NAME: usize = 64;

/// Reads a name in snake case.
pub(super) fn name(word: Word<'_>, errors: &mut Errors) -> Option<Name> {
    let text = word.text;
    let good = text.len() <= MAX_NAME
        && text.starts_with(|c: char| c.is_ascii_lowercase())
        && text
            .bytes()
            .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_');
    if !good {
        let help = Some("a name is lower case letters, digits and `_`".to_owned());
        errors.push(word.mark, format!("invalid name `{}`", shortened(text)), help);
        return None;
    }
    Some(Name {
        text: text.into(),
        mark: word.mark,
    })
}

/// Reads a decimal or `0x` number from `min` to `max`.
pub(super) fn number(word: Word<'_>, min: i64, max: i64, errors: &mut Errors) -> Option<i64> {
    let value = plain_number(word.text);
    if value.is_none() {
        errors.push(
            word.mark,
            format!("expected a number, found `{}`", shortened(word.text)),
            None,
        );
    }
    let within = value.filter(|value| (min..=max).contains(value));
    if value.is_some() && within.is_none() {
        errors.push(word.mark, format!("expected {min} to {max}"), None);
    }
    within
}

/// Reads a number of any size. `None` if it is not a number.
pub(in crate::def) fn plain_number(text: &str) -> Option<i64> {
    match text.strip_prefix("0x") {
        Some(hex) if !hex.starts_with('+') => i64::from_str_radix(hex, 16).ok(),
        Some(_) => None,
        None if text.starts_with('+') => None,
        None => text.parse().ok(),
    }
}

/// Returns the part of a text that an error shows.
pub(super) fn shortened(text: &str) -> String {
    match text.char_indices().nth(MAX_NAME) {
        Some((at, _)) => format!("{}...", text.get(..at).unwrap_or_default()),
        None => text.to_owned(),
    }
}

pub(super) fn at(mark: Mark, text: &str) -> Name {
    Name {
        text: text.into(),
        mark,
    }
}
