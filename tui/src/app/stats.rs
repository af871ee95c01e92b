//! State of the statistics: the first graph, and the cursor in the tables.

use strum::VariantArray as _;

use super::cursor::Cursor;

/// A graph over time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, strum::VariantArray)]
pub(crate) enum Graph {
    /// Round-trip times of both legs.
    #[default]
    Trips,
    /// Sequence numbers of messages to the server, and their acks, on both legs.
    NumbersC2s,
    /// Sequence numbers of messages to the client, and their acks, on both legs.
    NumbersS2c,
    /// Messages per second.
    Rate,
    /// Sizes of snapshots.
    Snapshots,
    /// Time between two snapshots.
    Intervals,
    /// Time by which inputs reach the server early.
    Margins,
}

impl Graph {
    /// All graphs in their default order.
    pub(crate) const ALL: &'static [Self] = Self::VARIANTS;
}

/// State of the statistics.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stats {
    /// Index of the first graph.
    first: usize,
    /// True to count all sessions; `None` until the user chooses.
    pub(crate) all: Option<bool>,
    /// Cursor in the table of messages.
    pub(crate) cursor: Cursor,
}

impl Stats {
    /// Returns the graphs in the order in which they are drawn.
    pub(crate) fn graphs(&self) -> impl Iterator<Item = Graph> + use<> {
        let count = Graph::ALL.len();
        Graph::ALL.iter().copied().cycle().skip(self.first).take(count)
    }

    /// Makes the next or previous graph the first one.
    pub(crate) fn turn(&mut self, forward: bool) {
        let count = Graph::ALL.len();
        let steps = if forward { 1 } else { count - 1 };
        self.first = (self.first + steps) % count;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn graphs_are_turned_both_ways_and_all_stay() {
        let mut stats = Stats::default();
        let order = |stats: &Stats| stats.graphs().collect::<Vec<_>>();
        assert_eq!(order(&stats), Graph::ALL);
        let turned = |by: usize| {
            let mut all = Graph::ALL.to_vec();
            all.rotate_left(by);
            all
        };
        stats.turn(true);
        assert_eq!(order(&stats), turned(1));
        stats.turn(false);
        stats.turn(false);
        assert_eq!(order(&stats), turned(Graph::ALL.len() - 1));
        (0..=Graph::ALL.len()).for_each(|_| stats.turn(true));
        assert_eq!(order(&stats), Graph::ALL);
    }
}
