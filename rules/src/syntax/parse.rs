//! Parses expressions and their operators.
//!
//! Law: the operators from lowest to highest precedence: `or`, `and`, `not`, comparisons, `+ -`, `* / %`, the sign.
//! Comparisons cannot be chained. An expression ends before text that is not an operator, so that a rule can continue.

use teetap_wire::Code as Lint;
use winnow::combinator::{Infix, Postfix, Prefix, opt};
use winnow::error::ErrMode;
use winnow::prelude::*;
use winnow::stream::{LocatingSlice, Stateful};

use super::advice;
use super::ast::{Arith, Call, Compare, Expr, Kind, Name, Path, Segment};
use super::error::{chained, foreign_sign, leftover_of_expression, no_operand, wanted};
use super::lex::{
    self, Counts, Failure, Input, Parsed, Trials, backtrack, blank, cut, here, operator, plain, rest,
};
use super::operand::{close, dotted, index, next_segment, set, variable};
use super::words::OPERATORS;
use crate::diagnostic::{Code, Diagnostic};
use crate::span::Span;

/// Maximum length of an expression in bytes.
pub(crate) const MAX_LENGTH: usize = 16 * 1024;
/// Maximum nesting of brackets and prefixes.
pub const MAX_NESTING: usize = 32;
/// Maximum number of `+ - * / %` in one expression.
pub(crate) const MAX_ARITHMETIC: usize = 64;

const OR: i64 = 1;
const AND: i64 = 3;
const NOT: i64 = 5;
const COMPARE: i64 = 7;
const ADD: i64 = 9;
const MULTIPLY: i64 = 11;
const SIGN: i64 = 13;

/// Parses a whole text as one expression.
///
/// # Errors
/// Returns the first error.
pub fn parse(text: &str) -> Result<Expr, Diagnostic> {
    if text.len() > MAX_LENGTH {
        let start = text.floor_char_boundary(MAX_LENGTH);
        let what = format!("longer than {MAX_LENGTH} bytes");
        return Err(Diagnostic::new(
            Code::TooComplex,
            Span::new(start, text.len()),
            what,
        ));
    }
    let mut input = Stateful {
        input: LocatingSlice::new(text),
        state: Counts {
            trials: Trials {
                expression: Some(is_expression),
                ..Trials::default()
            },
            ..Counts::default()
        },
    };
    whole(&mut input).map_err(|error| {
        let error = match error {
            ErrMode::Cut(Failure(Some(diagnostic))) | ErrMode::Backtrack(Failure(Some(diagnostic))) => {
                *diagnostic
            }
            _ => wanted(&input, "an expression"),
        };
        error.with_general_help()
    })
}

fn whole(i: &mut Input<'_>) -> Parsed<Expr> {
    let expr = expression(i)?;
    blank(i)?;
    if rest(i).is_empty() {
        Ok(expr)
    } else {
        cut(leftover_of_expression(i, &expr))
    }
}

/// Returns true if a text is an expression that may be a condition.
pub(super) fn is_expression(text: &str) -> bool {
    let mut i = plain(text);
    expression(&mut i).is_ok_and(|expr| advice::is_condition(&expr)) && rest(&i).trim().is_empty()
}

/// Parses an expression, which ends before text that is not an operator.
pub(super) fn expression(i: &mut Input<'_>) -> Parsed<Expr> {
    winnow::combinator::expression(operand)
        .prefix(prefix)
        .postfix(postfix)
        .infix(infix)
        .parse_next(i)
}

fn prefix<'i>(i: &mut Input<'i>) -> Parsed<Prefix<Input<'i>, Expr, ErrMode<Failure>>> {
    blank(i)?;
    let start = here(i);
    let minus = opt('-').parse_next(i)?.is_some();
    if !minus && opt('!').parse_next(i)?.is_none() && opt(operator("not")).parse_next(i)?.is_none() {
        return cut(no_operand(i));
    }
    enter(i, Span::new(start, here(i)))?;
    i.state.prefixes.push(start);
    if minus {
        return Ok(Prefix(SIGN, |i, operand: Expr| {
            let start = leave(i, operand.span);
            Ok(operand.negate(start))
        }));
    }
    Ok(Prefix(NOT, |i, operand: Expr| {
        let start = leave(i, operand.span);
        let span = Span::new(start, operand.span.end);
        Ok(Expr::new(Kind::Not(Box::new(operand)), span))
    }))
}

