//! From text to rules.

use std::collections::BTreeMap;
use std::time::Duration;

use teetap_wire::def::{Class, Def, Registry};
use teetap_wire::{Dir, Proto, Side};

use super::expect::Expected;
use super::faults::{By, Decision, Drawn};
use super::lets::Lets;
use super::profile::Profiles;
use super::shared::Hit;
use super::window::{LineWindow, Window};
use crate::check::{Deed, Variables, is_snap};
use crate::context::{Names, Needs, Players, Stores};
use crate::diagnostic::{Code, Diagnostic, Severity, sort};
use crate::dice::hash;
use crate::eval::Reach;
use crate::filter::{Filter, places};
use crate::impair::{Line, Links};
use crate::span::Span;
use crate::syntax::{self, Action, Every, Expr, Kind, Max, Modifiers, Scope, Statement, parse_statements};
use crate::verdict::Form;

/// The rules of a program, in the order in which they are tried.
pub(super) struct Rules {
    pub(super) rules: Vec<Rule>,
    /// The protocols and directions in which a rule can match.
    pub(super) acts: Vec<(Proto, Dir)>,
    /// The same for rules that look at further copies.
    pub(super) repeats: Vec<(Proto, Dir)>,
    /// The same, and those in which messages change what is remembered or known.
    pub(super) observes: Vec<(Proto, Dir)>,
    /// The parts of a session's context that conditions need.
    pub(super) needs: Needs,
    /// True if a condition needs the round trip.
    pub(super) measures: bool,
    /// True if a condition needs notes.
    pub(super) inspects: bool,
    /// True if a rule expects messages.
    pub(super) expects: bool,
    /// True if a rule has something to do without a message.
    pub(super) is_timed: bool,
    /// The empty stores of snapshots; none if snapshots are not needed.
    pub(super) stores: Stores,
    /// True if a control message can matter to a rule, or to the window of a link line.
    pub(super) controls: bool,
    /// True if a rule can match a message outside a connection, or one moves a window of a link line.
    pub(super) browses: bool,
    pub(super) links: Links,
    /// The place of each link line, or of the use of its profile.
    pub(super) line_places: Vec<Span>,
    /// The windows of link lines that have conditions.
    pub(super) windows: Vec<LineWindow>,
    pub(super) registry: &'static Registry,
    /// The seed that the text has.
    pub(super) seed: Option<u64>,
    /// The variables that rules set.
    pub(super) variables: Variables,
}

/// A checked rule.
pub(super) struct Rule {
    /// The name, or else the text, followed by its occurrence if it is not the first with that text.
    pub(super) identity: Box<str>,
    /// The name; `None` if the text identifies it.
    pub(super) name: Option<Box<str>>,
    /// The text without the name, in a canonical form.
    pub(super) text: Box<str>,
    /// The hash of the identity.
    pub(super) hash: u64,
    /// The place in the text.
    pub(super) span: Span,
    /// The actions as written.
    pub(super) actions: Vec<Action>,
    pub(super) deeds: Vec<Deed>,
    /// The deeds that also run on further copies of a message.
    pub(super) on_copies: Vec<Deed>,
    /// The deeds that also run on later parts of a snapshot about which the rule has decided.
    pub(super) on_parts: Vec<Deed>,
    /// True if it changes items of snapshots: it acts on messages that complete one.
    pub(super) sets_items: bool,
    pub(super) when: Filter,
    pub(super) window: Window,
    /// The condition that releases what it holds.
    pub(super) release: Option<Filter>,
    /// The messages that it expects, one for each `expect`.
    pub(super) expects: Box<[Expected]>,
    /// True if it changes no message and no number.
    pub(super) is_passive: bool,
    /// True if one of its actions is a fault or a change of the traffic.
    pub(super) is_fault: bool,
    /// The time between two actions of a rule without a condition.
    pub(super) timer: Option<Duration>,
    pub(super) limits: Limits,
    /// True if its counts are those of all sessions together.
    pub(super) is_global: bool,
    /// The protocols and directions in which it can match.
    reach: Vec<(Proto, Dir)>,
    /// The same for chunks.
    chunks: Vec<(Proto, Dir)>,
    /// The same for control messages, if its actions can act on them.
    control: Vec<(Proto, Dir)>,
    /// The same for messages outside a connection.
    connless: Vec<(Proto, Dir)>,
    /// True if its condition says which leg a control message belongs to.
    names_leg: bool,
}

