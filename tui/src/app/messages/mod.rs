//! The list of messages: the rows that are shown, the folded types, the selection and the visible part.
//!
//! Law: rows are added in order, each once, either to the list or to the line of their type. The list can be rebuilt
//! from the history at any time.

mod filtering;
mod find;
mod fold;
mod moves;

use std::{
    collections::{BTreeSet, VecDeque},
    sync::Arc,
};

use teetap_inspect::{DecodedEvent, EventLines, Kind, Style};
use teetap_proxy::session::{Level, Origin, SessionId, Time};

use filtering::RowFilter;
pub(crate) use fold::Fold;
use fold::Folds;

use super::history::{History, Row, cost};

/// The list of messages.
#[derive(Debug, Default)]
pub(crate) struct Messages {
    /// Rows that are kept.
    pub(crate) history: History,
    /// Numbers of the listed rows.
    items: VecDeque<u64>,
    /// Number of the next row to add to the list.
    next: u64,
    folds: Folds,
    /// Number of the selected row; `None` to follow the newest row.
    selected: Option<u64>,
    /// Place of the first visible row.
    top: usize,
    /// Number of rows that fitted on the screen at the last drawing.
    height: usize,
    /// Number of the first row that is held back while the list is frozen.
    frozen: Option<u64>,
    /// True if only rows with warnings are shown.
    lint_only: bool,
    /// Session to which the list is limited; `None` = all.
    session: Option<SessionId>,
    /// Filter, and how far the rows are filtered.
    row_filter: RowFilter,
    /// Numbers of marked rows.
    marks: BTreeSet<u64>,
}

