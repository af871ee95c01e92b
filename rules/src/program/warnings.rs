//! Warnings about rules that are valid, but probably not intended.

use teetap_wire::Dir;
use teetap_wire::def::{Def, Registry, Vitality};

use super::rule::Rule;
use crate::diagnostic::{Code, Diagnostic};
use crate::syntax::{Action, Expr, Kind, Path};

/// Messages of the client for which the server waits before the game begins.
const ENTRIES: [&str; 3] = ["enter_game", "cl_start_info", "ready"];

/// Returns the warnings about the rules of a text.
pub(super) fn warnings(rules: &[Rule], registry: &Registry) -> Vec<Diagnostic> {
    let mut warnings = Vec::new();
    for (at, rule) in rules.iter().enumerate() {
        let before = rules.get(..at).unwrap_or_default();
        if let Some(number) = before.iter().position(|first| hides(first, rule)) {
            let name = before.get(number).map_or("", |first| &first.label.identity);
            let what = format!(
                "rule {} can never match: rule {} `{name}` comes first",
                at + 1,
                number + 1
            );
            warnings.push(Diagnostic::new(Code::Hidden, rule.label.span, what));
        }
        warnings.extend(lost_for_good(rule, registry));
        warnings.extend(waits_for_itself(rule, registry));
        if rule.greeting.needs_session() {
            let what = "during a flood of CONNECTs this rule keeps clients out: it can change a CONNECT or its answer";
            let note = Diagnostic::new(Code::Greets, rule.label.span, what.to_owned());
            warnings.push(note.help("if it is not about handshakes, add `and not ctrl` to its condition"));
        }
    }
    warnings
}

/// Returns true if `first` ends the evaluation for every message that `second` matches.
fn hides(first: &Rule, second: &Rule) -> bool {
    let always_acts = first.limits.is_unlimited() && first.window.is_always();
    let ends = first.actions.any(Action::ends);
    if !(always_acts && ends) || first.timer.is_some() || second.timer.is_some() {
        return false;
    }
    let known = parts(second.when.expr());
    parts(first.when.expr()).iter().all(|part| {
        let other = match direction(part) {
            Some(Dir::C2s) => Some(Dir::S2c),
            Some(Dir::S2c) => Some(Dir::C2s),
            None => None,
        };
        known.contains(part) || other.is_some_and(|other| !second.reach.any.has(other))
    })
}

/// Returns the conditions that must hold together.
fn parts(expr: &Expr) -> Vec<&Expr> {
    match &expr.kind {
        Kind::All(parts) => parts.iter().collect(),
        _ => vec![expr],
    }
}

fn direction(expr: &Expr) -> Option<Dir> {
    match &expr.kind {
        Kind::Path(path) if !path.dot && path.segments.len() == 1 => {
            match path.segments.first().map(|segment| &*segment.name.text) {
                Some("c2s") => Some(Dir::C2s),
                Some("s2c") => Some(Dir::S2c),
                _ => None,
            }
        }
        _ => None,
    }
}

/// Warns of `lose` on messages that are never resent.
fn lost_for_good(rule: &Rule, registry: &Registry) -> Option<Diagnostic> {
    let loses = |action: &Action| matches!(action, Action::Lose { .. });
    let is_vital = |_, _, def: &Def| {
        let is_loose = matches!(def.vitality, Vitality::NonVital | Vitality::Either);
        !def.dead && !is_loose
    };
    let any = |_, _, _: &Def| true;
    let is_useless = rule.actions.any(loses)
        && rule.when.may_match(registry, any)
        && !rule.when.may_match(registry, is_vital);
    is_useless.then(|| {
        let what = format!(
            "`lose` on `{}`: not vital, never resent, same as `drop`",
            rule.when
        );
        Diagnostic::new(Code::NeverResent, rule.label.span, what)
    })
}

/// Warns of a held message that waits for a message which the client sends only after receiving it.
fn waits_for_itself(rule: &Rule, registry: &Registry) -> Option<Diagnostic> {
    let is_entry = |path: &Path| ENTRIES.iter().any(|name| path.starts(name));
    let waits = |action: &Action| match action {
        Action::Hold {
            until,
            unordered: false,
            ..
        } => until.mentions(&is_entry),
        _ => false,
    };
    let is_held = |_, dir, def: &Def| dir == Dir::S2c && def.vitality == Vitality::Vital;
    let hangs = rule.actions.any(waits) && rule.when.may_match(registry, is_held);
    hangs.then(|| {
        let what = "a message that is held before the game begins holds the join as well";
        Diagnostic::new(Code::HeldJoin, rule.label.span, what)
            .help("add `unordered`, so that later messages overtake it")
    })
}
