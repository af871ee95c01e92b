//! A line of text that is being typed.

use crossterm::event::KeyCode;

use crate::keymap::KeyPress;

/// Maximum bytes of a line, which is the limit of the rule language.
const LONGEST: usize = 16 << 10;

/// A line of text with a cursor.
#[derive(Clone, Debug, Default)]
pub(crate) struct Editor {
    text: String,
    at: usize,
}

impl Editor {
    /// Returns a line with this text and the cursor at its end.
    #[must_use]
    pub(crate) fn new(text: impl Into<String>) -> Self {
        let text = text.into();
        let at = text.len();
        Self { text, at }
    }

    /// Returns the text.
    #[must_use]
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Returns the text before and after the cursor.
    #[must_use]
    pub(crate) fn parts(&self) -> (&str, &str) {
        self.text.split_at_checked(self.at).unwrap_or((&self.text, ""))
    }

    /// Inserts text at the cursor, without control characters. Does nothing if the line would become too long.
    pub(crate) fn insert(&mut self, text: &str) {
        let clean: String = text.chars().filter(|char| !char.is_control()).collect();
        if self.text.len() + clean.len() <= LONGEST {
            self.text.insert_str(self.at, &clean);
            self.at += clean.len();
        }
    }

    /// Replaces the last `len` bytes before the cursor. Returns false if the line would become too long.
    pub(crate) fn complete(&mut self, len: usize, text: &str) -> bool {
        let start = self.at.saturating_sub(len);
        let is_text = self.text.get(start..self.at).is_some();
        if !is_text || self.text.len() + text.len() > LONGEST + len {
            return false;
        }
        self.text.replace_range(start..self.at, "");
        self.at = start;
        self.insert(text);
        true
    }

    /// Handles a key. Returns true if the text has changed; `None` if the key does nothing here.
    pub(crate) fn key(&mut self, key: KeyPress) -> Option<bool> {
        let (before, after) = self.parts();
        let last = before.chars().next_back().map_or(0, char::len_utf8);
        let next = after.chars().next().map_or(0, char::len_utf8);
        let end = self.text.len();
        if let Some(char) = key.typed() {
            self.insert(char.encode_utf8(&mut [0; 4]));
            return Some(true);
        }
        let word = word_start(before);
        let cut = match (key.code(), key.control()) {
            (KeyCode::Backspace, _) | (_, Some('h')) => self.at - last..self.at,
            (KeyCode::Delete, _) => self.at..self.at + next,
            (_, Some('u')) => 0..self.at,
            (_, Some('k')) => self.at..end,
            (_, Some('w')) => word..self.at,
            (code, control) => {
                self.at = match (code, control) {
                    (KeyCode::Left, _) | (_, Some('b')) => self.at - last,
                    (KeyCode::Right, _) => self.at + next,
                    (KeyCode::Home, _) | (_, Some('a')) => 0,
                    (KeyCode::End, _) | (_, Some('e')) => end,
                    _ => return None,
                };
                return Some(false);
            }
        };
        self.at = cut.start;
        let is_changed = !cut.is_empty();
        self.text.replace_range(cut, "");
        Some(is_changed)
    }
}

