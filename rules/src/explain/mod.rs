//! Explains statements in English.
//!
//! Law: the sentence mentions every part of a statement. Parts that need a message definition to be understood are
//! quoted in backquotes.
//!
//! | module | part |
//! |---|---|
//! | `condition` | expressions as clauses |
//! | `link` | link lines |

mod condition;
mod link;

use crate::syntax::{Action, English, Every, Max, Modifiers, Rule, RuleStep, Scope, Statement};
use crate::units::{counted, shown};

/// The English of the expressions of an action.
const ENGLISH: English = English {
    clause: condition::clause,
    value: condition::value,
};

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
    let mut parts = Vec::new();
    let mut done = String::new();
    for &step in RuleStep::ALL {
        match step {
            RuleStep::Actions => {
                let actions = rule.actions.iter();
                let actions = actions.map(|action| action.sentence(ENGLISH, rule.when.is_some()));
                done = actions.collect::<Vec<_>>().join("; ");
            }
            RuleStep::End if rule.actions.iter().any(Action::ends) => {
                done.push_str("; then try no later rule")
            }
            RuleStep::End => {}
            step => parts.extend(limit(rule, step)),
        }
    }
    parts.extend(scope(rule));
    format!("{}: {done}", parts.join(", "))
}

/// Returns the clause of a step before the actions.
fn limit(rule: &Rule, step: RuleStep) -> Option<String> {
    let modifiers = &rule.modifiers;
    match step {
        RuleStep::Window => window(modifiers),
        RuleStep::Condition => match (&rule.when, modifiers.every) {
            (Some(when), _) => Some(format!("when {}", condition::clause(when))),
            (None, Some(Every::Time(time))) => Some(format!(
                "every {}, from the moment the client has entered the game",
                shown(time)
            )),
            // Other rules without a condition act at the start of a session.
            (None, _) => Some("from the start of the session".to_owned()),
        },
        RuleStep::Skip => {
            let times = if rule.when.is_some() {
                ("match", "matches")
            } else {
                ("time", "times")
            };
            let skipped = |skip| format!("not for the first {}", counted(skip, times.0, times.1));
            modifiers.skip.map(skipped)
        }
        RuleStep::Every => match modifiers.every {
            Some(Every::Matches(count)) => Some(turns(count, modifiers.skip.unwrap_or_default())),
            Some(Every::Time(time)) if rule.when.is_some() => {
                Some(format!("at most once in {}", shown(time)))
            }
            _ => None,
        },
        RuleStep::Chance => modifiers
            .chance
            .map(|chance| format!("with a chance of {} %", link::number(chance))),
        RuleStep::First => modifiers.first.map(|first| match first {
            1 => "only once".to_owned(),
            first => format!("only the first {first} times"),
        }),
        RuleStep::Max => modifiers.max.map(|Max { count, per }| {
            format!("at most {} in {}", counted(count, "once", "times"), shown(per))
        }),
        RuleStep::Actions | RuleStep::End => None,
    }
}

/// Returns the turns of `every`, with the first three numbers unless they are multiples of `count`.
fn turns(count: u32, skip: u32) -> String {
    if skip == 0 {
        return format!("for every {} match", ordinal(count));
    }
    let turn = |number: u64| u64::from(skip) + u64::from(count) * number;
    let [first, second, third] = [1, 2, 3].map(turn);
    format!(
        "for every {} of the others (matches {first}, {second}, {third} and so on)",
        ordinal(count)
    )
}

/// Returns the time in which a rule acts, as a clause.
fn window(modifiers: &Modifiers) -> Option<String> {
    let mut parts = Vec::new();
    match (modifiers.from, modifiers.to) {
        (Some(from), Some(to)) => parts.push(format!("from {} to {} of the session", shown(from), shown(to))),
        (Some(from), None) => parts.push(format!("after the first {} of the session", shown(from))),
        (None, Some(to)) => parts.push(format!("in the first {} of the session", shown(to))),
        (None, None) => {}
    }
    if let Some(after) = &modifiers.after {
        parts.push(format!(
            "after the first message for which {}",
            condition::clause(after)
        ));
    }
    if let Some(until) = &modifiers.until {
        parts.push(format!(
            "until the first message for which {}",
            condition::clause(until)
        ));
    }
    (!parts.is_empty()).then(|| parts.join(", "))
}

/// Returns which traffic shares the counts of a rule; `None` if the rule does not count.
fn scope(rule: &Rule) -> Option<String> {
    let Modifiers {
        skip,
        every,
        first,
        max,
        scope,
        ..
    } = &rule.modifiers;
    let has_counts = skip.is_some() || every.is_some() || first.is_some() || max.is_some();
    let sessions = match scope {
        Some(Scope::Global) => "all sessions together",
        Some(Scope::Session) => "each session",
        None if has_counts && rule.when.is_some() => "each session",
        None => return None,
    };
    let has_directions = rule
        .when
        .as_ref()
        .is_some_and(|when| !condition::names_direction(when));
    Some(if has_directions {
        format!("counted in each direction of {sessions}")
    } else {
        format!("counted in {sessions}")
    })
}

/// Returns an ordinal such as `3rd`.
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
