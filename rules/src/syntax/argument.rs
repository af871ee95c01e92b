//! Parses numbers of a certain quantity, as arguments of actions and modifiers.

use std::fmt;
use std::time::Duration;

use winnow::combinator::opt;
use winnow::prelude::*;

use super::lex::{Input, Parsed, blank, cut, number};
use super::number::{Number, Quantity};
use crate::diagnostic::{Code, Diagnostic};
use crate::span::Span;
use crate::units::Share;

/// Maximum number of copies that `lose` suppresses, that `dup` creates, and that overtake with `reorder`, and of bits
/// or bytes that `corrupt` changes.
const MAX_TIMES: i64 = 100;

/// Maximum delay.
const MAX_DELAY: Duration = Duration::from_secs(3600);

/// Parses a number of at least 1, if there is one.
pub(super) fn opt_times(i: &mut Input<'_>) -> Parsed<Option<u32>> {
    let Some((value, span)) = opt_number(i)? else {
        return Ok(None);
    };
    let times = measured(value, span, Quantity::Plain)?;
    match u32::try_from(times) {
        Ok(times @ 1..) if i64::from(times) <= MAX_TIMES => Ok(Some(times)),
        _ => {
            let what = format!("expected a number from 1 to {MAX_TIMES}");
            cut(Diagnostic::new(Code::Impossible, span, what))
        }
    }
}

/// Parses a number, if there is one.
pub(super) fn opt_number(i: &mut Input<'_>) -> Parsed<Option<(Number, Span)>> {
    blank(i)?;
    opt(number).parse_next(i)
}

/// Returns the duration that a number measures.
pub(super) fn duration(value: Number, span: Span) -> Parsed<Duration> {
    let micros = measured(value, span, Quantity::Duration)?;
    Ok(Duration::from_micros(u64::try_from(micros).unwrap_or_default()))
}

/// Returns the value of a number that must measure `quantity`.
pub(super) fn measured(number: Number, span: Span, quantity: Quantity) -> Parsed<i64> {
    let found = number.unit.map_or(Quantity::Plain, |unit| unit.quantity());
    match number.value().filter(|_| found == quantity) {
        Some(value) => Ok(value),
        None => {
            let what = format!("expected {}, found `{number}`", quantity.name());
            let diagnostic = Diagnostic::new(Code::MissingUnit, span, what);
            cut(if found == Quantity::Plain {
                diagnostic.help(format!("write `{number}{}`", quantity.usual()))
            } else {
                diagnostic
            })
        }
    }
}

/// Parses a percentage, if there is one.
pub(super) fn opt_share(i: &mut Input<'_>) -> Parsed<Option<Share>> {
    let Some((value, span)) = opt_number(i)? else {
        return Ok(None);
    };
    let millionths = measured(value, span, Quantity::Percent)?;
    match u32::try_from(millionths).ok().and_then(Share::new) {
        Some(share) => Ok(Some(share)),
        None => cut(Diagnostic::new(
            Code::Impossible,
            span,
            "expected a percentage from 0% to 100%",
        )),
    }
}

/// A duration, formatted in the largest unit of which it is a multiple, up to seconds.
pub(super) struct Shown(pub(super) Duration);

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.as_micros() {
            0 => f.write_str("0s"),
            micros if micros.is_multiple_of(1_000_000) => write!(f, "{}s", micros / 1_000_000),
            micros if micros.is_multiple_of(1000) => write!(f, "{}ms", micros / 1000),
            micros => write!(f, "{micros}us"),
        }
    }
}

/// Returns the delay that a number measures.
pub(super) fn short(value: Number, span: Span) -> Parsed<Duration> {
    let delay = duration(value, span)?;
    if delay > MAX_DELAY {
        let what = format!("a delay is at most {} s", MAX_DELAY.as_secs());
        return cut(Diagnostic::new(Code::Impossible, span, what));
    }
    Ok(delay)
}
