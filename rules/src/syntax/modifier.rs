//! Modifiers, which select the matches on which a rule acts.
//!
//! Law: each modifier is written at most once, in any order. They are printed in the order of [`RuleStep`].

use std::fmt;
use std::time::Duration;

use winnow::ascii::digit1;
use winnow::combinator::{alt, opt};
use winnow::prelude::*;

use super::advice;
use super::argument::{Shown, duration, measured, opt_number, opt_share};
use super::ast::{Expr, Kind};
use super::error::wanted;
use super::lex::{Input, Parsed, backtrack, blank, cut, here, keyword, rest, word, word_char};
use super::number::{Number, Quantity};
use super::parse::expression;
use super::pipeline::RuleStep;
use super::words::MODIFIERS;
use crate::diagnostic::{Code, Diagnostic};
use crate::span::Span;
use crate::units::Share;

/// Maximum number of actions that `max` counts.
const MAX_PER: u32 = 1000;

/// Modifiers of a rule.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Modifiers {
    /// `chance 5%`
    pub chance: Option<Share>,
    /// `every 3`, `every 5s`
    pub every: Option<Every>,
    /// `skip 2`
    pub skip: Option<u32>,
    /// `first 3`; `once` is `first 1`.
    pub first: Option<u32>,
    /// `max 20 per 1s`
    pub max: Option<Max>,
    /// `from 10s`, `after 10s`: a session age.
    pub from: Option<Duration>,
    /// `to 13s`, `until 13s`: a session age.
    pub to: Option<Duration>,
    /// `after seen(enter_game)`
    pub after: Option<Expr>,
    /// `until count(input) > 200`
    pub until: Option<Expr>,
    /// `per session`, `per global`; `None` if omitted, which means per session.
    pub scope: Option<Scope>,
}

/// Argument of `every`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Every {
    /// Every n-th match, from 1.
    Matches(u32),
    /// At most one match in this time.
    Time(Duration),
}

/// `max 20 per 1s`
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Max {
    /// Maximum number of actions, from 1.
    pub count: u32,
    /// Time in which the maximum applies.
    pub per: Duration,
}

/// Which sessions share the counts of a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// Each session has its own counts.
    Session,
    /// All sessions share the counts.
    Global,
}

/// Parses modifiers up to the first text that is none.
pub(super) fn modifiers(i: &mut Input<'_>) -> Parsed<Modifiers> {
    let mut modifiers = Modifiers::default();
    loop {
        blank(i)?;
        let start = here(i);
        let name = opt(word.verify(|(word, _)| MODIFIERS.contains(word))).parse_next(i)?;
        let Some((name, span)) = name else {
            check_window(&modifiers, Span::new(start, start))?;
            return Ok(modifiers);
        };
        let is_new = modifiers.read(name, i)?;
        if !is_new {
            let what = format!("`{name}` has a value already");
            return cut(Diagnostic::new(Code::Repeated, span, what)
                .help("remove one of the two, or write a second rule"));
        }
    }
}

fn check_window(modifiers: &Modifiers, span: Span) -> Parsed<()> {
    match (modifiers.from, modifiers.to) {
        (Some(from), Some(to)) if to <= from => {
            let what = format!("{} is not after {}", Shown(to), Shown(from));
            cut(Diagnostic::new(Code::BadRange, span, what).help(format!(
                "write `from {} to {}`",
                Shown(to),
                Shown(from)
            )))
        }
        _ => Ok(()),
    }
}

impl Modifiers {
    /// Parses the arguments of a modifier. Returns false if the modifier is repeated.
    fn read(&mut self, name: &str, i: &mut Input<'_>) -> Parsed<bool> {
        Ok(match name {
            "chance" => set(&mut self.chance, share(i)?),
            "every" => set(&mut self.every, every(i)?),
            "skip" => set(&mut self.skip, count(i, u32::MAX, "write `skip 1`")?),
            "first" => set(&mut self.first, count(i, u32::MAX, "write `first 1`, or `once`")?),
            "once" => set(&mut self.first, 1),
            "max" => set(&mut self.max, max(i)?),
            "from" | "to" => {
                let time = time(i, name)?;
                let place = if name == "from" {
                    &mut self.from
                } else {
                    &mut self.to
                };
                set(place, time)
            }
            "per" => set(&mut self.scope, scope(i)?),
            _ => {
                let expr = expression(i)?;
                let (time, other) = match name {
                    "after" => (&mut self.from, &mut self.after),
                    _ => (&mut self.to, &mut self.until),
                };
                match &expr.kind {
                    Kind::Number(number) => set(time, duration(*number, expr.span)?),
                    _ => set(other, expr),
                }
            }
        })
    }
}

/// Sets a value. Returns false if it was already set.
fn set<T>(place: &mut Option<T>, value: T) -> bool {
    place.replace(value).is_none()
}

fn some_number(i: &mut Input<'_>, what: &str, help: &str) -> Parsed<(Number, Span)> {
    match opt_number(i)? {
        Some(number) => Ok(number),
        None => cut(wanted(i, what).help(help)),
    }
}

/// Parses a percentage.
fn share(i: &mut Input<'_>) -> Parsed<Share> {
    if let Some(share) = advice::fraction(&advice::line(i)) {
        blank(i)?;
        return cut(wanted(i, "a percentage, as in `chance 5%`").help(format!("write `chance {share}`")));
    }
    match opt_share(i)? {
        Some(share) => Ok(share),
        None => cut(wanted(i, "a percentage, as in `chance 5%`").help("write `chance 5%`")),
    }
}

