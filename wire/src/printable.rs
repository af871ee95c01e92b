//! Escapes text from peers, files and hosts so that it is safe to print.
//!
//! Law: printed text never moves the cursor, changes the text direction or contains hidden characters. The only
//! exceptions are invisible characters that join emoji, select their form or join Indic letters.

use std::{borrow::Cow, fmt::Write as _, path::Path};

/// Returns text from a peer in a form safe to show.
///
/// Invalid UTF-8, control characters and characters that change the text direction are replaced, so that the text can
/// neither move the cursor of a terminal nor disguise a line. Invisible characters become escapes such as `\u{200b}`;
/// joiners and variation selectors stay if they shape emoji or Indic letters.
#[must_use]
pub fn printable(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    if is_plain(&text) {
        return text.into_owned();
    }
    let mut out = String::with_capacity(text.len());
    for (_, shown) in printable_chars(&text) {
        match shown {
            Shown::Plain(c) => out.push(c),
            Shown::Escaped(c) => out.extend(c.escape_unicode()),
        }
    }
    out
}

/// Returns a file name in a form safe to show: every character that [`printable`] replaces or escapes becomes an
/// escape.
#[must_use]
pub fn printable_path(path: &(impl AsRef<Path> + ?Sized)) -> String {
    let text = path.as_ref().to_string_lossy();
    let mut out = String::with_capacity(text.len());
    for (c, shown) in printable_chars(&text) {
        match shown {
            Shown::Plain(same) if same == c => out.push(c),
            Shown::Plain(_) | Shown::Escaped(_) => out.extend(c.escape_default()),
        }
    }
    out
}

/// Returns a JSON text in which control characters, invisible characters and characters that change the text
/// direction are escaped. JSON itself requires escapes only below 0x20. Such characters occur only inside strings, so
/// the values are unchanged.
#[must_use]
pub fn printable_json(json: &str) -> Cow<'_, str> {
    let is_bad = |c: char| is_deceptive(c) || is_invisible(c);
    if is_safe(json) {
        return json.into();
    }
    let mut clean = String::with_capacity(json.len() + 16);
    for c in json.chars() {
        if is_bad(c) {
            for unit in c.encode_utf16(&mut [0; 2]) {
                let _never_fails = write!(clean, "\\u{unit:04x}");
            }
        } else {
            clean.push(c);
        }
    }
    clean.into()
}

/// Returns true if a text has no character that moves the cursor, changes the direction of text or has no glyph.
#[must_use]
pub fn is_safe(text: &str) -> bool {
    is_plain(text) || !text.chars().any(|c| is_deceptive(c) || is_invisible(c))
}

/// Returns true if a text consists of printable ASCII characters, as most texts do.
fn is_plain(text: &str) -> bool {
    // Without an early return, the compiler checks several bytes at once.
    let is_printable = |byte: u8| matches!(byte, b' '..=b'~');
    text.bytes().fold(true, |all, byte| all & is_printable(byte))
}

/// A character in its safe form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shown {
    Plain(char),
    /// An invisible character, shown as an escape such as `\u{200b}`.
    Escaped(char),
}

/// Returns the position of the first character that [`printable`] replaces or escapes, in bytes.
pub(crate) fn first_hidden(text: &str) -> Option<usize> {
    if is_plain(text) {
        return None;
    }
    let mut chars = text.char_indices().zip(printable_chars(text));
    let hidden = chars.find(|((_, c), (_, shown))| *shown != Shown::Plain(*c));
    hidden.map(|((at, _), _)| at)
}

/// Returns the characters of a text with their safe forms.
pub(crate) fn printable_chars(text: &str) -> impl Iterator<Item = (char, Shown)> {
    let mut before = Before::default();
    text.char_indices().map(move |(at, c)| {
        let after = text.get(at + c.len_utf8()..).and_then(|rest| rest.chars().next());
        let shown = before.shown(c, after);
        if !is_selector(c) && !is_skin_tone(c) {
            before.base = Some(c);
        }
        before.last = Some(c);
        (c, shown)
    })
}

/// The characters before the current one.
#[derive(Debug, Clone, Copy, Default)]
struct Before {
    last: Option<char>,
    /// The last character that is neither a variation selector nor a skin tone.
    base: Option<char>,
}

impl Before {
    fn shown(self, c: char, after: Option<char>) -> Shown {
        if is_deceptive(c) {
            return Shown::Plain(char::REPLACEMENT_CHARACTER);
        }
        let is_visible = match c {
            '\u{200d}' => {
                let are = |kind: fn(char) -> bool| self.base.is_some_and(kind) && after.is_some_and(kind);
                are(is_emoji) || are(is_indic)
            }
            c if is_selector(c) => {
                let is_keycap = self.last.is_some_and(is_key) && after == Some('\u{20e3}');
                is_keycap || self.last.is_some_and(is_emoji)
            }
            c => !is_invisible(c),
        };
        if is_visible {
            Shown::Plain(c)
        } else {
            Shown::Escaped(c)
        }
    }
}