/// The modifiers that count, draw and look at the time.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    pub(super) chance: Option<u32>,
    pub(super) every: Option<Every>,
    pub(super) skip: u32,
    pub(super) first: Option<u32>,
    pub(super) max: Option<Max>,
    pub(super) from: Option<Duration>,
    pub(super) to: Option<Duration>,
}

impl Limits {
    /// Returns true if they let the rule act on every match.
    pub(super) const fn is_unlimited(&self) -> bool {
        matches!(
            self,
            Self {
                chance: None,
                every: None,
                skip: 0,
                first: None,
                max: None,
                from: None,
                to: None,
            }
        )
    }
}

impl Rule {
    /// Returns true if it can match a chunk of this direction.
    pub(super) fn reaches(&self, proto: Proto, dir: Dir) -> bool {
        self.chunks.contains(&(proto, dir))
    }

    /// Returns true if it can match a message of this form. Without `leg` in its condition it matches control messages
    /// on the leg to the client.
    pub(super) fn takes(&self, proto: Proto, dir: Dir, form: Form) -> bool {
        match form {
            Form::Chunk => self.reaches(proto, dir),
            Form::Control(leg) => {
                (self.names_leg || leg == Side::Client) && self.control.contains(&(proto, dir))
            }
            Form::Connless => self.connless.contains(&(proto, dir)),
        }
    }

    /// Returns true if it can match a message of this direction in any protocol.
    pub(super) fn reaches_dir(&self, dir: Dir) -> bool {
        self.reach.iter().any(|(_, of)| *of == dir)
    }

    /// Returns the decision of a hit: on the message of this name and number.
    pub(super) fn decision(
        &self,
        hit: Hit,
        dir: Option<Dir>,
        (message, ordinal): (&str, u64),
        drawn: Drawn,
    ) -> Decision {
        let actions: Vec<String> = self.actions.iter().map(ToString::to_string).collect();
        Decision {
            at: hit.at,
            session: hit.session,
            dir,
            by: By::Rule {
                rule: self.identity.clone(),
                message: message.into(),
                ordinal,
                actions: actions.join(", ").into(),
                drawn,
            },
        }
    }

    /// Returns true if it makes random decisions.
    pub(super) fn draws(&self) -> bool {
        self.limits.chance.is_some() || self.actions.iter().any(Action::draws)
    }

    /// Returns true if its decision about a part of a snapshot is that about the parts that follow.
    pub(super) const fn covers_parts(&self) -> bool {
        !self.is_passive || self.limits.chance.is_some()
    }

    /// Returns all its conditions.
    fn filters(&self) -> impl Iterator<Item = &Filter> {
        std::iter::once(&self.when).chain(self.others())
    }

    /// Returns its conditions on other messages than those that it acts on.
    fn others(&self) -> impl Iterator<Item = &Filter> {
        let expects = self.expects.iter().map(|expected| &expected.filter);
        self.window.filters().chain(&self.release).chain(expects)
    }

    /// Returns true if a message may match one of its conditions, or may change what they remember. Messages outside of
    /// chunks are few, and concern every rule.
    pub(super) fn concerns(&self, proto: Proto, dir: Dir, class: Class, def: Option<&Def>) -> bool {
        matches!(class, Class::Control | Class::Connless)
            || self
                .filters()
                .any(|filter| filter.concerns(proto, dir, class, def))
    }

