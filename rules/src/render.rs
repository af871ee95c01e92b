//! Renders errors with the lines of the text to which they refer.
//!
//! Law: rendered text moves no cursor and has no hidden characters, whatever the text, its name and the error contain.
//! Marks stand below the characters to which they refer.

use annotate_snippets::renderer::DecorStyle;
use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet, normalize_untrusted_str};
use teetap_wire::def::DefError;
use teetap_wire::{is_deceptive, is_invisible, printable_path};

use crate::span::Span;

/// The style of a rendered diagnostic.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// Plain text without escape sequences.
    Plain,
    /// Text with terminal colours.
    Coloured,
}

/// An error, warning or note about a part of a text.
pub(crate) struct Report<'a> {
    pub(crate) level: Level<'static>,
    /// The code in brackets after the level; `None` if there is no code.
    pub(crate) code: Option<&'static str>,
    pub(crate) message: &'a str,
    pub(crate) span: Span,
    pub(crate) help: Option<&'a str>,
    pub(crate) notes: &'a [String],
}

impl Report<'_> {
    /// Renders the report with lines of `source`, the text to which it refers, which is called `name`. The result has no
    /// final newline.
    pub(crate) fn render(&self, name: &str, source: &str, style: Style) -> String {
        let (source, span) = safe_source(source, self.span);
        let snippet = Snippet::source(source)
            .path(printable_path(name))
            .annotation(AnnotationKind::Primary.span(span.into()));
        let mut title = self.level.clone().primary_title(safe(self.message));
        if let Some(code) = self.code {
            title = title.id(code);
        }
        let mut group = title.element(snippet);
        let help = self.help.map(|help| (Level::HELP, help));
        let notes = self.notes.iter().map(|note| (Level::NOTE, &**note));
        for (level, text) in help.into_iter().chain(notes) {
            group = group.element(level.message(normalize_untrusted_str(&safe(text))));
        }
        let renderer = match style {
            Style::Plain => Renderer::plain(),
            Style::Coloured => Renderer::styled(),
        };
        renderer.decor_style(DecorStyle::Ascii).render(&[group])
    }
}

/// Renders an error in `source`, the text of a definition file, with its line. The result has no final newline.
#[must_use]
pub fn render_def_error(error: &DefError, source: &str, style: Style) -> String {
    let report = Report {
        level: Level::ERROR,
        code: None,
        message: &error.message,
        span: error.span.clone().into(),
        help: error.help.as_deref(),
        notes: &[],
    };
    report.render(&error.file, source, style)
}

/// Returns a source text without hidden characters, and the span in it. Moves the span to character boundaries in case
/// `source` is another text. The number of characters stays the same, and with it the columns.
fn safe_source(source: &str, span: Span) -> (String, Span) {
    let end = source.floor_char_boundary(span.end);
    let start = source.floor_char_boundary(span.start.min(end));
    let mut text = String::with_capacity(source.len());
    let mut shown = Span::default();
    for (at, c) in source.char_indices().chain([(source.len(), '\n')]) {
        if at == start {
            shown.start = text.len();
        }
        if at == end {
            shown.end = text.len();
        }
        text.push(if is_hidden(c) {
            char::REPLACEMENT_CHARACTER
        } else {
            c
        });
    }
    text.pop();
    (text, shown)
}

/// Returns a text with escapes such as `\u{200b}` in place of hidden characters.
fn safe(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        if is_hidden(c) {
            shown.extend(c.escape_unicode());
        } else {
            shown.push(c);
        }
    }
    shown
}

/// Returns true for a character that would be invisible, move the cursor or change the direction of text. The renderer
/// itself shows ASCII control characters as symbols, and tabs as spaces.
fn is_hidden(c: char) -> bool {
    !c.is_ascii() && (is_deceptive(c) || is_invisible(c))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rendered(source: &str, span: Span, style: Style) -> String {
        let error = DefError {
            file: "my\u{1b}[2J.tw".into(),
            line: 1,
            column: 1,
            span: span.into(),
            message: format!("no {source}"),
            help: Some(format!("not {source}")),
        };
        render_def_error(&error, source, style)
    }

    #[test]
    fn hostile_text_reaches_no_terminal() {
        let source = "a \u{1b}[31m\u{9b}1m\u{200b}\u{202e}\u{2028}\0\r\u{7f}\u{e0041}\t\u{feff} x";
        let text = rendered(source, Span::new(source.len() - 1, source.len()), Style::Plain);
        let is_bad = |c: char| c != '\n' && (is_deceptive(c) || is_invisible(c));
        assert!(!text.chars().any(is_bad), "{text:?}");
        // The colours of the renderer are the only escape sequences.
        let text = rendered(source, Span::new(0, 1), Style::Coloured);
        assert!(text.contains("\u{1b}[91m"), "{text:?}");
        for hostile in ["\u{1b}[31m", "\u{1b}[2J", "\u{9b}"] {
            assert!(!text.contains(hostile), "{text:?}");
        }
    }

    #[test]
    fn marks_stand_below_their_text() {
        for (before, column, width) in [
            ("  ", 3, 2),
            ("\t", 2, 4),
            ("日本 ", 4, 5),
            ("e\u{301} ", 4, 2),
            ("\u{200b}\u{9b} ", 4, 3),
            ("\u{1b} ", 3, 2),
        ] {
            let source = format!("for 0.7\r\n{before}wrong\r\n");
            let start = source.find("wrong").unwrap();
            let text = rendered(&source, Span::new(start, start + 5), Style::Plain);
            let mark = format!("  | {}^^^^^\n", " ".repeat(width));
            assert!(text.contains(&mark), "{before:?} {text}");
            assert!(text.contains(&format!(".tw:2:{column}\n")), "{before:?} {text}");
        }
    }
}
