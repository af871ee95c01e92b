//! Actions that hold messages: `hold until` and `pause`.

use std::time::Duration;

use winnow::combinator::opt;
use winnow::prelude::*;

use super::{Action, MAX_HOLD};
use crate::syntax::advice;
use crate::syntax::argument::{opt_number, short};
use crate::syntax::error::wanted;
use crate::syntax::lex::{Input, Parsed, blank, cut, keyword};
use crate::syntax::parse::expression;

pub(super) fn hold(i: &mut Input<'_>) -> Parsed<Action> {
    blank(i)?;
    if opt(keyword("until")).parse_next(i)?.is_none() {
        let error = wanted(i, "`until`, as in `hold until seen(enter_game)`");
        let tail = advice::line(i);
        let time = tail.strip_prefix("for ").unwrap_or(&tail);
        let moved = tail.split_once(" until ");
        let moved = moved.map(|(cond, until)| format!("hold until {until} when {}", advice::bare(cond)));
        let last = tail.split_once(" for ").or_else(|| tail.rsplit_once(' '));
        let last = last.map(|(cond, time)| format!("delay {time} when {}", advice::bare(cond)));
        let texts = [
            moved.unwrap_or_default(),
            format!("delay {time}"),
            time.split_once(' ')
                .map(|(time, cond)| format!("delay {time} when {cond}"))
                .unwrap_or_default(),
            last.unwrap_or_default(),
            format!("hold until seen(enter_game) {tail}"),
            format!("hold until seen(enter_game) unordered when {tail}"),
        ];
        let help = advice::first_statement(i, texts);
        return cut(
            error.help(help.unwrap_or_else(|| "write `hold until seen(enter_game) when sv_motd`".to_owned()))
        );
    }
    let until = expression(i)?;
    let (max, unordered) = patience(i)?;
    Ok(Action::Hold {
        until,
        max,
        unordered,
    })
}

pub(super) fn pause(i: &mut Input<'_>) -> Parsed<Action> {
    let (max, unordered) = patience(i)?;
    Ok(Action::Pause { max, unordered })
}

/// Returns the maximum time for which a message is held, and whether later messages overtake it.
fn patience(i: &mut Input<'_>) -> Parsed<(Duration, bool)> {
    blank(i)?;
    let mut max = MAX_HOLD;
    if opt(keyword("max")).parse_next(i)?.is_some() {
        let Some((value, span)) = opt_number(i)? else {
            return cut(wanted(i, "a duration, as in `max 5s`").help("write `max 5s`"));
        };
        max = short(value, span)?;
    }
    blank(i)?;
    Ok((max, opt(keyword("unordered")).parse_next(i)?.is_some()))
}
