//! Parses actions.

use std::time::Duration;

use teetap_wire::Side;
use teetap_wire::def::suggest;
use winnow::combinator::opt;
use winnow::prelude::*;

use super::end::{exit, expect, fail};
use super::hold::{hold, pause};
use super::{ACTIONS, Action};
use crate::diagnostic::{Code, Diagnostic};
use crate::span::Span;
use crate::syntax::argument::{Shown, opt_number, opt_times, short};
use crate::syntax::ast::{Kind, Name};
use crate::syntax::change::{assigned, assigns, replace};
use crate::syntax::error::{MODIFIERS, wanted};
use crate::syntax::lex::{Input, Parsed, blank, cut, keyword, rest, text, word};
use crate::syntax::made::{inject, message};
use crate::syntax::operand::variable;
use crate::syntax::template::opt_template;

pub(in crate::syntax) fn action(i: &mut Input<'_>) -> Parsed<Action> {
    blank(i)?;
    let Some((verb, span)) = opt(word).parse_next(i)? else {
        return cut(wanted(i, "an action"));
    };
    Ok(match verb {
        "pass" => Action::Pass,
        "drop" => Action::Drop,
        "swap" => Action::Reorder { after: 1 },
        "lose" => lose(i)?,
        "delay" => delay(i)?,
        "dup" => dup(i)?,
        "corrupt" => corrupt(i)?,
        "set" => Action::Set(assigns(i)?),
        "replace" => Action::Replace(replace(i)?),
        "inject" => Action::Make(inject(i)?),
        "reply" => Action::Make(message(i)?),
        "hold" => hold(i)?,
        "pause" => pause(i)?,
        "stall" => match opt_number(i)? {
            Some((value, span)) => Action::Stall(short(value, span)?),
            None => return cut(wanted(i, "a duration, as in `stall 3s`")),
        },
        "log" => Action::Log(opt_template(i)?),
        "mark" => Action::Mark(mark(i)?),
        "var" => var(i)?,
        "fail" => fail(i)?,
        "expect" => expect(i)?,
        "exit" => exit(i)?,
        "close" => close(i)?,
        "reorder" => match opt_times(i)? {
            Some(after) => Action::Reorder { after },
            None => return cut(wanted(i, "how many overtake, as in `reorder 4`")),
        },
        _ => {
            return cut(
                Diagnostic::new(Code::UnknownAction, span, format!("unknown action `{verb}`"))
                    .meant(suggest(verb, ACTIONS))
                    .note(format!("actions: {}", ACTIONS.join(" "))),
            );
        }
    })
}

fn lose(i: &mut Input<'_>) -> Parsed<Action> {
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

fn delay(i: &mut Input<'_>) -> Parsed<Action> {
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

/// Parses the id of `mark`, if there is one: a word that does not continue the rule.
fn mark(i: &mut Input<'_>) -> Parsed<Option<Name>> {
    blank(i)?;
    let id = |(word, _): &(&str, Span)| *word != "when" && !MODIFIERS.contains(word);
    let id = opt(word.verify(id)).parse_next(i)?;
    Ok(id.map(|(text, span)| Name {
        text: text.to_owned(),
        span,
    }))
}

fn close(i: &mut Input<'_>) -> Parsed<Action> {
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

fn dup(i: &mut Input<'_>) -> Parsed<Action> {
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

fn corrupt(i: &mut Input<'_>) -> Parsed<Action> {
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
