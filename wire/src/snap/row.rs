//! Runs of wrong snapshots.

/// Number of snapshots at the start of a run that are all examined.
const FIRST: u32 = 16;
/// Later in a run, one of `EVERY` snapshots is examined.
const EVERY: u32 = 64;

/// A run of consecutive wrong snapshots.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WrongRun {
    /// Tick of the first wrong snapshot.
    pub since: i32,
    /// Number of wrong snapshots.
    pub count: u32,
    /// Stated checksum of the newest snapshot minus the computed checksum.
    pub off: i32,
    /// Tick since which every snapshot is off by the same amount.
    pub steady_since: i32,
    /// Number of snapshots since `steady_since`.
    pub steady: u32,
}

impl WrongRun {
    /// Returns the run with one more wrong snapshot.
    pub(super) fn with(row: Option<Self>, tick: i32, off: i32) -> Self {
        let first = Self {
            since: tick,
            count: 1,
            off,
            steady_since: tick,
            steady: 1,
        };
        let Some(row) = row else { return first };
        let steady = row.off == off;
        Self {
            since: row.since,
            count: row.count.saturating_add(1),
            off,
            steady_since: if steady { row.steady_since } else { tick },
            steady: if steady { row.steady.saturating_add(1) } else { 1 },
        }
    }

    pub(super) const fn is_examined(&self) -> bool {
        self.count <= FIRST || self.count.is_multiple_of(EVERY)
    }
}
