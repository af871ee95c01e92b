//! How early inputs reach the server.

use std::collections::BTreeMap;

use teetap_proxy::session::Time;

/// Largest margin that is counted exactly, in milliseconds. Larger margins count as this one.
const LIMIT: i64 = 5000;

/// Margins by which inputs reached the server early, in milliseconds; negative for late inputs.
#[derive(Clone, Debug, Default)]
pub struct Margins {
    counts: BTreeMap<i64, u64>,
    /// Number of inputs.
    pub count: u64,
    /// Number of late inputs.
    pub late: u64,
    /// The smallest margin, with its time.
    pub least: Option<(i64, Time)>,
    /// The largest margin.
    pub most: Option<i64>,
}

impl Margins {
    pub(super) fn add(&mut self, at: Time, margin: i64) {
        *self.counts.entry(margin.clamp(-LIMIT, LIMIT)).or_default() += 1;
        self.count += 1;
        self.late += u64::from(margin < 0);
        if self.least.is_none_or(|(least, _)| margin < least) {
            self.least = Some((margin, at));
        }
        self.most = self.most.max(Some(margin));
    }

    /// Returns the margin that this share of the inputs, in percent, does not exceed; `None` without inputs.
    #[must_use]
    pub fn percentile(&self, percent: u64) -> Option<i64> {
        let mut below = 0;
        let reached = |count: &u64| {
            below += count;
            below * 100 >= self.count * percent
        };
        let mut reached = reached;
        let mut counts = self.counts.iter();
        counts
            .find(|(_, count)| reached(count))
            .map(|(margin, _)| *margin)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn margins_are_summed_up() {
        let mut margins = Margins::default();
        assert_eq!(margins.percentile(50), None);
        for (at, margin) in (1..).zip([10, -5, 20, 30, i64::MAX, -5]) {
            margins.add(Time(at), margin);
        }
        assert_eq!((margins.count, margins.late), (6, 2));
        assert_eq!(margins.least, Some((-5, Time(2))));
        assert_eq!(margins.most, Some(i64::MAX));
        assert_eq!(
            [5, 50, 100].map(|percent| margins.percentile(percent)),
            [Some(-5), Some(10), Some(LIMIT)]
        );
    }
}
