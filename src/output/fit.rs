//! Lines of a terminal: widths of characters, lines that are cut, and lines that are continued.

use std::borrow::Cow;

use unicode_width::UnicodeWidthChar as _;

use crate::look::TextColor;

/// A part of a line, in its colour.
pub(crate) type Span<'t> = (TextColor, Cow<'t, str>);

/// Indent of a continued line if the terminal has no room for more.
const LEAST_INDENT: usize = 2;

/// Returns the width of a text in columns.
pub(crate) fn width(text: &str) -> usize {
    columns_of(text).map(|(_, columns)| columns).sum()
}

/// Returns each character with the columns that it adds.
fn columns_of(text: &str) -> impl Iterator<Item = (char, usize)> + '_ {
    let mut before = 0;
    text.chars().map(move |c| {
        let own = match c {
            // Selects the emoji form of the previous character, which is two columns wide.
            '\u{fe0f}' if before == 1 => 1,
            c => c.width().unwrap_or(0),
        };
        before = own;
        (c, own)
    })
}

/// Returns the start of a line that is wider than `columns`, with an ellipsis at its end.
pub(crate) fn cut<'t>(parts: &[Span<'t>], columns: usize, ascii: bool) -> Vec<Span<'t>> {
    let ellipsis = if ascii { "..." } else { "…" };
    let mut left = columns.saturating_sub(width(ellipsis));
    let mut line: Vec<Span<'t>> = Vec::new();
    let mut last = TextColor::Plain;
    for (ink, text) in parts {
        let (start, taken) = start(text, left);
        left -= taken;
        last = *ink;
        line.push((*ink, start.to_owned().into()));
        if start.len() < text.len() {
            break;
        }
    }
    let room: String = ellipsis.chars().take(columns).collect();
    line.push((last, room.into()));
    line
}

/// Returns the longest start of a text that fits `most` columns, and its width.
fn start(text: &str, most: usize) -> (&str, usize) {
    let (mut end, mut taken) = (0, 0);
    for (c, own) in columns_of(text) {
        if taken + own > most {
            break;
        }
        taken += own;
        end += c.len_utf8();
    }
    (text.get(..end).unwrap_or_default(), taken)
}

/// Breaks a sentence between words into lines of at most `columns` columns. Further lines are indented.
pub(crate) fn sentence(text: &str, columns: Option<usize>) -> Cow<'_, str> {
    let Some(columns) = columns.filter(|columns| width(text) > *columns) else {
        return text.into();
    };
    let start = text.len() - text.trim_start_matches(' ').len();
    let lines = wrapped(&[(TextColor::Plain, text.into())], start + LEAST_INDENT, columns);
    let lines = lines
        .iter()
        .map(|parts| parts.iter().map(|(_, part)| &**part).collect::<String>());
    lines.collect::<Vec<_>>().join("\n").into()
}

/// Breaks a line into several, at spaces if possible. Further lines begin at column `indent`.
pub(super) fn wrapped<'t>(parts: &[Span<'t>], indent: usize, columns: usize) -> Vec<Vec<Span<'t>>> {
    let indent = if indent * 2 > columns {
        LEAST_INDENT
    } else {
        indent
    };
    let indent = indent.min(columns.saturating_sub(1));
    let (mut lines, mut line, mut left) = (Vec::new(), Vec::<Span<'t>>::new(), columns);
    for (ink, text) in parts {
        let mut rest: &str = text;
        loop {
            let (mut fits, mut taken) = start(rest, left);
            if fits.len() < rest.len() {
                let is_whole_word = rest.get(fits.len()..).is_some_and(|after| after.starts_with(' '));
                let last = if is_whole_word {
                    Some(fits.len())
                } else {
                    fits.rfind(' ')
                };
                // Leaves out spaces at the start of a line, and does not break before a word that fits no line.
                let end = last.and_then(|last| fits.get(..last)).map(str::trim_end);
                let fits_a_line = |end: &&str| {
                    let after = rest.get(end.len()..).unwrap_or_default();
                    let word = after.trim_start().split(' ').next().unwrap_or_default();
                    !end.is_empty() && width(word) <= columns - indent
                };
                if let Some(end) = end.filter(fits_a_line) {
                    fits = end;
                    taken = width(fits);
                }
            }
            line.push((*ink, fits.to_owned().into()));
            left -= taken;
            let after = rest.get(fits.len()..).unwrap_or_default();
            if after.is_empty() {
                break;
            }
            rest = after.trim_start_matches(' ');
            if fits.is_empty() && left == columns - indent && rest == after {
                // The character is wider than a line.
                break;
            }
            lines.push(std::mem::take(&mut line));
            line.push((TextColor::Plain, " ".repeat(indent).into()));
            left = columns - indent;
            if rest.is_empty() {
                break;
            }
        }
    }
    lines.push(line);
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentence_is_broken_between_words_and_continues_indented() {
        let text = "s2c ready lose: never joined: no con_ready came";
        assert_eq!(sentence(text, None), text);
        assert_eq!(sentence(text, Some(47)), text);
        assert_eq!(
            sentence(text, Some(24)),
            "s2c ready lose: never\n  joined: no con_ready\n  came"
        );
        assert_eq!(
            sentence("  the client printed: no answer came", Some(26)),
            "  the client printed: no\n    answer came"
        );
    }
}
