//! A message that visits rules, each of which observes it and may act on it.

use std::cell::RefCell;

use teetap_wire::Side;
use teetap_wire::snap::Completed;

use super::act::{ActionRun, overtake};
use super::faults::{Drawn, Faults};
use super::gate::Gate;
use super::hit::Hit;
use super::progress::{Progress, name, name_hash};
use super::rule::Rule;
use super::shared::Shared;
use crate::dice::{DrawKey, DrawRng};
use crate::eval::{Facts, Variables};
use crate::filter::Matched;
use crate::verdict::{Effect, Message, PacketKind, RuleId, SnapshotPart, Verdict};

/// A message that visits one rule after the other.
pub(super) struct Visit<'a, F> {
    pub(super) message: &'a Message<'a>,
    pub(super) facts: &'a F,
    /// Length of the id before the fields, in bytes.
    pub(super) body: usize,
    pub(super) seed: u64,
    /// False if only rules that change nothing may act.
    pub(super) acts: bool,
    /// Decisions that replace the decisions of the rules.
    pub(super) faults: Option<&'a Faults>,
    /// Snapshot that the message completes.
    pub(super) snapshot: Option<Completed<'a>>,
    /// Tick of the snapshot if the message is one of its several parts.
    pub(super) tick: Option<i32>,
    pub(super) variables: &'a RefCell<Variables>,
    pub(super) effects: &'a mut Vec<Effect>,
    /// Decision of the rules so far.
    pub(super) verdict: Verdict,
    /// True if no later rule acts.
    pub(super) has_ended: bool,
}

/// Cause of a rule's action.
enum Cause<'d> {
    /// The decision about an earlier part of the same snapshot, with its values.
    EarlierPart(Drawn),
    /// The decision of another run, with its values.
    Given(&'d Drawn),
    /// The decision of the rule itself, and the source of its draws.
    Own(Option<DrawRng>),
}

