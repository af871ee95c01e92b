//! Rules: actions, their conditions and modifiers.

use std::fmt;

use winnow::combinator::opt;
use winnow::prelude::*;

use super::action::{Action, action};
use super::ast::{Expr, Name};
use super::error::{leftover_of_rule, wanted};
use super::lex::{Input, Parsed, blank, cut, here, keyword, rest, word};
use super::modifier::{Every, Modifiers, modifiers};
use super::parse::expression;
use crate::span::Span;

/// Actions, with their condition and modifiers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    /// Name of the rule; `None` if its text identifies it.
    pub name: Option<Name>,
    /// Actions in order, at least one.
    pub actions: Vec<Action>,
    /// Condition; `None` for a rule that acts at intervals of `modifiers.every`.
    pub when: Option<Expr>,
    /// Modifiers, which select the matches on which it acts.
    pub modifiers: Modifiers,
    /// Range from the first byte to the last.
    pub span: Span,
}

pub(super) fn rule(i: &mut Input<'_>) -> Parsed<Rule> {
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
    let error = wanted(i, "`,` or `when`");
    let when = match opt(keyword("when")).parse_next(i)? {
        Some(_) => Some(expression(i)?),
        None => None,
    };
    let modifiers = modifiers(i)?;
    if when.is_none() && !matches!(modifiers.every, Some(Every::Time(_))) {
        return cut(error.note("a rule without a condition needs a time, as in `every 5s`"));
    }
    if !rest(i).is_empty() {
        return cut(leftover_of_rule(i, modifiers == Modifiers::default()));
    }
    let span = Span::new(start, here(i));
    Ok(Rule {
        name,
        actions,
        when,
        modifiers,
        span,
    })
}

/// Parses `name:`.
fn name(i: &mut Input<'_>) -> Parsed<Name> {
    let (text, span) = word(i)?;
    (winnow::token::take_while(0.., (' ', '\t')), ':').parse_next(i)?;
    Ok(Name {
        text: text.to_owned(),
        span,
    })
}

/// Formats the rule without its name, in its canonical form.
impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, action) in self.actions.iter().enumerate() {
            let comma = if at > 0 { ", " } else { "" };
            write!(f, "{comma}{action}")?;
        }
        if let Some(when) = &self.when {
            write!(f, " when {when}")?;
        }
        self.modifiers.fmt(f)
    }
}
