//! A line of limited length, and the forms of values in it.

use crate::printable;
use crate::printable::{Shown, printable_chars};

/// A line under construction.
pub(super) struct GistLine {
    text: String,
    /// The number of characters that still fit.
    left: usize,
    full: bool,
}

impl GistLine {
    pub(super) const fn new(most: usize) -> Self {
        Self {
            text: String::new(),
            left: most,
            full: false,
        }
    }

    /// Returns the number of characters that still fit.
    pub(super) const fn left(&self) -> usize {
        self.left
    }

    pub(super) const fn is_full(&self) -> bool {
        self.full
    }

    /// Appends text of a template. Drops repeated spaces and spaces at the start of the line.
    pub(super) fn text(&mut self, text: &str) {
        for c in text.chars() {
            if c != ' ' || !(self.text.is_empty() || self.text.ends_with(' ')) {
                self.push(c, 1);
            }
        }
    }

    /// Appends a value or a part of a value.
    pub(super) fn value(&mut self, text: &str) {
        let count = text.chars().count();
        for (at, c) in text.chars().enumerate() {
            self.push(c, count - at);
        }
    }

    /// Appends a character of a value. `rest` is the number of remaining characters of the value, including this
    /// character.
    fn push(&mut self, c: char, rest: usize) {
        if self.full {
            return;
        }
        // The last place is for the mark of a cut.
        self.full = self.left == 0 || self.left == 1 && rest > 1;
        if self.full {
            if self.left == 0 {
                self.text.pop();
            }
            self.text.push('…');
            return;
        }
        self.left -= 1;
        self.text.push(c);
    }

    pub(super) fn finish(mut self) -> String {
        self.text.truncate(self.text.trim_end_matches(' ').len());
        self.text
    }
}

/// Returns text in quotes of at most `most` characters; `…` after the quotes marks a cut.
pub(super) fn quoted(text: &[u8], most: usize) -> String {
    // The quotes and the mark of a cut.
    let mut left = most.saturating_sub(3);
    let mut out = String::from('"');
    let text = String::from_utf8_lossy(text);
    for (c, shown) in printable_chars(&text) {
        let (escape, c) = match (c, shown) {
            ('"' | '\\', _) => (true, c),
            ('\n', _) => (true, 'n'),
            ('\r', _) => (true, 'r'),
            ('\t', _) => (true, 't'),
            (_, Shown::Plain(c)) => (false, c),
            (_, Shown::Escaped(c)) => {
                let escape = c.escape_unicode();
                if left < escape.len() {
                    out.push_str("\"…");
                    return out;
                }
                left -= escape.len();
                out.extend(escape);
                continue;
            }
        };
        let need = 1 + usize::from(escape);
        if left < need {
            out.push_str("\"…");
            return out;
        }
        left -= need;
        if escape {
            out.push('\\');
        }
        out.push(c);
    }
    out.push('"');
    out
}

/// Returns text without quotes, unless it looks like quoted text or could hide its end, since notes follow it.
pub(super) fn raw(text: &[u8], most: usize) -> String {
    let shown = printable(text);
    let plain = shown.as_bytes() == text
        && !shown.is_empty()
        && shown.trim() == shown
        && !shown.starts_with('"')
        && !shown.contains(" !");
    if plain { shown } else { quoted(text, most) }
}

/// Formats `value`, counted in `parts` per second, as a time.
pub(super) fn clock(value: i64, parts: u64, sign: bool) -> String {
    let sign = match value {
        ..0 => "-",
        _ if sign => "+",
        _ => "",
    };
    let value = value.unsigned_abs();
    let (seconds, part) = (value / parts, value % parts);
    let places = if parts == 100 { 2 } else { 3 };
    match seconds / 60 {
        0 => format!("{sign}{seconds}.{part:0places$} s"),
        minutes => format!("{sign}{minutes}:{:02}.{part:0places$}", seconds % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_cut_where_it_is_full() {
        let written = |most, parts: &[&str]| {
            let mut line = GistLine::new(most);
            parts.iter().for_each(|part| line.value(part));
            line.finish()
        };
        assert_eq!(written(5, &["ab", "cde"]), "abcde");
        assert_eq!(written(5, &["ab", "cdef"]), "abcd…");
        assert_eq!(written(5, &["ab", "cde", "f"]), "abcd…");
        assert_eq!(written(0, &["ab"]), "…");
        let mut line = GistLine::new(9);
        [" a ", " ", " b ", ""].iter().for_each(|part| line.text(part));
        assert_eq!(line.finish(), "a b");
    }

    #[test]
    fn text_cannot_leave_its_quotes() {
        for (text, expected) in [
            (&b"a b"[..], r#""a b""#),
            (br#"a" b\"#, r#""a\" b\\""#),
            (b"1\n2\t\x1b[2\xff", "\"1\\n2\\t\u{fffd}[2\u{fffd}\""),
            (b"1234567890", "\"1234567890\""),
            (b"12345678901", "\"1234567890\"…"),
            (b"123456789\n", "\"123456789\"…"),
        ] {
            assert_eq!(quoted(text, 13), expected);
        }
    }

    #[test]
    fn text_without_quotes_has_nothing_odd() {
        for (text, is_raw) in [
            ("gg", true),
            ("what!", true),
            ("he said \"no\"", true),
            ("", false),
            (" gg", false),
            ("gg ", false),
            ("gg !wrong-token", false),
            ("\"gg\"", false),
            ("g\ng", false),
        ] {
            let shown = raw(text.as_bytes(), 99);
            assert_eq!(shown == text, is_raw, "{shown}");
        }
    }

    #[test]
    fn times() {
        assert_eq!(clock(7, 100, false), "0.07 s");
        assert_eq!(clock(-1250, 1000, false), "-1.250 s");
        assert_eq!(clock(6_234, 100, true), "+1:02.34");
        assert_eq!(clock(i64::MIN, 1000, true), "-153722867280912:55.808");
    }
}
