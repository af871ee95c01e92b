//! State that all sessions of a run share: the counts of rules `per global`, the hits of rules, and the effects of link
//! lines.
//!
//! Law: the state of a rule or line is kept across program changes that keep its identity.

use std::sync::Arc;

use teetap_wire::{Dir, PerDir};

use super::Program;
use super::dispatch::Dispatch;
use super::faults::{By, Decision, Faults, GameEntry};
use super::gate::Counts;
use super::hit::Hit;
use crate::impair::{Impact, LineSet, PassedDatagram, Tally};
use crate::span::Span;
use crate::verdict::RuleId;

/// State that all sessions of a run share. The caller keeps it beside the sessions.
#[derive(Debug, Default)]
pub struct Shared {
    rules: Vec<RuleState>,
    lines: Vec<LineState>,
    /// Rules that each message visits, for the program that created the state.
    pub(super) dispatch: Dispatch,
    /// Decisions that replace the decisions of the rules.
    pub(super) faults: Option<Arc<Faults>>,
    /// Decisions so far that are faults or changes; `None` unless they are recorded.
    decisions: Option<Vec<Decision>>,
    /// Clients that entered the game, which the caller has not read yet.
    entries: Vec<GameEntry>,
}

/// The state of a rule.
#[derive(Debug)]
struct RuleState {
    identity: Box<str>,
    /// Counts of a rule `per global`.
    counts: Counts,
    hits: Hits,
    /// First time at which the rule failed the run.
    failure: Option<Failure>,
    /// False while the rule is disabled.
    is_enabled: bool,
}

/// The state of a link line.
#[derive(Debug)]
struct LineState {
    identity: Box<str>,
    /// Effects from client to server, and from server to client.
    tallies: PerDir<Tally>,
    /// False while the line is disabled.
    is_enabled: bool,
}

/// Messages on which a rule acted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hits {
    /// Number of messages.
    pub count: u64,
    /// Last message.
    pub last: Option<Hit>,
}

/// Rules and link lines of a program, with their effects so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Rules in order.
    pub rules: Vec<RuleReport>,
    /// Link lines in order, each once per direction.
    pub lines: Vec<LineReport>,
}

impl Report {
    /// Returns true if a rule acted or a link line had an effect.
    #[must_use]
    pub fn has_any(&self) -> bool {
        let has_acted = |rule: &RuleReport| rule.hits.count > 0;
        let has_effect = |line: &LineReport| line.tally.counts().iter().any(|(count, _)| *count > 0);
        self.rules.iter().any(has_acted) || self.lines.iter().any(has_effect)
    }
}

/// A rule and its effects so far.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleReport {
    /// Number in the program.
    pub id: RuleId,
    /// Span in the source of the program.
    pub place: Span,
    /// Name; `None` for a rule without one.
    pub name: Option<Box<str>>,
    /// Text without the name, in its canonical form.
    pub text: Box<str>,
    /// False while the rule is disabled.
    pub is_enabled: bool,
    /// Messages on which the rule acted.
    pub hits: Hits,
    /// Result as a test of the run; `None` for a rule with neither `fail` nor `expect`.
    pub test: Option<Test>,
}

/// A rule as a test of the run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Test {
    /// True for a rule that has only `expect` actions. It reports no test case until the expectation starts.
    pub waits: bool,
    /// The first failure.
    pub failure: Option<Failure>,
}

/// The failure of a run by a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Time and session.
    pub hit: Hit,
    /// Text of `fail`, or the sentence about the expected message.
    pub why: Box<str>,
    /// Direction and name of the message on which the rule acted; `None` for a rule without a condition.
    pub message: Option<(Dir, Box<str>)>,
}

/// A link line and its effects in one direction so far.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineReport {
    /// Index in the program, from 0.
    pub id: u16,
    /// Span in the source of the program: of the line, or of the use of its profile.
    pub place: Span,
    /// Text in its canonical form.
    pub text: Box<str>,
    /// False while the line is disabled.
    pub is_enabled: bool,
    /// Direction of the datagrams.
    pub dir: Dir,
    /// Effects of the line.
    pub tally: Tally,
}

