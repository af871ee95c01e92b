//! The memory of rules about one session, and their decisions.

use std::any::Any;
use std::sync::Arc;
use std::time::Duration;

use teetap_wire::def::Decoded;
use teetap_wire::{Dir, Proto};

use super::compile::{Rule, Rules};
use super::facts::Asked;
use super::{Logic, Opening};
use crate::eval::Memory;
use crate::syntax::Action;
use crate::verdict::{Decide, Fate, Message, Order, RuleId, Verdict};

impl Logic for Rules {
    fn acts(&self, proto: Proto, dir: Dir) -> bool {
        self.acts.contains(&(proto, dir))
    }

    fn open(self: Arc<Self>, session: Opening, before: Option<Box<dyn Decide>>) -> Box<dyn Decide> {
        let before: Option<Box<dyn Any>> = before.map(|before| before as Box<dyn Any>);
        let mut before = before.and_then(|before| before.downcast::<State>().ok());
        let memory = |rule: &Rule| {
            let kept = before.as_mut().and_then(|before| before.take(rule));
            kept.unwrap_or_else(|| rule.when.memory())
        };
        Box::new(State {
            memories: self.rules.iter().map(memory).collect(),
            rules: self,
            since: session.at,
            buffer: Decoded::new(),
        })
    }

    fn rule(&self, id: RuleId) -> Option<&str> {
        self.rules.get(usize::from(id.0)).map(|rule| &*rule.identity)
    }
}

/// The state of one session.
struct State {
    rules: Arc<Rules>,
    /// The memories, one for each rule.
    memories: Vec<Memory>,
    /// The time at which the session opened.
    since: u64,
    /// A buffer, so that decoding a message allocates nothing.
    buffer: Decoded,
}

impl State {
    /// Takes over the memory of the same rule: one with the same identity and condition.
    fn take(&mut self, rule: &Rule) -> Option<Memory> {
        let is_same = |old: &Rule| old.identity == rule.identity && old.when.expr() == rule.when.expr();
        let at = self.rules.rules.iter().position(is_same)?;
        self.memories.get_mut(at).map(std::mem::take)
    }
}

impl Decide for State {
    fn decide(&mut self, message: &Message<'_>) -> Verdict {
        let buffer = std::mem::take(&mut self.buffer);
        let asked = Asked::new(message, self.rules.registry, self.since, buffer);
        let mut verdict = Verdict::PASS;
        let mut has_ended = false;
        let rules = self.rules.rules.iter().zip(&mut self.memories);
        for (id, (rule, memory)) in (0..).zip(rules) {
            if has_ended || !rule.reaches(message.proto, message.dir) {
                rule.when.remember(&asked, memory);
            } else if rule.when.matches(&asked, memory) == Some(true) {
                has_ended = carry_out(RuleId(id), &rule.actions, &mut verdict);
            }
        }
        self.buffer = asked.into_buffer();
        verdict
    }
}

/// Adds the actions of a rule. Returns true if no later rule is tried.
fn carry_out(id: RuleId, actions: &[Action], verdict: &mut Verdict) -> bool {
    verdict.rules.push(id);
    for action in actions {
        match *action {
            Action::Pass => return true,
            Action::Drop => verdict.fate = Fate::Drop,
            Action::Lose { times } => verdict.fate = Fate::Lose { times },
            Action::Delay { for_, unordered } => delay(&mut verdict.fate, for_, unordered),
            Action::Dup { copies } => {
                let more = (0..copies).map(|_| Duration::ZERO);
                verdict.copies.extend(more);
            }
            Action::Reorder { after } => {
                if verdict.fate == Fate::Pass {
                    let group = id.0.into();
                    verdict.fate = Fate::Reorder { group, after };
                }
            }
        }
        if matches!(action, Action::Drop | Action::Lose { .. }) {
            return true;
        }
    }
    false
}

/// Delays add up. A message that is to be overtaken is not delayed as well.
fn delay(fate: &mut Fate, more: Duration, unordered: bool) {
    let asked = if unordered { Order::Free } else { Order::Kept };
    *fate = match *fate {
        Fate::Pass => Fate::Delay {
            for_: more,
            order: asked,
        },
        Fate::Delay { for_, order } => Fate::Delay {
            for_: for_ + more,
            order: if order == Order::Free { order } else { asked },
        },
        other => other,
    };
}