/// Ends the operand of a prefix. Returns the position of the prefix.
fn leave(i: &mut Input<'_>, operand: Span) -> usize {
    i.state.nesting -= 1;
    i.state.prefixes.pop().unwrap_or(operand.start)
}

fn postfix<'i>(i: &mut Input<'i>) -> Parsed<Postfix<Input<'i>, Expr, ErrMode<Failure>>> {
    blank(i)?;
    if opt(operator("in")).parse_next(i)?.is_none() {
        return backtrack();
    }
    Ok(Postfix(COMPARE, |i, value: Expr| {
        if matches!(value.kind, Kind::In(..) | Kind::Compare(..)) {
            let span = value.span;
            return cut(chained(span));
        }
        let (choices, span) = set(i)?;
        let span = value.span.to(span);
        Ok(Expr::new(Kind::In(Box::new(value), choices), span))
    }))
}

fn infix<'i>(i: &mut Input<'i>) -> Parsed<Infix<Input<'i>, Expr, ErrMode<Failure>>> {
    macro_rules! compare {
        ($op:ident) => {
            Infix::Neither(COMPARE, |_, left: Expr, right| {
                Ok(left.compare(Compare::$op, right))
            })
        };
    }
    macro_rules! arith {
        ($op:ident $power:ident) => {
            Infix::Left($power, |i, left: Expr, right| {
                limited(i, left.arith(Arith::$op, right))
            })
        };
    }
    blank(i)?;
    if let Some(error) = foreign_sign(i) {
        return cut(error);
    }
    let text = rest(i);
    let word = text.len() - text.trim_start_matches(lex::word_char).len();
    let (len, operator): (usize, _) = match (
        &*text.get(..word).unwrap_or_default().to_ascii_lowercase(),
        text.as_bytes(),
    ) {
        ("or", _) => (2, Infix::Left(OR, |_, left: Expr, right| Ok(left.or(right)))),
        ("and", _) => (3, Infix::Left(AND, |_, left: Expr, right| Ok(left.and(right)))),
        ("contains", _) => (8, compare!(Contains)),
        ("matches", _) => (7, compare!(Matches)),
        (_, [b'|', b'|', ..]) => (2, Infix::Left(OR, |_, left: Expr, right| Ok(left.or(right)))),
        (_, [b'&', b'&', ..]) => (2, Infix::Left(AND, |_, left: Expr, right| Ok(left.and(right)))),
        (_, [b'=', b'=', ..]) => (2, compare!(Equal)),
        (_, [b'!', b'=', ..]) => (2, compare!(Unequal)),
        (_, [b'<', b'=', ..]) => (2, compare!(LessEqual)),
        (_, [b'>', b'=', ..]) => (2, compare!(GreaterEqual)),
        (_, [b'<', ..]) => (1, compare!(Less)),
        (_, [b'>', ..]) => (1, compare!(Greater)),
        (_, [b'+', ..]) => (1, arith!(Add ADD)),
        (_, [b'-', ..]) => (1, arith!(Subtract ADD)),
        (_, [b'*', ..]) => (1, arith!(Multiply MULTIPLY)),
        (_, [b'/', ..]) => (1, arith!(Divide MULTIPLY)),
        (_, [b'%', ..]) => (1, arith!(Remainder MULTIPLY)),
        _ => return backtrack(),
    };
    winnow::token::take(len).void().parse_next(i)?;
    Ok(operator)
}

fn limited(i: &mut Input<'_>, expr: Expr) -> Parsed<Expr> {
    i.state.arithmetic += 1;
    if i.state.arithmetic > MAX_ARITHMETIC {
        let what = format!("more than {MAX_ARITHMETIC} arithmetic operators");
        return cut(Diagnostic::new(Code::TooComplex, expr.span, what));
    }
    Ok(expr)
}

/// Parses a path and the blanks before it.
pub(super) fn path(i: &mut Input<'_>) -> Parsed<Expr> {
    blank(i)?;
    let error = wanted(i, "a field, as in `sv_chat.message`")
        .help("write a field before it, as in `sv_chat.message`");
    match rest(i).chars().next() {
        Some('.') => dotted(i),
        Some(c) if c.is_ascii_alphabetic() || c == '_' => match named(i) {
            Ok(expr) if matches!(expr.kind, Kind::Path(_)) => Ok(expr),
            Err(ErrMode::Cut(other)) => Err(ErrMode::Cut(other)),
            _ => cut(error),
        },
        _ => cut(error),
    }
}

