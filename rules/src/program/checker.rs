//! Checks the rules of one text, and the windows of its link lines.

use std::collections::BTreeMap;
use std::time::Duration;

use teetap_wire::Dir;
use teetap_wire::def::{Class, Def, Registry};

use super::expect::Expected;
use super::greeting::HandshakeEffect;
use super::lets::NamedExprs;
use super::limits::Limits;
use super::rule::{Label, Rule, RuleActions, RuleReach};
use super::sense::CheckedRule;
use super::window::{LineWindow, Window};
use crate::check::{MAX_REGEXES, ResolvedAction, Variables, is_snap, too_many_regexes};
use crate::diagnostic::{Code, Diagnostic};
use crate::dice::hash;
use crate::eval::Reach;
use crate::filter::Filter;
use crate::impair::{LinkLine, Links};
use crate::proto_dirs::ProtoDirs;
use crate::span::Span;
use crate::syntax::{self, Action, Every, Expr, Kind, Modifiers, Scope};

/// A rule whose named expressions are resolved.
pub(super) struct Named {
    pub(super) identity: Box<str>,
    /// Text of the rule before its named expressions were resolved.
    pub(super) text: Box<str>,
    pub(super) rule: syntax::Rule,
}

/// State of the check of one text.
pub(super) struct Checker {
    pub(super) registry: &'static Registry,
    pub(super) diagnostics: Vec<Diagnostic>,
    /// Number of rules with each identity so far.
    pub(super) occurrences: BTreeMap<String, u32>,
    pub(super) seed: Option<u64>,
    pub(super) lets: NamedExprs,
    /// Variables that the rules set.
    pub(super) variables: Variables,
    /// Maximum bytes of memory of all regexes compiled so far.
    pub(super) regex_bytes: usize,
}

impl Checker {
    /// Adds the memory of a filter's regexes. Reports an error and returns false if all regexes of the text need too
    /// much.
    fn has_room(&mut self, filter: &Filter, span: Span) -> bool {
        let had_room = self.regex_bytes <= MAX_REGEXES;
        self.regex_bytes += filter.regex_bytes();
        let has_room = self.regex_bytes <= MAX_REGEXES;
        if had_room && !has_room {
            self.diagnostics.push(too_many_regexes(span));
        }
        has_room
    }

    pub(super) fn seed(&mut self, seed: u64, span: Span) {
        if self.seed.replace(seed).is_some() {
            self.diagnostics
                .push(Diagnostic::new(Code::Repeated, span, "`seed` stands twice"));
        }
    }

    /// Returns the interval of a rule without a condition, whose actions have no message; `None` for other rules.
    fn timer(&mut self, rule: &syntax::Rule, resolved: &[ResolvedAction]) -> Option<Duration> {
        let Some(Every::Time(time)) = rule.modifiers.every.filter(|_| rule.when.is_none()) else {
            return None;
        };
        for (action, resolved_action) in rule.actions.iter().zip(resolved) {
            if !resolved_action.needs_no_message() {
                let what = format!("`{action}` needs a message");
                self.diagnostics
                    .push(Diagnostic::new(Code::NotHere, rule.span, what).help("add a condition: `when …`"));
            }
        }
        Some(time)
    }

    /// Replaces named expressions in a rule.
    pub(super) fn named(&mut self, rule: syntax::Rule) -> Named {
        Named {
            identity: self.identity(&rule),
            text: rule.to_string().into(),
            rule: self.lets.expand(rule, &mut self.diagnostics),
        }
    }

