//! Actions that hold messages: `hold until` and `pause`.

use std::time::Duration;

use winnow::combinator::opt;
use winnow::prelude::*;

use super::{Action, MAX_HOLD};
use crate::syntax::argument::{opt_number, short};
use crate::syntax::error::wanted;
use crate::syntax::lex::{Input, Parsed, blank, cut, keyword};
use crate::syntax::parse::expression;

pub(super) fn hold(i: &mut Input<'_>) -> Parsed<Action> {
    blank(i)?;
    if opt(keyword("until")).parse_next(i)?.is_none() {
        return cut(wanted(i, "`until`, as in `hold until seen(enter_game)`"));
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
            return cut(wanted(i, "a duration, as in `max 5s`"));
        };
        max = short(value, span)?;
    }
    blank(i)?;
    Ok((max, opt(keyword("unordered")).parse_next(i)?.is_some()))
}
