//! Parses operands that contain no other expression: variables, paths and sets.

use winnow::combinator::opt;
use winnow::prelude::*;
use winnow::token::take_while;

use super::ast::{Choice, Expr, Index, Kind, Name, Path, Segment};
use super::error::{leftover, wanted};
use super::lex::{self, Input, Parsed, blank, cut, here, rest};
use super::number::Number;
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
        )
        .help(format!("add `{bracket}`"))),
        _ => {
            let error = leftover(i, &format!("`{bracket}`"));
            cut(match error.help {
                None => error.help(format!("join conditions with `and` or `or`, or add `{bracket}`")),
                Some(_) => error,
            })
        }
    }
}

pub(super) fn variable(i: &mut Input<'_>) -> Parsed<Expr> {
    let start = here(i);
    '$'.void().parse_next(i)?;
    let Some((text, span)) = opt(lex::word).parse_next(i)? else {
        return cut(wanted(i, "the name of a variable")
            .help("write the name of a variable that a rule sets, as in `var $joined = t when enter_game`"));
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
        _ => {
            let before: Vec<String> = before.iter().map(ToString::to_string).collect();
            let error = wanted(i, "a name");
            return cut(error.help(match &*before.join(".") {
                "" => "write `.client_id` for a field of any message".to_owned(),
                before => {
                    format!("write `{before}` alone, or a field after the dot, as in `sv_chat.message`")
                }
            }));
        }
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
        return cut(wanted(i, "an index, such as `[3]`")
            .help("write a number, as in `snap.character[3].x`; without brackets it is any element"));
    }
    let (number, span) = lex::number(i)?;
    let value = number
        .value()
        .filter(|_| number.unit.is_none() && number.decimals == 0);
    let Some(value) = value.and_then(|value| u16::try_from(value).ok()) else {
        return cut(
            Diagnostic::new(Code::BadNumber, span, "not an index: a whole number up to 65535")
                .help("write a number such as `[3]`"),
        );
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
        let error = wanted(i, "a set");
        return cut(error.help(set_help(i)));
    }
    let mut choices = Vec::new();
    loop {
        blank(i)?;
        match rest(i).chars().next() {
            None => {
                let span = Span::new(start, start + 1);
                return cut(
                    Diagnostic::new(Code::Unclosed, span, "a set without its closing `}`").help("add `}`"),
                );
            }
            Some('}') if choices.is_empty() => {
                return cut(wanted(i, "a member of the set").help("write `in {1 2 5..9}`"));
            }
            Some('}') => {
                '}'.void().parse_next(i)?;
                return Ok((choices, Span::new(start, here(i))));
            }
            Some(',') if !choices.is_empty() => ','.void().parse_next(i)?,
            // In braces a word after a number is the next member.
            _ => choices.push(choice(i, lex::joined_number)?),
        }
    }
}

/// Returns help with a set of the members that follow, in other brackets or without any.
fn set_help(i: &Input<'_>) -> String {
    let text = rest(i);
    let inner = text.strip_prefix(['(', '[', '<']).unwrap_or(text);
    let is_member =
        |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-' | '"' | '\'' | ',' | ' ');
    let inner = inner
        .get(..inner.find(|c| !is_member(c)).unwrap_or(inner.len()))
        .unwrap_or_default();
    // Without brackets the members end at the next word that joins conditions.
    let end = [" and ", " or "].iter().filter_map(|word| inner.find(word)).min();
    let inner = inner.get(..end.unwrap_or(inner.len())).unwrap_or_default();
    let members: Vec<&str> = inner
        .split([',', ' '])
        .filter(|member| !member.is_empty())
        .collect();
    let written = format!("in {{{}}}", members.join(" "));
    match members.len() {
        1 if inner.trim().find('-').is_some_and(|at| at > 0) => {
            format!("write `in {}`", inner.trim().replacen('-', "..", 1))
        }
        1 if inner.trim().ends_with('s') && inner.trim().starts_with(|c: char| c.is_ascii_digit()) => {
            format!(
                "write `within {}` after `expect`, or `in 0s..{}`",
                inner.trim(),
                inner.trim()
            )
        }
        1..=16 => format!("write `{}`", written.replace('\'', "\"")),
        _ => "write `in {1 2 5..9}`".to_owned(),
    }
}

/// Parses a single range of numbers, which needs no braces.
fn bare_range(i: &mut Input<'_>) -> Parsed<Option<Choice>> {
    let before = i.checkpoint();
    if rest(i).starts_with(|first: char| first.is_ascii_digit() || first == '-')
        && let Ok(range @ Choice::Range(..)) = choice(i, lex::number)
    {
        return Ok(Some(range));
    }
    i.reset(&before);
    Ok(None)
}

/// Parser of a number.
type ParseNumber = fn(&mut Input<'_>) -> Parsed<(Number, Span)>;

/// Parses a member of a set. The first number of `60..100ms` has the unit of the second one.
fn choice(i: &mut Input<'_>, number: ParseNumber) -> Parsed<Choice> {
    let mut first = member(i, number)?;
    if !rest(i).starts_with("..") {
        return Ok(Choice::One(first));
    }
    "..".void().parse_next(i)?;
    let last = member(i, number)?;
    if let (Kind::Number(low), Kind::Number(high)) = (&mut first.kind, &last.kind) {
        low.take_unit(high);
    }
    Ok(Choice::Range(first, last))
}

/// Parses a literal, or a name of an enum.
fn member(i: &mut Input<'_>, number: ParseNumber) -> Parsed<Expr> {
    let start = here(i);
    let minus = opt('-').parse_next(i)?.is_some();
    match rest(i).chars().next() {
        Some('0'..='9') => {
            let (mut number, span) = number(i)?;
            number.negative = minus;
            Ok(Expr::new(Kind::Number(number), Span::new(start, span.end)))
        }
        Some('"' | '\'') if !minus => lex::text(i).map(|(text, span)| Expr::new(Kind::Text(text), span)),
        Some('a'..='z' | 'A'..='Z' | '_') if !minus => {
            let (text, span) = lex::word(i)?;
            let name = Name {
                text: text.to_owned(),
                span,
            };
            let segments = vec![Segment { name, index: None }];
            Ok(Expr::new(Kind::Path(Path { dot: false, segments }), span))
        }
        _ => cut(wanted(i, "a number, a string or a name")
            .help("write `in {1 2 5..9}`, with blanks or commas between the members")),
    }
}
