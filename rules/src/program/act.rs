//! Carries out the actions of rules, which build a verdict.

use std::cell::RefCell;
use std::time::Duration;

use teetap_wire::Dir;
use teetap_wire::snap::Completed;

use super::action_error::ActionError;
use super::faults::Drawn;
use super::progress::Progress;
use super::rule::Rule;
use crate::check::ResolvedAction;
use crate::dice::DrawRng;
use crate::eval::{Facts, Memory, Variables};
use crate::syntax::Action;
use crate::verdict::{Effect, End, Fate, Message, Order, RuleId, SnapshotPart, Verdict};

/// Maximum length of a mark that is the name of its rule, in characters.
const MAX_MARK: usize = 64;

/// A rule that acts on a message.
pub(super) struct ActionRun<'a, F> {
    pub(super) id: RuleId,
    pub(super) rule: &'a Rule,
    pub(super) message: &'a Message<'a>,
    pub(super) facts: &'a F,
    /// Length of the id before the fields, in bytes.
    pub(super) body: usize,
    /// Memory of the condition, from which actions read values.
    pub(super) memory: &'a Memory,
    /// `None` if the rule makes no random decisions.
    pub(super) dice: Option<DrawRng>,
    /// Values to use instead of draws.
    pub(super) given: Option<&'a Drawn>,
    /// Values that were drawn or given.
    pub(super) drawn: Drawn,
    /// Decision of the rules so far.
    pub(super) verdict: &'a mut Verdict,
    pub(super) effects: &'a mut Vec<Effect>,
    pub(super) variables: &'a RefCell<Variables>,
    /// True if the message immediately releases the message that the rule would hold.
    pub(super) releases: bool,
    /// Snapshot that the message completes.
    pub(super) snapshot: Option<Completed<'a>>,
    /// Snapshot of several messages to which the message belongs.
    pub(super) part: Option<SnapshotPart>,
}

/// Result of the actions of a rule.
#[derive(Default)]
pub(super) struct ActionOutcome {
    /// True if no later rule is tried.
    pub(super) ends: bool,
    /// True if an action had an effect.
    pub(super) is_hit: bool,
    /// Reason why an action changed nothing.
    pub(super) failed: Option<ActionError>,
    /// Expectations that begin, by their index in the rule.
    pub(super) expects: Vec<usize>,
}

impl ActionOutcome {
    /// Starts the expectations, and reports a failed action.
    pub(super) fn follow_up(
        self,
        (id, rule, progress): (RuleId, &Rule, &mut Progress),
        at: u64,
        facts: &impl Facts,
        effects: &mut Vec<Effect>,
    ) {
        if !self.expects.is_empty() {
            progress.expect(rule, &self.expects, at, Some(&described(facts)));
        }
        let failed = self.failed.filter(|_| progress.may_remark(at));
        effects.extend(failed.map(|why| Effect::Failed {
            rule: id,
            why: why.to_string().into(),
        }));
    }
}

