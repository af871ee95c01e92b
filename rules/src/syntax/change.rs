//! Changes to the fields of a message: `set` and `replace`.

use std::fmt;

use winnow::combinator::opt;
use winnow::prelude::*;
use winnow::stream::Stream;

use super::advice;
use super::ast::{Expr, Kind};
use super::error::wanted;
use super::lex::{Input, Parsed, at_text, blank, cut, keyword, next_thing, regex, rest, text};
use super::parse::{expression, path};
use crate::diagnostic::{Code, Diagnostic};
use crate::span::Span;

/// Maximum length of the text that `replace` writes, in bytes.
const MAX_WITH: usize = 1024;

/// `sv_chat.message = "text"`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assign {
    /// Path of the field.
    pub target: Expr,
    /// Value to assign.
    pub value: Expr,
}

/// `cl_say.message /regex/ with "text"`
#[derive(Debug, Clone, Eq)]
pub struct Replace {
    /// Path of the field.
    pub target: Expr,
    /// Pattern, without slashes.
    pub pattern: String,
    /// Position of the pattern.
    pub span: Span,
    /// Replacement for each match; `$1` is a group of the pattern.
    pub with: String,
}

impl PartialEq for Replace {
    fn eq(&self, other: &Self) -> bool {
        (&self.target, &self.pattern, &self.with) == (&other.target, &other.pattern, &other.with)
    }
}

/// Parses assignments. A comma that no other assignment follows belongs to the rule.
pub(super) fn assigns(i: &mut Input<'_>) -> Parsed<Vec<Assign>> {
    let mut assigns = vec![assign(i)?];
    loop {
        let before = i.checkpoint();
        blank(i)?;
        if opt(',').parse_next(i)?.is_none() || !is_assignment(i) {
            i.reset(&before);
            return Ok(assigns);
        }
        assigns.push(assign(i)?);
    }
}

fn is_assignment(i: &mut Input<'_>) -> bool {
    let before = i.checkpoint();
    let is_path = path(i).is_ok() && blank(i).is_ok();
    let is_assignment = is_path && rest(i).starts_with('=');
    i.reset(&before);
    is_assignment
}

fn assign(i: &mut Input<'_>) -> Parsed<Assign> {
    let target = path(i)?;
    let value = assigned(i)?;
    Ok(Assign { target, value })
}

/// Parses `= value`.
pub(super) fn assigned(i: &mut Input<'_>) -> Parsed<Expr> {
    blank(i)?;
    if rest(i).starts_with("==") {
        let (span, _) = next_thing(i);
        let span = Span::new(span.start, span.start + 2);
        return cut(
            Diagnostic::new(Code::Assignment, span, "`==` compares; to set use `=`").help("write `=`"),
        );
    }
    if opt('=').parse_next(i)?.is_none() {
        let value = advice::line(i);
        let value = [" to ", ": ", ":= ", ":", "+= ", "to ", "is "]
            .iter()
            .find_map(|sign| value.strip_prefix(sign.trim_start()))
            .unwrap_or(&value);
        let value = value.split(" when ").next().unwrap_or_default();
        return cut(wanted(i, "`=`").help(assign_help(value)));
    }
    expression(i)
}

pub(super) fn replace(i: &mut Input<'_>) -> Parsed<Replace> {
    blank(i)?;
    if at_text(i) || rest(i).starts_with('/') {
        let error = wanted(i, "a field, as in `sv_chat.message`");
        return cut(error.help("write `replace sv_chat.message /a/ with \"b\"`"));
    }
    let target = path(i)?;
    blank(i)?;
    if !rest(i).starts_with('/') {
        let error = wanted(i, "a regular expression, as in `/text/`");
        return cut(error.help(replace_help(&target, rest(i))));
    }
    let (pattern, span) = regex(i)?;
    blank(i)?;
    if opt(keyword("with")).parse_next(i)?.is_none() {
        let text = quoted_texts(rest(i)).next().unwrap_or("b");
        let help = format!("write `replace {target} /{pattern}/ with \"{text}\"`");
        return cut(wanted(i, "`with`").help(help));
    }
    blank(i)?;
    if !at_text(i) {
        let (_, found) = next_thing(i);
        let help = match found.trim_matches('`') {
            "the end" | "when" => "write `with \"\"` to remove the text".to_owned(),
            found => format!("write `\"{found}\"`"),
        };
        return cut(wanted(i, "a text in quotes").help(help));
    }
    let (with, place) = text(i)?;
    if with.len() > MAX_WITH {
        let what = format!("a text longer than {MAX_WITH} bytes");
        return cut(Diagnostic::new(Code::TooComplex, place, what));
    }
    Ok(Replace {
        target,
        pattern,
        span,
        with,
    })
}

/// Returns help for an assignment without its `=`.
fn assign_help(value: &str) -> String {
    match value.trim() {
        "" => "write `= VALUE` after the field".to_owned(),
        value if value.chars().count() < 60 && !value.contains('`') => format!("write `= {value}`"),
        _ => "write `=` before the value".to_owned(),
    }
}

/// Returns help for a replacement whose pattern is a text in quotes, or missing.
fn replace_help(target: &Expr, text: &str) -> String {
    let mut texts = quoted_texts(text);
    let escaped = |text: &str| Expr::new(Kind::Regex(regex::escape(text)), Span::default()).to_string();
    match (texts.next(), texts.next()) {
        (Some(from), with) => format!(
            "write `replace {target} {} with \"{}\"`",
            escaped(from),
            with.unwrap_or("b")
        ),
        (None, _) => format!("write `replace {target} /a/ with \"b\"`"),
    }
}

/// Returns the texts in quotes on the line.
fn quoted_texts(text: &str) -> impl Iterator<Item = &str> {
    let line = text.lines().next().unwrap_or_default();
    line.split(['"', '\'']).skip(1).step_by(2)
}

impl fmt::Display for Assign {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} = {}", self.target, self.value)
    }
}

impl fmt::Display for Replace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let pattern = Expr::new(Kind::Regex(self.pattern.clone()), self.span);
        let with = Expr::new(Kind::Text(self.with.clone()), self.span);
        write!(f, "replace {} {pattern} with {with}", self.target)
    }
}
