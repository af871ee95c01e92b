//! Values over time, in ring buffers of fixed size.

use std::collections::VecDeque;

use teetap_proxy::session::Time;

/// Maximum number of samples kept.
const SAMPLES: usize = 240;

/// Number of seconds kept by [`Rates`], including the current second.
pub const SECONDS: usize = 120;

/// Measured values with their times, oldest first.
#[derive(Clone, Debug, Default)]
pub struct Samples(VecDeque<(Time, f64)>);

impl Samples {
    /// Adds a value.
    pub(super) fn push(&mut self, at: Time, value: f64) {
        if self.0.len() >= SAMPLES {
            self.0.pop_front();
        }
        self.0.push_back((at, value));
    }

    /// Returns the values with their times, oldest first.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (Time, f64)> + '_ {
        self.0.iter().copied()
    }

    /// Returns true if there is no value.
    #[must_use]
    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the last value; `None` if there is no value.
    #[must_use]
    pub fn last(&self) -> Option<f64> {
        self.0.back().map(|(_, value)| *value)
    }

    /// Returns the mean of all samples; `None` if there is no value.
    #[must_use]
    pub fn mean(&self) -> Option<f64> {
        let sum: f64 = self.iter().map(|(_, value)| value).sum();
        (!self.is_empty()).then(|| sum / self.0.len() as f64)
    }

    /// Returns the mean absolute deviation of the samples; `None` if there is no value.
    #[must_use]
    pub fn spread(&self) -> Option<f64> {
        let mean = self.mean()?;
        let sum: f64 = self.iter().map(|(_, value)| (value - mean).abs()).sum();
        Some(sum / self.0.len() as f64)
    }

    /// Returns the minimum of the last `count` values; `None` if there is no value.
    #[must_use]
    pub(super) fn least_of(&self, count: usize) -> Option<f64> {
        let last = self.iter().rev().take(count);
        last.map(|(_, value)| value).reduce(f64::min)
    }
}

/// Counts per second.
#[derive(Clone, Debug, Default)]
pub struct Rates {
    /// Number of the newest second since the start.
    second: u64,
    /// The counts, the newest second last.
    counts: VecDeque<u64>,
}

impl Rates {
    /// Adds `count` to the second of this time.
    pub(super) fn count(&mut self, at: Time, count: u64) {
        self.tick(at);
        if let Some(last) = self.counts.back_mut() {
            *last += count;
        }
    }

    /// Advances to the second of `now`, with counts of 0 for the seconds between.
    pub(super) fn tick(&mut self, now: Time) {
        let second = now.0 / 1_000_000;
        if self.counts.is_empty() {
            self.second = second;
            self.counts.push_back(0);
        }
        let news = second.saturating_sub(self.second).min(SECONDS as u64);
        for _ in 0..news {
            self.counts.push_back(0);
        }
        self.second = self.second.max(second);
        while self.counts.len() > SECONDS {
            self.counts.pop_front();
        }
    }

    /// Returns the counts of the completed seconds, newest first.
    pub fn newest_first(&self) -> impl Iterator<Item = u64> + '_ {
        self.counts.iter().rev().skip(1).copied()
    }

    /// Returns the count of the last completed second; 0 if there is none.
    #[must_use]
    pub fn last(&self) -> u64 {
        self.newest_first().next().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Time {
        Time(ms * 1000)
    }

    #[test]
    fn samples_are_bounded_and_described() {
        let mut samples = Samples::default();
        assert_eq!(
            (samples.mean(), samples.spread(), samples.last()),
            (None, None, None)
        );
        for value in [10.0, 20.0, 60.0] {
            samples.push(at(1), value);
        }
        assert_eq!((samples.mean(), samples.spread()), (Some(30.0), Some(20.0)));
        assert_eq!(
            (samples.least_of(2), samples.least_of(9)),
            (Some(20.0), Some(10.0))
        );
        for _ in 0..1000 {
            samples.push(at(2), 1.0);
        }
        assert_eq!(samples.iter().count(), SAMPLES);
    }

    #[test]
    fn seconds_are_counted_and_silent_ones_are_zero() {
        let mut rates = Rates::default();
        rates.count(at(5_100), 3);
        rates.count(at(5_900), 4);
        assert_eq!(rates.last(), 0, "the second is not over");
        rates.tick(at(6_000));
        assert_eq!(rates.last(), 7);
        rates.count(at(8_000), 1);
        assert_eq!(rates.newest_first().collect::<Vec<_>>(), [0, 0, 7]);
        rates.tick(at(10_000_000));
        assert_eq!(rates.newest_first().collect::<Vec<_>>(), vec![0; SECONDS - 1]);
    }
}
