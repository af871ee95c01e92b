//! Medians, percentiles, and the lines of the tables.

use std::io::{self, Write as _};

/// Returns the median; 0 if there are no values.
pub(crate) fn median(values: &[f64]) -> f64 {
    percentile(&mut values.to_vec(), 0.5)
}

/// Returns the least value.
pub(crate) fn least(values: &[f64]) -> f64 {
    values.iter().copied().fold(f64::INFINITY, f64::min)
}

/// Returns the greatest value.
pub(crate) fn most(values: &[f64]) -> f64 {
    values.iter().copied().fold(f64::NEG_INFINITY, f64::max)
}

/// Returns the value below which the share `rank` (0..=1) of the values lies; 0 if there are no values.
pub(crate) fn percentile(values: &mut [f64], rank: f64) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    let last = values.len().saturating_sub(1);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "a place in a list in memory"
    )]
    let place = (last as f64 * rank).round() as usize;
    values.get(place).copied().unwrap_or(0.0)
}

/// Converts a count to a number for calculations.
#[expect(
    clippy::cast_precision_loss,
    reason = "counts and nanoseconds of a run are far below 2^53"
)]
pub(crate) fn number(count: u64) -> f64 {
    count as f64
}

/// The output of the figures, and the figures that missed their goals.
#[derive(Debug, Default)]
pub(crate) struct Report {
    missed: Vec<String>,
}

impl Report {
    /// Prints a line to stdout.
    pub(crate) fn line(&self, text: &str) {
        // After an error, stdout is closed, so nothing more can be printed.
        let _closed = writeln!(io::stdout(), "{text}");
    }

    /// Returns a text on whether a figure is at least `goal`, and records a miss.
    pub(crate) fn at_least(&mut self, what: &str, figure: f64, goal: f64) -> String {
        self.word(what, figure >= goal, figure, format!("at least {goal:.2}"))
    }

    /// Returns a text on whether a figure is at most `goal`, and records a miss.
    pub(crate) fn at_most(&mut self, what: &str, figure: f64, goal: f64) -> String {
        self.word(what, figure <= goal, figure, format!("at most {goal:.2}"))
    }

    /// Returns the figures that missed their goals.
    pub(crate) fn missed(&self) -> &[String] {
        &self.missed
    }

    fn word(&mut self, what: &str, reached: bool, figure: f64, goal: String) -> String {
        if reached {
            return format!("{goal}: yes");
        }
        self.missed.push(format!("{what}: {figure:.3}, should be {goal}"));
        format!("{goal}: NO")
    }
}
