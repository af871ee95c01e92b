//! Compiles text to rules.

use std::collections::BTreeMap;

use teetap_wire::def::{Class, Registry};

use super::checker::Checker;
use super::lets::NamedExprs;
use super::profile::Profiles;
use super::rule::Rule;
use super::survey::Survey;
use super::window::LineWindow;
use crate::check::Variables;
use crate::context::{Needs, Stores};
use crate::diagnostic::{Diagnostic, Severity, sort};
use crate::filter::Filter;
use crate::impair::Links;
use crate::places::Places;
use crate::span::Span;
use crate::syntax::{Statement, parse_statements};

/// Rules of a program, in the order in which they are tried.
pub(super) struct Rules {
    pub(super) rules: Vec<Rule>,
    /// Protocols and directions in which a rule can match.
    pub(super) acts: Places,
    /// Protocols and directions in which a rule handles further copies.
    pub(super) repeats: Places,
    /// Protocols and directions in which a rule can match, or in which messages change the memory of rules or the
    /// context.
    pub(super) observes: Places,
    /// Parts of a session's context that conditions need.
    pub(super) needs: Needs,
    /// True if a condition needs the round trip.
    pub(super) measures: bool,
    /// True if a condition needs notes.
    pub(super) inspects: bool,
    /// True if a rule expects messages.
    pub(super) expects: bool,
    /// True if a rule can act without a message.
    pub(super) is_timed: bool,
    /// Empty snapshot stores; no stores if snapshots are not needed.
    pub(super) stores: Stores,
    /// True if a control message can affect a rule, or the window of a link line.
    pub(super) controls: bool,
    /// True if a rule can match a message outside a connection, or such a message can affect the window of a link line.
    pub(super) browses: bool,
    pub(super) links: Links,
    /// Span of each link line, or of the use of its profile.
    pub(super) line_places: Vec<Span>,
    /// Windows of link lines with conditions.
    pub(super) windows: Vec<LineWindow>,
    pub(super) registry: &'static Registry,
    /// Seed that the text sets.
    pub(super) seed: Option<u64>,
    /// Variables that rules set.
    pub(super) variables: Variables,
}

impl Rules {
    fn new(
        (rules, variables): (Vec<Rule>, Variables),
        (links, line_places, windows): (Links, Vec<Span>, Vec<LineWindow>),
        seed: Option<u64>,
        registry: &'static Registry,
    ) -> Self {
        let stores = Stores::new(registry);
        let survey = Survey {
            rules: &rules,
            windows: &windows,
            stores: &stores,
            registry,
        };
        let needs = survey.needs();
        Self {
            acts: survey.acts(),
            repeats: survey.repeats(),
            observes: survey.observes(needs),
            needs,
            measures: survey.any(Filter::needs_trips),
            inspects: survey.any(Filter::needs_notes),
            expects: rules.iter().any(|rule| !rule.expects.is_empty()),
            is_timed: rules
                .iter()
                .any(|rule| rule.timer.is_some() || !rule.expects.is_empty()),
            controls: rules.iter().any(|rule| rule.sees_control(registry)) || survey.sees(Class::Control),
            browses: rules.iter().any(|rule| !rule.connless.is_empty()) || survey.sees(Class::Connless),
            stores: if needs.follows_any() {
                stores
            } else {
                Stores::none()
            },
            links,
            line_places,
            windows,
            registry,
            seed,
            variables,
            rules,
        }
    }
}

pub(super) fn compile(
    source: &str,
    registry: &'static Registry,
) -> Result<(Rules, Vec<Diagnostic>), Vec<Diagnostic>> {
    let mut named = Vec::new();
    let (mut lines, mut line_places, mut defined) = (Vec::new(), Vec::new(), Vec::new());
    let mut checker = Checker {
        registry,
        diagnostics: Vec::new(),
        occurrences: BTreeMap::new(),
        seed: None,
        lets: NamedExprs::default(),
        variables: Variables::default(),
        regex_bytes: 0,
    };
    let statements = parse_statements(source)?;
    checker.lets = NamedExprs::from_statements(&statements, registry, &mut checker.diagnostics);
    let profiles = Profiles::from_statements(&statements, &mut checker.diagnostics);
    for statement in statements {
        match statement {
            Statement::Rule(rule) => named.push(checker.named(rule)),
            Statement::Link(link) => {
                defined.push(link.line.clone());
                profiles.add([link.line], link.span, &mut lines, &mut checker.diagnostics);
                line_places.resize(lines.len(), link.span);
            }
            Statement::Use(wanted) => {
                profiles.add_used(&wanted, &mut lines, &mut checker.diagnostics);
                line_places.resize(lines.len(), wanted.name.span);
            }
            Statement::Profile(profile) => defined.extend(profile.links.into_iter().map(|link| link.line)),
            Statement::Let(_) => {}
            Statement::Seed { seed, span } => checker.seed(seed, span),
        }
    }
    let parts = named
        .iter()
        .map(|named| (named.rule.when.as_ref(), &*named.rule.actions));
    checker.variables = Variables::from_rules(parts, registry);
    let rules: Vec<_> = named
        .into_iter()
        .filter_map(|named| checker.rule(named))
        .collect();
    let links = Links::new(lines.iter().cloned());
    let windows = checker.windows(&defined, lines, &links);
    let (seed, variables) = (checker.seed, checker.variables);
    let mut diagnostics = checker.diagnostics;
    checker.lets.finish(registry, &mut diagnostics);
    sort(&mut diagnostics);
    // A named expression is checked at each use.
    diagnostics.dedup();
    let is_error = |diagnostic: &Diagnostic| diagnostic.severity() == Severity::Error;
    if diagnostics.iter().any(is_error) {
        diagnostics.retain(is_error);
        return Err(diagnostics);
    }
    let rules = Rules::new((rules, variables), (links, line_places, windows), seed, registry);
    Ok((rules, diagnostics))
}