    /// Returns true if it can act on a control message, or one matches another of its conditions or is remembered.
    fn sees_control(&self, registry: &Registry) -> bool {
        !self.control.is_empty()
            || self.when.keeps(registry, Class::Control)
            || self.others().any(|other| other.sees(registry, Class::Control))
    }

    /// Returns true if messages of this direction change what it remembers.
    fn listens(&self, registry: &Registry, proto: Proto, dir: Dir) -> bool {
        self.filters()
            .any(|filter| filter.remembers_in(registry, proto, dir))
            || self
                .others()
                .any(|other| other.usual_reach(registry).dir(proto, dir))
    }
}

impl Rules {
    fn new(
        (rules, variables): (Vec<Rule>, Variables),
        (links, line_places, windows): (Links, Vec<Span>, Vec<LineWindow>),
        seed: Option<u64>,
        registry: &'static Registry,
    ) -> Self {
        let of_lines = || windows.iter().flat_map(LineWindow::filters);
        let filters = || rules.iter().flat_map(Rule::filters).chain(of_lines());
        let any = |needs: fn(&Filter) -> bool| filters().any(needs);
        let stores = Stores::new(registry);
        let is_snapshot = |proto, dir, def: &Def| dir == Dir::S2c && stores.follows(proto, dir, def);
        // The oddities of a snapshot are known only to those who follow them all.
        let reads_snapshots = |when: &Filter| {
            when.needs_snapshots() || when.needs_notes() && when.may_match(registry, is_snapshot)
        };
        let needs = Needs {
            snapshots: filters().any(reads_snapshots) || rules.iter().any(|rule| rule.sets_items),
            names: if any(Filter::needs_players) {
                Names::All
            } else {
                Names::None
            },
        };
        let acts = |(proto, dir): &_| {
            let mut active = rules.iter().filter(|rule| !rule.is_passive);
            active.any(|rule| rule.reaches(*proto, *dir))
        };
        let reaches = |(proto, dir): &_| rules.iter().any(|rule| rule.reaches(*proto, *dir));
        let repeats = |(proto, dir): &_| {
            let mut looking = rules.iter().filter(|rule| !rule.on_copies.is_empty());
            looking.any(|rule| {
                let expects = || {
                    rule.expects
                        .iter()
                        .any(|expected| expected.filter.usual_reach(registry).dir(*proto, *dir))
                };
                rule.reaches(*proto, *dir) || expects()
            })
        };
        let has_timers = rules.iter().any(|rule| rule.timer.is_some());
        let learns = |proto: Proto, dir, def: &Def| {
            needs.names != Names::None && Players::learns_from(dir, def)
                || needs.follows(proto) && stores.follows(proto, dir, def)
        };
        let observes = |&(proto, dir): &(Proto, Dir)| {
            let mut defs = registry.defs(proto.into());
            // Timers start with the game.
            has_timers && dir == Dir::C2s
                || defs.any(|def| learns(proto, dir, def))
                || rules.iter().any(|rule| rule.listens(registry, proto, dir))
                || windows.iter().any(|window| window.listens(registry, proto, dir))
        };
        let sees = |class| windows.iter().any(|window| window.sees(registry, class));
        Self {
            acts: places().filter(acts).collect(),
            repeats: places().filter(repeats).collect(),
            observes: places()
                .filter(|place| reaches(place) || observes(place))
                .collect(),
            needs,
            measures: any(Filter::needs_trips),
            inspects: any(Filter::needs_notes),
            expects: rules.iter().any(|rule| !rule.expects.is_empty()),
            is_timed: rules
                .iter()
                .any(|rule| rule.timer.is_some() || !rule.expects.is_empty()),
            stores: if needs.follows_any() {
                stores.clone()
            } else {
                Stores::none()
            },
            controls: rules.iter().any(|rule| rule.sees_control(registry)) || sees(Class::Control),
            browses: rules.iter().any(|rule| !rule.connless.is_empty()) || sees(Class::Connless),
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
        lets: Lets::default(),
        variables: Variables::default(),
    };
    let statements = parse_statements(source)?;
    checker.lets = Lets::of(&statements, registry, &mut checker.diagnostics);
    let profiles = Profiles::of(&statements, &mut checker.diagnostics);
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
    checker.variables = Variables::of(parts, registry);
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
    // A named expression is checked where it is used.
    diagnostics.dedup();
    let is_error = |diagnostic: &Diagnostic| diagnostic.severity() == Severity::Error;
    if diagnostics.iter().any(is_error) {
        diagnostics.retain(is_error);
        return Err(diagnostics);
    }
    let rules = Rules::new((rules, variables), (links, line_places, windows), seed, registry);
    Ok((rules, diagnostics))
}

/// A rule whose names are resolved.
struct Named {
    identity: Box<str>,
    /// The text before.
    text: Box<str>,
    rule: syntax::Rule,
}

/// The check of the rules of one text.
struct Checker {
    registry: &'static Registry,
    diagnostics: Vec<Diagnostic>,
    /// The number of rules with each identity so far.
    occurrences: BTreeMap<String, u32>,
    seed: Option<u64>,
    lets: Lets,
    /// The variables that the rules set.
    variables: Variables,
}

impl Checker {
    fn seed(&mut self, seed: u64, span: Span) {
        if self.seed.replace(seed).is_some() {
            self.diagnostics
                .push(Diagnostic::new(Code::Repeated, span, "`seed` stands twice"));
        }
    }