impl<F: Facts> ActionRun<'_, F> {
    /// Carries out all actions in order. An action that ends the search ends it after the last action.
    pub(super) fn carry_out(&mut self, resolved: &[ResolvedAction]) -> ActionOutcome {
        let mut done = ActionOutcome::default();
        for resolved_action in resolved {
            match self.resolved_action(resolved_action, &mut done) {
                Ok(has_effect) => done.is_hit |= has_effect,
                Err(why) => done.failed = done.failed.or(Some(why)),
            }
            done.ends |= resolved_action.ends();
        }
        if done.is_hit {
            self.verdict.rules.push(self.id);
        }
        done
    }

    /// Carries out an action. Returns true if it had an effect.
    fn resolved_action(
        &mut self,
        resolved_action: &ResolvedAction,
        done: &mut ActionOutcome,
    ) -> Result<bool, ActionError> {
        match resolved_action {
            ResolvedAction::Plain(action) => return Ok(self.add(action)),
            ResolvedAction::Set(assigns) => {
                let mut has_effect = self.set(assigns)?;
                if resolved_action.sets_items() {
                    has_effect |= self.set_items(assigns)?;
                }
                return Ok(has_effect);
            }
            ResolvedAction::Replace(replace) => return self.replace(replace),
            ResolvedAction::Make(template) => return self.make(template),
            ResolvedAction::Log(parts) => {
                let (text, whole) = self.text(parts.as_deref());
                let rule = self.id;
                self.effects.push(Effect::Log { rule, text, whole });
            }
            ResolvedAction::Mark(id) => {
                let name = || {
                    self.rule
                        .label
                        .identity
                        .chars()
                        .take(MAX_MARK)
                        .collect::<String>()
                        .into()
                };
                self.verdict.marks.push(id.clone().unwrap_or_else(name));
            }
            ResolvedAction::Var(at, name, value) => self.var(*at, name, value)?,
            ResolvedAction::Fail(why) => {
                let (text, _) = self.text(Some(why));
                self.end(End::Fail(text));
            }
            ResolvedAction::Exit(code) => self.end(End::Exit(*code)),
            ResolvedAction::Expect(index) => done.expects.push(*index),
        }
        Ok(true)
    }

    /// Carries out an action without names. Returns true if it had an effect.
    fn add(&mut self, action: &Action) -> bool {
        let order = |unordered| if unordered { Order::Free } else { Order::Kept };
        let fate = match *action {
            Action::Pass => return true,
            Action::Drop => Fate::Drop,
            Action::Lose { times } => Fate::Lose { times },
            Action::Delay { from, to, unordered } => Fate::Delay {
                for_: self.between(from, to),
                order: order(unordered),
            },
            Action::Reorder { after } => Fate::Reorder {
                group: group(self.id),
                after,
            },
            Action::Hold { .. } if self.releases => return false,
            Action::Hold { max, unordered, .. } => Fate::Hold {
                key: self.rule.label.hash,
                max,
                order: order(unordered),
            },
            Action::Pause { max, unordered } => Fate::Pause {
                max,
                order: order(unordered),
            },
            Action::Dup { copies, gap } => {
                self.verdict.copies.extend((1..=copies).map(|copy| gap * copy));
                self.verdict.copied_by.get_or_insert(self.id);
                return true;
            }
            Action::Corrupt { count, bytes } => return self.corrupt(count, bytes),
            Action::Stall(for_) => {
                let dir = Some(self.message.dir);
                self.effects.push(Effect::Stall { dir, for_ });
                return true;
            }
            Action::Close { side, ref reason } => {
                let reason = reason.as_str().into();
                self.effects.push(Effect::Close { side, reason });
                return true;
            }
            // `resolved_action` carries these actions out itself.
            Action::Set(_)
            | Action::Replace(_)
            | Action::Make(_)
            | Action::Log(_)
            | Action::Mark(_)
            | Action::Var { .. }
            | Action::Fail(_)
            | Action::Expect { .. }
            | Action::Exit(_) => return false,
        };
        let has_effect = self.verdict.fate.add(fate);
        if has_effect {
            self.verdict.by = Some(self.id);
        }
        if has_effect && matches!(fate, Fate::Reorder { .. }) {
            self.verdict.part = self.part;
        }
        has_effect
    }

    fn end(&mut self, end: End) {
        self.effects.push(Effect::End {
            rule: self.id,
            end,
            message: Some(described(self.facts)),
        });
    }

    /// Returns a random time from `from` to `to`, inclusive.
    fn between(&mut self, from: Duration, to: Duration) -> Duration {
        let given = self
            .given
            .and_then(|given| given.delays.get(self.drawn.delays.len()));
        let time = match given {
            Some(micros) => Duration::from_micros(*micros),
            None => {
                let room = u64::try_from((to - from).as_micros()).unwrap_or(u64::MAX);
                let drawn = self.dice.as_mut().map(|dice| dice.below(room.saturating_add(1)));
                from + Duration::from_micros(drawn.unwrap_or_default())
            }
        };
        let micros = u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        self.drawn.delays.push(micros);
        time
    }

    /// Flips bits, or changes bytes, of the message. Framing is added later, so that the datagram stays valid. Returns
    /// true if a byte was changed.
    fn corrupt(&mut self, count: u32, bytes: bool) -> bool {
        let given = self
            .given
            .map(|given| given.corrupted.get(self.drawn.corrupted.len()));
        let current = self.verdict.edit.as_deref().unwrap_or(self.message.data);
        let places = match (given, &mut self.dice) {
            (Some(given), _) => given.cloned().unwrap_or_default(),
            (None, Some(dice)) => drawn_places(dice, current.len(), count, bytes),
            (None, None) => return false,
        };
        let edit = self
            .verdict
            .edit
            .get_or_insert_with(|| self.message.data.to_vec());
        for (at, flipped) in &places {
            let byte = usize::try_from(*at).ok().and_then(|at| edit.get_mut(at));
            if let Some(byte) = byte {
                *byte ^= flipped;
            }
        }
        let has_effect = !places.is_empty();
        self.verdict.is_corrupted |= has_effect;
        self.drawn.corrupted.push(places);
        has_effect
    }
}

/// Returns the direction and the name of a message.
fn described(facts: &impl Facts) -> (Dir, Box<str>) {
    let name = facts.subject().def.map_or("unknown", |def| &def.name);
    (facts.dir(), name.into())
}

/// Draws bits, or whole bytes, of a message of this length. Returns the bytes with their flipped bits.
fn drawn_places(dice: &mut DrawRng, len: usize, count: u32, bytes: bool) -> Vec<(u32, u8)> {
    let total = if bytes { len } else { len * 8 };
    let (mut left, mut wanted) = (total as u64, u64::from(count));
    let mut places: Vec<(u32, u8)> = Vec::new();
    for place in 0..total {
        // Each set of positions has the same probability.
        if dice.below(left) < wanted {
            wanted -= 1;
            let (at, flipped) = if bytes {
                (place, dice.below(255) + 1)
            } else {
                (place / 8, 1 << (place % 8))
            };
            let (at, flipped) = (
                u32::try_from(at).unwrap_or(u32::MAX),
                u8::try_from(flipped).unwrap_or(1),
            );
            match places.last_mut() {
                Some((last, bits)) if *last == at => *bits ^= flipped,
                _ => places.push((at, flipped)),
            }
        }
        left -= 1;
    }
    places
}

/// Lets a message that matches a rule overtake the message that the rule holds.
pub(super) fn overtake(id: RuleId, actions: &[Action], verdict: &mut Verdict) {
    let reorders = |action: &Action| matches!(action, Action::Reorder { .. });
    if actions.iter().any(reorders) {
        verdict.overtakes.push(group(id));
    }
}

/// Returns the group of the messages that a rule reorders.
fn group(id: RuleId) -> u32 {
    id.0.into()
}
