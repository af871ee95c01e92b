//! Splits a definition file into lines and words.
//!
//! Law: a `#` at the start of a word begins a comment. A `"` at the start of a word begins a quoted text that ends at
//! the next `"` and counts as one word. An indented line belongs to the nearest unindented line before it.

use super::error::Errors;
use super::mark::Mark;

/// The maximum length of a definition file in bytes.
pub(super) const MAX_TEXT: usize = 1 << 20;
/// The maximum length of a line in bytes.
const MAX_LINE: usize = 4096;

/// A word and its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Word<'t> {
    pub(super) text: &'t str,
    pub(super) mark: Mark,
}

impl<'t> Word<'t> {
    /// Returns the part after the first `skip` bytes.
    pub(super) fn from(self, skip: usize) -> Self {
        let (before, text) = self.text.split_at_checked(skip).unwrap_or((self.text, ""));
        let chars = u32::try_from(before.chars().count()).unwrap_or(u32::MAX);
        let mut mark = self.mark;
        mark.column = mark.column.saturating_add(chars);
        Word { text, mark }
    }
}

/// A line that is not blank.
#[derive(Debug)]
pub(super) struct SourceLine<'t> {
    pub(super) indented: bool,
    pub(super) words: Vec<Word<'t>>,
    pub(super) comment: Option<&'t str>,
}

/// Calls `each` with every line of the text. Reports only files and lines that are too long.
pub(super) fn lines<'t>(
    file: u16,
    text: &'t str,
    errors: &mut Errors,
    mut each: impl FnMut(&SourceLine<'t>, &mut Errors),
) {
    if text.len() > MAX_TEXT {
        let mark = Mark {
            file,
            line: 1,
            column: 1,
        };
        errors.push(mark, format!("longer than {MAX_TEXT} bytes"), None);
        return;
    }
    let mut line = SourceLine {
        indented: false,
        words: Vec::new(),
        comment: None,
    };
    for (number, text) in (1u32..).zip(text.lines()) {
        let start = Mark {
            file,
            line: number,
            column: 1,
        };
        if text.len() > MAX_LINE {
            errors.push(start, format!("a line longer than {MAX_LINE} bytes"), None);
            continue;
        }
        line.indented = text.starts_with([' ', '\t']);
        split(text, start, &mut line);
        each(&line, errors);
    }
}

fn split<'t>(text: &'t str, start: Mark, line: &mut SourceLine<'t>) {
    line.words.clear();
    line.comment = None;
    let (mut rest, mut mark) = (text, start);
    loop {
        let trimmed = rest.trim_start();
        let blank = rest.get(..rest.len() - trimmed.len()).unwrap_or_default();
        mark.column += columns(blank);
        if let Some(comment) = trimmed.strip_prefix('#') {
            line.comment = Some(comment.trim());
            return;
        }
        let quoted = trimmed.strip_prefix('"').and_then(|text| text.find('"'));
        let len = quoted
            .map(|end| end + 2)
            .or_else(|| trimmed.find(char::is_whitespace))
            .unwrap_or(trimmed.len());
        let Some((word, after)) = trimmed.split_at_checked(len).filter(|_| len > 0) else {
            return;
        };
        line.words.push(Word { text: word, mark });
        mark.column += columns(word);
        rest = after;
    }
}

fn columns(text: &str) -> u32 {
    u32::try_from(text.chars().count()).unwrap_or(u32::MAX)
}
