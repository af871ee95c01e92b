//! The links in both directions: of one session, or of the server browser.

use teetap_rules::impair::LineSet;
use teetap_wire::{Dir, PerDir};

use super::{lane::Lane, time::Time};

/// One lane per direction, and the link lines that act on both.
#[derive(Debug)]
pub(crate) struct Lanes {
    lanes: PerDir<Lane>,
    /// The link lines whose windows were open when the current datagram was received.
    open_lines: LineSet,
}

impl Default for Lanes {
    fn default() -> Self {
        Self {
            lanes: PerDir::default(),
            open_lines: LineSet::ALL,
        }
    }
}

impl Lanes {
    pub(crate) fn lane(&mut self, dir: Dir) -> &mut Lane {
        &mut self.lanes[dir]
    }

    /// Returns the departure time of the next datagram; `None` if none is queued.
    pub(crate) fn deadline(&self) -> Option<Time> {
        self.lanes.iter().filter_map(Lane::deadline).min()
    }

    /// Returns the departure time of the last datagram; `None` if none is queued.
    pub(crate) fn end(&self) -> Option<Time> {
        self.lanes.iter().filter_map(Lane::end).max()
    }

    /// Returns the link lines that act on the current datagram, if the windows of `windows` are open now.
    pub(crate) fn acting(&self, windows: LineSet) -> LineSet {
        self.open_lines.and(windows)
    }

    /// Returns true if a message has begun or ended the window of a link line since [`Self::settle`]. `windows` are the
    /// link lines whose windows are open now.
    pub(crate) fn is_unsettled(&self, windows: impl FnOnce() -> LineSet) -> bool {
        let has_lines = self.lanes.iter().any(|lane| lane.channel.is_some());
        has_lines && self.open_lines != windows()
    }

    /// Updates the link lines that act. Called between two datagrams, so that a window does not include the datagram with
    /// the message that begins it.
    pub(crate) fn settle(&mut self, windows: LineSet) {
        self.open_lines = windows;
    }

    /// Ends all impairment. Queued datagrams stay queued.
    pub(crate) fn close(&mut self) {
        self.lanes.iter_mut().for_each(|lane| lane.channel = None);
    }
}