    /// Checks a rule. Returns `None` if a condition has an error.
    pub(super) fn rule(&mut self, named: Named) -> Option<Rule> {
        let Named {
            identity,
            text,
            mut rule,
        } = named;
        if self.regex_bytes > MAX_REGEXES {
            return None;
        }
        let checked = Filter::check_rule(rule.when.clone(), &rule.actions, self.registry, &self.variables);
        let when = self.reported(checked.map(|(when, resolved, warnings)| ((when, resolved), warnings)));
        let resolved = when.as_ref().map(|(_, resolved)| &**resolved).unwrap_or_default();
        let starts = rule.when.is_none() && rule.modifiers.every.is_none();
        let timer = self.timer(&rule, resolved);
        let release = self.release(&rule);
        let expects = self.expects(&rule.actions);
        let window = [rule.modifiers.after.take(), rule.modifiers.until.take()];
        let [after, until] = window.map(|end| end.map(|expr| self.filter(expr)));
        let (when, resolved) = when?;
        if !self.has_room(&when, rule.span) {
            return None;
        }
        let usual = when.usual_reach(self.registry);
        let (mut control, mut connless) = self.outside_chunks(&rule, &usual);
        let mut chunks = within(&usual, &[Class::System, Class::Game]);
        let sets_items = resolved.iter().any(ResolvedAction::sets_items);
        if sets_items {
            self.must_see_snapshots(&when, rule.span);
            chunks = ProtoDirs::from_fn(|proto, dir| dir == Dir::S2c && chunks.contains(proto, dir));
            (control, connless) = (ProtoDirs::NONE, ProtoDirs::NONE);
        }
        let sense = CheckedRule {
            rule: &rule,
            when: &when,
            resolved: &resolved,
            chunks,
            registry: self.registry,
        };
        self.diagnostics.extend(sense.diagnostics());
        let window = Window {
            after: open(after)?,
            until: open(until)?,
        };
        let limits = limits(&rule.modifiers, timer);
        let parts = (&*rule.actions, &when);
        let greeting = HandshakeEffect::new(parts, (&limits, &window), control, self.registry);
        Some(Rule {
            label: Label {
                hash: hash(&identity),
                identity,
                text,
                name: rule.name.map(|name| name.text.into()),
                span: rule.span,
            },
            actions: RuleActions::new(rule.actions, resolved),
            reach: RuleReach {
                any: ProtoDirs::from_fn(|proto, dir| usual.dir(proto, dir)),
                chunks,
                control,
                connless,
                names_leg: when.needs_leg(),
            },
            greeting,
            when,
            window,
            release: open(release)?,
            expects: expects?,
            starts,
            timer,
            limits,
            is_global: rule.modifiers.scope == Some(Scope::Global),
        })
    }

    /// Checks the condition that releases a held message. Returns `None` if the rule holds no message, and `Some(None)`
    /// after an error.
    fn release(&mut self, rule: &syntax::Rule) -> Option<Option<Filter>> {
        let mut holds = rule.actions.iter().filter_map(|action| match action {
            Action::Hold { until, .. } => Some(until.clone()),
            _ => None,
        });
        let release = holds.next().map(|until| self.filter(until));
        if holds.next().is_some() {
            let what = "a rule holds a message once";
            self.diagnostics
                .push(Diagnostic::new(Code::Repeated, rule.span, what));
        }
        release
    }

    /// Returns the protocols and directions in which a rule acts on control messages, and those in which it acts on
    /// connless messages. Reports actions that fit no message that the condition matches.
    fn outside_chunks(&mut self, rule: &syntax::Rule, usual: &Reach) -> (ProtoDirs, ProtoDirs) {
        let mut control = within(usual, &[Class::Control]);
        let mut connless = within(usual, &[Class::Connless]);
        let is_only = |class| {
            let others = Class::ALL.into_iter().filter(|other| *other != class);
            !within(usual, &[class]).is_empty() && within(usual, &others.collect::<Vec<_>>()).is_empty()
        };
        for action in &rule.actions {
            let error = if is_only(Class::Control) && !action.fits_control() {
                Some(format!("`{action}` cannot act on a control message"))
            } else if is_only(Class::Control) && !sets_reason(action) {
                Some(format!(
                    "`{action}`: only the reason of `close` can be set in a control message"
                ))
            } else if is_only(Class::Connless) && !action.fits_connless() {
                Some(format!("`{action}` cannot act on a message outside a connection"))
            } else {
                None
            };
            self.diagnostics
                .extend(error.map(|error| Diagnostic::new(Code::NotHere, rule.span, error)));
            if !action.fits_control() {
                control = ProtoDirs::NONE;
            }
            if !action.fits_connless() {
                connless = ProtoDirs::NONE;
            }
        }
        (control, connless)
    }

    /// Reports errors in the windows of the `defined` link lines. Returns the windows of the lines in use. The lines
    /// of a profile are in use as often as the profile.
    pub(super) fn windows(
        &mut self,
        defined: &[LinkLine],
        lines: Vec<LinkLine>,
        links: &Links,
    ) -> Vec<LineWindow> {
        for line in defined {
            self.window(line.clone());
        }
        let reported = std::mem::take(&mut self.diagnostics);
        let windows = (0..).zip(lines).zip(links.identities());
        let windows = windows.filter_map(|((at, line), identity)| {
            let window = self.window(line)?;
            (!window.is_always()).then(|| LineWindow {
                line: at,
                identity: identity.into(),
                window,
            })
        });
        let windows = windows.collect();
        let too_large = |found: &Diagnostic| found.code == Code::TooComplex;
        let found = std::mem::replace(&mut self.diagnostics, reported);
        self.diagnostics.extend(found.into_iter().filter(too_large));
        windows
    }

