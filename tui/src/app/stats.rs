//! The statistics: the graph that comes first, and the place in the tables.

use super::cursor::Cursor;

/// A graph.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Graph {
    /// The round trips of both legs.
    #[default]
    Trips,
    /// The numbers of messages to the server over time, and their acks, on both legs.
    NumbersC2s,
    /// The same of messages to the client.
    NumbersS2c,
    /// Messages by seconds.
    Rate,
    /// The sizes of snapshots.
    Snapshots,
    /// The time between two snapshots.
    Intervals,
    /// The time by which inputs reach the server early.
    Margins,
}

impl Graph {
    /// All graphs in their order.
    pub const ALL: [Self; 7] = [
        Self::Trips,
        Self::NumbersC2s,
        Self::NumbersS2c,
        Self::Rate,
        Self::Snapshots,
        Self::Intervals,
        Self::Margins,
    ];
}

/// The state of the statistics.
#[derive(Clone, Debug, Default)]
pub struct Stats {
    /// The place of the graph that comes first.
    first: usize,
    /// The counts of all sessions are shown, or not; `None` until the user has chosen.
    pub all: Option<bool>,
    /// The cursor in the table of messages.
    pub cursor: Cursor,
}

impl Stats {
    /// Returns the graphs, the first one first.
    pub fn graphs(&self) -> impl Iterator<Item = Graph> + use<> {
        let count = Graph::ALL.len();
        Graph::ALL.into_iter().cycle().skip(self.first).take(count)
    }

    /// Puts the next graph first, or the one before.
    pub fn turn(&mut self, forward: bool) {
        let count = Graph::ALL.len();
        let steps = if forward { 1 } else { count - 1 };
        self.first = (self.first + steps) % count;
    }
}
