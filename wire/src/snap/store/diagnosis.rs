//! The parts of a store that a diagnosis needs.

use super::{Last, Store};
use crate::def::Registry;
use crate::snap::delta::Delta;
use crate::snap::kept::Bases;
use crate::snap::row::WrongRun;
use crate::snap::snapshot::{Sizes, Snapshot};

impl<'r> Store<'r> {
    pub(in crate::snap) const fn registry(&self) -> &'r Registry {
        self.registry
    }

    pub(in crate::snap) const fn sizes(&self) -> &Sizes {
        &self.sizes
    }

    pub(in crate::snap) const fn bases(&self) -> &Bases {
        &self.bases
    }

    #[cfg(test)]
    pub(in crate::snap) fn ids_memory(&self) -> usize {
        self.ids.memory()
    }

    pub(in crate::snap) const fn delta(&self) -> &Delta {
        &self.delta
    }

    pub(in crate::snap) fn fresh(&self) -> &Snapshot {
        &self.fresh
    }

    /// Returns the row of wrong snapshots, if the last message ends it.
    pub(in crate::snap) fn row(&self) -> Option<WrongRun> {
        let newest = self.collector.newest();
        self.trust
            .row()
            .filter(|_| self.last.is_some_and(|last| last.head.tick == newest))
    }

    /// Returns the tick of the base that the last message names; negative for none.
    pub(in crate::snap) fn base_tick(&self) -> i32 {
        self.last.map_or(-1, |last| last.head.base)
    }

    /// Returns the tick of the last snapshot, the tick of the base that its message names, and its stated sum.
    pub(in crate::snap) fn stated(&self) -> Option<(i32, i32, i32)> {
        let head = self.last?.head;
        Some((head.tick, head.base, head.crc?))
    }

    /// Returns the joined data of the snapshot that the last message, `message`, completed. Only right for the newest
    /// snapshot.
    pub(in crate::snap) fn data<'a>(&'a self, message: &'a [u8]) -> Option<&'a [u8]> {
        let Last { head, parts, .. } = self.last?;
        if parts > 1 {
            return Some(self.collector.joined());
        }
        let (at, len) = head.places.data;
        message.get(at..at.checked_add(len)?)
    }
}
