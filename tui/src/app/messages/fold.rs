//! Folded types of messages: one line per type, with the number of its messages and their rate.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use teetap_proxy::session::Time;
use teetap_wire::def::{Dialect, Frequency, Registry};

use super::{History, Row, group};

/// Time over which messages are counted for a rate, in microseconds.
const SECOND: u64 = 1_000_000;

/// The folded types, and their rows.
#[derive(Debug)]
pub(super) struct Folds {
    /// Types that are folded.
    folded: BTreeSet<&'static str>,
    /// Folded rows by type. Types are sorted by name, so that traffic never moves a line.
    rows: BTreeMap<&'static str, VecDeque<u64>>,
}

impl Default for Folds {
    /// Folds the messages that are sent many times a second.
    fn default() -> Self {
        let all = Dialect::ALL
            .into_iter()
            .flat_map(|dialect| Registry::builtin().defs(dialect));
        let continuous = all.filter(|def| def.frequency == Frequency::Continuous);
        Self {
            folded: continuous.map(|def| group(&def.name)).collect(),
            rows: BTreeMap::new(),
        }
    }
}

/// Line of a folded type.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fold<'a> {
    /// Name of the type.
    pub(crate) group: &'static str,
    rows: &'a VecDeque<u64>,
}

impl Folds {
    /// Returns the folded types, sorted by name.
    pub(super) fn folded(&self) -> impl Iterator<Item = &'static str> {
        self.folded.iter().copied()
    }

    /// Returns true if messages of this type are folded.
    pub(super) fn is_folded(&self, group: &str) -> bool {
        self.folded.contains(group)
    }

    /// Folds or unfolds a type. Returns true if it is folded now.
    pub(super) fn toggle(&mut self, group: &'static str) -> bool {
        let is_folded = !self.folded.remove(group);
        if is_folded {
            self.folded.insert(group);
        }
        is_folded
    }

    /// Adds the row with this number.
    pub(super) fn add(&mut self, group: &'static str, number: u64) {
        self.rows.entry(group).or_default().push_back(number);
    }

    /// Forgets all rows.
    pub(super) fn clear(&mut self) {
        self.rows.clear();
    }

    /// Removes rows before `first`, and types without rows.
    pub(super) fn drop_before(&mut self, first: u64) {
        self.rows.retain(|_, rows| {
            while rows.front().is_some_and(|number| *number < first) {
                rows.pop_front();
            }
            !rows.is_empty()
        });
    }

    /// Returns the lines, sorted by type.
    pub(super) fn lines(&self) -> impl ExactSizeIterator<Item = Fold<'_>> {
        self.rows.iter().map(|(group, rows)| Fold { group, rows })
    }
}

impl Fold<'_> {
    /// Returns the number of messages.
    #[must_use]
    pub(crate) fn count(&self) -> usize {
        self.rows.len()
    }

    /// Returns the number of the newest row.
    #[must_use]
    pub(crate) fn newest(&self) -> Option<u64> {
        self.rows.back().copied()
    }

    /// Returns the number of messages in the second before `now`.
    #[must_use]
    pub(crate) fn rate(&self, history: &History, now: Time) -> usize {
        let since = Time(now.0.saturating_sub(SECOND));
        let at = |number: u64| history.get(number).and_then(Row::at);
        let is_before = |number: &u64| at(*number).is_none_or(|at| at <= since && now.0 >= SECOND);
        self.count() - self.rows.partition_point(is_before)
    }
}

#[cfg(test)]
mod tests {
    use teetap_proxy::session::Level;

    use super::*;

    #[test]
    fn the_rate_counts_the_last_second_and_the_count_what_is_kept() {
        let mut history = History::default();
        let mut folds = Folds::default();
        for (number, ms) in (0..).zip([100, 200, 900, 1000, 1100]) {
            history.push(Row::Log(Time(ms * 1000), Level::Info, "".into()), 0);
            folds.add("input", number);
        }
        folds.add("snap", 3);
        let rate = |folds: &Folds, ms: u64| {
            let fold = folds.lines().next().unwrap();
            fold.rate(&history, Time(ms * 1000))
        };
        assert_eq!(
            [500, 1100, 1150, 1950, 2100].map(|ms| rate(&folds, ms)),
            [5, 4, 4, 2, 0]
        );
        folds.drop_before(4);
        let lines: Vec<_> = folds
            .lines()
            .map(|fold| (fold.group, fold.count(), fold.newest()))
            .collect();
        assert_eq!(lines, [("input", 1, Some(4))]);
    }
}
