//! The distributions of jitter.
//!
//! Law: uses only additions, multiplications, divisions and square roots, which IEEE 754 defines to the last bit. The
//! same draw gives the same delay on every machine.

use super::draw::{Draws, Purpose};

/// A distribution with mean 0.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    strum::VariantArray,
    strum::Display,
    strum::EnumString,
    strum::VariantNames,
)]
#[strum(serialize_all = "lowercase")]
pub enum Shape {
    /// Uniform from -1 to 1.
    #[default]
    Uniform,
    /// Normal with standard deviation 1, clamped to -4 to 4.
    Normal,
    /// Pareto with exponent 3, truncated far out, with standard deviation 1.
    Pareto,
    /// A quarter of [`Self::Normal`] and three quarters of [`Self::Pareto`], scaled to standard deviation 1.
    ParetoNormal,
}

impl Shape {
    /// Returns the value for a draw.
    pub(super) fn value(self, draws: Draws) -> f64 {
        let first = draws.fraction(Purpose::Jitter);
        match self {
            Self::Uniform => 2.0 * first - 1.0,
            Self::Normal => normal(first).clamp(-FARTHEST, FARTHEST),
            Self::Pareto => pareto(first),
            Self::ParetoNormal => {
                let normal = normal(draws.fraction(Purpose::Mixed)).clamp(-FARTHEST, FARTHEST);
                (0.25 * normal + 0.75 * pareto(first)) / MIXED
            }
        }
    }
}

/// Maximum value of [`Shape::Normal`], as in the tables of netem.
const FARTHEST: f64 = 4.0;
/// Standard deviation of a quarter of one plus three quarters of another distribution, each with standard deviation 1:
/// the square root of 1/16 + 9/16.
const MIXED: f64 = 0.790_569_415_042_094_8;

/// Returns the quantile 1 - `rest` of a Pareto distribution with exponent 3, truncated at `MOST` and scaled to mean 0
/// and standard deviation 1.
///
/// The tail contributes much of the deviation: truncated at four of its own deviations (3/2 + 4 * sqrt(3/4)), the
/// distribution keeps 0.74 of it. Truncated at `m`, the mean is 3/2 - 1/(2 m^2), and the mean of the squares is 3 -
/// 2/m.
fn pareto(rest: f64) -> f64 {
    const MOST: f64 = 4.964_101_615_137_754;
    const MEAN: f64 = 1.5 - 0.5 / (MOST * MOST);
    const VARIANCE: f64 = 3.0 - 2.0 / MOST - MEAN * MEAN;
    let value = (1.0 / cube_root(rest)).min(MOST);
    (value - MEAN) / VARIANCE.sqrt()
}

/// Returns the quantile `share` of the normal distribution by Acklam's rational approximation, with a relative error
/// below 1.2e-9.
fn normal(share: f64) -> f64 {
    const CENTRE: ([f64; 6], [f64; 6]) = (
        [
            -3.969_683_028_665_376e1,
            2.209_460_984_245_205e2,
            -2.759_285_104_469_687e2,
            1.383_577_518_672_69e2,
            -3.066_479_806_614_716e1,
            2.506_628_277_459_239,
        ],
        [
            -5.447_609_879_822_406e1,
            1.615_858_368_580_409e2,
            -1.556_989_798_598_866e2,
            6.680_131_188_771_972e1,
            -1.328_068_155_288_572e1,
            1.0,
        ],
    );
    const TAIL: ([f64; 6], [f64; 5]) = (
        [
            -7.784_894_002_430_293e-3,
            -3.223_964_580_411_365e-1,
            -2.400_758_277_161_838,
            -2.549_732_539_343_734,
            4.374_664_141_464_968,
            2.938_163_982_698_783,
        ],
        [
            7.784_695_709_041_462e-3,
            3.224_671_290_700_398e-1,
            2.445_134_137_142_996,
            3.754_408_661_907_416,
            1.0,
        ],
    );
    const TAIL_BELOW: f64 = 0.02425;
    let tail = |share: f64| {
        let q = (-2.0 * ln(share)).sqrt();
        polynomial(&TAIL.0, q) / polynomial(&TAIL.1, q)
    };
    if share < TAIL_BELOW {
        tail(share)
    } else if share > 1.0 - TAIL_BELOW {
        -tail(1.0 - share)
    } else {
        let q = share - 0.5;
        q * polynomial(&CENTRE.0, q * q) / polynomial(&CENTRE.1, q * q)
    }
}

/// Returns the value of a polynomial, given its coefficients in descending order.
fn polynomial(coefficients: &[f64], x: f64) -> f64 {
    coefficients.iter().fold(0.0, |sum, c| sum * x + c)
}

/// Returns the natural logarithm of a number between 0 and 1.
fn ln(mut x: f64) -> f64 {
    let mut halvings = 0.0;
    while x < 0.75 {
        x *= 2.0;
        halvings += 1.0;
    }
    // 2 atanh((x - 1) / (x + 1)); z is below 1/7, so that the last term is below 1e-17.
    let z = (x - 1.0) / (x + 1.0);
    let mut power = z;
    let mut sum = 0.0;
    for odd in [1.0, 3.0, 5.0, 7.0, 9.0, 11.0, 13.0, 15.0, 17.0] {
        sum += power / odd;
        power *= z * z;
    }
    2.0 * sum - halvings * std::f64::consts::LN_2
}

/// Returns the cube root of a number between 0 and 1.
fn cube_root(mut x: f64) -> f64 {
    let mut scale = 1.0;
    while x < 0.125 {
        x *= 8.0;
        scale *= 0.5;
    }
    // Newton's method. For 0.5..1, five steps are exact.
    let mut root = 0.5 + 0.5 * x;
    for _ in 0..5 {
        root = (2.0 * root + x / (root * root)) / 3.0;
    }
    root * scale
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_functions_are_those_of_the_standard_library() {
        for part in 1..20_000 {
            for x in [f64::from(part) / 20_000.0, (f64::from(part) / 20_000.0).powi(6)] {
                assert!((ln(x) - x.ln()).abs() <= 1e-14 * x.ln().abs().max(1.0), "{x}");
                assert!((cube_root(x) - x.cbrt()).abs() <= 1e-15, "{x}");
            }
        }
    }
}
