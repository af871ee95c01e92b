//! The snapshots that a client may have, by tick.
//!
//! Law: snapshots much older than the last base are dropped, because a server does not use them as a base anymore. At
//! the limit, the oldest snapshots are dropped first. A changed snapshot that was dropped is never mistaken for a
//! snapshot that was sent unchanged.

use std::collections::VecDeque;
use std::sync::Arc;

use super::REMEMBERED;
use crate::snap::snapshot::Snapshot;

/// The limit in bytes of snapshots: the server's, and the client's if they differ.
const LIMIT: usize = 4 << 20;
/// The maximum number of snapshots, see the [`Store`](crate::snap::Store).
const MAX_KEPT: usize = 256;
/// The number of ticks kept before a base, since inputs with acks may be reordered.
const BEHIND: i32 = 25;

/// The snapshots of a tick.
#[derive(Debug, Clone, Default)]
pub(super) struct Both {
    /// The snapshot that the server sent.
    pub(super) server: Arc<Snapshot>,
    /// The snapshot that the client received instead; `None` if it is the same.
    pub(super) changed: Option<Arc<Snapshot>>,
}

/// The base of a snapshot.
#[derive(Debug)]
pub(super) enum Base {
    Known(Both),
    /// A base that was sent unchanged and whose items are unknown.
    Passed,
    /// A base that may have been changed and is no longer kept.
    Lost,
}

#[derive(Debug)]
struct Tick {
    tick: i32,
    /// `None` for a snapshot that was sent unchanged and not read.
    both: Option<Both>,
}

/// The snapshots in the order of their ticks.
#[derive(Debug, Default)]
pub(super) struct Ticks {
    kept: VecDeque<Tick>,
    held: usize,
    /// The first and the last tick with a changed snapshot that may be a base.
    changed: Option<(i32, i32)>,
}

impl Tick {
    fn held(&self) -> usize {
        let both = self.both.iter();
        let all = both.flat_map(|both| std::iter::once(&both.server).chain(&both.changed));
        all.map(|snapshot| snapshot.held()).sum()
    }

    fn is_changed(&self) -> bool {
        self.both.as_ref().is_some_and(|both| both.changed.is_some())
    }
}

impl Ticks {
    pub(super) fn len(&self) -> usize {
        self.kept.len()
    }

    pub(super) const fn held(&self) -> usize {
        self.held
    }

    /// Returns true if a changed snapshot may be the base of a later snapshot.
    pub(super) const fn has_changed(&self) -> bool {
        self.changed.is_some()
    }

    /// Returns the base with this tick; the empty snapshot for a negative tick.
    pub(super) fn base(&self, tick: i32) -> Base {
        if tick < 0 {
            return Base::Known(Both::default());
        }
        match self.find(tick).map(|found| &found.both) {
            Some(Some(both)) => Base::Known(both.clone()),
            Some(None) => Base::Passed,
            None if self.may_be_changed(tick) => Base::Lost,
            None => Base::Passed,
        }
    }

    /// Returns true if a snapshot can be sent unchanged without being read: its base was sent unchanged, and no
    /// changed snapshot was sent for its tick.
    pub(super) fn may_pass(&self, tick: i32, base: i32) -> bool {
        let is_same = |tick: i32| match self.find(tick) {
            Some(found) => !found.is_changed(),
            None => !self.may_be_changed(tick),
        };
        (base < 0 || is_same(base)) && self.find(tick).is_none_or(|found| !found.is_changed())
    }

    /// Returns the snapshot of this tick that the client already received instead of the server's; `None` if it
    /// received none.
    pub(super) fn sent(&self, tick: i32, server: &Snapshot) -> Option<Option<Arc<Snapshot>>> {
        match &self.find(tick)?.both {
            None => Some(None),
            Some(both) => (*both.server == *server).then(|| both.changed.clone()),
        }
    }

    /// Keeps a snapshot that was sent unchanged and not read.
    pub(super) fn pass(&mut self, tick: i32, base: i32) {
        self.insert(base, Tick { tick, both: None });
    }

    /// Keeps a snapshot of the server, and the snapshot that the client received instead.
    pub(super) fn keep(
        &mut self,
        tick: i32,
        base: i32,
        server: Arc<Snapshot>,
        changed: Option<Arc<Snapshot>>,
    ) {
        if changed.is_some() {
            let (first, last) = self.changed.unwrap_or((tick, tick));
            self.changed = Some((first.min(tick), last.max(tick)));
        }
        let both = Some(Both { server, changed });
        self.insert(base, Tick { tick, both });
    }

    fn insert(&mut self, base: i32, new: Tick) {
        let tick = new.tick;
        let newest = self.kept.back().map_or(tick, |newest| newest.tick);
        if base < 0 && tick < newest.saturating_sub(REMEMBERED) {
            // Another map has started, and with it new ticks.
            *self = Self {
                changed: new.is_changed().then_some((tick, tick)),
                ..Self::default()
            };
        }
        self.forget_before(match base {
            ..0 => tick.saturating_sub(REMEMBERED + BEHIND),
            base => base.saturating_sub(BEHIND),
        });
        self.held += new.held();
        match self.kept.binary_search_by_key(&tick, |kept| kept.tick) {
            Ok(place) => {
                if let Some(old) = self.kept.get_mut(place) {
                    self.held -= old.held();
                    *old = new;
                }
            }
            Err(place) => self.kept.insert(place, new),
        }
        while self.held > LIMIT || self.kept.len() > MAX_KEPT {
            let is_free = |kept: &Tick| kept.tick != tick && kept.tick != base;
            let Some(oldest) = self.kept.iter().position(is_free) else {
                break;
            };
            self.held -= self.kept.remove(oldest).map_or(0, |old| old.held());
        }
    }

    /// Drops the snapshots before this tick.
    fn forget_before(&mut self, first: i32) {
        while let Some(oldest) = self.kept.front().filter(|kept| kept.tick < first) {
            self.held -= oldest.held();
            self.kept.pop_front();
        }
        self.changed = self.changed.filter(|(_, last)| *last >= first);
    }

    fn may_be_changed(&self, tick: i32) -> bool {
        let changed = self.changed;
        changed.is_some_and(|(first, last)| (first..=last).contains(&tick))
    }

    fn find(&self, tick: i32) -> Option<&Tick> {
        let place = self.kept.binary_search_by_key(&tick, |kept| kept.tick).ok()?;
        self.kept.get(place)
    }
}
