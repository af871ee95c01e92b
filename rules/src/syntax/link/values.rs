//! Parses the values of parameters.

use std::time::Duration;

use strum::VariantNames as _;
use teetap_wire::def::suggest;
use winnow::combinator::opt;
use winnow::prelude::*;

use super::first;
use crate::diagnostic::{Code, Diagnostic};
use crate::impair::{Jitter, Loss, MAX_DELAY, Reorder, Shape};
use crate::syntax::argument::{duration, measured, opt_number, opt_share};
use crate::syntax::error::wanted;
use crate::syntax::lex::{Input, Parsed, blank, cut, keyword, next_thing, rest, word, word_char};
use crate::syntax::number::Quantity;
use crate::syntax::words::LINK_WORDS;
use crate::units::Share;

/// Returns the help for a value that is missing, or follows a sign.
pub(super) fn value_help(i: &Input<'_>, example: &str) -> String {
    let value = rest(i).trim_start().strip_prefix(['=', ':']);
    let value = value.and_then(|value| value.split_whitespace().next());
    let name = example.split(' ').next().unwrap_or_default();
    match value.filter(|value| value.chars().all(|c| word_char(c) || matches!(c, '.' | '%'))) {
        Some(value) => format!("write `{name} {value}`, with a blank"),
        None => format!("write `{example}`"),
    }
}

/// Parses a number of a quantity.
pub(super) fn amount(
    i: &mut Input<'_>,
    quantity: Quantity,
    example: &str,
    range: std::ops::RangeInclusive<i64>,
) -> Parsed<i64> {
    let Some((value, span)) = opt_number(i)? else {
        return cut(wanted(i, quantity.name()).help(value_help(i, example)));
    };
    let amount = measured(value, span, quantity)?;
    if range.contains(&amount) {
        return Ok(amount);
    }
    let what = match *range.end() {
        i64::MAX => format!("`{value}` is not a possible value here"),
        most => format!("`{value}` is not from {} to {most}", range.start()),
    };
    cut(Diagnostic::new(Code::Impossible, span, what))
}

pub(super) fn time(i: &mut Input<'_>, example: &str, most: Duration) -> Parsed<Duration> {
    let Some((value, span)) = opt_number(i)? else {
        return cut(wanted(i, Quantity::Duration.name()).help(value_help(i, example)));
    };
    let time = duration(value, span)?;
    if time > most {
        let what = format!("a link delays by at most {} s", most.as_secs());
        return cut(Diagnostic::new(Code::Impossible, span, what));
    }
    Ok(time)
}

pub(super) fn share(i: &mut Input<'_>, example: &str) -> Parsed<Share> {
    match opt_share(i)? {
        Some(share) => Ok(share),
        None => cut(wanted(i, Quantity::Percent.name()).help(value_help(i, example))),
    }
}

/// Parses the second time of netem's `delay 60ms 10ms distribution normal`, which is a jitter.
pub(super) fn spread(i: &mut Input<'_>) -> Parsed<Option<Jitter>> {
    let before = i.checkpoint();
    match opt_number(i)? {
        Some((value, _)) if value.quantity() == Quantity::Duration => {
            i.reset(&before);
            jitter(i).map(Some)
        }
        _ => {
            i.reset(&before);
            Ok(None)
        }
    }
}

pub(super) fn jitter(i: &mut Input<'_>) -> Parsed<Jitter> {
    let spread = time(i, "jitter 10ms", MAX_DELAY)?;
    blank(i)?;
    // Netem's word before the name of a distribution.
    let word_before = i.checkpoint();
    if opt(keyword("distribution")).parse_next(i)?.is_some() {
        blank(i)?;
        if first(rest(i)).parse::<Shape>().is_err() {
            i.reset(&word_before);
        }
    }
    let name = first(rest(i));
    let shape = name.parse::<Shape>().ok();
    if shape.is_some() {
        word(i)?;
    } else if let Some(meant) = suggest(name, Shape::VARIANTS.iter().copied())
        && !LINK_WORDS.contains(&name)
        && suggest(name, LINK_WORDS).is_none()
    {
        let (span, found) = next_thing(i);
        let what = format!("no distribution {found}");
        return cut(Diagnostic::new(Code::UnknownName, span, what).meant(Some(meant)));
    }
    Ok(Jitter {
        spread,
        shape: shape.unwrap_or_default(),
    })
}

pub(super) fn loss(i: &mut Input<'_>) -> Parsed<Loss> {
    const EXAMPLE: &str = "loss gemodel 1% 30%";
    blank(i)?;
    if opt(keyword("gemodel")).parse_next(i)?.is_none() {
        opt(keyword("random")).parse_next(i)?;
        let error = wanted(i, "a percentage or `gemodel`")
            .help("write `loss 5%`, or `loss gemodel 1% 30%` for loss in bursts");
        return match opt_share(i)? {
            Some(share) => Ok(Loss::Independent(share)),
            None => cut(error.meant(suggest(first(rest(i)), ["gemodel"]))),
        };
    }
    let (p, r) = (share(i, EXAMPLE)?, share(i, EXAMPLE)?);
    let bad = opt_share(i)?;
    let good = match bad {
        Some(_) => opt_share(i)?,
        None => None,
    };
    Ok(Loss::Gemodel {
        p,
        r,
        bad: bad.unwrap_or(Share::WHOLE),
        good: good.unwrap_or(Share::NONE),
    })
}

pub(super) fn reorder(i: &mut Input<'_>) -> Parsed<Reorder> {
    let share = share(i, "reorder 5%")?;
    blank(i)?;
    let gap = match opt(keyword("gap")).parse_next(i)? {
        Some(_) => amount(i, Quantity::Plain, "reorder 25% gap 5", 1..=1_000_000)?,
        None => 1,
    };
    Ok(Reorder {
        share,
        gap: u32::try_from(gap).unwrap_or(1),
    })
}
