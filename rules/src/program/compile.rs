//! Compiles text to rules.

use std::collections::BTreeMap;

use teetap_wire::def::Registry;

use super::checker::Checker;
use super::interest::Interest;
use super::lets::NamedExprs;
use super::profile::Profiles;
use super::rule::Rule;
use super::survey::Survey;
use super::window::LineWindow;
use crate::check::Variables;
use crate::context::{Needs, Stores};
use crate::corrected::corrected;
use crate::diagnostic::{Diagnostic, Severity, finish};
use crate::impair::Links;
use crate::span::Span;
use crate::syntax::{Statement, idiom, parse_statements, places};

/// Rules of a program, in the order in which they are tried.
pub(super) struct Rules {
    pub(super) rules: Vec<Rule>,
    pub(super) interest: Interest,
    /// Parts of a session's context that conditions need.
    pub(super) needs: Needs,
    /// True if a rule expects messages.
    pub(super) expects: bool,
    /// True if a rule can act without a message.
    pub(super) is_timed: bool,
    /// Empty snapshot stores; no stores if snapshots are not needed.
    pub(super) stores: Stores,
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
            interest: survey.interest(needs),
            needs,
            expects: survey.expects(),
            is_timed: survey.expects() || rules.iter().any(|rule| rule.timer.is_some()),
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

/// Maximum number of statements with an error whose help is checked.
const MAX_CORRECTED: usize = 16;

pub(super) fn compile(
    source: &str,
    registry: &'static Registry,
) -> Result<(Rules, Vec<Diagnostic>), Vec<Diagnostic>> {
    checked(source, registry).map_err(|errors| with_checked_help(source, errors, registry))
}

/// Corrects the help of each statement with a single error.
fn with_checked_help(source: &str, errors: Vec<Diagnostic>, registry: &'static Registry) -> Vec<Diagnostic> {
    let check = |text: &str| checked(text, registry).err().unwrap_or_default();
    let places = places(source);
    let place_of = |error: &Diagnostic| {
        let is_inside = |place: &&Span| (place.start..=place.end).contains(&error.span.start);
        places.iter().find(is_inside).copied()
    };
    let of_errors: Vec<Option<Span>> = errors.iter().map(place_of).collect();
    let mut left = MAX_CORRECTED;
    let corrected = errors.into_iter().zip(&of_errors).map(|(error, place)| {
        let is_single = of_errors.iter().filter(|other| *other == place).count() == 1;
        match place.filter(|_| is_single && left > 0) {
            Some(place) => {
                left -= 1;
                let text = source.get(place.start..place.end).unwrap_or_default();
                corrected(source, place, error, idiom::rules(text), &check)
            }
            None => error,
        }
    });
    corrected.collect()
}

fn checked(source: &str, registry: &'static Registry) -> Result<(Rules, Vec<Diagnostic>), Vec<Diagnostic>> {
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
                checker.link_name(&link);
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
    finish(&mut diagnostics);
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
