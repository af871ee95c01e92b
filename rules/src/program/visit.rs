//! A message that visits a rule: the rule observes it, and may act on it.

use std::cell::RefCell;

use teetap_wire::Side;
use teetap_wire::snap::Completed;

use super::act::{Act, overtake};
use super::faults::{Drawn, Faults};
use super::progress::{Counts, MILLION, Progress, name, name_hash};
use super::rule::Rule;
use super::shared::{Hit, Shared};
use crate::dice::{Dice, Key};
use crate::eval::{Facts, Variables};
use crate::verdict::{Effect, Fate, Form, Message, Part, RuleId, Verdict};

/// A message that visits one rule after the other.
pub(super) struct Visit<'a, F> {
    pub(super) message: &'a Message<'a>,
    pub(super) facts: &'a F,
    /// The length of the id before the fields, in bytes.
    pub(super) body: usize,
    pub(super) seed: u64,
    /// False if only rules act that change nothing.
    pub(super) acts: bool,
    /// The decisions to make instead of those of the rules.
    pub(super) faults: Option<&'a Faults>,
    /// The snapshot that the message completes.
    pub(super) snapshot: Option<Completed<'a>>,
    /// The tick of the snapshot of several messages that the message is a part of.
    pub(super) tick: Option<i32>,
    pub(super) variables: &'a RefCell<Variables>,
    pub(super) effects: &'a mut Vec<Effect>,
    /// The decision of the rules so far.
    pub(super) verdict: Verdict,
    /// True if no later rule acts.
    pub(super) has_ended: bool,
}

/// The cause for which a rule acts.
enum Cause<'d> {
    /// An earlier part of the same snapshot, with the values of that time.
    EarlierPart(Drawn),
    /// Another run, with its values.
    Given(&'d Drawn),
    /// The decision of the rule itself, with the draws to make.
    Own(Option<Dice>),
}

impl<F: Facts> Visit<'_, F> {
    /// Lets a rule observe the message, and act if it is to.
    pub(super) fn rule(&mut self, id: RuleId, rule: &Rule, progress: &mut Progress, shared: &mut Shared) {
        let (message, facts) = (self.message, self.facts);
        progress.meet(rule, facts);
        let ordinal = progress.ordinal(rule, message, facts, shared.needs_ordinals());
        if !shared.is_enabled(id) {
            // Its draws afterwards are those of a rule that was never disabled.
            return;
        }
        let releases = progress.releases(rule, facts);
        if releases {
            self.effects.push(Effect::Release { key: rule.hash });
        }
        let decides = self.acts || rule.is_passive;
        let is_fault = decides && rule.is_fault && rule.takes(message.proto, message.dir, message.form);
        let faults = self.faults.filter(|_| is_fault);
        let given = faults.and_then(|faults| {
            let subject = (name_hash(facts), ordinal);
            faults.of_rule(id, message.session, Some(message.dir), subject)
        });
        // A fault of another run counts more than an earlier part on which the rule did not act.
        let covered = progress.covered(self.tick);
        let covered = covered.filter(|acts| decides && (acts.is_some() || given.is_none()));
        let is_subject = covered.is_none() && (!rule.sets_items || self.snapshot.is_some());
        let counts = shared.counts(id).filter(|_| rule.is_global);
        let found = turn(rule, progress, (message, decides && is_subject), facts, counts);
        let is_match = !matches!(found, Match::None);
        let is_decided = covered.is_none() && (is_match || given.is_some());
        let cause = match (covered, given) {
            (Some(acts), _) => acts.filter(|_| !self.has_ended).map(Cause::EarlierPart),
            (None, Some(given)) => Some(Cause::Given(given)),
            (None, None) if faults.is_some() => None,
            (None, None) => {
                let subject = (name_hash(facts), ordinal);
                let mut dice = rule.draws().then(|| dice(self.seed, rule, message, subject));
                let acts = found.acts(rule, &mut dice, self.has_ended, message.at);
                acts.then_some(Cause::Own(dice))
            }
        };
        let mut drawn = None;
        if let Some(cause) = cause {
            drawn = Some(self.act((id, rule, progress), cause, (ordinal, releases), shared));
        } else if is_match && !self.has_ended {
            overtake(id, &rule.actions, &mut self.verdict);
        }
        if is_match {
            rule.when.settle(facts, &mut progress.when, true);
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
        let may_pass = matches!(message.form, Form::Control(_));
        let before = may_pass.then(|| self.verdict.clone());
        let mut act = Act {
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
            part: self.tick.map(|tick| Part { tick, follows }),
        };
        let deeds = if follows { &rule.on_parts } else { &rule.deeds };
        let done = act.carry_out(deeds);
        let drawn = act.drawn;
        let hit = Hit::on(message);
        shared.hit(id, hit);
        let passes = done.ends && passes_again(message, progress, self.verdict.fate);
        if let (true, Some(before)) = (passes, before) {
            // Nothing of what the rule does to the copies that it lost.
            self.verdict = before;
        }
        if rule.is_fault && !passes && !follows {
            let dir = Some(message.dir);
            shared.decided(|| rule.decision(hit, dir, (name(facts), ordinal), drawn.clone()));
        }
        self.has_ended |= done.ends && !passes;
        done.follow_up((id, rule, progress), message.at, facts, self.effects);
        drawn
    }
}