/// Parses one operand and the blanks before it. Backtracks before a prefix, and cuts before other text that is not an
/// operand.
fn operand(i: &mut Input<'_>) -> Parsed<Expr> {
    blank(i)?;
    match rest(i).chars().next() {
        Some('0'..='9') => lex::number(i).map(|(number, span)| Expr::new(Kind::Number(number), span)),
        Some('"' | '\'') => lex::text(i).map(|(text, span)| Expr::new(Kind::Text(text), span)),
        Some('/') => lex::regex(i).map(|(pattern, span)| Expr::new(Kind::Regex(pattern), span)),
        Some('(') => brackets(i),
        Some('$') => variable(i),
        Some('.') => dotted(i),
        Some('!') => printed_note(i),
        Some('-') => backtrack(),
        Some(c) if lex::word_char(c) => named(i),
        _ => cut(no_operand(i)),
    }
}

/// Parses a note as lines show it, `!wrong-token`. Backtracks before a negation.
fn printed_note(i: &mut Input<'_>) -> Parsed<Expr> {
    let start = here(i);
    let text = rest(i);
    let code = text.get(1..).unwrap_or_default();
    let is_part = |c: char| lex::word_char(c) || c == '-';
    let code = code
        .get(..code.find(|c| !is_part(c)).unwrap_or(code.len()))
        .unwrap_or_default();
    // A code of one word may be the name of an expression, which `!` negates.
    if !code.contains('-') || !Lint::ALL.iter().any(|known| known.name() == code) {
        return backtrack();
    }
    let (code, len) = (code.replace('-', "_"), code.len() + 1);
    winnow::token::take(len).void().parse_next(i)?;
    let span = Span::new(start, start + len);
    let segment = |text: &str| Segment {
        name: Name {
            text: text.to_owned(),
            span,
        },
        index: None,
    };
    let segments = vec![segment("lint"), segment(&code)];
    Ok(Expr::new(Kind::Path(Path { dot: false, segments }), span))
}

/// Enters a nested level, or fails at the limit.
fn enter(i: &mut Input<'_>, span: Span) -> Parsed<()> {
    i.state.nesting += 1;
    if i.state.nesting > MAX_NESTING {
        let what = format!("nested more than {MAX_NESTING} deep");
        return cut(Diagnostic::new(Code::TooComplex, span, what));
    }
    Ok(())
}

fn brackets(i: &mut Input<'_>) -> Parsed<Expr> {
    let open = Span::new(here(i), here(i) + 1);
    '('.void().parse_next(i)?;
    enter(i, open)?;
    let inner = expression(i)?;
    close(i, open, ')')?;
    i.state.nesting -= 1;
    Ok(inner)
}

/// Parses a path, a function, or an operator in the wrong position.
fn named(i: &mut Input<'_>) -> Parsed<Expr> {
    let at_word = no_operand(i);
    let (text, span) = lex::word(i)?;
    if text.eq_ignore_ascii_case("not") {
        return backtrack();
    }
    if OPERATORS.iter().any(|word| word.eq_ignore_ascii_case(text)) {
        return cut(at_word);
    }
    let name = Name {
        text: text.to_owned(),
        span,
    };
    if rest(i).starts_with('(') {
        return call(i, name);
    }
    let mut segments = vec![Segment {
        name,
        index: index(i)?,
    }];
    while let Some(segment) = next_segment(i, &segments)? {
        segments.push(segment);
    }
    let span = Span::new(span.start, here(i));
    Ok(Expr::new(Kind::Path(Path { dot: false, segments }), span))
}

fn call(i: &mut Input<'_>, name: Name) -> Parsed<Expr> {
    let open = Span::new(here(i), here(i) + 1);
    '('.void().parse_next(i)?;
    enter(i, open)?;
    let mut arguments = Vec::new();
    blank(i)?;
    if !rest(i).starts_with(')') {
        loop {
            arguments.push(expression(i)?);
            blank(i)?;
            if opt(',').parse_next(i)?.is_none() {
                break;
            }
        }
    }
    close(i, open, ')')?;
    i.state.nesting -= 1;
    let mut rest = Vec::new();
    while let Some(segment) = next_segment(i, &rest)? {
        rest.push(segment);
    }
    let span = Span::new(name.span.start, here(i));
    let call = Call {
        name,
        arguments,
        rest,
    };
    Ok(Expr::new(Kind::Call(call), span))
}
