//! Parses the arguments of actions.

use std::time::Duration;

use teetap_wire::Side;
use winnow::combinator::opt;
use winnow::prelude::*;

use super::Action;
use crate::diagnostic::{Code, Diagnostic};
use crate::span::Span;
use crate::syntax::argument::{Shown, opt_number, opt_times, short};
use crate::syntax::ast::{Kind, Name};
use crate::syntax::change::assigned;
use crate::syntax::error::{MODIFIERS, wanted};
use crate::syntax::lex::{Input, Parsed, blank, cut, keyword, rest, text, word};
use crate::syntax::operand::variable;

pub(super) fn lose(i: &mut Input<'_>) -> Parsed<Action> {
    let times = opt_times(i)?;
    if times.is_some() {
        blank(i)?;
        if opt(keyword("times")).parse_next(i)?.is_none() {
            return cut(wanted(i, "`times`"));
        }
    }
    Ok(Action::Lose {
        times: times.unwrap_or(1),
    })
}

pub(super) fn delay(i: &mut Input<'_>) -> Parsed<Action> {
    let Some((value, span)) = opt_number(i)? else {
        return cut(wanted(i, "a duration, as in `delay 80ms`"));
    };
    let from = short(value, span)?;
    let mut to = from;
    blank(i)?;
    if opt("..").parse_next(i)?.is_some() {
        let Some((value, last)) = opt_number(i)? else {
            return cut(wanted(i, "a duration, as in `delay 80ms..120ms`"));
        };
        to = short(value, last)?;
        if to < from {
            let what = format!("the range {}..{} ends before it starts", Shown(from), Shown(to));
            return cut(Diagnostic::new(Code::BadRange, span.to(last), what));
        }
    }
    blank(i)?;
    let unordered = opt(keyword("unordered")).parse_next(i)?.is_some();
    Ok(Action::Delay { from, to, unordered })
}

/// Parses the number of messages that overtake.
pub(super) fn reorder(i: &mut Input<'_>) -> Parsed<Action> {
    match opt_times(i)? {
        Some(after) => Ok(Action::Reorder { after }),
        None => cut(wanted(i, "how many overtake, as in `reorder 4`")),
    }
}

pub(super) fn stall(i: &mut Input<'_>) -> Parsed<Action> {
    match opt_number(i)? {
        Some((value, span)) => Ok(Action::Stall(short(value, span)?)),
        None => cut(wanted(i, "a duration, as in `stall 3s`")),
    }
}

/// Parses the id of `mark`, if there is one: a word that does not continue the rule.
pub(super) fn mark(i: &mut Input<'_>) -> Parsed<Option<Name>> {
    blank(i)?;
    let id = |(word, _): &(&str, Span)| *word != "when" && !MODIFIERS.contains(word);
    let id = opt(word.verify(id)).parse_next(i)?;
    Ok(id.map(|(text, span)| Name {
        text: text.to_owned(),
        span,
    }))
}

pub(super) fn close(i: &mut Input<'_>) -> Parsed<Action> {
    blank(i)?;
    let sides = [
        ("client", Some(Side::Client)),
        ("server", Some(Side::Server)),
        ("both", None),
    ];
    let mut side = None;
    for (name, of) in sides {
        if opt(keyword(name)).parse_next(i)?.is_some() {
            side = of;
            break;
        }
    }
    blank(i)?;
    let reason = opt(text).parse_next(i)?.map(|(reason, _)| reason);
    let reason = reason.unwrap_or_default();
    Ok(Action::Close { side, reason })
}

pub(super) fn dup(i: &mut Input<'_>) -> Parsed<Action> {
    let copies = opt_times(i)?.unwrap_or(1);
    blank(i)?;
    let mut gap = Duration::ZERO;
    if opt(keyword("gap")).parse_next(i)?.is_some() {
        let Some((value, span)) = opt_number(i)? else {
            return cut(wanted(i, "a duration, as in `dup 2 gap 15ms`"));
        };
        gap = short(value, span)?;
    }
    Ok(Action::Dup { copies, gap })
}

pub(super) fn corrupt(i: &mut Input<'_>) -> Parsed<Action> {
    let Some(count) = opt_times(i)? else {
        return cut(wanted(i, "a number, as in `corrupt 3 bits`"));
    };
    blank(i)?;
    let error = wanted(i, "`bits` or `bytes`");
    match opt(word).parse_next(i)? {
        Some(("bits" | "bit", _)) => Ok(Action::Corrupt { count, bytes: false }),
        Some(("bytes" | "byte", _)) => Ok(Action::Corrupt { count, bytes: true }),
        _ => cut(error),
    }
}

/// Parses `$name = value`.
pub(super) fn var(i: &mut Input<'_>) -> Parsed<Action> {
    blank(i)?;
    if !rest(i).starts_with('$') {
        return cut(wanted(i, "a variable, as in `var $joined = t`"));
    }
    let Kind::Variable(name) = variable(i)?.kind else {
        return cut(wanted(i, "a variable, as in `var $joined = t`"));
    };
    let value = assigned(i)?;
    Ok(Action::Var { name, value })
}
