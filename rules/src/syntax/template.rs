//! Text of `log`, with values in braces.

use std::fmt::{self, Write as _};

use winnow::prelude::*;
use winnow::stream::Stream;

use super::ast::Expr;
use super::error::wanted;
use super::lex::{Input, Parsed, blank, cut, escape, here, rest};
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

/// Parses a text in quotes, if there is one.
pub(super) fn opt_template(i: &mut Input<'_>) -> Parsed<Option<Template>> {
    blank(i)?;
    if !rest(i).starts_with('"') {
        return Ok(None);
    }
    let start = here(i);
    i.next_token();
    let (mut parts, mut text) = (Vec::new(), String::new());
    loop {
        let at = here(i);
        let is_double = |sign: &str| rest(i).starts_with(sign);
        if is_double("{{") || is_double("}}") {
            text.extend(i.next_token());
            i.next_token();
            continue;
        }
        match i.next_token() {
            Some('"') => break,
            Some('\\') => text.push(escape(i, at)?),
            Some('{') => {
                if !text.is_empty() {
                    parts.push(TemplatePart::Text(std::mem::take(&mut text)));
                }
                parts.push(TemplatePart::Value(expression(i)?));
                blank(i)?;
                if winnow::combinator::opt('}').parse_next(i)?.is_none() {
                    return cut(wanted(i, "`}`").help("a brace in the text is written twice: `{{`"));
                }
            }
            Some('}') => {
                let span = Span::new(at, at + 1);
                let diagnostic = Diagnostic::new(Code::Expected, span, "unmatched `}`");
                return cut(diagnostic.help("a brace in the text is written twice: `}}`"));
            }
            Some('\n') | None => {
                let span = Span::new(start, start + 1);
                let what = "a string without its closing `\"`";
                return cut(Diagnostic::new(Code::Unclosed, span, what));
            }
            Some(c) => text.push(c),
        }
    }
    if !text.is_empty() {
        parts.push(TemplatePart::Text(text));
    }
    Ok(Some(Template(parts)))
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
