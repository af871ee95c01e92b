//! Sets of link lines.

/// A set of a program's link lines, by index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LineSet(u64);

impl LineSet {
    /// All lines.
    pub const ALL: Self = Self(u64::MAX);

    /// Returns true if the set contains a line.
    #[must_use]
    pub const fn has(self, line: u16) -> bool {
        self.0 & bit(line) != 0
    }

    /// Returns the same set without a line.
    #[must_use]
    pub const fn without(self, line: u16) -> Self {
        Self(self.0 & !bit(line))
    }

    /// Returns the lines that are in both sets.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }
}

/// Returns the bit of a line. A program has at most 64 lines.
const fn bit(line: u16) -> u64 {
    1 << (line % 64)
}
