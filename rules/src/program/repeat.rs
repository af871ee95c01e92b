//! Rule evaluation for retransmissions.
//!
//! Law: only actions that change no message run on retransmissions. A rule that also changes messages decides once:
//! its other actions run only on the retransmissions of messages that it acted on. A rule that changes nothing
//! decides about each copy. Copies are not counted in conditions or in `n`, do not affect windows, and do not release
//! held messages.

use std::sync::Arc;

use super::act::ActionRun;
use super::faults::Drawn;
use super::gate::Gate;
use super::hit::Hit;
use super::progress::{Progress, name_hash};
use super::rule::Rule;
use super::shared::Shared;
use super::state::{State, view};
use crate::context::{MessageFacts, MessageView};
use crate::dice::{DrawKey, DrawRng};
use crate::eval::Facts;
use crate::syntax::Action;
use crate::verdict::{Message, RuleId, Verdict};

/// Marks ordinals that count copies.
const COPIES: u64 = 1 << 63;

impl State {
    /// Evaluates the rules for a copy of a message that was decided before.
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
            let is_concerned = rule.reach.chunks.contains(message.proto, message.dir)
                && rule
                    .when
                    .reach()
                    .message(message.proto, message.dir, &facts.subject());
            let acts = is_concerned
                && if rule.actions.is_passive {
                    decides(rule, progress, (id, shared), (self.seed, message), &facts)
                } else {
                    progress.touched.has(message)
                };
            if !acts {
                continue;
            }
            let mut act = ActionRun {
                id,
                rule,
                message,
                facts: &facts,
                body: view.body,
                memory: &progress.when,
                dice: None,
                given: None,
                drawn: Drawn::default(),
                verdict: &mut verdict,
                effects: &mut self.effects,
                variables: &self.variables,
                releases: false,
                snapshot: None,
                part: None,
            };
            let done = act.carry_out(&rule.actions.on_copies);
            if done.is_hit {
                shared.hit(id, Hit::on(message));
            }
            done.follow_up((id, rule, progress), message.at, &facts, &mut self.effects);
            if rule.actions.any(Action::ends) {
                break;
            }
        }
        self.buffer = fields.into_buffer();
        verdict
    }
}

/// Returns true if a rule that changes nothing acts on a copy.
fn decides(
    rule: &Rule,
    progress: &mut Progress,
    (id, shared): (RuleId, &mut Shared),
    (seed, message): (u64, &Message<'_>),
    facts: &impl Facts,
) -> bool {
    let is_match = !rule.actions.on_copies.is_empty()
        && progress.is_open_at(rule, facts.time())
        && rule.when.holds(facts, &progress.when);
    if !is_match {
        return false;
    }
    let mut dice = rule.draws().then(|| {
        DrawRng::new(DrawKey {
            seed,
            rule: rule.label.hash,
            session: message.session,
            dir: message.dir,
            name: name_hash(facts),
            ordinal: COPIES | progress.count_copy(facts),
        })
    });
    let gate = Gate {
        limits: &rule.limits,
        at: message.at,
        has_ended: false,
        is_spent: false,
    };
    let counts = shared.counts(id).filter(|_| rule.is_global);
    let counts = counts.unwrap_or(&mut progress.counts);
    gate.opens(counts.for_dir(message.dir), &mut dice)
}