/// Returns the type to which a message name belongs for folding.
fn group(name: &'static str) -> &'static str {
    if name.starts_with("snap") { "snap" } else { name }
}

impl Messages {
    /// Adds the lines of an event. Returns true if it has any.
    pub(crate) fn event(&mut self, decoded: &Arc<DecodedEvent>, style: Style) -> bool {
        let lines = EventLines::from_event(decoded, style).list;
        let since = self.history.numbers().end;
        let any = !lines.is_empty();
        for (index, line) in lines.into_iter().enumerate() {
            // The memory of an event is counted for its first row.
            let shared = if index == 0 { cost(decoded) } else { 0 };
            self.history.push(Row::Line(Arc::clone(decoded), line), shared);
        }
        self.added(since);
        any
    }

    /// Removes all rows. Keeps the user's choice of what is shown.
    pub(crate) fn clear(&mut self) {
        self.history.clear();
        self.items.clear();
        self.folds.clear();
        self.marks.clear();
        self.row_filter.rewind(0);
        self.next = 0;
        (self.selected, self.top) = (None, 0);
    }

    /// Adds a row with the number of missed events.
    pub(crate) fn gap(&mut self, lost: u64) {
        let since = self.history.numbers().end;
        self.history.push(Row::Gap(lost), 0);
        self.added(since);
    }

    /// Adds a line of the program itself.
    pub(crate) fn log(&mut self, at: Time, level: Level, text: &str) {
        let since = self.history.numbers().end;
        self.history.push(Row::Log(at, level, text.into()), text.len());
        self.added(since);
    }

    /// Rebuilds the list from the history.
    fn rebuild(&mut self) {
        let place = self.selected;
        self.items.clear();
        self.folds.clear();
        let end = self.next;
        self.next = self.history.start();
        self.admit_until(end);
        if let Some(number) = place {
            self.select_near(number);
        }
    }

    /// Adds filtered rows to the list. Filters in steps: call it again while it returns true.
    pub(crate) fn admit(&mut self) -> bool {
        let rows = self.history.numbers();
        let is_left = self.row_filter.filter_rows(&mut self.history, rows.end);
        let end = self.frozen.unwrap_or(u64::MAX);
        self.admit_until(self.row_filter.unfiltered().min(end));
        let kept = rows.start;
        for number in self.history.take_gone() {
            if let Ok(place) = self.items.binary_search(&number) {
                self.items.remove(place);
                self.top -= usize::from(place < self.top);
            }
        }
        self.folds.drop_before(kept);
        if self
            .selected
            .is_some_and(|number| self.history.get(number).is_none())
        {
            self.selected = self.items.front().copied();
        }
        is_left
    }

    /// Filters the rows that were added from `since` on, unless earlier rows are still being filtered in steps.
    fn added(&mut self, since: u64) {
        if self.row_filter.unfiltered() >= since {
            self.admit();
        }
    }

    /// Selects a row, or the nearest listed row before it.
    fn select_near(&mut self, number: u64) {
        let at = self.items.partition_point(|item| *item <= number);
        self.select(at.saturating_sub(1));
    }

    fn admit_until(&mut self, end: u64) {
        let numbers = self.history.numbers_from(self.next);
        let numbers: Vec<u64> = numbers.take_while(|number| *number < end).collect();
        for number in numbers {
            self.next = number + 1;
            let Some(row) = self.history.get(number) else {
                continue;
            };
            if !self.is_wanted(number, row) {
                continue;
            }
            match self.fold_of(row) {
                Some(group) => self.folds.add(group, number),
                None => self.items.push_back(number),
            }
        }
    }

    fn is_wanted(&self, number: u64, row: &Row) -> bool {
        let is_own = match (self.session, row.session()) {
            (Some(wanted), Some(session)) => wanted == session,
            (Some(_), None) => row.event().is_none(),
            (None, _) => true,
        };
        is_own
            && (!self.lint_only || row.kind() == Kind::Warning)
            && (!self.row_filter.is_on() || self.history.passes(number))
    }

    /// Returns the type under which a row is folded; `None` if it is listed. Messages with a warning, and messages that
    /// a rule or a person created or acted on, are never folded.
    fn fold_of(&self, row: &Row) -> Option<&'static str> {
        let (_, message) = row.message()?;
        let group = group(message.name?);
        let is_passed = message.handling.rules.is_empty() && message.handling.done.word().is_none();
        let plain = row.kind() == Kind::Traffic
            && is_passed
            && matches!(message.handling.origin, Origin::Peer | Origin::Proxy);
        (plain && !self.row_filter.names(group) && self.folds.is_folded(group)).then_some(group)
    }

    /// Returns the lines of folded types that have messages, sorted by type.
    pub(crate) fn folds(&self) -> impl ExactSizeIterator<Item = Fold<'_>> {
        self.folds.lines()
    }

    /// Returns the folded types, sorted by name.
    pub(crate) fn folded(&self) -> impl Iterator<Item = &'static str> {
        self.folds.folded()
    }

    /// Returns the time at which the list was frozen; `None` if it is not frozen.
    #[must_use]
    pub(crate) fn frozen_at(&self) -> Option<Time> {
        self.history.get(self.frozen?.checked_sub(1)?)?.at()
    }

    /// Returns the number of listed rows.
    #[must_use]
    pub(crate) fn len(&self) -> usize {
        self.items.len()
    }

    /// Returns true if no row is listed.
    #[must_use]
    pub(crate) fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// Returns true if the selection follows the newest row.
    #[must_use]
    pub(crate) fn follows(&self) -> bool {
        self.selected.is_none() && !self.is_frozen()
    }

    /// Returns true if new rows are held back.
    #[must_use]
    pub(crate) const fn is_frozen(&self) -> bool {
        self.frozen.is_some()
    }

    /// Returns the place of the selected row; `None` if the list is empty.
    #[must_use]
    pub(crate) fn selected(&self) -> Option<usize> {
        let last = self.items.len().checked_sub(1)?;
        let Some(number) = self.selected else {
            return Some(last);
        };
        let place = self.items.partition_point(|item| *item < number);
        Some(place.min(last))
    }

    /// Returns the number of the selected row.
    #[must_use]
    pub(crate) fn number(&self) -> Option<u64> {
        self.items.get(self.selected()?).copied()
    }

    /// Returns the selected row.
    #[must_use]
    pub(crate) fn row(&self) -> Option<&Row> {
        self.history.get(self.number()?)
    }

    /// Returns the type of the selected message; `None` if no message is selected.
    #[must_use]
    pub(crate) fn group(&self) -> Option<&'static str> {
        let (_, message) = self.row()?.message()?;
        message.name.map(group)
    }

    /// Returns true if messages of this type are folded.
    #[must_use]
    pub(crate) fn is_folded(&self, group: &str) -> bool {
        self.folds.is_folded(group)
    }

    /// Folds or unfolds the messages of a type. Returns true if they are folded now.
    pub(crate) fn toggle_fold(&mut self, group: &'static str) -> bool {
        let is_folded = self.folds.toggle(group);
        self.rebuild();
        is_folded
    }

    /// Freezes or unfreezes the list. Returns true if new rows are held back now.
    pub(crate) fn toggle_frozen(&mut self) -> bool {
        self.frozen = match self.frozen {
            Some(_) => None,
            None => Some(self.next),
        };
        if self.is_frozen() {
            self.stay();
        }
        self.admit();
        self.is_frozen()
    }

    /// Switches between rows with warnings and all rows. Returns true if only rows with warnings are shown now.
    pub(crate) fn toggle_lint(&mut self) -> bool {
        self.lint_only = !self.lint_only;
        self.rebuild();
        self.lint_only
    }

    /// Limits the list to a session; `None` = all.
    pub(crate) fn pick(&mut self, session: Option<SessionId>) {
        self.session = session;
        self.rebuild();
    }

    /// Returns the session to which the list is limited; `None` = all.
    #[must_use]
    pub(crate) const fn session(&self) -> Option<SessionId> {
        self.session
    }

    /// Selects the row at `place`.
    pub(crate) fn go_to(&mut self, place: usize) {
        self.select(place);
    }

    /// Returns the events of all rows that are shown or folded.
    #[must_use]
    pub(crate) fn wanted_events(&self) -> Vec<Arc<DecodedEvent>> {
        let mut events: Vec<Arc<DecodedEvent>> = Vec::new();
        for number in self
            .history
            .numbers_from(0)
            .take_while(|number| *number < self.next)
        {
            let Some(row) = self.history.get(number).filter(|row| self.is_wanted(number, row)) else {
                continue;
            };
            if let Some(event) = row.event()
                && !events.last().is_some_and(|last| Arc::ptr_eq(last, event))
            {
                events.push(Arc::clone(event));
            }
        }
        events
    }

    /// Returns the row above `place`.
    #[must_use]
    pub(crate) fn above(&self, place: usize) -> Option<&Row> {
        self.history.get(*self.items.get(place.checked_sub(1)?)?)
    }

    /// Returns true if only rows with warnings are shown.
    #[must_use]
    pub(crate) const fn is_lint_only(&self) -> bool {
        self.lint_only
    }

    /// Starts to follow the newest row, or stops and selects it.
    pub(crate) fn toggle_follow(&mut self) {
        if self.selected.is_some() {
            self.selected = None;
        } else {
            self.stay();
        }
    }

    fn stay(&mut self) {
        self.selected = self.number();
    }

    fn select(&mut self, place: usize) {
        self.selected = self.items.get(place).copied();
    }
}