/// Returns the position at which the last word starts.
fn word_start(before: &str) -> usize {
    let trimmed = before.trim_end();
    let start = trimmed.rfind(char::is_whitespace);
    start.map_or(0, |at| {
        at + trimmed
            .get(at..)
            .and_then(|rest| rest.chars().next())
            .map_or(1, char::len_utf8)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(editor: &mut Editor, keys: &str) {
        for key in keys.split(' ') {
            editor.key(key.parse().unwrap());
        }
    }

    #[test]
    fn a_line_is_edited() {
        let mut editor = Editor::default();
        editor.insert("drop wärme\u{7}");
        keys(&mut editor, "left backspace left x End ! Home Del");
        assert_eq!(editor.text(), "rop wäxre!");
        keys(&mut editor, "End ctrl-w a");
        assert_eq!((editor.text(), editor.parts()), ("rop a", ("rop a", "")));
        keys(&mut editor, "ctrl-a right ctrl-k");
        assert_eq!(editor.text(), "r");
        keys(&mut editor, "backspace backspace Del ctrl-u ctrl-w left right");
        assert_eq!(editor.text(), "");
        assert_eq!(editor.key("F5".parse().unwrap()), None);
    }

    /// The text before and after the cursor that stands in `ab c|äd `, and whether the text has changed.
    #[test]
    fn each_key_moves_or_cuts_in_its_direction() {
        let rows = [
            ("x", "ab cx", "äd ", Some(true)),
            ("backspace", "ab ", "äd ", Some(true)),
            ("ctrl-h", "ab ", "äd ", Some(true)),
            ("Del", "ab c", "d ", Some(true)),
            ("ctrl-u", "", "äd ", Some(true)),
            ("ctrl-k", "ab c", "", Some(true)),
            ("ctrl-w", "ab ", "äd ", Some(true)),
            ("left", "ab ", "cäd ", Some(false)),
            ("ctrl-b", "ab ", "cäd ", Some(false)),
            ("right", "ab cä", "d ", Some(false)),
            ("Home", "", "ab cäd ", Some(false)),
            ("ctrl-a", "", "ab cäd ", Some(false)),
            ("End", "ab cäd ", "", Some(false)),
            ("ctrl-e", "ab cäd ", "", Some(false)),
            ("up", "ab c", "äd ", None),
            ("ctrl-x", "ab c", "äd ", None),
        ];
        for (key, before, after, changed) in rows {
            let mut editor = Editor::new("ab cäd ");
            keys(&mut editor, "Home right right right right");
            assert_eq!(editor.parts(), ("ab c", "äd "));
            let found = editor.key(key.parse().unwrap());
            assert_eq!((editor.parts(), found), ((before, after), changed), "{key}");
        }
        // At the ends nothing is left to cut.
        for (place, cuts) in [("Home", "backspace ctrl-h ctrl-u ctrl-w"), ("End", "Del ctrl-k")] {
            let mut editor = Editor::new("ab");
            keys(&mut editor, place);
            for cut in cuts.split(' ') {
                assert_eq!(editor.key(cut.parse().unwrap()), Some(false), "{cut}");
            }
            assert_eq!(editor.text(), "ab");
        }
    }

    #[test]
    fn a_word_begins_after_the_white_space_before_it() {
        let rows = [
            ("", 0),
            ("ab", 0),
            ("ab ", 0),
            (" ab", 1),
            ("ab c", 3),
            ("ab  c  ", 4),
            ("ä\u{3000}b", 5),
        ];
        for (before, start) in rows {
            assert_eq!(word_start(before), start, "{before:?}");
        }
    }

    #[test]
    fn a_completion_replaces_the_end_of_what_is_typed() {
        let mut editor = Editor::new("sv_ch and x");
        keys(&mut editor, "Home right right right right right");
        editor.complete(5, "sv_chat");
        assert_eq!(editor.parts(), ("sv_chat", " and x"));
    }

    #[test]
    fn a_completion_that_does_not_fit_changes_nothing() {
        let mut editor = Editor::new(format!("{}wä", "x".repeat(LONGEST - 3)));
        let text = editor.text().to_owned();
        assert!(!editor.complete(3, "wärme"), "the line would be too long");
        assert!(!editor.complete(1, "w"), "the range begins inside of a character");
        assert_eq!(editor.text(), text);
        assert!(editor.complete(3, "abc"));
        assert!(editor.text().ends_with("xabc") && editor.text().len() == LONGEST);
    }

    #[test]
    fn a_line_has_a_longest_length() {
        let mut editor = Editor::default();
        (0..40).for_each(|_| editor.insert(&"x".repeat(1 << 10)));
        assert_eq!(editor.text().len(), LONGEST);
        let mut editor = Editor::new("x".repeat(LONGEST - 2));
        editor.insert("abc");
        assert_eq!(
            editor.text().len(),
            LONGEST - 2,
            "a text that does not fit is not cut"
        );
        editor.insert("a\nb");
        assert_eq!((editor.text().len(), editor.parts().1), (LONGEST, ""));
    }
}
