//! Parses the arguments of actions.

use std::time::Duration;

use teetap_wire::Side;
use winnow::combinator::{alt, opt};
use winnow::error::ErrMode;
use winnow::prelude::*;

use super::Action;
use crate::diagnostic::{Code, Diagnostic};
use crate::span::Span;
use crate::syntax::advice;
use crate::syntax::advice::action::wanted_time;
use crate::syntax::argument::{Shown, opt_number, opt_times, short};
use crate::syntax::ast::{Kind, Name};
use crate::syntax::change::assigned;
use crate::syntax::error::wanted;
use crate::syntax::lex::{Failure, Input, Parsed, blank, cut, keyword, rest, text, word};
use crate::syntax::operand::variable;
use crate::syntax::words::MODIFIERS;

pub(super) fn lose(i: &mut Input<'_>) -> Parsed<Action> {
    let before = rest(i);
    let times = match opt_times(i) {
        // A share of the messages is a modifier.
        Err(ErrMode::Cut(Failure(Some(error)))) if error.code == Code::MissingUnit => {
            let (share, tail) = before
                .trim_start()
                .split_once('%')
                .unwrap_or(("50", " when vital"));
            let text = format!("lose {} chance {share}%", tail.trim());
            return cut(error.or_help(advice::first_statement(i, [text])));
        }
        times => times?,
    };
    if times.is_some() {
        blank(i)?;
        opt(alt((keyword("times"), keyword("time")))).parse_next(i)?;
    }
    Ok(Action::Lose {
        times: times.unwrap_or(1),
    })
}

pub(super) fn delay(i: &mut Input<'_>) -> Parsed<Action> {
    let Some((mut value, span)) = opt_number(i)? else {
        return cut(wanted_time(i, "delay", "a duration, as in `delay 80ms`"));
    };
    blank(i)?;
    let end = match opt("..").parse_next(i)? {
        Some(_) => match opt_number(i)? {
            Some(end) => Some(end),
            None => return cut(wanted(i, "a duration, as in `delay 80ms..120ms`")),
        },
        None => None,
    };
    if let Some((end, _)) = &end {
        value.take_unit(end);
    }
    if let (None, Some(tail)) = (value.unit, rest(i).strip_prefix(['-', '~'])) {
        let help = advice::first_statement(i, [format!("delay {value}..{}", tail.trim())]);
        if let Some(help) = help {
            let error = wanted(i, "a range, as in `delay 80ms..120ms`");
            return cut(error.help(help));
        }
    }
    let from = short(value, span)?;
    let mut to = from;
    if let Some((value, last)) = end {
        to = short(value, last)?;
        if to < from {
            let what = format!("the range {}..{} ends before it starts", Shown(from), Shown(to));
            return cut(Diagnostic::new(Code::BadRange, span.to(last), what).help(format!(
                "write `{}..{}`",
                Shown(to),
                Shown(from)
            )));
        }
    }
    blank(i)?;
    let unordered = opt(keyword("unordered")).parse_next(i)?.is_some();
    Ok(Action::Delay { from, to, unordered })
}

/// Parses the number of messages that overtake.
/// Returns an error for a percentage after the word of an action: link lines have one.
fn refuse_share(i: &mut Input<'_>, verb: &str) -> Parsed<()> {
    let tail = advice::line(i);
    let (Some(share), after) = advice::share_first(&tail) else {
        return Ok(());
    };
    blank(i)?;
    let count = if verb == "reorder" { "4" } else { "3 bits" };
    let mut texts = Vec::new();
    if !after.is_empty() && !after.starts_with(|c: char| c.is_ascii_digit()) {
        texts.push(format!(
            "{verb} {count} when {} chance {share}",
            advice::bare(after)
        ));
    }
    if verb != "reorder" {
        texts.push(format!("link both {verb} {share}"));
    }
    // A link without a delay has nothing to overtake.
    texts.push(format!("link both delay 40ms {verb} {share}"));
    let error = wanted(i, "a number");
    cut(error
        .help("write a number, such as 3")
        .or_help(advice::first_statement(i, texts)))
}

pub(super) fn reorder(i: &mut Input<'_>) -> Parsed<Action> {
    refuse_share(i, "reorder")?;
    match opt_times(i)? {
        Some(after) => Ok(Action::Reorder { after }),
        None => {
            let tail = advice::line(i);
            let tail = tail.strip_prefix("when ").unwrap_or(&tail).to_owned();
            let texts = [
                format!("reorder 4 when {tail}"),
                "reorder 4 when any_snap".to_owned(),
            ];
            let error = wanted(i, "how many overtake, as in `reorder 4`");
            cut(error.or_help(advice::first_statement(i, texts)))
        }
    }
}

pub(super) fn stall(i: &mut Input<'_>) -> Parsed<Action> {
    match opt_number(i)? {
        Some((value, span)) => Ok(Action::Stall(short(value, span)?)),
        None => cut(wanted_time(i, "stall", "a duration, as in `stall 3s`")),
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
            return cut(wanted(i, "a duration, as in `dup 2 gap 15ms`").help("write `gap 15ms`"));
        };
        gap = short(value, span)?;
    }
    Ok(Action::Dup { copies, gap })
}

pub(super) fn corrupt(i: &mut Input<'_>) -> Parsed<Action> {
    refuse_share(i, "corrupt")?;
    let Some(count) = opt_times(i)? else {
        return cut(wanted(i, "a number, as in `corrupt 3 bits`")
            .help("write `corrupt 3 bits` or `corrupt 2 bytes`, which are chosen at random"));
    };
    blank(i)?;
    let error = wanted(i, "`bits` or `bytes`").help(format!(
        "write `corrupt {count} bits`, or `corrupt {count} bytes`"
    ));
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
        let (word, _) = advice::split_word(rest(i));
        let word = if word.is_empty() { "joined" } else { word };
        return cut(wanted(i, "a variable, as in `var $joined = t`")
            .help(format!("write `var ${word} = `, with `$`")));
    }
    let Kind::Variable(name) = variable(i)?.kind else {
        return cut(wanted(i, "a variable, as in `var $joined = t`"));
    };
    let value = assigned(i)?;
    Ok(Action::Var { name, value })
}
