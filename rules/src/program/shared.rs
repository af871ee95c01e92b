//! The state that all sessions of a run share: the counts of rules `per global`, the hits of rules, and the effects of
//! link lines.
//!
//! Law: the state of a rule or line survives a change of the program that keeps its identity.

use teetap_wire::Dir;

use super::Program;
use super::progress::Counts;
use crate::impair::{Impact, Tally};
use crate::verdict::RuleId;

/// The state that all sessions of a run share. The caller keeps it beside the sessions.
#[derive(Debug, Default)]
pub struct Shared {
    rules: Vec<OfRule>,
    lines: Vec<OfLine>,
}

/// The state of a rule.
#[derive(Debug)]
struct OfRule {
    identity: Box<str>,
    /// The counts of a rule `per global`.
    counts: Counts,
    hits: Hits,
}

/// The state of a link line.
#[derive(Debug)]
struct OfLine {
    identity: Box<str>,
    /// The effects from client to server, and from server to client.
    tallies: [Tally; 2],
}

/// The messages on which a rule acted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hits {
    /// Their number.
    pub count: u64,
    /// The last one.
    pub last: Option<Hit>,
}

/// A message on which a rule acted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hit {
    /// Microseconds since the start of the run.
    pub at: u64,
    /// The number of the session.
    pub session: u32,
}

/// The rules and link lines of a program, and their effects so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// The rules in their order.
    pub rules: Vec<RuleReport>,
    /// The link lines in their order, each once for each of its directions.
    pub lines: Vec<LineReport>,
}

/// A rule and its effects so far.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleReport {
    /// The number in the program.
    pub id: RuleId,
    /// The name; `None` for a rule without one.
    pub name: Option<Box<str>>,
    /// The text without the name, in a canonical form.
    pub text: Box<str>,
    /// The messages on which it acted.
    pub hits: Hits,
}

/// A link line and its effects in one direction so far.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineReport {
    /// The text in a canonical form.
    pub text: Box<str>,
    /// The direction.
    pub dir: Dir,
    /// The effects.
    pub tally: Tally,
}

impl Shared {
    /// Creates the state for rules and lines with these identities. It has that of `before` for those that were there.
    pub(super) fn new<'i>(
        rules: impl Iterator<Item = &'i str>,
        lines: impl Iterator<Item = &'i str>,
        mut before: Self,
    ) -> Self {
        let rules = rules.map(|identity| {
            let at = before.rules.iter().position(|rule| *rule.identity == *identity);
            at.map_or_else(|| OfRule::new(identity), |at| before.rules.swap_remove(at))
        });
        let lines = lines.map(|identity| {
            let at = before.lines.iter().position(|line| *line.identity == *identity);
            at.map_or_else(|| OfLine::new(identity), |at| before.lines.swap_remove(at))
        });
        Self {
            rules: rules.collect(),
            lines: lines.collect(),
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

    /// Counts the effects of link lines on a datagram.
    pub fn count_impacts(&mut self, dir: Dir, impacts: &[Impact]) {
        for impact in impacts {
            if let Some(line) = self.lines.get_mut(usize::from(impact.line)) {
                let [c2s, s2c] = &mut line.tallies;
                let tally = match dir {
                    Dir::C2s => c2s,
                    Dir::S2c => s2c,
                };
                tally.count(impact);
            }
        }
    }

    /// Returns the hits of a rule.
    fn hits(&self, RuleId(rule): RuleId) -> Hits {
        let rule = self.rules.get(usize::from(rule));
        rule.map(|rule| rule.hits).unwrap_or_default()
    }
}

impl OfRule {
    fn new(identity: &str) -> Self {
        Self {
            identity: identity.into(),
            counts: Counts::default(),
            hits: Hits::default(),
        }
    }
}

impl OfLine {
    fn new(identity: &str) -> Self {
        Self {
            identity: identity.into(),
            tallies: Default::default(),
        }
    }
}

impl Program {
    /// Returns the rules and link lines with their effects so far. `shared` is the state of this program.
    #[must_use]
    pub fn report(&self, shared: &Shared) -> Report {
        let mut rules = self.logic.rules();
        for rule in &mut rules {
            rule.hits = shared.hits(rule.id);
        }
        let links = self.logic.links().into_iter().flat_map(|links| links.dirs());
        let tally = |(at, dir): (usize, Dir)| {
            let line = shared.lines.get(at)?;
            Some(match dir {
                Dir::C2s => line.tallies[0],
                Dir::S2c => line.tallies[1],
            })
        };
        let lines = links.map(|(at, text, dir)| LineReport {
            text: text.into(),
            dir,
            tally: tally((at, dir)).unwrap_or_default(),
        });
        Report {
            rules,
            lines: lines.collect(),
        }
    }
}