/// Returns true for a character that moves the cursor or changes the direction of text.
#[must_use]
pub fn is_deceptive(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200e}' | '\u{200f}' | '\u{061c}')
}

/// Returns true for characters without a glyph: zero-width characters, fillers and tags, but not the joiner and the
/// variation selectors of emoji.
#[must_use]
pub const fn is_invisible(c: char) -> bool {
    c >= '\u{ad}'
        && matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
        | '\u{200b}' | '\u{200c}' | '\u{2060}'..='\u{2065}' | '\u{206a}'..='\u{206f}' | '\u{2800}' | '\u{3164}'
        | '\u{fe00}'..='\u{fe0d}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}'
        | '\u{1bca0}'..='\u{1bca3}' | '\u{1d159}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

/// The variation selectors of emoji.
const fn is_selector(c: char) -> bool {
    matches!(c, '\u{fe0e}' | '\u{fe0f}')
}

const fn is_skin_tone(c: char) -> bool {
    matches!(c, '\u{1f3fb}'..='\u{1f3ff}')
}

/// Returns true for characters that may be emoji.
const fn is_emoji(c: char) -> bool {
    matches!(c,
        '\u{a9}' | '\u{ae}' | '\u{203c}' | '\u{2049}' | '\u{2122}'..='\u{27ff}' | '\u{2900}'..='\u{2bff}'
        | '\u{3030}' | '\u{303d}' | '\u{3297}' | '\u{3299}' | '\u{1f000}'..='\u{1faff}')
}

/// Returns true for characters that can start a keycap emoji.
const fn is_key(c: char) -> bool {
    matches!(c, '0'..='9' | '#' | '*')
}

/// Returns true for the scripts of India and Sri Lanka, in which the joiner chooses the form of letters.
const fn is_indic(c: char) -> bool {
    matches!(c, '\u{900}'..='\u{dff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn printable_text_moves_no_cursor() {
        assert_eq!(printable(b"Server shutdown"), "Server shutdown");
        assert_eq!(
            printable(b"\x1b[2Jx\r\n\x7f"),
            "\u{fffd}[2Jx\u{fffd}\u{fffd}\u{fffd}"
        );
        assert_eq!(
            printable("a\u{202e}b\u{9b}c \u{fc}".as_bytes()),
            "a\u{fffd}b\u{fffd}c \u{fc}"
        );
        assert_eq!(printable(&[b'a', 0xff]), "a\u{fffd}");
    }

    #[test]
    fn invisible_characters_are_escaped() {
        for (text, shown) in [
            ("nam\u{200b}eless", r"nam\u{200b}eless"),
            (
                "\u{3164}\u{115f}\u{ffa0}\u{2800}",
                r"\u{3164}\u{115f}\u{ffa0}\u{2800}",
            ),
            ("x\u{e0041}\u{e007f}", r"x\u{e0041}\u{e007f}"),
            (
                "\u{feff}\u{ad}\u{2060}\u{180e}",
                r"\u{feff}\u{ad}\u{2060}\u{180e}",
            ),
            // Joiners and selectors that have nothing to join.
            ("a\u{200d}b\u{fe0f}", r"a\u{200d}b\u{fe0f}"),
            ("\u{fe0f}\u{200d}", r"\u{fe0f}\u{200d}"),
            ("1\u{fe0f}2\u{200d}3", r"1\u{fe0f}2\u{200d}3"),
            // A superfluous selector or joiner.
            ("\u{2764}\u{fe0f}\u{fe0f}", "\u{2764}\u{fe0f}\\u{fe0f}"),
            (
                "\u{1f468}\u{200d}\u{200d}\u{1f469}",
                "\u{1f468}\\u{200d}\\u{200d}\u{1f469}",
            ),
        ] {
            assert_eq!(printable(text.as_bytes()), shown);
        }
    }

    #[test]
    fn emoji_and_letters_stay_whole() {
        for text in [
            "\u{2764}\u{fe0f}",
            "1\u{fe0f}\u{20e3}",
            "\u{1f468}\u{200d}\u{1f469}\u{200d}\u{1f467}",
            "\u{1f3f3}\u{fe0f}\u{200d}\u{1f308}",
            "\u{1f9d1}\u{1f3fd}\u{200d}\u{1f680}",
            "\u{915}\u{94d}\u{200d}\u{937}",
            "\u{4e2d}\u{6587} \u{e9}",
        ] {
            assert_eq!(printable(text.as_bytes()), text);
        }
    }

    #[test]
    fn names_of_files_stay_on_one_line() {
        assert_eq!(
            printable_path(Path::new("a\nb\u{200b}\u{202e}\u{1b}[2J \u{fc}")),
            "a\\nb\\u{200b}\\u{202e}\\u{1b}[2J \u{fc}"
        );
    }
}
