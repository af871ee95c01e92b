//! Parses operands that contain no other expression: variables, paths and sets.

use winnow::combinator::opt;
use winnow::prelude::*;
use winnow::token::take_while;

use super::ast::{Choice, Expr, Index, Kind, Name, Path, Segment};
use super::error::{leftover, wanted};
use super::lex::{self, Input, Parsed, blank, cut, here, rest};
use crate::diagnostic::{Code, Diagnostic};
use crate::span::Span;

/// Parses the bracket that closes the opening bracket at `open`.
pub(super) fn close(i: &mut Input<'_>, open: Span, bracket: char) -> Parsed<()> {
    blank(i)?;
    match rest(i).chars().next() {
        Some(found) if found == bracket => bracket.void().parse_next(i),
        None => cut(Diagnostic::new(
            Code::Unclosed,
            open,
            format!("a bracket without its closing `{bracket}`"),
        )),
        _ => cut(leftover(i, &format!("`{bracket}`"))),
    }
}

pub(super) fn variable(i: &mut Input<'_>) -> Parsed<Expr> {
    let start = here(i);
    '$'.void().parse_next(i)?;
    let Some((text, span)) = opt(lex::word).parse_next(i)? else {
        return cut(wanted(i, "the name of a variable"));
    };
    let span = Span::new(start, span.end);
    let text = text.to_owned();
    Ok(Expr::new(Kind::Variable(Name { text, span }), span))
}

pub(super) fn dotted(i: &mut Input<'_>) -> Parsed<Expr> {
    let start = here(i);
    let mut segments = Vec::new();
    while let Some(segment) = next_segment(i, &segments)? {
        segments.push(segment);
    }
    if segments.is_empty() {
        return cut(wanted(i, "a condition or a value"));
    }
    let span = Span::new(start, here(i));
    Ok(Expr::new(Kind::Path(Path { dot: true, segments }), span))
}

/// Parses a dot and a name. Returns `None` at the end of the path; two dots are a range.
pub(super) fn next_segment(i: &mut Input<'_>, before: &[Segment]) -> Parsed<Option<Segment>> {
    if !rest(i).starts_with('.') || rest(i).starts_with("..") {
        return Ok(None);
    }
    '.'.void().parse_next(i)?;
    let start = here(i);
    let head = before.first().map_or("", |segment| &*segment.name.text);
    let class = matches!(head, "ctrl" | "sys" | "game" | "connless");
    let uuid = class && before.len() == 2 && before.last().is_some_and(|segment| segment.name.text == "ex");
    let text: &str = match rest(i).chars().next() {
        Some('a'..='z' | 'A'..='Z' | '_') if head == "lint" => {
            take_while(1.., |c| lex::word_char(c) || c == '-').parse_next(i)?
        }
        Some('0'..='9' | 'a'..='f' | 'A'..='F') if uuid => {
            take_while(1.., |c: char| c.is_ascii_hexdigit() || c == '-').parse_next(i)?
        }
        Some('0'..='9') if class && before.len() == 1 => {
            take_while(1.., |c: char| c.is_ascii_digit()).parse_next(i)?
        }
        Some('a'..='z' | 'A'..='Z' | '_') => lex::word(i)?.0,
        _ => return cut(wanted(i, "a name")),
    };
    let name = Name {
        text: text.to_owned(),
        span: Span::new(start, here(i)),
    };
    Ok(Some(Segment {
        name,
        index: index(i)?,
    }))
}

pub(super) fn index(i: &mut Input<'_>) -> Parsed<Option<Index>> {
    let open = Span::new(here(i), here(i) + 1);
    if opt('[').parse_next(i)?.is_none() {
        return Ok(None);
    }
    blank(i)?;
    if !rest(i).starts_with(|c: char| c.is_ascii_digit()) {
        return cut(wanted(i, "an index, such as `[3]`"));
    }
    let (number, span) = lex::number(i)?;
    let value = number
        .value()
        .filter(|_| number.unit.is_none() && number.decimals == 0);
    let Some(value) = value.and_then(|value| u16::try_from(value).ok()) else {
        return cut(Diagnostic::new(
            Code::BadNumber,
            span,
            "not an index: a whole number up to 65535",
        ));
    };
    close(i, open, ']')?;
    Ok(Some(Index { value, span }))
}

/// Parses the set after `in`: members in braces, separated by blanks or commas.
pub(super) fn set(i: &mut Input<'_>) -> Parsed<(Vec<Choice>, Span)> {
    blank(i)?;
    let start = here(i);
    if opt('{').parse_next(i)?.is_none() {
        if let Some(range) = bare_range(i)? {
            return Ok((vec![range], Span::new(start, here(i))));
        }
        return cut(wanted(i, "a set").help("write `in {1 2 5..9}`"));
    }
    let mut choices = Vec::new();
    loop {
        blank(i)?;
        match rest(i).chars().next() {
            None => {
                let span = Span::new(start, start + 1);
                return cut(Diagnostic::new(
                    Code::Unclosed,
                    span,
                    "a set without its closing `}`",
                ));
            }
            Some('}') if choices.is_empty() => return cut(wanted(i, "a member of the set")),
            Some('}') => {
                '}'.void().parse_next(i)?;
                return Ok((choices, Span::new(start, here(i))));
            }
            Some(',') if !choices.is_empty() => ','.void().parse_next(i)?,
            _ => choices.push(choice(i)?),
        }
    }
}

/// Parses a single range of numbers, which needs no braces.
fn bare_range(i: &mut Input<'_>) -> Parsed<Option<Choice>> {
    let before = i.checkpoint();
    if rest(i).starts_with(|first: char| first.is_ascii_digit() || first == '-')
        && let Ok(range @ Choice::Range(..)) = choice(i)
    {
        return Ok(Some(range));
    }
    i.reset(&before);
    Ok(None)
}

fn choice(i: &mut Input<'_>) -> Parsed<Choice> {
    let first = member(i)?;
    if !rest(i).starts_with("..") {
        return Ok(Choice::One(first));
    }
    "..".void().parse_next(i)?;
    Ok(Choice::Range(first, member(i)?))
}

/// Parses a literal, or a name of an enum.
fn member(i: &mut Input<'_>) -> Parsed<Expr> {
    let start = here(i);
    let minus = opt('-').parse_next(i)?.is_some();
    match rest(i).chars().next() {
        Some('0'..='9') => {
            let (mut number, span) = lex::number(i)?;
            number.negative = minus;
            Ok(Expr::new(Kind::Number(number), Span::new(start, span.end)))
        }
        Some('"') if !minus => lex::text(i).map(|(text, span)| Expr::new(Kind::Text(text), span)),
        Some('a'..='z' | 'A'..='Z' | '_') if !minus => {
            let (text, span) = lex::word(i)?;
            let name = Name {
                text: text.to_owned(),
                span,
            };
            let segments = vec![Segment { name, index: None }];
            Ok(Expr::new(Kind::Path(Path { dot: false, segments }), span))
        }
        _ => cut(wanted(i, "a number, a string or a name")),
    }
}
