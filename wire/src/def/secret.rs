//! What of a message must not be shown.
//!
//! Law: this says which bytes are secret, once, for everything that shows, records or scrubs them.

use std::ops::Range;

use super::model::{Def, Field, Secrecy, Words};
use super::record::{Decoded, Record, Source, Value};

/// What stands for a secret.
pub(super) const HIDDEN: &str = "•••";

/// Whether secrets are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Secrets {
    /// As dots.
    #[default]
    Hide,
    /// As they are.
    Show,
}

impl Decoded {
    /// The bytes (of an object: ints) of a record that hold a secret. For text the NUL is not counted, and what comes
    /// before the secret may be shown.
    #[must_use]
    pub fn secret(&self, def: &Def, record: &Record, source: Source<'_>) -> Option<Range<usize>> {
        let mut field = def.field(record.field)?;
        let (start, mut end) = (record.at as usize, (record.at + record.len) as usize);
        if let (Value::Text(len), Source::Bytes(_), false) = (record.value, source, packed(field)) {
            end = start + len as usize;
        }
        let visible = match self.visible(def, field, record, source) {
            Some(visible) => Some(visible),
            // A part of a secret group.
            None => loop {
                let Some(parent) = field.parent.and_then(|parent| def.field(parent)) else {
                    break None;
                };
                field = parent;
                if field.secrecy == Secrecy::Secret {
                    break Some(0);
                }
            },
        };
        // Nothing is no secret.
        visible
            .map(|visible| start + visible..end)
            .filter(|secret| !secret.is_empty())
    }

    /// Bytes of a field that may be shown, if it holds a secret.
    fn visible(&self, def: &Def, field: &Field, record: &Record, source: Source<'_>) -> Option<usize> {
        // Parts are told of by themselves.
        let leaf = !matches!(record.value, Value::Group | Value::List(_));
        match &field.secrecy {
            Secrecy::Secret => Some(0),
            Secrecy::After(words) if leaf => after(words, &def.bytes(record, source)),
            Secrecy::Command(words) if leaf => command(words, &def.bytes(record, source)),
            Secrecy::With(other, words) => {
                let other = self.records().iter().find(|record| record.field == *other)?;
                let text = def.bytes(other, source);
                let listed = words
                    .words
                    .iter()
                    .any(|word| word.as_bytes().eq_ignore_ascii_case(text.trim_ascii()));
                listed.then_some(0)
            }
            _ => None,
        }
    }
}

const fn packed(field: &Field) -> bool {
    matches!(field.ty, super::model::Type::Packed(_))
}

/// The end of the first of the words in the text, if something follows it.
fn after(words: &Words, text: &[u8]) -> Option<usize> {
    let ends = words.words.iter().filter_map(|word| {
        let word = word.as_bytes();
        let at = text
            .windows(word.len())
            .position(|part| part.eq_ignore_ascii_case(word))?;
        Some(at + word.len())
    });
    ends.min().filter(|end| *end < text.len())
}

/// The same for chat commands: `/word`, and `/mc;word;word`, DDNet's way to give several.
fn command(words: &Words, text: &[u8]) -> Option<usize> {
    let start = text.len() - text.trim_ascii_start().len();
    let commands = text.get(start..)?.strip_prefix(b"/")?;
    let mut at = start + 1;
    for part in commands.split(|byte| *byte == b';') {
        let bare = part.trim_ascii_start();
        let bare = bare.strip_prefix(b"/").unwrap_or(bare);
        let len = bare
            .iter()
            .position(u8::is_ascii_whitespace)
            .unwrap_or(bare.len());
        let first = bare.get(..len).unwrap_or_default();
        if words
            .words
            .iter()
            .any(|word| word.as_bytes().eq_ignore_ascii_case(first))
        {
            let end = at + part.len() - bare.len() + len;
            return Some(end).filter(|end| *end < text.len());
        }
        at += part.len() + 1;
    }
    None
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
            ("/timeouts abc", None),
            ("timeout abc", None),
            ("/me says /timeout x", None),
            ("/", None),
            ("", None),
        ] {
            assert_eq!(command(&words, text.as_bytes()), shown.map(str::len), "{text}");
        }
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
            assert_eq!(after(&words, text.as_bytes()), shown.map(str::len), "{text}");
        }
    }
}
