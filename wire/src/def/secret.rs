//! The parts of messages that must not be shown.
//!
//! Law: only this module decides which bytes are secret. All code that shows, records or scrubs bytes uses it.

use std::ops::Range;

use super::model::{Def, Field, Secrecy, Words};
use super::record::{Record, Records, Source, Value};

/// The text shown in place of a secret.
pub const HIDDEN: &str = "•••";

/// The handling of secrets in output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Secrets {
    /// Show dots in their place.
    #[default]
    Hide,
    /// Show them as they are.
    Show,
}

impl Records<'_> {
    /// Returns the bytes (of an object: ints) of a record that hold a secret. For text the NUL is not counted, and
    /// bytes before and after the secret may be shown.
    #[must_use]
    pub fn secret(self, def: &Def, record: &Record, source: Source<'_>) -> Option<Range<usize>> {
        let mut field = def.field(record.field)?;
        let (start, mut end) = (record.at as usize, (record.at + record.len) as usize);
        if let (Value::Text(len), Source::Bytes(_), false) = (record.value, source, packed(field)) {
            end = start + len as usize;
        }
        let hidden = match self.hidden(def, field, record, source) {
            Some(hidden) => Some(hidden),
            // The record is a part of a secret group.
            None => loop {
                let Some(parent) = field.place.parent.and_then(|parent| def.field(parent)) else {
                    break None;
                };
                field = parent;
                if field.secrecy == Secrecy::Secret {
                    break Some(0..usize::MAX);
                }
            },
        };
        // Empty values are not secrets.
        hidden
            .map(|hidden| start + hidden.start..start.saturating_add(hidden.end).min(end))
            .filter(|secret| !secret.is_empty())
    }

    /// Returns the bytes of a field that must be hidden, counted from its start; `None` if the field holds no secret.
    /// The end may lie beyond the field.
    fn hidden(self, def: &Def, field: &Field, record: &Record, source: Source<'_>) -> Option<Range<usize>> {
        let rest = |start| start..usize::MAX;
        // The parts of groups and lists are checked on their own.
        let leaf = !matches!(record.value, Value::Group | Value::List(_));
        match &field.secrecy {
            Secrecy::Secret => Some(rest(0)),
            Secrecy::After(words) if leaf => after(words, &def.bytes(record, source)),
            Secrecy::Command(words) if leaf => command(words, &def.bytes(record, source)).map(rest),
            Secrecy::With(other, words) => {
                let other = self.all().iter().find(|record| record.field == *other)?;
                let text = def.bytes(other, source);
                let name = text.get(blanks(&text)..)?.trim_ascii_end();
                let listed = words
                    .words
                    .iter()
                    .any(|word| word.as_bytes().eq_ignore_ascii_case(name));
                listed.then(|| rest(0))
            }
            _ => None,
        }
    }
}

const fn packed(field: &Field) -> bool {
    matches!(field.ty, super::model::Type::Packed(_))
}

/// Returns the part of the text that the words hide: from the end of the first word to the end of the text. A word
/// that ends with `=` hides only the value after it.
fn after(words: &Words, text: &[u8]) -> Option<Range<usize>> {
    let mut hidden: Option<Range<usize>> = None;
    for word in &words.words {
        let word = word.as_bytes();
        let places = text.windows(word.len()).enumerate();
        let places = places.filter(|(_, part)| part.eq_ignore_ascii_case(word));
        for (at, _) in places {
            let start = at + word.len();
            let end = if word.ends_with(b"=") {
                start + value(text.get(start..)?)
            } else {
                text.len()
            };
            let before = hidden.unwrap_or(start..end);
            hidden = Some(before.start.min(start)..before.end.max(end));
        }
    }
    hidden.filter(|hidden| !hidden.is_empty())
}

/// Returns the length of a value: up to the next space, or to the quote that ends it.
fn value(text: &[u8]) -> usize {
    match text.split_first() {
        Some((quote @ (b'\'' | b'"'), rest)) => {
            let end = rest.iter().position(|byte| byte == quote);
            end.map_or(text.len(), |end| end + 2)
        }
        _ => text.iter().position(|byte| *byte == b' ').unwrap_or(text.len()),
    }
}

