//! Memory of one rule about one session: counts, and values remembered from messages.
//!
//! Law: every message is counted once, in the order of arrival, even if an earlier rule ended the evaluation. So a rule
//! that ends the evaluation affects neither the draws nor the turns of later rules.

use std::time::Duration;

use teetap_wire::{Dir, def::Class};

use crate::dice::{DrawKey, DrawRng, hash};
use crate::eval::{Facts, Memory};
use crate::filter::Filter;
use crate::verdict::{Message, PacketKind};

use super::expect::{Expecting, Unmet};
use super::faults::Drawn;
use super::gate::{Counts, Gate};
use super::parts::SnapshotDecision;
use super::rule::Rule;
use super::touched::ActedOn;
use super::window::Latches;

/// Direction whose counts and draws are used by rules that act at certain times.
const TIMER_DIR: Dir = Dir::C2s;

/// Minimum time between two notices about failures of a rule, in microseconds.
const REMARK: u64 = 1_000_000;

/// Direction, leg and id of a control message.
type ControlKind = (Dir, PacketKind, Option<u8>);

/// Memory of one rule about one session.
#[derive(Debug, Default)]
pub(super) struct Progress {
    /// Memory of the condition.
    pub(super) when: Memory,
    window: Latches,
    ordinals: Ordinals,
    /// Decision about the last snapshot of several messages.
    pub(super) covered: Option<SnapshotDecision>,
    pub(super) counts: Counts,
    /// Number of retransmissions by name and direction.
    copied: Ordinals,
    /// Messages on which the rule acted.
    pub(super) touched: ActedOn,
    /// Time of the last notice about a failure.
    failed: Option<u64>,
    /// Memory of the condition that releases held messages.
    release: Memory,
    /// Control messages that the rule has lost, with the number of copies.
    lost: Vec<(ControlKind, u32)>,
    /// Time of the next action of a rule without a condition.
    pub(super) next: Option<u64>,
    /// State of each expectation of the rule.
    expecting: Box<[Expecting]>,
    /// Number of due times so far.
    pub(super) ticks: u64,
}

impl Progress {
    pub(super) fn new(rule: &Rule) -> Self {
        Self {
            when: rule.when.memory(),
            window: Latches::new(&rule.window),
            ordinals: Ordinals::default(),
            covered: None,
            counts: Counts::default(),
            copied: Ordinals::default(),
            touched: ActedOn::default(),
            failed: None,
            release: rule.release.as_ref().map(Filter::memory).unwrap_or_default(),
            lost: Vec::new(),
            next: None,
            expecting: rule.expects.iter().map(Expecting::new).collect(),
            ticks: 0,
        }
    }

    /// Returns the memory to keep when the rule changes from `from` to `to`, which have the same identity. Expressions
    /// that differ start with an empty memory.
    pub(super) fn carried(self, from: &Rule, to: &Rule) -> Self {
        let fresh = Self::new(to);
        let same = |one: Option<&Filter>, other: Option<&Filter>| match (one, other) {
            (Some(one), Some(other)) => one.remembers_like(other),
            (one, other) => one.is_none() && other.is_none(),
        };
        Self {
            when: if same(Some(&from.when), Some(&to.when)) {
                self.when
            } else {
                fresh.when
            },
            window: self.window.carried(&from.window, &to.window),
            ordinals: self.ordinals,
            covered: self.covered,
            counts: self.counts,
            copied: self.copied,
            touched: self.touched,
            failed: self.failed,
            release: if same(from.release.as_ref(), to.release.as_ref()) {
                self.release
            } else {
                fresh.release
            },
            lost: self.lost,
            next: self.next.filter(|_| to.timer.is_some()),
            expecting: if is_same_expected(from, to) {
                self.expecting
            } else {
                fresh.expecting
            },
            ticks: self.ticks,
        }
    }

    /// Starts expectations of the rule at this time.
    pub(super) fn expect(
        &mut self,
        rule: &Rule,
        begun: &[usize],
        at: u64,
        message: Option<&(Dir, Box<str>)>,
    ) {
        for index in begun {
            if let (Some(expecting), Some(expected)) =
                (self.expecting.get_mut(*index), rule.expects.get(*index))
            {
                expecting.begin(expected, at, message.cloned());
            }
        }
    }

