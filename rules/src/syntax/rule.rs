//! Rules: actions and their conditions.
//!
//! Law: a statement is one line and the indented lines below it. Each statement is read by itself, so that all errors
//! of a text are found at once.

use std::fmt;
use std::time::Duration;

use teetap_wire::def::suggest;
use winnow::combinator::opt;
use winnow::error::ErrMode;
use winnow::prelude::*;
use winnow::stream::{LocatingSlice, Stateful, Stream};

use super::ast::{Expr, Name};
use super::error::{leftover, wanted};
use super::lex::{Counts, Failure, Input, Parsed, blank, cut, here, keyword, number, rest, word};
use super::number::{Number, Quantity};
use super::parse::{MAX_LENGTH, expression};
use crate::diagnostic::{Code, Diagnostic};
use crate::span::Span;

/// The maximum number of rules in one text.
pub const MAX_RULES: usize = 1024;
/// The maximum number of copies that `lose` suppresses, that `dup` makes, and that overtake with `reorder`.
const MAX_TIMES: i64 = 100;
/// The maximum delay.
const MAX_DELAY: Duration = Duration::from_secs(3600);

/// A statement of the language.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    /// The name; `None` if the text identifies the rule.
    pub name: Option<Name>,
    /// The actions in order, at least one.
    pub actions: Vec<Action>,
    /// The condition.
    pub when: Expr,
    /// The range from the first byte to the end of the condition.
    pub span: Span,
}

/// An action on a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// `pass`
    Pass,
    /// `drop`
    Drop,
    /// `lose 2 times`
    Lose {
        /// The number of suppressed copies, from 1.
        times: u32,
    },
    /// `delay 80ms unordered`
    Delay {
        /// The delay.
        for_: Duration,
        /// True if later messages overtake it.
        unordered: bool,
    },
    /// `dup 2`
    Dup {
        /// The number of added messages, from 1.
        copies: u32,
    },
    /// `reorder 4`; `swap` is `reorder 1`.
    Reorder {
        /// The number of matches that overtake the message, from 1.
        after: u32,
    },
}

/// All actions.
const ACTIONS: [&str; 7] = ["pass", "drop", "lose", "delay", "dup", "reorder", "swap"];

/// Reads a text as rules, in the order of the text.
///
/// # Errors
/// Returns all errors in the order of the text.
pub fn parse_rules(text: &str) -> Result<Vec<Rule>, Vec<Diagnostic>> {
    let (mut rules, mut errors) = (Vec::new(), Vec::new());
    for span in statements(text) {
        match statement(text, span) {
            Ok(rule) if rules.len() < MAX_RULES => rules.push(rule),
            Ok(rule) => {
                let what = format!("more than {MAX_RULES} rules");
                errors.push(Diagnostic::new(Code::TooComplex, rule.span, what));
                break;
            }
            Err(error) => errors.push(error),
        }
    }
    if errors.is_empty() { Ok(rules) } else { Err(errors) }
}

/// Returns the places of the statements: a line that is neither blank nor a comment, and the indented lines below it.
fn statements(text: &str) -> Vec<Span> {
    let mut statements: Vec<Span> = Vec::new();
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let span = Span::new(start, start + line.trim_end().len());
        start += line.len();
        let is_blank = line.trim().is_empty() || line.trim_start().starts_with('#');
        let is_indented = line.starts_with([' ', '\t']);
        match statements.last_mut() {
            Some(last) if is_indented && !is_blank => last.end = span.end,
            _ if is_blank => {}
            _ => statements.push(span),
        }
    }
    statements
}

fn statement(text: &str, span: Span) -> Result<Rule, Diagnostic> {
    if span.end - span.start > MAX_LENGTH {
        let what = format!("a statement longer than {MAX_LENGTH} bytes");
        return Err(Diagnostic::new(Code::TooComplex, span, what));
    }
    let mut input = Stateful {
        input: LocatingSlice::new(text.get(..span.end).unwrap_or(text)),
        state: Counts::default(),
    };
    input.next_slice(span.start);
    rule(&mut input).map_err(|error| match error {
        ErrMode::Cut(Failure(Some(diagnostic))) | ErrMode::Backtrack(Failure(Some(diagnostic))) => {
            *diagnostic
        }
        _ => wanted(&input, "an action"),
    })
}

fn rule(i: &mut Input<'_>) -> Parsed<Rule> {
    blank(i)?;
    let start = here(i);
    let name = opt(name).parse_next(i)?;
    let mut actions = vec![action(i)?];
    loop {
        blank(i)?;
        if opt(',').parse_next(i)?.is_none() {
            break;
        }
        actions.push(action(i)?);
    }
    if opt(keyword("when")).parse_next(i)?.is_none() {
        return cut(wanted(i, "`,` or `when`"));
    }
    let when = expression(i)?;
    blank(i)?;
    if !rest(i).is_empty() {
        return cut(leftover(i, "the end of the line"));
    }
    let span = Span::new(start, when.span.end);
    Ok(Rule {
        name,
        actions,
        when,
        span,
    })
}

/// Reads `name:`.
fn name(i: &mut Input<'_>) -> Parsed<Name> {
    let (text, span) = word(i)?;
    (winnow::token::take_while(0.., (' ', '\t')), ':').parse_next(i)?;
    Ok(Name {
        text: text.to_owned(),
        span,
    })
}

fn action(i: &mut Input<'_>) -> Parsed<Action> {
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
        "dup" => Action::Dup {
            copies: opt_times(i)?.unwrap_or(1),
        },
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
    let micros = measured(value, span, Quantity::Duration)?;
    let for_ = Duration::from_micros(u64::try_from(micros).unwrap_or_default());
    if for_ > MAX_DELAY {
        let what = format!("a delay is at most {} s", MAX_DELAY.as_secs());
        return cut(Diagnostic::new(Code::Impossible, span, what));
    }
    blank(i)?;
    let unordered = opt(keyword("unordered")).parse_next(i)?.is_some();
    Ok(Action::Delay { for_, unordered })
}

/// Reads a number from 1, if there is one.
fn opt_times(i: &mut Input<'_>) -> Parsed<Option<u32>> {
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

fn opt_number(i: &mut Input<'_>) -> Parsed<Option<(Number, Span)>> {
    blank(i)?;
    opt(number).parse_next(i)
}

/// Returns the value of a number that must measure `quantity`.
fn measured(number: Number, span: Span, quantity: Quantity) -> Parsed<i64> {
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

/// Prints the rule without its name, in a canonical form.
impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, action) in self.actions.iter().enumerate() {
            let comma = if at > 0 { ", " } else { "" };
            write!(f, "{comma}{action}")?;
        }
        write!(f, " when {}", self.when)
    }
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pass => f.write_str("pass"),
            Self::Drop => f.write_str("drop"),
            Self::Lose { times: 1 } => f.write_str("lose"),
            Self::Lose { times } => write!(f, "lose {times} times"),
            Self::Delay { for_, unordered } => {
                write!(f, "delay {}us", for_.as_micros())?;
                f.write_str(if *unordered { " unordered" } else { "" })
            }
            Self::Dup { copies: 1 } => f.write_str("dup"),
            Self::Dup { copies } => write!(f, "dup {copies}"),
            Self::Reorder { after: 1 } => f.write_str("swap"),
            Self::Reorder { after } => write!(f, "reorder {after}"),
        }
    }
}
