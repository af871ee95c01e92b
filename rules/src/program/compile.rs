//! From text to rules.

use std::collections::BTreeMap;

use teetap_wire::def::Registry;
use teetap_wire::{Dir, Proto};

use crate::diagnostic::{Code, Diagnostic, Severity, sort};
use crate::filter::Filter;
use crate::syntax::{self, Action, Expr, Path, parse_rules};

/// The rules of a program, in the order in which they are tried.
pub(super) struct Rules {
    pub(super) rules: Vec<Rule>,
    /// The protocols and directions in which a rule has to see messages.
    pub(super) acts: Vec<(Proto, Dir)>,
    pub(super) registry: &'static Registry,
}

/// A checked rule.
pub(super) struct Rule {
    /// The name, or else the text, followed by its occurrence if it is not the first with that text.
    pub(super) identity: Box<str>,
    pub(super) actions: Vec<Action>,
    pub(super) when: Filter,
    /// The protocols and directions in which it can match.
    reach: Vec<(Proto, Dir)>,
}

impl Rule {
    /// Returns true if it can match a message of this direction.
    pub(super) fn reaches(&self, proto: Proto, dir: Dir) -> bool {
        self.reach.contains(&(proto, dir))
    }

    /// Returns true if it has to see the messages of this direction.
    fn acts(&self, proto: Proto, dir: Dir) -> bool {
        self.when.remembers() || self.reaches(proto, dir)
    }
}

pub(super) fn compile(
    source: &str,
    registry: &'static Registry,
) -> Result<(Rules, Vec<Diagnostic>), Vec<Diagnostic>> {
    let mut compiled = Rules {
        rules: Vec::new(),
        acts: Vec::new(),
        registry,
    };
    let mut diagnostics = Vec::new();
    let mut occurrences = BTreeMap::new();
    for rule in parse_rules(source)? {
        diagnostics.extend(unknown_here(&rule.when));
        match Filter::check(rule.when.clone(), registry) {
            Ok((when, warnings)) => {
                diagnostics.extend(warnings);
                let identity = identity(&rule, &mut occurrences).unwrap_or_else(|error| {
                    diagnostics.push(error);
                    Box::default()
                });
                compiled
                    .rules
                    .push(checked(identity, rule.actions, when, registry));
            }
            Err(errors) => diagnostics.extend(errors),
        }
    }
    sort(&mut diagnostics);
    let is_error = |diagnostic: &Diagnostic| diagnostic.severity() == Severity::Error;
    if diagnostics.iter().any(is_error) {
        diagnostics.retain(is_error);
        return Err(diagnostics);
    }
    let acts = |(proto, dir): &_| compiled.rules.iter().any(|rule| rule.acts(*proto, *dir));
    compiled.acts = places().filter(acts).collect();
    Ok((compiled, diagnostics))
}

fn checked(identity: Box<str>, actions: Vec<Action>, when: Filter, registry: &Registry) -> Rule {
    let usual = when.usual_reach(registry);
    Rule {
        identity,
        actions,
        reach: places().filter(|(proto, dir)| usual.dir(*proto, *dir)).collect(),
        when,
    }
}

fn places() -> impl Iterator<Item = (Proto, Dir)> {
    let of = |proto| [(proto, Dir::C2s), (proto, Dir::S2c)];
    Proto::ALL.into_iter().flat_map(of)
}

/// Returns the identity of a rule. Two rules with the same name are an error; those with the same text are counted.
fn identity(rule: &syntax::Rule, occurrences: &mut BTreeMap<String, u32>) -> Result<Box<str>, Diagnostic> {
    let text = rule
        .name
        .as_ref()
        .map_or_else(|| rule.to_string(), |name| name.text.clone());
    let count = occurrences.entry(text.clone()).or_default();
    *count += 1;
    match (&rule.name, *count) {
        (_, 1) => Ok(text.into()),
        (None, count) => Ok(format!("{text} #{count}").into()),
        (Some(name), _) => {
            let what = format!("two rules are called `{text}`");
            Err(Diagnostic::new(Code::NotHere, name.span, what))
        }
    }
}

/// Reports the first part of a condition that is unknown where rules decide.
fn unknown_here(when: &Expr) -> Option<Diagnostic> {
    let mut found = None;
    when.each_path(&mut |path| {
        if found.is_none() && is_unknown_here(path) {
            found = Some(path.span());
        }
    });
    let what = "rules do not know this: use it in a filter";
    Some(Diagnostic::new(Code::NotInRules, found?, what))
}

fn is_unknown_here(path: &Path) -> bool {
    let is_lint = |name: &str| name.eq_ignore_ascii_case("lint") || name.eq_ignore_ascii_case("malformed");
    let first = path.segments.first();
    !path.dot && first.is_some_and(|first| is_lint(&first.name.text))
        || path.begins("snap", |_| true)
        || path.begins("sess", |name| {
            name.eq_ignore_ascii_case("name") || name.eq_ignore_ascii_case("rtt")
        })
}