impl<F: Facts> Visit<'_, F> {
    /// Lets a rule observe the message, and act on it if it decides so.
    pub(super) fn rule(&mut self, id: RuleId, rule: &Rule, progress: &mut Progress, shared: &mut Shared) {
        let (message, facts) = (self.message, self.facts);
        progress.meet(rule, facts);
        let ordinal = progress.ordinal(rule, message, facts, shared.needs_ordinals());
        if !shared.is_enabled(id) {
            // The rule still counts the message, so that its later draws are the same as if it had never been disabled.
            progress.remember_act(rule, message, false);
            return;
        }
        let releases = progress.releases(rule, facts);
        if releases {
            self.effects.push(Effect::Release { key: rule.label.hash });
        }
        let decides = self.acts || rule.actions.is_passive;
        let is_fault =
            decides && rule.actions.is_fault && rule.reach.includes(message.proto, message.dir, message.form);
        let faults = self.faults.filter(|_| is_fault);
        let given = faults.and_then(|faults| {
            let subject = (name_hash(facts), ordinal);
            faults.of_rule(id, message.session, Some(message.dir), subject)
        });
        // A fault of another run has precedence over an earlier part on which the rule did not act.
        let covered = progress.covered(self.tick);
        let covered = covered.filter(|acts| decides && (acts.is_some() || given.is_none()));
        let is_subject = covered.is_none() && (!rule.actions.sets_items || self.snapshot.is_some());
        let matched = is_match(rule, progress, (message, decides && is_subject), facts);
        let is_decided = covered.is_none() && (matched.is_some() || given.is_some());
        let cause = match (covered, given) {
            (Some(acts), _) => acts.filter(|_| !self.has_ended).map(Cause::EarlierPart),
            (None, Some(given)) => Some(Cause::Given(given)),
            (None, None) if faults.is_some() => None,
            (None, None) => {
                let subject = (name_hash(facts), ordinal);
                let mut dice = rule.draws().then(|| dice(self.seed, rule, message, subject));
                let gate = Gate {
                    limits: &rule.limits,
                    at: message.at,
                    has_ended: self.has_ended,
                    is_spent: progress.has_lost_enough(rule, message),
                };
                let counts = shared.counts(id).filter(|_| rule.is_global);
                let counts = counts.unwrap_or(&mut progress.counts).for_dir(message.dir);
                let acts = matched.is_some() && gate.opens(counts, &mut dice);
                acts.then_some(Cause::Own(dice))
            }
        };
        let mut drawn = None;
        let acts = cause.is_some();
        if let Some(cause) = cause {
            drawn = Some(self.act((id, rule, progress), cause, (ordinal, releases), shared));
        } else if matched.is_some() && !self.has_ended {
            overtake(id, &rule.actions.written, &mut self.verdict);
        }
        progress.remember_act(rule, message, acts);
        if let Some(matched) = matched {
            rule.when.settle(facts, &mut progress.when, matched);
        }
        if let Some(tick) = self.tick.filter(|_| is_decided && rule.covers_parts()) {
            progress.cover(tick, drawn);
        }
    }

    /// Lets a rule act. Returns the values that it drew.
    fn act(
        &mut self,
        (id, rule, progress): (RuleId, &Rule, &mut Progress),
        cause: Cause<'_>,
        (ordinal, releases): (u64, bool),
        shared: &mut Shared,
    ) -> Drawn {
        let (message, facts) = (self.message, self.facts);
        let follows = matches!(cause, Cause::EarlierPart(_));
        let (given, dice) = match &cause {
            Cause::EarlierPart(drawn) => (Some(drawn), None),
            Cause::Given(drawn) => {
                let subject = (name_hash(facts), ordinal);
                let dice = rule.draws().then(|| dice(self.seed, rule, message, subject));
                (Some(*drawn), dice)
            }
            Cause::Own(dice) => (None, *dice),
        };
        progress.count_lost(rule, message);
        let mut act = ActionRun {
            id,
            rule,
            message,
            facts,
            body: self.body,
            memory: &progress.when,
            dice,
            given,
            drawn: Drawn::default(),
            verdict: &mut self.verdict,
            effects: self.effects,
            variables: self.variables,
            releases,
            snapshot: self.snapshot,
            part: self.tick.map(|tick| SnapshotPart { tick, follows }),
        };
        let resolved = if follows {
            &rule.actions.on_parts
        } else {
            &rule.actions.resolved
        };
        let done = act.carry_out(resolved);
        let drawn = act.drawn;
        let hit = Hit::on(message);
        if done.is_hit {
            shared.hit(id, hit);
        }
        if rule.actions.is_fault && !follows {
            let dir = Some(message.dir);
            shared.decided(|| rule.decision(hit, dir, (name(facts), ordinal), drawn.clone()));
        }
        self.has_ended |= done.ends;
        done.follow_up((id, rule, progress), message.at, facts, self.effects);
        drawn
    }
}

/// Returns the draws of a rule for the message with this name and number.
fn dice(seed: u64, rule: &Rule, message: &Message<'_>, (name, ordinal): (u64, u64)) -> DrawRng {
    DrawRng::new(DrawKey {
        seed,
        rule: rule.label.hash,
        session: message.session,
        dir: message.dir,
        name,
        ordinal,
    })
}

/// Observes a message for the window and the condition of a rule. Without `decides` nothing matches. The caller settles
/// the condition of a match.
fn is_match(
    rule: &Rule,
    progress: &mut Progress,
    (message, decides): (&Message<'_>, bool),
    facts: &impl Facts,
) -> Option<Matched> {
    let reaches = rule.reach.includes(message.proto, message.dir, message.form);
    if message.form == PacketKind::Control(Side::Server) && !reaches {
        // The rule sees the same message on the client leg.
        return None;
    }
    let is_open = progress.is_open(rule, facts);
    if !reaches || !decides {
        rule.when.remember(facts, &mut progress.when);
        return None;
    }
    let matched = rule.when.decide(facts, &mut progress.when);
    if matched.is_match() && is_open {
        return Some(matched);
    }
    rule.when
        .settle(facts, &mut progress.when, matched.in_window(is_open));
    None
}
