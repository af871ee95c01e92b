//! Rules: actions, their conditions and modifiers.

use std::fmt;

use teetap_wire::def::suggest;
use winnow::combinator::opt;
use winnow::error::ErrMode;
use winnow::prelude::*;

use super::action::{Action, action};
use super::advice;
use super::advice::rule::{actions_behind, no_condition, written};
use super::ast::{Expr, Name};
use super::error::{better, leftover, wanted};
use super::lex::{Failure, Input, Parsed, blank, cut, here, keyword, next_thing, rest, word};
use super::modifier::{Every, Modifiers, modifiers};
use super::parse::expression;
use super::words::MODIFIERS;
use crate::diagnostic::{Code, Diagnostic};
use crate::span::Span;
use crate::synonym::{self, Place};

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

/// Returns the error for text after the condition or a modifier of a rule, with a correction of the whole rule.
fn leftover_of_rule(i: &Input<'_>, rule: &Rule) -> Diagnostic {
    let is_condition = rule.modifiers == Modifiers::default();
    let diagnostic = if is_condition {
        leftover(i, "a modifier")
    } else {
        wanted(i, "a modifier")
    };
    let (_, found) = next_thing(i);
    let word = found.trim_matches('`');
    if let Some(help) = rule
        .when
        .as_ref()
        .and_then(|when| actions_behind(i, &rule.actions, when, &rule.modifiers.to_string()))
    {
        return diagnostic.help(help);
    }
    if diagnostic.help.is_some() {
        return diagnostic;
    }
    let head = rule.when.as_ref().map(|when| when.to_string());
    let dir = head.and_then(|head| advice::direction(&format!("{head} {}", advice::line(i))));
    if let (true, Some(dir)) = (is_condition, dir) {
        let tail = advice::line(i);
        let tail = tail.split_once(' ').map_or("", |(_, tail)| tail);
        let text = format!("{} when {dir} {tail}", written(&rule.actions));
        return better(diagnostic, advice::first_statement(i, [text]));
    }
    let first = |texts| advice::first_statement(i, texts);
    let near = suggest(word, MODIFIERS).filter(|near| near.len() > 2);
    let help = match near {
        Some(_) => None,
        None => advice::joined(i, &rule.to_string(), true, first),
    };
    let of_head = rule.when.as_ref().filter(|_| is_condition && help.is_none());
    let of_head = of_head.and_then(|when| synonym::help(Place::Condition, &when.to_string()));
    better(diagnostic.meant(near), help.or(of_head))
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
            cut(no_condition(i, actions))
        }
    }
}

/// Parses `name:`.
/// Parses the name of a statement.
pub(super) fn name(i: &mut Input<'_>) -> Parsed<Name> {
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
