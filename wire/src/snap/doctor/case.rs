//! The data about one wrong snapshot, and the causes that may explain it.

use super::cause::Cause;
use crate::snap::Store;
use crate::snap::delta::Delta;
use crate::snap::kept::{Bases, Kept};
use crate::snap::snapshot::{NOTHING, Snapshot};
use crate::snap::view::Crc;

/// Maximum number of candidate causes kept for one snapshot.
const MOST: usize = 512;
/// Number of snapshots near the base with which single items are compared.
const NEAR: usize = 6;

/// A cause that fits, with its rank: the lower the rank, the less likely the cause fits by chance.
#[derive(Debug, Clone, Copy)]
pub(super) struct Candidate {
    pub(super) rank: u8,
    pub(super) cause: Cause,
}

/// A wrong snapshot.
pub(super) struct WrongSnapshot<'s> {
    pub(super) stated: i32,
    pub(super) actual: i32,
    /// The tick of the base; negative for none.
    pub(super) base_tick: i32,
    pub(super) base: &'s Snapshot,
    /// The snapshot as clients compute it.
    pub(super) result: &'s Snapshot,
    pub(super) delta: &'s Delta,
    pub(super) bases: &'s Bases,
    /// The snapshots of ticks near the base, without the base, nearest first.
    pub(super) near: Vec<&'s Kept>,
    pub(super) found: Vec<Candidate>,
}

impl WrongSnapshot<'_> {
    /// Adds a cause that makes the stated sum too high by `too_high`, if that matches.
    pub(super) fn check(&mut self, too_high: i32, rank: u8, cause: Cause) {
        if too_high == self.stated.wrapping_sub(self.actual) {
            self.add(rank, cause);
        }
    }

    /// Returns true if data in another form explains everything.
    pub(super) fn has_form(&self) -> bool {
        self.found
            .iter()
            .any(|candidate| matches!(candidate.cause, Cause::Form(_)))
    }

    pub(super) fn add(&mut self, rank: u8, cause: Cause) {
        if self.found.len() < MOST {
            self.found.push(Candidate { rank, cause });
        }
    }
}

impl Store<'_> {
    pub(super) fn case(&self, crc: Crc) -> WrongSnapshot<'_> {
        let base_tick = self.base_tick();
        let bases = self.bases();
        let mut near: Vec<&Kept> = bases.iter().filter(|kept| kept.tick != base_tick).collect();
        near.sort_by_key(|kept| (kept.tick.abs_diff(base_tick), kept.tick));
        near.truncate(NEAR);
        WrongSnapshot {
            stated: crc.stated,
            actual: crc.actual,
            base_tick,
            base: bases.base(base_tick).unwrap_or(&NOTHING),
            result: self.fresh(),
            delta: self.delta(),
            bases,
            near,
            found: Vec::new(),
        }
    }
}
