//! Movements in the list, and its visible part.

use std::sync::Arc;

use teetap_inspect::DecodedEvent;
use teetap_proxy::session::Time;

use super::{Messages, Row};
use crate::app::{cursor::Moves, filter::Filtering};

impl Messages {
    /// Selects the first row at `time` or later. Returns false if there is none yet.
    pub(crate) fn select_time(&mut self, time: Time) -> bool {
        let is_before = |number: &u64| {
            let at = self.history.get(*number).and_then(Row::at);
            at.is_none_or(|at| at < time)
        };
        let place = self.items.partition_point(is_before);
        let is_there = place < self.items.len();
        if is_there {
            self.select(place);
        }
        is_there
    }

    /// Selects the first unfolded row of an event, or its first row. If the row is hidden, clears the filter, the session,
    /// the choice of warnings, the fold and the freezing. Returns true if one of them was cleared; `None` if the history
    /// no longer contains the event.
    pub(crate) fn show_event(&mut self, event: &Arc<DecodedEvent>) -> Option<bool> {
        let is_own = |number: &u64| {
            let found = self.history.get(*number).and_then(Row::event);
            found.is_some_and(|found| Arc::ptr_eq(found, event))
        };
        let own: Vec<u64> = self.history.numbers_from(0).filter(is_own).collect();
        let row = |number: u64| self.history.get(number);
        let plain = |number: &u64| row(*number).is_some_and(|row| self.fold_of(row).is_none());
        let number = own.iter().copied().find(plain).or(own.first().copied())?;
        let is_listed = |list: &Self| list.items.binary_search(&number).is_ok();
        let was_listed = is_listed(self);
        if !was_listed {
            (self.session, self.lint_only, self.frozen) = (None, false, None);
            if self.filter().is_some_and(Filtering::is_on) {
                self.toggle_filter();
            }
            let group = self.history.get(number).and_then(|row| self.fold_of(row));
            match group {
                Some(group) => {
                    self.toggle_fold(group);
                }
                None => self.rebuild(),
            }
            self.admit();
        }
        self.selected = Some(number);
        Some(!was_listed)
    }

    /// Scrolls so that the selected row is visible.
    pub(crate) fn fit(&mut self, height: usize) {
        self.height = height;
        let selected = self.selected().unwrap_or(0);
        let lowest = (selected + 1).saturating_sub(height.max(1));
        let highest = self.items.len().saturating_sub(height);
        self.top = self.top.clamp(lowest, selected).min(highest.max(lowest));
    }

    /// Returns true if the first row is visible.
    #[must_use]
    pub(crate) const fn is_at_top(&self) -> bool {
        self.top == 0
    }

    /// Returns the places and numbers of the visible rows.
    pub(crate) fn visible(&self) -> impl Iterator<Item = (usize, u64)> {
        let items = self.items.iter().copied().enumerate();
        items.skip(self.top).take(self.height)
    }
}

impl Moves for Messages {
    /// Moves the selection down. From the last row on, follows the newest row again.
    fn down(&mut self, by: usize) {
        if self.selected.is_none() {
            return;
        }
        let place = self.selected().unwrap_or(0).saturating_add(by);
        if place + 1 < self.items.len() {
            self.select(place);
        } else {
            self.last();
        }
    }

    fn up(&mut self, by: usize) {
        if let Some(selected) = self.selected() {
            self.select(selected.saturating_sub(by));
        }
    }

    fn first(&mut self) {
        self.select(0);
    }

    fn last(&mut self) {
        self.selected = None;
        if self.is_frozen() {
            self.stay();
        }
    }

    fn height(&self) -> usize {
        self.height
    }

    fn select_visible(&mut self, row: usize) {
        if self.top + row < self.items.len() {
            self.select(self.top + row);
        }
    }
}
