//! The snapshots of a session that may be the base of a later snapshot.
//!
//! Law: memory is bounded. At the limit, the oldest snapshots are dropped first, but never a snapshot that is still
//! needed.

use std::collections::VecDeque;
use std::sync::Arc;

use super::snapshot::{NOTHING, Snapshot};

/// The default limit in bytes of snapshots.
const LIMIT: usize = 2 << 20;
/// Maximum number of snapshots: more than a server that sends 50 a second remembers, since servers forget snapshots
/// after 3 s.
const MAX_KEPT: usize = 256;
/// Number of ticks kept before an acked base: inputs with acks may be reordered, and clients keep the snapshots that
/// they still show.
const BEHIND: i32 = 25;
/// The number of ticks after which a server has forgotten a snapshot (`server.cpp`, `DoSnapshot`: 3 s).
pub(super) const REMEMBERED: i32 = 150;
/// The number of buffers kept for reuse.
const SPARE: usize = 2;

/// The kept snapshots.
#[derive(Debug, Clone)]
pub(super) struct Bases {
    limit: usize,
    /// The snapshots in the order of their ticks.
    kept: VecDeque<Kept>,
    /// The number of bytes that `kept` holds.
    held: usize,
    spare: Vec<Arc<Snapshot>>,
}

/// A kept snapshot.
#[derive(Debug, Clone)]
pub(super) struct Kept {
    pub(super) tick: i32,
    /// The tick of its base; negative for none.
    base: i32,
    held: usize,
    pub(super) snapshot: Arc<Snapshot>,
}

impl Default for Bases {
    fn default() -> Self {
        Self {
            limit: LIMIT,
            kept: VecDeque::new(),
            held: 0,
            spare: Vec::new(),
        }
    }
}

impl Bases {
    pub(super) const fn set_limit(&mut self, bytes: usize) {
        self.limit = bytes;
    }

    /// Returns the snapshots in the order of their ticks.
    pub(super) fn iter(&self) -> impl DoubleEndedIterator<Item = &Kept> {
        self.kept.iter()
    }

    pub(super) fn len(&self) -> usize {
        self.kept.len()
    }

    /// Returns the number of bytes of the snapshots.
    pub(super) const fn held(&self) -> usize {
        self.held
    }

    /// Returns the number of bytes of memory, buffers included.
    pub(super) fn memory(&self) -> usize {
        self.held + self.spare.iter().map(|spare| spare.held()).sum::<usize>()
    }

    /// Returns the snapshot of a tick.
    pub(super) fn at(&self, tick: i32) -> Option<&Arc<Snapshot>> {
        // Most ticks are newer than all kept snapshots.
        let newest = self.kept.back().filter(|newest| tick >= newest.tick);
        if let Some(newest) = newest {
            return (newest.tick == tick).then_some(&newest.snapshot);
        }
        let place = self.kept.binary_search_by_key(&tick, |kept| kept.tick).ok()?;
        self.kept.get(place).map(|kept| &kept.snapshot)
    }

    /// Returns the snapshot of a tick; the empty snapshot for a negative tick.
    pub(super) fn base(&self, tick: i32) -> Option<&Snapshot> {
        if tick < 0 {
            Some(&NOTHING)
        } else {
            self.at(tick).map(|snapshot| &**snapshot)
        }
    }

    /// Keeps `snapshot`, and replaces it with a buffer for the next snapshot. Drops snapshots that are no longer
    /// needed.
    pub(super) fn keep(&mut self, tick: i32, base: i32, snapshot: &mut Arc<Snapshot>, acked: Option<i32>) {
        let forgotten = tick.saturating_sub(REMEMBERED + BEHIND);
        self.drop_before(match base {
            ..0 => forgotten,
            base => forgotten.min(base.saturating_sub(BEHIND)),
        });
        let next = self.spare.pop().unwrap_or_default();
        let held = snapshot.held();
        self.held += held;
        let place = self.kept.partition_point(|kept| kept.tick < tick);
        let kept = Kept {
            tick,
            base,
            held,
            snapshot: std::mem::replace(snapshot, next),
        };
        self.kept.insert(place, kept);
        while self.held > self.limit || self.kept.len() > MAX_KEPT {
            let needed = [Some(tick), Some(base), acked];
            let oldest = self
                .kept
                .iter()
                .position(|kept| !needed.contains(&Some(kept.tick)));
            let Some(oldest) = oldest else { break };
            self.drop_at(oldest);
        }
    }

    /// Drops the snapshots that the client dropped when it read the snapshot that it acks.
    pub(super) fn on_ack(&mut self, tick: i32) {
        let acked = self.kept.iter().rfind(|kept| kept.tick == tick);
        if let Some(base) = acked.map(|kept| kept.base).filter(|base| *base >= 0) {
            self.drop_before(base.saturating_sub(BEHIND));
        }
    }

    /// Drops all snapshots.
    pub(super) fn clear(&mut self) {
        self.kept.clear();
        self.held = 0;
    }

    /// Drops the snapshots before a tick.
    fn drop_before(&mut self, tick: i32) {
        while self.kept.front().is_some_and(|kept| kept.tick < tick) {
            self.drop_at(0);
        }
    }

    fn drop_at(&mut self, place: usize) {
        let Some(Kept { held, snapshot, .. }) = self.kept.remove(place) else {
            return;
        };
        self.held -= held;
        // A snapshot that is still shared is not reused.
        if self.spare.len() < SPARE && Arc::strong_count(&snapshot) == 1 {
            self.spare.push(snapshot);
        }
    }
}