    /// Returns the time between the actions of a rule without a condition. Its actions have no message.
    fn timer(&mut self, rule: &syntax::Rule, deeds: &[Deed]) -> Option<Duration> {
        let Some(Every::Time(time)) = rule.modifiers.every.filter(|_| rule.when.is_none()) else {
            return None;
        };
        for (action, deed) in rule.actions.iter().zip(deeds) {
            if !deed.needs_no_message() {
                let what = format!("`{action}` needs a message");
                self.diagnostics
                    .push(Diagnostic::new(Code::NotHere, rule.span, what).help("add a condition: `when …`"));
            }
        }
        Some(time)
    }

    /// Returns a rule with expressions in place of their names.
    fn named(&mut self, rule: syntax::Rule) -> Named {
        Named {
            identity: self.identity(&rule),
            text: rule.to_string().into(),
            rule: self.lets.expand(rule, &mut self.diagnostics),
        }
    }

    /// Checks a rule. `None` if it has an error in a condition.
    fn rule(&mut self, named: Named) -> Option<Rule> {
        let Named { identity, text, rule } = named;
        let checked = Filter::check_rule(rule.when.clone(), &rule.actions, self.registry, &self.variables);
        let when = self.reported(checked.map(|(when, deeds, warnings)| ((when, deeds), warnings)));
        let deeds = when.as_ref().map(|(_, deeds)| &**deeds).unwrap_or_default();
        let timer = self.timer(&rule, deeds);
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
        let expects = self.expects(&rule.actions);
        let Modifiers { after, until, .. } = rule.modifiers;
        let [after, until] = [after, until].map(|window| window.map(|expr| self.filter(expr)));
        let (when, deeds) = when?;
        let usual = when.usual_reach(self.registry);
        let mut control = within(&usual, &[Class::Control]);
        let mut connless = within(&usual, &[Class::Connless]);
        let is_only = |class| {
            let others = Class::ALL.into_iter().filter(|other| *other != class);
            !within(&usual, &[class]).is_empty() && within(&usual, &others.collect::<Vec<_>>()).is_empty()
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
                control.clear();
            }
            if !action.fits_connless() {
                connless.clear();
            }
        }
        let mut chunks = within(&usual, &[Class::System, Class::Game]);
        let sets_items = deeds.iter().any(Deed::sets_items);
        if sets_items {
            self.must_see_snapshots(&when, rule.span);
            chunks.retain(|(_, dir)| *dir == Dir::S2c);
            (control, connless) = (Vec::new(), Vec::new());
        }
        let chosen = |wanted: fn(&Deed) -> bool| deeds.iter().filter(|deed| wanted(deed)).cloned().collect();
        Some(Rule {
            hash: hash(&identity),
            identity,
            text,
            name: rule.name.map(|name| name.text.into()),
            is_passive: rule.actions.iter().all(Action::is_passive),
            is_fault: rule.actions.iter().any(Action::is_fault),
            actions: rule.actions,
            span: rule.span,
            on_copies: chosen(Deed::runs_on_copies),
            on_parts: chosen(Deed::covers_parts),
            sets_items,
            deeds,
            reach: places().filter(|(proto, dir)| usual.dir(*proto, *dir)).collect(),
            chunks,
            control,
            connless,
            names_leg: when.needs_leg(),
            when,
            window: Window {
                after: open(after)?,
                until: open(until)?,
            },
            release: open(release)?,
            expects: expects?,
            timer,
            limits: Limits {
                chance: rule.modifiers.chance,
                every: rule.modifiers.every.filter(|_| timer.is_none()),
                skip: rule.modifiers.skip.unwrap_or_default(),
                first: rule.modifiers.first,
                max: rule.modifiers.max,
                from: rule.modifiers.from,
                to: rule.modifiers.to,
            },
            is_global: rule.modifiers.scope == Some(Scope::Global),
        })
    }

