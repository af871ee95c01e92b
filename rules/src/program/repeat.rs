//! Rules on further copies of a message, which its sender sends again.
//!
//! Law: only what changes no message runs. Copies count neither in conditions nor for the turns of a rule that also acts
//! on first copies; they move no windows and release nothing.

use std::sync::Arc;

use super::act::Act;
use super::faults::Drawn;
use super::progress::{Counts, MILLION, Progress, name_hash};
use super::rule::Rule;
use super::shared::{Hit, Shared};
use super::state::{State, view};
use crate::context::{MessageFacts, MessageView};
use crate::dice::{Dice, Key};
use crate::eval::Facts;
use crate::syntax::Action;
use crate::verdict::{Message, RuleId, Verdict};

/// The mark of ordinals that count copies.
const COPIES: u64 = 1 << 63;

impl State {
    /// Tries the rules on a copy of a message that was decided before.
    pub(super) fn on_repeat(&mut self, message: &Message<'_>, shared: &mut Shared) -> Verdict {
        let rules = Arc::clone(&self.rules);
        let view = MessageView {
            first: false,
            again: false,
            ..view(message, rules.registry)
        };
        self.fail_late(message.at);
        let fields = self.context.fields(&view, std::mem::take(&mut self.buffer));
        let facts = MessageFacts::new(&view, &fields, self.context.known(), &self.item);
        let facts = facts.with_variables(&self.variables);
        let mut verdict = Verdict::PASS;
        for (id, (rule, progress)) in (0..).zip(rules.rules.iter().zip(&mut self.progress)) {
            let id = RuleId(id);
            progress.meet_copy(rule, &facts);
            if !shared.is_enabled(id) {
                continue;
            }
            if !is_match(rule, progress, message, &facts) {
                continue;
            }
            let dice = rule.draws().then(|| {
                Dice::new(Key {
                    seed: self.seed,
                    rule: rule.hash,
                    session: message.session,
                    dir: message.dir,
                    name: name_hash(&facts),
                    ordinal: COPIES | progress.count_copy(&facts),
                })
            });
            let counts = shared.counts(id).filter(|_| rule.is_global);
            if let Some(dice) = may_act(rule, progress, counts, dice, message.at) {
                let mut act = Act {
                    id,
                    rule,
                    message,
                    facts: &facts,
                    body: view.body,
                    memory: &progress.when,
                    dice,
                    given: None,
                    drawn: Drawn::default(),
                    verdict: &mut verdict,
                    effects: &mut self.effects,
                    variables: &self.variables,
                    releases: false,
                    snapshot: None,
                    part: None,
                };
                let done = act.carry_out(&rule.on_copies);
                shared.hit(id, Hit::on(message));
                done.follow_up((id, rule, progress), message.at, &facts, &mut self.effects);
            }
            if rule.limits.is_unlimited() && rule.actions.iter().any(Action::ends) {
                break;
            }
        }
        self.buffer = fields.into_buffer();
        verdict
    }
}

/// Returns true if the condition and the window of a rule hold for a copy.
fn is_match(rule: &Rule, progress: &Progress, message: &Message<'_>, facts: &impl Facts) -> bool {
    rule.reaches(message.proto, message.dir)
        && progress.is_open_at(rule, facts.time())
        && rule.when.holds(facts, &progress.when)
}

/// Returns the dice if the rule acts on a copy now. A rule that also acts on first copies counts copies by themselves.
fn may_act(
    rule: &Rule,
    progress: &mut Progress,
    shared: Option<&mut Counts>,
    mut dice: Option<Dice>,
    at: u64,
) -> Option<Option<Dice>> {
    if rule.on_copies.is_empty() {
        return None;
    }
    let counts = if rule.is_passive {
        shared.unwrap_or(&mut progress.counts)
    } else {
        &mut progress.copies
    };
    let is_turn = counts.is_turn(&rule.limits, at);
    let is_drawn = match (rule.limits.chance, &mut dice) {
        (Some(chance), Some(dice)) => dice.below(MILLION) < chance.into(),
        _ => true,
    };
    (is_turn && is_drawn && counts.may_act(&rule.limits, at)).then_some(dice)
}