impl Shared {
    /// Creates the state for rules and lines with these identities. Keeps the state of rules and lines that `before`
    /// contains.
    pub(super) fn new<'i>(
        rules: impl Iterator<Item = &'i str>,
        lines: impl Iterator<Item = &'i str>,
        mut before: Self,
    ) -> Self {
        let rules = rules.map(|identity| {
            let at = before.rules.iter().position(|rule| *rule.identity == *identity);
            at.map_or_else(|| RuleState::new(identity), |at| before.rules.swap_remove(at))
        });
        let lines = lines.map(|identity| {
            let at = before.lines.iter().position(|line| *line.identity == *identity);
            at.map_or_else(|| LineState::new(identity), |at| before.lines.swap_remove(at))
        });
        Self {
            rules: rules.collect(),
            lines: lines.collect(),
            dispatch: Dispatch::default(),
            faults: None,
            decisions: None,
            entries: before.entries,
        }
    }

    /// Returns the state without rules and link lines.
    #[must_use]
    pub fn cleared(mut self) -> Self {
        Self {
            decisions: self.take_decisions(),
            entries: self.entries,
            ..Self::default()
        }
    }

    /// Removes and returns the decisions that the caller has not read; `None` if decisions are not recorded.
    pub(super) const fn take_decisions(&mut self) -> Option<Vec<Decision>> {
        self.decisions.take()
    }

    /// Sets the recorded decisions, and the decisions that replace those of the program.
    pub(super) fn keep(&mut self, decisions: Option<Vec<Decision>>, faults: Option<Arc<Faults>>) {
        (self.decisions, self.faults) = (decisions, faults);
    }

    /// Records decisions from now on.
    pub fn record(&mut self) {
        self.decisions.get_or_insert_default();
    }

    /// Removes and returns the recorded decisions, in order.
    pub fn decisions(&mut self) -> Vec<Decision> {
        self.decisions.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Returns the clients that entered the game since the last call, if decisions are recorded.
    pub fn entries(&mut self) -> Vec<GameEntry> {
        std::mem::take(&mut self.entries)
    }

    /// Returns true if decisions are recorded, and clients that enter the game.
    #[must_use]
    pub const fn is_recording(&self) -> bool {
        self.decisions.is_some()
    }

    /// Records that a client entered the game, if decisions are recorded.
    pub(super) fn entered(&mut self, entry: GameEntry) {
        if self.is_recording() {
            self.entries.push(entry);
        }
    }

    /// Returns true if the ordinals of messages are needed, even if no rule draws.
    pub(super) const fn needs_ordinals(&self) -> bool {
        self.faults.is_some() || self.is_recording()
    }

    /// Records a decision, if decisions are recorded.
    pub(super) fn decided(&mut self, decision: impl FnOnce() -> Decision) {
        if let Some(decisions) = &mut self.decisions {
            decisions.push(decision());
        }
    }

    /// Returns the counts of a rule `per global`.
    pub(super) fn counts(&mut self, RuleId(rule): RuleId) -> Option<&mut Counts> {
        self.rules.get_mut(usize::from(rule)).map(|rule| &mut rule.counts)
    }

    /// Counts a message on which a rule acted.
    pub(super) fn hit(&mut self, RuleId(rule): RuleId, hit: Hit) {
        if let Some(rule) = self.rules.get_mut(usize::from(rule)) {
            rule.hits.count = rule.hits.count.saturating_add(1);
            rule.hits.last = Some(hit);
        }
    }

    /// Records that a rule failed the run. Only the first failure is kept.
    pub fn fail(&mut self, RuleId(rule): RuleId, failure: Failure) {
        if let Some(rule) = self.rules.get_mut(usize::from(rule)) {
            rule.failure.get_or_insert(failure);
        }
    }

    /// Counts the effects of link lines on a datagram.
    pub fn count_impacts(&mut self, hit: Hit, passed: PassedDatagram, impacts: &[Impact]) {
        let PassedDatagram {
            dir,
            datagram,
            connless,
        } = passed;
        for impact in impacts {
            if let Some(line) = self.lines.get_mut(usize::from(impact.line)) {
                line.tallies[dir].count(impact);
                if let Some(decisions) = &mut self.decisions {
                    decisions.push(Decision {
                        at: hit.at,
                        session: hit.session,
                        dir: Some(dir),
                        by: By::Link {
                            line: line.identity.clone(),
                            datagram,
                            connless,
                            impact: impact.clone(),
                        },
                    });
                }
            }
        }
    }

    /// Returns the enabled lines among the link lines with `open` windows. Ignores the windows if the decisions of
    /// another run are repeated, since those decisions already include its windows.
    #[must_use]
    pub fn acting(&self, open: LineSet) -> LineSet {
        let open = match self.faults {
            Some(_) => LineSet::ALL,
            None => open,
        };
        let lines = (0..).zip(&self.lines);
        let disabled = lines.filter(|(_, line)| !line.is_enabled);
        disabled.fold(open, |lines, (line, _)| lines.without(line))
    }

    /// Returns true unless a rule was disabled.
    pub(super) fn is_enabled(&self, RuleId(rule): RuleId) -> bool {
        let rule = self.rules.get(usize::from(rule));
        rule.is_none_or(|rule| rule.is_enabled)
    }

    /// Enables or disables a rule. A disabled rule neither acts nor remembers, but keeps its counts. Returns false if
    /// there is no such rule.
    pub fn enable(&mut self, RuleId(rule): RuleId, enabled: bool) -> bool {
        let rule = self.rules.get_mut(usize::from(rule));
        rule.map(|rule| rule.is_enabled = enabled).is_some()
    }

    /// Enables or disables a link line. Returns false if there is no such line.
    pub fn enable_line(&mut self, line: u16, enabled: bool) -> bool {
        let line = self.lines.get_mut(usize::from(line));
        line.map(|line| line.is_enabled = enabled).is_some()
    }
}

impl RuleState {
    fn new(identity: &str) -> Self {
        Self {
            identity: identity.into(),
            counts: Counts::default(),
            hits: Hits::default(),
            failure: None,
            is_enabled: true,
        }
    }
}

impl LineState {
    fn new(identity: &str) -> Self {
        Self {
            identity: identity.into(),
            tallies: PerDir::default(),
            is_enabled: true,
        }
    }
}

impl Program {
    /// Returns the rules and link lines with their effects so far. `shared` is the state under this program.
    #[must_use]
    pub fn report(&self, shared: &Shared) -> Report {
        let mut rules = self.logic.rules();
        for (rule, of_rule) in rules.iter_mut().zip(&shared.rules) {
            (rule.hits, rule.is_enabled) = (of_rule.hits, of_rule.is_enabled);
            if let Some(test) = &mut rule.test {
                test.failure.clone_from(&of_rule.failure);
            }
        }
        let links = self.logic.links().into_iter().flat_map(|links| links.dirs());
        let lines = links.map(|(id, text, dir)| {
            let line = shared.lines.get(usize::from(id));
            let tally = line.map(|line| line.tallies[dir]);
            LineReport {
                id,
                place: self.logic.place_of_line(id),
                text: text.into(),
                is_enabled: line.is_none_or(|line| line.is_enabled),
                dir,
                tally: tally.unwrap_or_default(),
            }
        });
        Report {
            rules,
            lines: lines.collect(),
        }
    }
}
