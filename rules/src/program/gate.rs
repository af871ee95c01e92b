//! The steps between the condition of a rule and its actions: `skip`, `every`, `chance`, `first`, `max`.
//!
//! Law: every kind of rule passes through [`Gate::opens`], in the order of [`RuleStep`](crate::syntax::RuleStep): on first
//! copies, on retransmissions, on control messages and at certain times. Each direction has separate counts and draws.
//! A match is counted even if an earlier rule ended the search, so that no rule affects the turns of another.

use std::collections::VecDeque;

use teetap_wire::{Dir, PerDir};

use super::limits::Limits;
use crate::dice::DrawRng;
use crate::syntax::{Every, Max};
use crate::units::Share;
use crate::units::micros;

/// Counts of a rule in one session, or in all sessions.
#[derive(Debug, Default)]
pub(super) struct Counts(PerDir<Count>);

/// Counts of a rule in one direction.
#[derive(Debug, Default)]
pub(super) struct Count {
    pub(super) matches: u64,
    acted: u64,
    /// Time of the last turn.
    last: Option<u64>,
    /// Times of the last actions that `max` counts.
    recent: VecDeque<u64>,
}

/// A match of a rule, before its modifiers decide whether the rule acts.
pub(super) struct Gate<'a> {
    pub(super) limits: &'a Limits,
    /// Microseconds since the start of the run.
    pub(super) at: u64,
    /// True if an earlier rule ended the search.
    pub(super) has_ended: bool,
    /// True if the rule has already suppressed its number of copies.
    pub(super) is_spent: bool,
}

impl Counts {
    /// Returns the counts of a direction. Rules that act at certain times use the first one.
    pub(super) fn for_dir(&mut self, dir: Dir) -> &mut Count {
        &mut self.0[dir]
    }
}

impl Gate<'_> {
    /// Counts a match. Returns true if the rule acts on it.
    pub(super) fn opens(&self, count: &mut Count, dice: &mut Option<DrawRng>) -> bool {
        let is_turn = count.is_turn(self.limits, self.at);
        let is_drawn = is_turn && is_drawn(self.limits.chance, dice);
        is_drawn && !self.has_ended && !self.is_spent && count.may_act(self.limits, self.at)
    }
}

/// Draws for `chance`.
fn is_drawn(chance: Option<Share>, dice: &mut Option<DrawRng>) -> bool {
    match (chance, dice) {
        (Some(chance), Some(dice)) => {
            dice.below(Share::WHOLE.millionths().into()) < chance.millionths().into()
        }
        (Some(_), None) | (None, _) => true,
    }
}

impl Count {
    /// Counts a match. Returns true if it is a turn of the rule according to `skip` and `every`.
    fn is_turn(&mut self, limits: &Limits, at: u64) -> bool {
        self.matches = self.matches.saturating_add(1);
        let left = self.matches.checked_sub(limits.skip.into());
        let Some(number) = left.filter(|number| *number > 0) else {
            return false;
        };
        match limits.every {
            None => true,
            Some(Every::Matches(count)) => number.is_multiple_of(count.into()),
            Some(Every::Time(time)) => {
                let time = micros(time);
                let is_due = self.last.is_none_or(|last| at.saturating_sub(last) >= time);
                if is_due {
                    self.last = Some(at);
                }
                is_due
            }
        }
    }

    /// Counts an action if `first` and `max` allow it. Returns false otherwise.
    fn may_act(&mut self, limits: &Limits, at: u64) -> bool {
        if limits.first.is_some_and(|first| self.acted >= first.into()) {
            return false;
        }
        if let Some(Max { count, per }) = limits.max {
            let per = micros(per);
            let is_over = |first: &u64| at.saturating_sub(*first) >= per;
            while self.recent.front().is_some_and(is_over) {
                self.recent.pop_front();
            }
            if self.recent.len() >= usize::try_from(count).unwrap_or(usize::MAX) {
                return false;
            }
            self.recent.push_back(at);
        }
        self.acted = self.acted.saturating_add(1);
        true
    }
}
