//! Rules: actions, their conditions and modifiers.

use std::fmt;

use winnow::combinator::opt;
use winnow::error::ErrMode;
use winnow::prelude::*;

use super::action::{Action, action};
use super::advice;
use super::ast::{Expr, Name};
use super::error::leftover_of_rule;
use super::lex::{Failure, Input, Parsed, blank, cut, here, keyword, rest, word};
use super::modifier::{Every, Modifiers, modifiers};
use super::parse::expression;
use crate::diagnostic::Code;
use crate::span::Span;

/// Actions, with their condition and modifiers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    /// Name of the rule; `None` if its text identifies it.
    pub name: Option<Name>,
    /// Actions in order, at least one.
    pub actions: Vec<Action>,
    /// Condition; `None` for a rule that acts at intervals of `modifiers.every`, or at the start of a session.
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
    let (when, modifiers) = match opt(keyword("when")).parse_next(i)? {
        Some(_) => (Some(expression(i)?), modifiers(i)?),
        None => (None, without_condition(i, &actions)?),
    };
    let span = Span::new(start, here(i));
    let rule = Rule {
        name,
        actions,
        when,
        modifiers,
        span,
    };
    if rest(i).is_empty() {
        Ok(rule)
    } else {
        cut(leftover_of_rule(i, &rule))
    }
}

/// Parses the modifiers of a rule without a condition: `every` with a time. A rule that only expects messages needs no
/// modifier, because it acts at the start of the session.
fn without_condition(i: &mut Input<'_>, actions: &[Action]) -> Parsed<Modifiers> {
    let begins_with_session = rest(i).is_empty()
        && actions
            .iter()
            .all(|action| matches!(action, Action::Expect { .. }));
    if begins_with_session {
        return Ok(Modifiers::default());
    }
    let is_last = advice::split_word(&advice::line(i)).1.is_empty();
    let before = i.checkpoint();
    match modifiers(i) {
        Ok(modifiers) if matches!(modifiers.every, Some(Every::Time(_))) => Ok(modifiers),
        // A wrong value of a modifier has an error of its own.
        Err(ErrMode::Cut(Failure(Some(other)))) if other.code != Code::Expected || is_last => {
            Err(ErrMode::Cut(Failure(Some(other))))
        }
        _ => {
            i.reset(&before);
            cut(advice::no_condition(i, actions))
        }
    }
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