    /// Observes a message for the expectations of the rule.
    pub(super) fn meet(&mut self, rule: &Rule, facts: &impl Facts) {
        for (expecting, expected) in self.expecting.iter_mut().zip(&rule.expects) {
            expecting.observe(expected, facts);
        }
    }

    /// Observes another copy of a message for the expectations of the rule.
    pub(super) fn meet_copy(&mut self, rule: &Rule, facts: &impl Facts) {
        for (expecting, expected) in self.expecting.iter_mut().zip(&rule.expects) {
            expecting.observe_copy(expected, facts);
        }
    }

    /// Returns the expectations that fail at this time.
    pub(super) fn late(&mut self, rule: &Rule, at: u64) -> impl Iterator<Item = Unmet> {
        let expecting = self.expecting.iter_mut().zip(&rule.expects);
        expecting
            .flat_map(move |(expecting, expected)| std::iter::from_fn(move || expecting.late(expected, at)))
    }

    /// Returns the expectations that fail because the session ends.
    pub(super) fn ended(&mut self, rule: &Rule) -> impl Iterator<Item = Unmet> {
        let expecting = self.expecting.iter_mut().zip(&rule.expects);
        expecting.filter_map(|(expecting, expected)| expecting.ended(expected))
    }

    /// Returns the time at which the rule can act without a message.
    pub(super) fn deadline(&self) -> Option<u64> {
        let expecting = self.expecting.iter().filter_map(Expecting::deadline);
        expecting.chain(self.next).min()
    }

    /// Observes a message for the window. Returns true if the rule may act on it.
    pub(super) fn is_open(&mut self, rule: &Rule, facts: &impl Facts) -> bool {
        self.window.observe(&rule.window, facts) && is_in_time(rule, facts.time())
    }

    /// Returns true if the rule may act without a message at this session age, in microseconds.
    pub(super) fn is_open_at(&self, rule: &Rule, time: u64) -> bool {
        self.window.is_open(&rule.window) && is_in_time(rule, time)
    }

    /// Observes a message. Returns true if it releases the messages that the rule holds.
    pub(super) fn releases(&mut self, rule: &Rule, facts: &impl Facts) -> bool {
        let Some(release) = &rule.release else {
            return false;
        };
        release.matches(facts, &mut self.release) == Some(true)
    }

    /// Returns true if the rule has suppressed all copies of this control message that it is to suppress.
    pub(super) fn has_lost_enough(&self, rule: &Rule, message: &Message<'_>) -> bool {
        let Some(times) = rule.actions.lost_copies(message.form) else {
            return false;
        };
        let kind = control_kind(message);
        let mut lost = self.lost.iter();
        lost.any(|(known, count)| *known == kind && *count >= times)
    }

    /// Counts a suppressed copy of a control message.
    pub(super) fn count_lost(&mut self, rule: &Rule, message: &Message<'_>) {
        if rule.actions.lost_copies(message.form).is_none() {
            return;
        }
        let kind = control_kind(message);
        match self.lost.iter_mut().find(|(known, _)| *known == kind) {
            Some((_, count)) => *count = count.saturating_add(1),
            None => self.lost.push((kind, 1)),
        }
    }

    /// Records whether the rule acted on the first copy of a message, if its retransmissions depend on that.
    pub(super) fn remember_act(&mut self, rule: &Rule, message: &Message<'_>, acts: bool) {
        if rule.actions.repeats_act && message.form == PacketKind::Chunk {
            self.touched.record(message, acts);
        }
    }

    /// Returns true if a failure at this time is to be reported, at most once a second.
    pub(super) fn may_remark(&mut self, at: u64) -> bool {
        let is_due = self.failed.is_none_or(|last| at.saturating_sub(last) >= REMARK);
        if is_due {
            self.failed = Some(at);
        }
        is_due
    }

