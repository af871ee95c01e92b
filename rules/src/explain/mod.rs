//! Statements read out in English.
//!
//! Law: every part of a statement is in its sentence. Parts that need a message definition to be understood keep the
//! words of the text, in backquotes.
//!
//! | module | part |
//! |---|---|
//! | `action` | the actions of a rule |
//! | `condition` | expressions as clauses |
//! | `link` | link lines |

mod action;
mod condition;
mod link;

use std::time::Duration;

use crate::impair::percent;
use crate::syntax::{Every, Max, Modifiers, Rule, Scope, Statement};

/// Returns a statement as an English sentence.
#[must_use]
pub fn explain(statement: &Statement) -> String {
    let sentence = match statement {
        Statement::Rule(rule) => explain_rule(rule),
        Statement::Link(link) => link::line(&link.line),
        Statement::Profile(profile) => {
            let lines: Vec<String> = profile.links.iter().map(|link| link::line(&link.line)).collect();
            format!("the profile `{}` is: {}", profile.name.text, lines.join("; "))
        }
        Statement::Use(used) => format!("use the link lines of the profile `{}`", used.name.text),
        Statement::Let(let_) => format!("let `{}` stand for `{}`", let_.name.text, let_.expr),
        Statement::Seed { seed, .. } => {
            format!("derive all random decisions from the seed {seed}, unless --seed names another")
        }
    };
    format!("{}.", capital(&sentence))
}

fn explain_rule(rule: &Rule) -> String {
    let actions: Vec<String> = rule
        .actions
        .iter()
        .map(|action| action::sentence(action, rule.when.is_some()))
        .collect();
    let actions = actions.join("; ");
    let modifiers = &rule.modifiers;
    let mut parts = match (&rule.when, modifiers.every) {
        (Some(when), _) => vec![format!("when {}: {actions}", condition::clause(when))],
        (None, Some(Every::Time(time))) => vec![format!(
            "every {}, from the moment the client has entered the game: {actions}",
            shown(time)
        )],
        // The parser accepts no other rule.
        (None, _) => vec![actions],
    };
    parts.extend(limits(modifiers, rule.when.is_some()));
    parts.join("; ")
}

/// Returns the clauses of modifiers.
fn limits(modifiers: &Modifiers, has_condition: bool) -> Vec<String> {
    let mut parts = Vec::new();
    if let Some(chance) = modifiers.chance {
        parts.push(format!("with a chance of {} %", percent(chance)));
    }
    match modifiers.every {
        Some(Every::Matches(count)) => parts.push(format!("only for every {} match", ordinal(count))),
        Some(Every::Time(time)) if has_condition => parts.push(format!("at most once in {}", shown(time))),
        _ => {}
    }
    if let Some(skip) = modifiers.skip {
        parts.push(format!("not for the first {}", counted(skip, "match", "matches")));
    }
    match modifiers.first {
        Some(1) => parts.push("only once".to_owned()),
        Some(first) => parts.push(format!("only the first {first} times")),
        None => {}
    }
    if let Some(Max { count, per }) = modifiers.max {
        let times = counted(count, "once", "times");
        parts.push(format!("at most {times} in {}", shown(per)));
    }
    match (modifiers.from, modifiers.to) {
        (Some(from), Some(to)) => parts.push(format!("from {} to {} of the session", shown(from), shown(to))),
        (Some(from), None) => parts.push(format!("after the first {} of the session", shown(from))),
        (None, Some(to)) => parts.push(format!("in the first {} of the session", shown(to))),
        (None, None) => {}
    }
    if let Some(after) = &modifiers.after {
        parts.push(format!("not before {}", condition::clause(after)));
    }
    if let Some(until) = &modifiers.until {
        parts.push(format!("no more once {}", condition::clause(until)));
    }
    match modifiers.scope {
        Some(Scope::Session) => parts.push("each session counts for itself".to_owned()),
        Some(Scope::Global) => parts.push("all sessions count together".to_owned()),
        None => {}
    }
    parts
}

/// Returns a duration as people write it.
fn shown(time: Duration) -> String {
    match time.as_micros() {
        micros if micros.is_multiple_of(1_000_000) => format!("{} s", micros / 1_000_000),
        micros if micros.is_multiple_of(1000) => format!("{} ms", micros / 1000),
        micros => format!("{micros} us"),
    }
}

/// Returns a number with its noun; only `one` for 1.
fn counted(count: u32, one: &str, many: &str) -> String {
    if count == 1 {
        one.to_owned()
    } else {
        format!("{count} {many}")
    }
}

/// Returns `3rd`.
fn ordinal(number: u32) -> String {
    let ending = match (number % 10, number % 100) {
        (_, 11..=13) => "th",
        (1, _) => "st",
        (2, _) => "nd",
        (3, _) => "rd",
        _ => "th",
    };
    format!("{number}{ending}")
}

/// Returns a sentence with its first letter in upper case.
fn capital(text: &str) -> String {
    let mut rest = text.chars();
    let first = rest.next().into_iter().flat_map(char::to_uppercase);
    first.chain(rest).collect()
}