fn time(i: &mut Input<'_>, name: &str) -> Parsed<Duration> {
    let help = match (name, advice::split_word(&advice::line(i)).0) {
        ("from", "client") | ("to", "server") => {
            "write `c2s and` in the condition, or `from 10s` for a time".to_owned()
        }
        ("from", "server") | ("to", "client") => {
            "write `s2c and` in the condition, or `from 10s` for a time".to_owned()
        }
        _ => format!(
            "write `{name} 10s` for the age of the session, or `after CONDITION` and `until CONDITION`"
        ),
    };
    let (number, span) = some_number(i, "a duration, as in `10s`", &help)?;
    duration(number, span)
}

fn positive_time(number: Number, span: Span) -> Parsed<Duration> {
    let time = duration(number, span)?;
    if time.is_zero() {
        return cut(
            Diagnostic::new(Code::Impossible, span, "expected more than no time").help("write `1ms` or more"),
        );
    }
    Ok(time)
}

/// Parses a number of at least 1.
fn count(i: &mut Input<'_>, max: u32, help: &str) -> Parsed<u32> {
    let (number, span) = some_number(i, "a number", help)?;
    counted(number, span, max)
}

fn counted(number: Number, span: Span, max: u32) -> Parsed<u32> {
    match u32::try_from(measured(number, span, Quantity::Plain)?) {
        Ok(count @ 1..) if count <= max => Ok(count),
        _ => {
            let what = format!("expected a number from 1 to {max}");
            cut(Diagnostic::new(Code::Impossible, span, what).help("write `1` or more"))
        }
    }
}

fn every(i: &mut Input<'_>) -> Parsed<Every> {
    let what = "a number or a duration, as in `every 3` or `every 5s`";
    let help = match advice::split_word(&advice::line(i)).0 {
        "second" | "other" | "2nd" => "write `every 2` for each second match, or `every 1s` for a time",
        "third" => "write `every 3`",
        "minute" => "write `every 1min`",
        _ => "write `every 3` for each third match, or `every 5s`",
    };
    if let Some(count) = opt(ordinal).parse_next(i)? {
        return Ok(Every::Matches(count));
    }
    let (number, span) = some_number(i, what, help)?;
    if number.quantity() == Quantity::Plain {
        counted(number, span, u32::MAX).map(Every::Matches)
    } else {
        positive_time(number, span).map(Every::Time)
    }
}

/// Parses the digits of `every 10th`. Backtracks for other numbers.
fn ordinal(i: &mut Input<'_>) -> Parsed<u32> {
    blank(i)?;
    let (digits, _): (&str, &str) = (digit1, alt(("st", "nd", "rd", "th"))).parse_next(i)?;
    let is_end = !rest(i).starts_with(word_char);
    match digits.parse() {
        Ok(count @ 1..) if is_end && !digits.starts_with('0') => Ok(count),
        _ => backtrack(),
    }
}

fn max(i: &mut Input<'_>) -> Parsed<Max> {
    let count = count(i, MAX_PER, "write `max 20 per 1s`")?;
    blank(i)?;
    if opt(keyword("per")).parse_next(i)?.is_none() {
        let help = format!("write `max {count} per 1s`; for {count} in all it is `first {count}`");
        return cut(wanted(i, "`per`, as in `max 20 per 1s`").help(help));
    }
    let help = format!("write `max {count} per 1s`");
    let (number, span) = some_number(i, "a duration, as in `max 20 per 1s`", &help)?;
    let per = positive_time(number, span)?;
    Ok(Max { count, per })
}

fn scope(i: &mut Input<'_>) -> Parsed<Scope> {
    blank(i)?;
    let error = wanted(i, "`session` or `global`");
    match opt(word).parse_next(i)? {
        Some(("session", _)) => Ok(Scope::Session),
        Some(("global", _)) => Ok(Scope::Global),
        _ => cut(error.help(
            "write `per session`, or `per global` for all sessions together; `max 20 per 1s` limits a rate",
        )),
    }
}

/// Formats each modifier after a blank, in the order in which they are applied.
impl fmt::Display for Modifiers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for &step in RuleStep::ALL {
            self.print(step, f)?;
        }
        match self.scope {
            Some(Scope::Session) => f.write_str(" per session"),
            Some(Scope::Global) => f.write_str(" per global"),
            None => Ok(()),
        }
    }
}

impl Modifiers {
    /// Formats the modifiers of one step.
    fn print(&self, step: RuleStep, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match step {
            RuleStep::Window => {
                if let Some(from) = self.from {
                    write!(f, " from {}", Shown(from))?;
                }
                if let Some(to) = self.to {
                    write!(f, " to {}", Shown(to))?;
                }
                if let Some(after) = &self.after {
                    write!(f, " after {after}")?;
                }
                if let Some(until) = &self.until {
                    write!(f, " until {until}")?;
                }
            }
            RuleStep::Skip => {
                if let Some(skip) = self.skip {
                    write!(f, " skip {skip}")?;
                }
            }
            RuleStep::Every => match self.every {
                Some(Every::Matches(count)) => write!(f, " every {count}")?,
                Some(Every::Time(time)) => write!(f, " every {}", Shown(time))?,
                None => {}
            },
            RuleStep::Chance => {
                if let Some(chance) = self.chance {
                    write!(f, " chance {chance}")?;
                }
            }
            RuleStep::First => match self.first {
                Some(1) => f.write_str(" once")?,
                Some(first) => write!(f, " first {first}")?,
                None => {}
            },
            RuleStep::Max => {
                if let Some(Max { count, per }) = self.max {
                    write!(f, " max {count} per {}", Shown(per))?;
                }
            }
            RuleStep::Condition | RuleStep::Actions | RuleStep::End => {}
        }
        Ok(())
    }
}