    /// Counts a retransmission. Returns the number of retransmissions with its name and direction.
    pub(super) fn count_copy(&mut self, facts: &impl Facts) -> u64 {
        self.copied.count(name_hash(facts), facts.dir())
    }

    /// Counts a message that the rule can match. Returns the number of messages so far with its name and direction; 0
    /// if no draw depends on the number, unless it is `needed`.
    pub(super) fn ordinal(
        &mut self,
        rule: &Rule,
        message: &Message<'_>,
        facts: &impl Facts,
        needed: bool,
    ) -> u64 {
        let (proto, dir) = (message.proto, message.dir);
        let is_subject = (needed || rule.draws())
            && rule.reach.includes(proto, dir, message.form)
            && rule.when.reach().message(proto, dir, &facts.subject());
        if is_subject {
            self.ordinals.count(name_hash(facts), dir)
        } else {
            0
        }
    }

    /// Returns true if it is the turn of a rule without a condition, in a session that opened at `since`.
    pub(super) fn timer_acts(
        &mut self,
        rule: &Rule,
        (seed, session): (u64, u32),
        (at, since): (u64, u64),
        shared: Option<&mut Counts>,
    ) -> bool {
        if !self.is_open_at(rule, at.saturating_sub(since)) {
            return false;
        }
        let count = shared.unwrap_or(&mut self.counts).for_dir(TIMER_DIR);
        let mut dice = Some(DrawRng::new(DrawKey {
            seed,
            rule: rule.label.hash,
            session,
            dir: TIMER_DIR,
            name: 0,
            ordinal: count.matches.saturating_add(1),
        }));
        let gate = Gate {
            limits: &rule.limits,
            at,
            has_ended: false,
            is_spent: false,
        };
        gate.opens(count, &mut dice)
    }
}

fn is_same_expected(one: &Rule, other: &Rule) -> bool {
    one.expects.len() == other.expects.len()
        && one
            .expects
            .iter()
            .zip(&other.expects)
            .all(|(one, other)| one.within == other.within && one.filter.remembers_like(&other.filter))
}

/// Returns true if a rule may act at this session age, in microseconds.
fn is_in_time(rule: &Rule, time: u64) -> bool {
    let time = Duration::from_micros(time);
    rule.limits.from.is_none_or(|from| from <= time) && rule.limits.to.is_none_or(|to| time < to)
}

/// Returns the kind of a control message.
fn control_kind(message: &Message<'_>) -> ControlKind {
    (message.dir, message.form, message.data.first().copied())
}

/// Returns the name of a message, or the name of its class if it has no definition, since its sender may choose any
/// id. Empty for a datagram without a message, which rules do not see.
pub(super) fn name(facts: &impl Facts) -> &str {
    let subject = facts.subject();
    subject
        .def
        .map_or(subject.class.map_or("", Class::name), |def| &def.name)
}

/// Returns the hash of the name of a message.
pub(super) fn name_hash(facts: &impl Facts) -> u64 {
    hash(name(facts))
}

/// Number of messages by the hash of their name and by direction. Bounded by the number of definitions and classes.
#[derive(Debug, Default)]
struct Ordinals(Vec<((u64, Dir), u64)>);

impl Ordinals {
    fn count(&mut self, name: u64, dir: Dir) -> u64 {
        let key = (name, dir);
        match self.0.iter_mut().find(|(known, _)| *known == key) {
            Some((_, count)) => {
                *count += 1;
                *count
            }
            None => {
                self.0.push((key, 1));
                1
            }
        }
    }
}

impl Progress {
    /// Returns the decision about an earlier part of the snapshot with this tick: `Some(None)` if the rule does not
    /// act.
    pub(super) fn covered(&self, tick: Option<i32>) -> Option<Option<Drawn>> {
        let covered = self.covered.as_ref()?;
        (Some(covered.tick) == tick).then(|| covered.acts.clone())
    }

    /// Records the decision about the snapshot with this tick.
    pub(super) fn cover(&mut self, tick: i32, acts: Option<Drawn>) {
        self.covered = Some(SnapshotDecision { tick, acts });
    }
}