    /// Checks the window of a link line. Returns `None` if it has an error.
    fn window(&mut self, line: LinkLine) -> Option<Window> {
        let [after, until] = [line.after, line.until].map(|expr| {
            let expr = self.lets.expanded(expr?, &mut self.diagnostics);
            Some(self.filter(expr))
        });
        Some(Window {
            after: open(after)?,
            until: open(until)?,
        })
    }

    /// Reports a rule that changes snapshot items but matches no snapshot. A rule without a condition already has an
    /// error.
    fn must_see_snapshots(&mut self, when: &Filter, span: Span) {
        let is_snapshot = |_, dir, def: &Def| dir == Dir::S2c && is_snap(def);
        let has_condition = when.reach().anything();
        if has_condition && !when.may_match(self.registry, is_snapshot) {
            let what =
                "`set snap…` acts on messages that complete a snapshot, and this condition is about others";
            self.diagnostics
                .push(Diagnostic::new(Code::NotHere, span, what).help("add `any_snap` to the condition"));
        }
    }

    /// Checks the expectations of a rule. Returns `None` if one has an error.
    fn expects(&mut self, actions: &[Action]) -> Option<Box<[Expected]>> {
        let expected = |action: &Action| match action {
            Action::Expect { expected, within } => Some((expected.clone(), *within)),
            _ => None,
        };
        let checked: Vec<_> = actions
            .iter()
            .filter_map(expected)
            .map(|(expr, within)| self.filter(expr).map(|filter| Expected { filter, within }))
            .collect();
        checked.into_iter().collect()
    }

    fn filter(&mut self, expr: Expr) -> Option<Filter> {
        let span = expr.span;
        if self.regex_bytes > MAX_REGEXES {
            return None;
        }
        let filter = self.reported(Filter::check_with(expr, self.registry, &self.variables))?;
        self.has_room(&filter, span).then_some(filter)
    }

    /// Reports the diagnostics of a check. Returns its result if there is no error.
    fn reported<T>(&mut self, checked: Result<(T, Vec<Diagnostic>), Vec<Diagnostic>>) -> Option<T> {
        let (checked, diagnostics) = match checked {
            Ok((checked, warnings)) => (Some(checked), warnings),
            Err(errors) => (None, errors),
        };
        self.diagnostics.extend(diagnostics);
        checked
    }

    /// Returns the identity of a rule. Two rules with the same name are an error; rules with the same text are
    /// numbered.
    fn identity(&mut self, rule: &syntax::Rule) -> Box<str> {
        let text = rule
            .name
            .as_ref()
            .map_or_else(|| rule.to_string(), |name| name.text.clone());
        let count = self.occurrences.entry(text.clone()).or_default();
        *count += 1;
        match (&rule.name, *count) {
            (_, 1) => text.into(),
            (None, count) => format!("{text} #{count}").into(),
            (Some(name), _) => {
                self.repeated_name(&text, name.span);
                Box::default()
            }
        }
    }

    /// Reports the name of a link line that a rule or another link line has.
    pub(super) fn link_name(&mut self, link: &syntax::Link) {
        let Some(name) = link.line.name.as_deref() else {
            return;
        };
        let count = self.occurrences.entry(name.to_owned()).or_default();
        *count += 1;
        if *count > 1 {
            let span = Span::new(link.span.start, link.span.start + name.len());
            self.repeated_name(name, span);
        }
    }

    fn repeated_name(&mut self, name: &str, span: Span) {
        let what = format!("two rules or link lines are called `{name}`");
        self.diagnostics.push(Diagnostic::new(Code::NotHere, span, what));
    }
}

/// Returns the window's condition; `None` after an error.
fn open(window: Option<Option<Filter>>) -> Option<Option<Filter>> {
    match window {
        Some(filter) => filter.map(Some),
        None => Some(None),
    }
}

/// Returns the protocols and directions in which messages of these classes can match.
fn within(reach: &Reach, classes: &[Class]) -> ProtoDirs {
    ProtoDirs::from_fn(|proto, dir| classes.iter().any(|class| reach.class(proto, dir, *class)))
}

/// Returns the limits of a rule. The interval of a rule without a condition is not a limit.
fn limits(modifiers: &Modifiers, timer: Option<Duration>) -> Limits {
    Limits {
        chance: modifiers.chance,
        every: modifiers.every.filter(|_| timer.is_none()),
        skip: modifiers.skip.unwrap_or_default(),
        first: modifiers.first,
        max: modifiers.max,
        from: modifiers.from,
        to: modifiers.to,
    }
}

/// Returns false if an action sets a field other than a reason.
fn sets_reason(action: &Action) -> bool {
    let Action::Set(assigns) = action else { return true };
    assigns.iter().all(|assign| match &assign.target.kind {
        Kind::Path(path) => path
            .segments
            .last()
            .is_some_and(|last| last.name.text == "reason"),
        _ => false,
    })
}