/// The relation of a message to a rule.
enum Match<'a> {
    /// The rule may act on it. The caller settles the condition afterwards.
    Turn(&'a mut Counts),
    /// The condition holds, but `skip` or `every` let it pass. The caller settles the condition afterwards.
    NoTurn,
    None,
}

impl Match<'_> {
    /// Returns true if the rule acts. Counts it then.
    fn acts(self, rule: &Rule, dice: &mut Option<Dice>, has_ended: bool, at: u64) -> bool {
        let Self::Turn(counts) = self else {
            return false;
        };
        let is_drawn = match (rule.limits.chance, dice) {
            (Some(chance), Some(dice)) => dice.below(MILLION) < chance.into(),
            _ => true,
        };
        !has_ended && is_drawn && counts.may_act(&rule.limits, at)
    }
}

/// Returns true if enough copies of a control message were lost, so that this one passes.
fn passes_again(message: &Message<'_>, progress: &mut Progress, fate: Fate) -> bool {
    match (fate, message.form) {
        (Fate::Lose { times }, Form::Control(_)) => !progress.may_lose(message, times),
        _ => false,
    }
}

/// Returns the draws of a rule about the message of this name and number.
fn dice(seed: u64, rule: &Rule, message: &Message<'_>, (name, ordinal): (u64, u64)) -> Dice {
    Dice::new(Key {
        seed,
        rule: rule.hash,
        session: message.session,
        dir: message.dir,
        name,
        ordinal,
    })
}

/// Observes a message for a rule. Without `decides` nothing matches.
fn turn<'a>(
    rule: &Rule,
    progress: &'a mut Progress,
    (message, decides): (&Message<'_>, bool),
    facts: &impl Facts,
    shared: Option<&'a mut Counts>,
) -> Match<'a> {
    let reaches = rule.takes(message.proto, message.dir, message.form);
    if message.form == Form::Control(Side::Server) && !reaches {
        // The other leg has the same message, and the rule sees it there.
        return Match::None;
    }
    let is_open = progress.is_open(rule, facts);
    if !reaches || !decides {
        rule.when.remember(facts, &mut progress.when);
        return Match::None;
    }
    let is_match = rule.when.decide(facts, &mut progress.when) == Some(true);
    if !(is_match && is_open) {
        rule.when.settle(facts, &mut progress.when, is_match);
        return Match::None;
    }
    let counts = shared.unwrap_or(&mut progress.counts);
    if counts.is_turn(&rule.limits, message.at) {
        Match::Turn(counts)
    } else {
        Match::NoTurn
    }
}