/// Returns the offset after a secret chat command: `/word`, or a part of `/mc;word;word`, with which DDNet sends
/// several. `None` if there is none or nothing follows it.
fn command(words: &Words, text: &[u8]) -> Option<usize> {
    let start = blanks(text);
    let commands = text.get(start..)?.strip_prefix(b"/")?;
    let mut at = start + 1;
    for part in commands.split(|byte| *byte == b';') {
        let bare = part.get(blanks(part)..).unwrap_or_default();
        let bare = bare.strip_prefix(b"/").unwrap_or(bare);
        let first = valid(bare).split(is_blank).next().unwrap_or_default();
        if words.words.iter().any(|word| word.eq_ignore_ascii_case(first)) {
            let end = at + part.len() - bare.len() + first.len();
            return Some(end).filter(|end| *end < text.len());
        }
        at += part.len() + 1;
    }
    None
}

/// Returns the number of bytes of blanks before a text.
fn blanks(text: &[u8]) -> usize {
    let text = valid(text);
    text.len() - text.trim_start_matches(is_blank).len()
}

/// Returns true for characters that servers skip before a command: control characters, which become spaces, and
/// invisible characters (DDNet system.cpp, `str_utf8_isspace`).
fn is_blank(c: char) -> bool {
    let is_unseen = matches!(
        c,
        '\u{34f}'
            | '\u{115f}'..='\u{1160}'
            | '\u{180e}'
            | '\u{200b}'..='\u{200f}'
            | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{2800}'
            | '\u{3164}'
            | '\u{fe00}'..='\u{fe0f}'
            | '\u{feff}'
            | '\u{ffa0}'
            | '\u{fff9}'..='\u{fffc}'
    );
    is_unseen || c.is_control() || c.is_whitespace()
}

/// Returns the text up to the first byte that is not UTF-8.
fn valid(text: &[u8]) -> &str {
    text.utf8_chunks().next().map_or("", |chunk| chunk.valid())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(words: &[&str]) -> Words {
        Words {
            name: "test".into(),
            words: words.iter().map(|word| (*word).into()).collect(),
        }
    }

    #[test]
    fn what_follows_a_command_is_secret() {
        let words = words(&["timeout", "login"]);
        for (text, shown) in [
            ("/timeout abc", Some("/timeout")),
            ("  /TimeOut abc", Some("  /TimeOut")),
            ("/mc;timeout abc;kill", Some("/mc;timeout")),
            ("/mc; /login me pw", Some("/mc; /login")),
            ("/timeout", None),
            ("\u{1}/login pw", Some("\u{1}/login")),
            ("\u{b}/login pw", Some("\u{b}/login")),
            ("/login\u{1}pw", Some("/login")),
            ("/\u{1}login pw", Some("/\u{1}login")),
            ("\u{a0}\u{200b}/login pw", Some("\u{a0}\u{200b}/login")),
            ("/timeouts abc", None),
            ("timeout abc", None),
            ("/me says /timeout x", None),
            ("/", None),
            ("", None),
        ] {
            assert_eq!(command(&words, text.as_bytes()), shown.map(str::len), "{text}");
        }
        assert_eq!(command(&words, b"/login\xffpw"), Some(6));
        assert_eq!(command(&words, b"\xff/login pw"), None);
    }

    #[test]
    fn what_follows_a_word_is_secret() {
        let words = words(&["/load ", "password"]);
        for (text, shown) in [
            ("Use '/load abc' to go on", Some("Use '/load ")),
            ("sv_Password hunter2", Some("sv_Password")),
            ("no password", None),
            ("load", None),
        ] {
            let hidden = shown.map(|shown| shown.len()..text.len());
            assert_eq!(after(&words, text.as_bytes()), hidden, "{text}");
        }
    }

    #[test]
    fn of_a_value_only_the_value_is_secret() {
        let words = words(&["addr=", "rcon=", "password"]);
        for (text, hidden) in [
            ("id=0 addr=<{10.0.0.1:5}> name='me'", Some("<{10.0.0.1:5}>")),
            (
                "addr=10.0.0.1:5 id=0 Addr=10.0.0.2:6 x",
                Some("10.0.0.1:5 id=0 Addr=10.0.0.2:6"),
            ),
            ("rcon='a b' x", Some("'a b'")),
            ("rcon='a b x", Some("'a b x")),
            ("addr=10.0.0.1:5 password a b", Some("10.0.0.1:5 password a b")),
            ("password a addr=10.0.0.1:5 x", Some(" a addr=10.0.0.1:5 x")),
            ("addr=", None),
        ] {
            let found = after(&words, text.as_bytes()).map(|range| &text[range]);
            assert_eq!(found, hidden, "{text}");
        }
    }
}
