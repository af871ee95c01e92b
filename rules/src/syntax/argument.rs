//! Parses numbers of a certain quantity, as arguments of actions and modifiers.

use std::fmt;
use std::time::Duration;

use winnow::combinator::opt;
use winnow::prelude::*;

use super::lex::{Input, Parsed, blank, cut, here, joined_number, number};
use super::number::{Number, Quantity, Unit};
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
    blank(i)?;
    // The word after the number may be a unit, as in `corrupt 1 bit`.
    let Some((value, span)) = opt(joined_number).parse_next(i)? else {
        return Ok(None);
    };
    let times = measured(value, span, Quantity::Plain)?;
    match u32::try_from(times) {
        Ok(times @ 1..) if i64::from(times) <= MAX_TIMES => Ok(Some(times)),
        _ => {
            let what = format!("expected a number from 1 to {MAX_TIMES}");
            cut(Diagnostic::new(Code::Impossible, span, what).help(format!("write `1` to `{MAX_TIMES}`")))
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
            cut(match (found, quantity) {
                (Quantity::Plain, _) => diagnostic.help(with_unit(&number, quantity)),
                (_, Quantity::Plain) => diagnostic.help("write a number without a unit"),
                (Quantity::Size, Quantity::Rate) => {
                    diagnostic.help("write `2mbit`: a rate counts bits per second")
                }
                _ => diagnostic.help(format!(
                    "write {}, as in `{}{}`",
                    quantity.name(),
                    40,
                    quantity.usual()
                )),
            })
        }
    }
}

/// Returns help with the unit that a number lacks.
pub(crate) fn with_unit(number: &Number, quantity: Quantity) -> String {
    let whole = number.digits / 10u64.pow(number.decimals.into());
    match quantity {
        // A fraction of one is meant as a fraction of the whole.
        Quantity::Percent if number.decimals > 0 && whole == 0 => {
            let percent = Number {
                digits: number.digits.saturating_mul(100),
                ..*number
            };
            format!("write `{}%`", percent.shortened())
        }
        Quantity::Percent if number.digits == 0 => "write `0%`".to_owned(),
        Quantity::Duration if whole < 20 => format!("write `{number}s` for seconds, or `{number}ms`"),
        Quantity::Duration => format!("write `{number}ms`, or `{number}s` for seconds"),
        Quantity::Rate => format!("write `{number}kbit`, or `{number}bit` for bits per second"),
        _ => format!("write `{number}{}`", quantity.usual()),
    }
}

/// Parses a percentage, if there is one.
pub(super) fn opt_share(i: &mut Input<'_>) -> Parsed<Option<Share>> {
    let Some((mut value, mut span)) = opt_number(i)? else {
        return Ok(None);
    };
    if value.unit.is_none() && opt((blank, '%')).parse_next(i)?.is_some() {
        value.unit = Some(Unit::Percent);
        span.end = here(i);
    }
    let millionths = measured(value, span, Quantity::Percent)?;
    match u32::try_from(millionths).ok().and_then(Share::new) {
        Some(share) => Ok(Some(share)),
        None => cut(
            Diagnostic::new(Code::Impossible, span, "expected a percentage from 0% to 100%")
                .help("write `100%` for all of them"),
        ),
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
        return cut(Diagnostic::new(Code::Impossible, span, what).help("write `1h` or less"));
    }
    Ok(delay)
}
