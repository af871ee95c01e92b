//! Operators, and the whole expression.
//!
//! Law: what binds tighter, from loose to tight: `or`, `and`, `not`, comparisons, `+ -`, `* / %`, the sign. Comparisons
//! do not follow one another. An expression ends where no operator follows, so that a rule can go on behind it.

use teetap_wire::def::suggest;
use winnow::combinator::{Infix, Postfix, Prefix, opt};
use winnow::error::ErrMode;
use winnow::prelude::*;
use winnow::stream::{LocatingSlice, Stateful};

use super::ast::{Arith, Compare, Expr, Kind};
use super::lex::{Counts, Failure, Input, Parsed, backtrack, blank, cut, here, keyword, next_thing, rest};
use super::operand::{OPERATORS, enter, operand, set, wanted};
use crate::diagnostic::{Code, Diagnostic};
use crate::span::Span;

/// Longest text of an expression, in bytes.
pub const MAX_LENGTH: usize = 16 * 1024;
/// Most brackets and prefixes within one another.
pub const MAX_NESTING: usize = 32;
/// Most `+ - * / %` in one expression.
pub const MAX_ARITHMETIC: usize = 64;

const OR: i64 = 1;
const AND: i64 = 3;
const NOT: i64 = 5;
const COMPARE: i64 = 7;
const ADD: i64 = 9;
const MULTIPLY: i64 = 11;
const SIGN: i64 = 13;

/// Words that stand behind the condition of a rule.
const MODIFIERS: [&str; 12] = [
    "chance", "every", "skip", "first", "once", "max", "from", "to", "after", "until", "per", "when",
];

/// Reads a whole text as one expression.
///
/// # Errors
/// What is wrong first.
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
        state: Counts::default(),
    };
    whole(&mut input).map_err(|error| match error {
        ErrMode::Cut(Failure(Some(diagnostic))) | ErrMode::Backtrack(Failure(Some(diagnostic))) => {
            *diagnostic
        }
        _ => wanted(&input, "an expression"),
    })
}

fn whole(i: &mut Input<'_>) -> Parsed<Expr> {
    let expr = expression(i)?;
    blank(i)?;
    if rest(i).is_empty() {
        Ok(expr)
    } else {
        cut(leftover(i, "the end"))
    }
}

/// An expression, up to where no operator follows.
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
    if !minus && opt('!').parse_next(i)?.is_none() && opt(keyword("not")).parse_next(i)?.is_none() {
        return cut(wanted(i, "a condition or a value"));
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

/// The end of the operand of a prefix: tells where the prefix is.
fn leave(i: &mut Input<'_>, operand: Span) -> usize {
    i.state.nesting -= 1;
    i.state.prefixes.pop().unwrap_or(operand.start)
}

fn postfix<'i>(i: &mut Input<'i>) -> Parsed<Postfix<Input<'i>, Expr, ErrMode<Failure>>> {
    blank(i)?;
    if opt(keyword("in")).parse_next(i)?.is_none() {
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
    let text = rest(i);
    let word = text.len() - text.trim_start_matches(super::lex::word_char).len();
    let (len, operator): (usize, _) = match (text.get(..word).unwrap_or_default(), text.as_bytes()) {
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

fn chained(span: Span) -> Diagnostic {
    Diagnostic::new(Code::Chained, span, "comparisons do not follow one another")
        .help("join them with `and`: `a < b and b < c`")
}

/// What is wrong with the text behind a complete expression, where only an operator or `end` may follow.
pub(super) fn leftover(i: &Input<'_>, end: &str) -> Diagnostic {
    let (span, found) = next_thing(i);
    let text = rest(i);
    let two = Span::new(span.start, span.start + 2);
    let starts = |sign: &str| text.starts_with(sign);
    let word = found.trim_matches('`');
    if starts("==")
        || starts("!=")
        || starts("<")
        || starts(">")
        || matches!(word, "contains" | "matches" | "in")
    {
        return chained(span);
    }
    if starts("=~") {
        return Diagnostic::new(Code::Expected, two, "no operator `=~`").help("use `matches`");
    }
    if starts("=") {
        return Diagnostic::new(Code::Assignment, span, "`=` assigns; to compare use `==`");
    }
    if starts("&") || starts("|") {
        let twice = if starts("&") {
            "`and` or `&&`"
        } else {
            "`or` or `||`"
        };
        return Diagnostic::new(Code::Expected, span, format!("no operator {found}"))
            .help(format!("use {twice}"));
    }
    if matches!(word, ")" | "]" | "}") {
        return Diagnostic::new(Code::Expected, span, format!("{found} closes nothing"));
    }
    let diagnostic = Diagnostic::new(
        Code::Expected,
        span,
        format!("expected an operator or {end}, found {found}"),
    );
    match suggest(word, OPERATORS.into_iter().filter(|word| *word != "not")) {
        Some(meant) => diagnostic.meant(Some(meant)),
        None if MODIFIERS.contains(&word) => {
            diagnostic.note(format!("`{word}` belongs to rules; this is an expression"))
        }
        None => diagnostic,
    }
}
