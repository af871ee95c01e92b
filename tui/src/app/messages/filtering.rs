//! The filter of the list. Rows are filtered in steps, so that keys are handled in between.
//!
//! Law: a row that is not about a message passes if an earlier message of its session has passed. Gaps and warnings of
//! the program always pass.

use std::{collections::BTreeSet, sync::Arc};

use teetap_inspect::DecodedEvent;
use teetap_proxy::session::{EventKind, Level, SessionId, State};

use super::Messages;
use crate::app::{
    filter::Filtering,
    history::{History, Row},
};

/// Rows that are filtered in one step, so that keys are handled in time.
const STEP: usize = 4000;

/// Verdict on a row.
enum Passed {
    /// Decided by the row itself.
    Always(bool),
    /// Decided by a message; contains its session.
    Message(bool, Option<SessionId>),
    /// Decided by the session; true if the session is closed.
    Session(SessionId, bool),
}

/// Returns the verdict on a row that is not about a message.
fn other(row: &Row) -> Passed {
    match row {
        Row::Gap(_) => Passed::Always(true),
        Row::Log(_, level, _) => Passed::Always(*level == Level::Warning),
        Row::Line(decoded, _) => {
            let is_over =
                matches!(&decoded.event.what, EventKind::Session(change) if change.state == State::Closed);
            let session = decoded.event.session;
            session.map_or(Passed::Always(false), |session| Passed::Session(session, is_over))
        }
    }
}

impl Passed {
    /// Returns true if the row passes. Records the session of a message that passes.
    fn settle(self, matched: &mut BTreeSet<SessionId>) -> bool {
        match self {
            Self::Always(passes) => passes,
            Self::Message(passes, session) => {
                matched.extend(session.filter(|_| passes));
                passes
            }
            Self::Session(session, is_over) => {
                let passes = matched.contains(&session);
                if is_over {
                    matched.remove(&session);
                }
                passes
            }
        }
    }
}

/// The filter of the list, and how far its rows are filtered.
#[derive(Debug, Default)]
pub(super) struct RowFilter {
    filter: Option<Filtering>,
    /// Number of the next row to filter.
    unfiltered: u64,
    /// Event that was filtered last, and which of its messages pass.
    verdict: Option<(Arc<DecodedEvent>, Vec<bool>)>,
    /// Open sessions with a message that passed the filter.
    matched: BTreeSet<SessionId>,
}

impl RowFilter {
    /// Returns the number of the next row to filter.
    pub(super) const fn unfiltered(&self) -> u64 {
        self.unfiltered
    }

    /// Returns true if a filter is on.
    pub(super) fn is_on(&self) -> bool {
        self.filter.as_ref().is_some_and(Filtering::is_on)
    }

    /// Returns true if a filter is on and names a type of messages.
    pub(super) fn names(&self, group: &str) -> bool {
        self.filter.as_ref().is_some_and(|filter| filter.names(group))
    }

    /// Starts at this row again. Keeps the filter with its state.
    pub(super) fn rewind(&mut self, start: u64) {
        (self.unfiltered, self.verdict) = (start, None);
        self.matched.clear();
    }

    /// Filters the next rows up to `end`. Returns true if rows are left.
    pub(super) fn filter_rows(&mut self, history: &mut History, end: u64) -> bool {
        let start = self.unfiltered;
        if self.filter.as_ref().is_some_and(Filtering::is_by_reader) {
            let numbers: Vec<u64> = history
                .numbers_from(start)
                .take_while(|number| *number < end)
                .collect();
            for number in numbers {
                let Some(row) = history.get(number) else {
                    continue;
                };
                let passed = match row.message() {
                    Some((_, message)) => Passed::Message(message.visibility.shown, row.session()),
                    // The reader passed the datagram.
                    None if row.is_bare() => Passed::Message(true, row.session()),
                    None => other(row),
                };
                history.set_passes(number, passed.settle(&mut self.matched));
            }
            self.unfiltered = end;
            return false;
        }
        let Some(history_filter) = self.filter.as_mut().and_then(Filtering::history_filter) else {
            self.unfiltered = end;
            return false;
        };
        let next = history.numbers_from(start).take_while(|number| *number < end);
        let numbers: Vec<u64> = next.take(STEP).collect();
        let stop = match numbers.last() {
            Some(last) if numbers.len() == STEP => last + 1,
            _ => end,
        };
        for number in numbers {
            let Some(row) = history.get(number) else {
                continue;
            };
            let passed = match row {
                Row::Gap(_) => {
                    history_filter.gap();
                    other(row)
                }
                Row::Log(..) => other(row),
                Row::Line(decoded, _) => {
                    let is_known = matches!(&self.verdict, Some((last, _)) if Arc::ptr_eq(last, decoded));
                    if !is_known {
                        self.verdict = Some((Arc::clone(decoded), history_filter.pass(&decoded.event)));
                    }
                    let shown = self.verdict.as_ref().map_or(&[][..], |(_, shown)| shown);
                    let index = row.index().or_else(|| row.is_bare().then_some(0));
                    match index {
                        Some(index) => {
                            Passed::Message(shown.get(index).copied().unwrap_or(false), row.session())
                        }
                        None => other(row),
                    }
                }
            };
            history.set_passes(number, passed.settle(&mut self.matched));
        }
        self.unfiltered = stop;
        stop < end
    }
}

impl Messages {
    /// Returns the filtered part of the rows, in percent; `None` if all are filtered.
    #[must_use]
    pub(crate) fn progress(&self) -> Option<u64> {
        let rows = self.history.numbers();
        let seen = self.row_filter.unfiltered.saturating_sub(rows.start);
        (self.row_filter.unfiltered < rows.end).then(|| seen * 100 / (rows.end - rows.start).max(1))
    }

    /// Sets or removes the filter.
    pub(crate) fn set_filter(&mut self, filter: Option<Filtering>) {
        self.row_filter.filter = filter;
        self.refilter();
    }

    /// Returns the filter.
    #[must_use]
    pub(crate) const fn filter(&self) -> Option<&Filtering> {
        self.row_filter.filter.as_ref()
    }

    /// Switches the filter on or off. Returns true if it is on now; `None` if no filter is set.
    pub(crate) fn toggle_filter(&mut self) -> Option<bool> {
        let filter = self.row_filter.filter.as_mut()?;
        let on = !filter.is_on();
        filter.switch(on);
        self.refilter();
        Some(on)
    }

    fn refilter(&mut self) {
        if let Some(filter) = &mut self.row_filter.filter {
            filter.restart();
        }
        let start = self.history.start();
        self.row_filter.rewind(start);
        self.items.clear();
        self.folds.clear();
        self.next = start;
        self.admit();
        if let Some(number) = self.selected {
            self.select_near(number);
        }
    }
}