    /// Checks the windows of the link lines where they are `defined`. Returns those of the lines in use; lines of profiles
    /// are in use as often as their profile.
    fn windows(&mut self, defined: &[Line], lines: Vec<Line>, links: &Links) -> Vec<LineWindow> {
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
        self.diagnostics = reported;
        windows
    }

    /// Checks the window of a link line. `None` if it has an error.
    fn window(&mut self, line: Line) -> Option<Window> {
        let [after, until] = [line.after, line.until].map(|expr| {
            let expr = self.lets.expanded(expr?, &mut self.diagnostics);
            Some(self.filter(expr))
        });
        Some(Window {
            after: open(after)?,
            until: open(until)?,
        })
    }

    /// Reports a rule that changes items of snapshots and matches none. One without a condition has an error already.
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

    /// Checks the expectations of a rule. `None` if one has an error.
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
        self.reported(Filter::check_with(expr, self.registry, &self.variables))
    }

    /// Reports the diagnostics of a check, and returns its result if there is no error.
    fn reported<T>(&mut self, checked: Result<(T, Vec<Diagnostic>), Vec<Diagnostic>>) -> Option<T> {
        let (checked, diagnostics) = match checked {
            Ok((checked, warnings)) => (Some(checked), warnings),
            Err(errors) => (None, errors),
        };
        self.diagnostics.extend(diagnostics);
        checked
    }

    /// Returns the identity of a rule. Two rules with the same name are an error; those with the same text are counted.
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
                let what = format!("two rules are called `{text}`");
                self.diagnostics
                    .push(Diagnostic::new(Code::NotHere, name.span, what));
                Box::default()
            }
        }
    }
}

/// Returns the window of a rule, if it has no error.
fn open(window: Option<Option<Filter>>) -> Option<Option<Filter>> {
    match window {
        Some(filter) => filter.map(Some),
        None => Some(None),
    }
}

/// Returns the places at which messages of these classes can match.
fn within(reach: &Reach, classes: &[Class]) -> Vec<(Proto, Dir)> {
    let may = |(proto, dir): &(Proto, Dir)| classes.iter().any(|class| reach.class(*proto, *dir, *class));
    places().filter(may).collect()
}

/// Returns false if an action sets another field than a reason.
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
