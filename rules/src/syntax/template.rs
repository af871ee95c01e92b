//! Texts with values in braces.

use std::fmt::{self, Write as _};

use winnow::error::ErrMode;
use winnow::prelude::*;
use winnow::stream::Stream;

use super::ast::Expr;
use super::error::wanted;
use super::lex::{Failure, Input, Parsed, at_text, blank, cut, escape, here, plain, rest, unclosed_text};
use super::parse::expression;
use super::print::escaped;
use crate::diagnostic::{Code, Diagnostic};
use crate::span::Span;

/// `"{sess.name}: {sv_chat.message}"`; a brace is written twice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template(pub Vec<TemplatePart>);

/// Part of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TemplatePart {
    /// Literal characters.
    Text(String),
    /// A value.
    Value(Expr),
}

impl Template {
    /// Returns the text without quotes and escapes, which [`parse_template`] reads.
    pub(crate) fn text(&self) -> String {
        let part = |part: &TemplatePart| match part {
            TemplatePart::Text(text) => text.replace('{', "{{").replace('}', "}}"),
            TemplatePart::Value(expr) => format!("{{{expr}}}"),
        };
        self.0.iter().map(part).collect()
    }
}

/// Returns the place in the source of a place within `text`, whose quotes are at `span`. If the text has escapes, returns
/// the place of the whole text.
pub(crate) fn place_in_text(span: Span, text: &str, found: Span) -> Span {
    let has_escapes = span.end - span.start != text.len() + 2;
    match has_escapes {
        true => span,
        false => Span::new(span.start + 1 + found.start, span.start + 1 + found.end),
    }
}

/// Parses a text in quotes, if there is one.
pub(super) fn opt_template(i: &mut Input<'_>) -> Parsed<Option<Template>> {
    blank(i)?;
    let start = here(i);
    if !at_text(i) {
        return Ok(None);
    }
    let quote = i.next_token().unwrap_or('"');
    parts(i, Some((start, quote))).map(Some)
}

/// Parses a text without its quotes, in which escapes are already replaced.
///
/// # Errors
/// Returns the first error. Its place is a place in the text.
pub(crate) fn parse_template(text: &str) -> Result<Template, Diagnostic> {
    let mut input = plain(text);
    parts(&mut input, None).map_err(|error| match error {
        ErrMode::Cut(Failure(Some(diagnostic))) | ErrMode::Backtrack(Failure(Some(diagnostic))) => {
            *diagnostic
        }
        _ => wanted(&input, "a value"),
    })
}

/// Parses the parts of a text. `quoted` is the position and the character of its first quote; `None` for a text without
/// quotes and escapes.
fn parts(i: &mut Input<'_>, quoted: Option<(usize, char)>) -> Parsed<Template> {
    let (mut parts, mut text) = (Vec::new(), String::new());
    loop {
        let at = here(i);
        let is_double = |sign: &str| rest(i).starts_with(sign);
        if is_double("{{") || is_double("}}") {
            text.extend(i.next_token());
            i.next_token();
            continue;
        }
        match (i.next_token(), quoted) {
            (Some(found), Some((_, quote))) if found == quote => break,
            (None, None) => break,
            (Some('\\'), Some(_)) => text.push(escape(i, at)?),
            (Some('{'), _) => {
                if !text.is_empty() {
                    parts.push(TemplatePart::Text(std::mem::take(&mut text)));
                }
                parts.push(TemplatePart::Value(expression(i)?));
                blank(i)?;
                if winnow::combinator::opt('}').parse_next(i)?.is_none() {
                    return cut(wanted(i, "`}`").help("a brace in the text is written twice: `{{`"));
                }
            }
            (Some('}'), _) => {
                let span = Span::new(at, at + 1);
                let diagnostic = Diagnostic::new(Code::Expected, span, "unmatched `}`");
                return cut(diagnostic.help("a brace in the text is written twice: `}}`"));
            }
            (Some('\n') | None, Some((start, quote))) => {
                return cut(unclosed_text(Span::new(start, start + 1), quote));
            }
            (Some(c), _) => text.push(c),
        }
    }
    if !text.is_empty() {
        parts.push(TemplatePart::Text(text));
    }
    Ok(Template(parts))
}

impl fmt::Display for Template {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_char('"')?;
        for part in &self.0 {
            match part {
                TemplatePart::Text(text) => escaped(f, &text.replace('{', "{{").replace('}', "}}"))?,
                TemplatePart::Value(expr) => write!(f, "{{{expr}}}")?,
            }
        }
        f.write_char('"')
    }
}
