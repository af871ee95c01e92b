//! The filter of the list, in steps over the rows.

use std::sync::Arc;

use super::Messages;
use crate::app::{filter::Filtering, history::Row};

/// Rows that a filter looks at in one step, so that keys are not kept waiting.
const STEP: u64 = 4000;

impl Messages {
    /// Lets the filter look at a step of the rows. Returns true if more are left.
    pub(super) fn filter_rows(&mut self, end: u64) -> bool {
        let start = self.unfiltered.max(self.history.numbers().start);
        if self.filter.as_ref().is_some_and(Filtering::is_by_reader) {
            for number in start..end {
                let message = self.history.get(number).and_then(Row::message);
                let passes = message.is_none_or(|(_, message)| message.shown);
                self.history.set_passes(number, passes);
            }
            self.unfiltered = end;
            return false;
        }
        let Some(sieve) = self.filter.as_mut().and_then(Filtering::sieve) else {
            self.unfiltered = end;
            return false;
        };
        let stop = end.min(start + STEP);
        for number in start..stop {
            let Some(row) = self.history.get(number) else {
                continue;
            };
            let passes = match row {
                Row::Gap(_) => {
                    sieve.gap();
                    true
                }
                Row::Log(..) => true,
                Row::Line(decoded, _) => {
                    let is_known = matches!(&self.verdict, Some((last, _)) if Arc::ptr_eq(last, decoded));
                    if !is_known {
                        self.verdict = Some((Arc::clone(decoded), sieve.pass(&decoded.event)));
                    }
                    let passed = self.verdict.as_ref().map_or(&[][..], |(_, passed)| passed);
                    let index = row.index().or_else(|| row.is_bare().then_some(0));
                    index.is_none_or(|index| passed.get(index).copied().unwrap_or(false))
                }
            };
            self.history.set_passes(number, passes);
        }
        self.unfiltered = stop;
        stop < end
    }

    /// Returns the part of the rows that the filter has looked at, in percent; `None` if that is all of them.
    #[must_use]
    pub fn progress(&self) -> Option<u64> {
        let rows = self.history.numbers();
        let seen = self.unfiltered.saturating_sub(rows.start);
        (self.unfiltered < rows.end).then(|| seen * 100 / (rows.end - rows.start).max(1))
    }

    /// Sets the filter, or none.
    pub fn set_filter(&mut self, filter: Option<Filtering>) {
        self.filter = filter;
        self.refilter();
    }

    /// Returns the filter.
    #[must_use]
    pub const fn filter(&self) -> Option<&Filtering> {
        self.filter.as_ref()
    }

    /// Switches the filter off, or on again. Returns its state; `None` without a filter.
    pub fn toggle_filter(&mut self) -> Option<bool> {
        let filter = self.filter.as_mut()?;
        let on = !filter.is_on();
        filter.switch(on);
        self.refilter();
        Some(on)
    }

    fn refilter(&mut self) {
        if let Some(filter) = &mut self.filter {
            filter.restart();
        }
        let start = self.history.numbers().start;
        (self.unfiltered, self.verdict) = (start, None);
        self.items.clear();
        self.folds.clear();
        self.next = start;
        self.admit();
        if let Some(number) = self.selected {
            self.select_near(number);
        }
    }
}
