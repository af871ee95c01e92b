//! From text to rules.

use std::collections::BTreeMap;

use teetap_wire::def::{Def, Registry};
use teetap_wire::{Dir, Proto};

use crate::context::{Names, Needs, Players, Stores};
use crate::diagnostic::{Code, Diagnostic, Severity, sort};
use crate::filter::Filter;
use crate::syntax::{self, Action, Statement, parse_statements};

/// The rules of a program, in the order in which they are tried.
pub(super) struct Rules {
    pub(super) rules: Vec<Rule>,
    /// The protocols and directions in which a rule can match.
    pub(super) acts: Vec<(Proto, Dir)>,
    /// The same, and those in which messages change what is remembered or known.
    pub(super) observes: Vec<(Proto, Dir)>,
    /// The parts of a session's context that conditions need.
    pub(super) needs: Needs,
    /// True if a condition needs the round trip.
    pub(super) measures: bool,
    /// True if a condition needs notes.
    pub(super) inspects: bool,
    /// The empty stores of snapshots; none if snapshots are not needed.
    pub(super) stores: Stores,
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
}

impl Rules {
    fn new(rules: Vec<Rule>, registry: &'static Registry) -> Self {
        let any = |needs: fn(&Filter) -> bool| rules.iter().any(|rule| needs(&rule.when));
        let stores = Stores::new(registry);
        let is_snapshot = |proto, dir, def: &Def| dir == Dir::S2c && stores.follows(proto, dir, def);
        // The oddities of a snapshot are known only to those who follow them all.
        let reads_snapshots = |when: &Filter| {
            when.needs_snapshots() || when.needs_notes() && when.may_match(registry, is_snapshot)
        };
        let needs = Needs {
            snapshots: rules.iter().any(|rule| reads_snapshots(&rule.when)),
            names: if any(Filter::needs_players) {
                Names::All
            } else {
                Names::None
            },
        };
        let acts = |(proto, dir): &_| rules.iter().any(|rule| rule.reaches(*proto, *dir));
        let learns = |proto: Proto, dir, def: &Def| {
            needs.names != Names::None && Players::learns_from(dir, def)
                || needs.follows(proto) && stores.follows(proto, dir, def)
        };
        let observes = |&(proto, dir): &(Proto, Dir)| {
            let mut defs = registry.defs(proto.into());
            defs.any(|def| learns(proto, dir, def))
                || rules
                    .iter()
                    .any(|rule| rule.when.remembers_in(registry, proto, dir))
        };
        Self {
            acts: places().filter(acts).collect(),
            observes: places().filter(|place| acts(place) || observes(place)).collect(),
            needs,
            measures: any(Filter::needs_trips),
            inspects: any(Filter::needs_notes),
            stores: if needs.follows_any() {
                stores.clone()
            } else {
                Stores::none()
            },
            registry,
            rules,
        }
    }
}

pub(super) fn compile(
    source: &str,
    registry: &'static Registry,
) -> Result<(Rules, Vec<Diagnostic>), Vec<Diagnostic>> {
    let mut rules = Vec::new();
    let mut diagnostics = Vec::new();
    let mut occurrences = BTreeMap::new();
    for statement in parse_statements(source)? {
        let Statement::Rule(rule) = statement;
        match Filter::check(rule.when.clone(), registry) {
            Ok((when, warnings)) => {
                diagnostics.extend(warnings);
                let identity = identity(&rule, &mut occurrences).unwrap_or_else(|error| {
                    diagnostics.push(error);
                    Box::default()
                });
                rules.push(checked(identity, rule.actions, when, registry));
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
    Ok((Rules::new(rules, registry), diagnostics))
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
