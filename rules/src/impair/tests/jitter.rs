//! The distribution of jitter, and the order that it keeps.

use super::*;

/// The largest distance between a sample and a distribution (Kolmogorov, Smirnov).
fn distance(mut sample: Vec<f64>, below: impl Fn(f64) -> f64) -> f64 {
    sample.sort_by(f64::total_cmp);
    let len = sample.len();
    let gap = |(at, x): (usize, &f64)| {
        let p = below(*x);
        (p - share(at, len)).abs().max((share(at + 1, len) - p).abs())
    };
    sample.iter().enumerate().map(gap).fold(0.0, f64::max)
}

/// The share of the normal distribution below `x`, by the integral of its density.
fn normal_below(x: f64) -> f64 {
    let steps = 400;
    let width = x / f64::from(steps);
    let density = |x: f64| (-x * x / 2.0).exp() / (2.0 * std::f64::consts::PI).sqrt();
    let inner: f64 = (0..steps)
        .map(|step| {
            let at = f64::from(step) * width;
            (density(at) + 4.0 * density(at + width / 2.0) + density(at + width)) / 6.0
        })
        .sum();
    0.5 + inner * width
}

/// The share below `x` of a Pareto distribution with exponent 3, mean 0 and standard deviation 1.
fn pareto_below(x: f64) -> f64 {
    let raw = x * 0.75_f64.sqrt() + 1.5;
    if raw <= 1.0 { 0.0 } else { 1.0 - raw.powi(-3) }
}

/// The share below `x` of a quarter of the one and three quarters of the other, by the sum over equal parts of the first.
fn mixed_below(x: f64, parts: &[f64]) -> f64 {
    let x = x * (1.0_f64 / 16.0 + 9.0 / 16.0).sqrt();
    let below: f64 = parts
        .iter()
        .map(|normal| pareto_below((x - 0.25 * normal) / 0.75))
        .sum();
    below / parts.len() as f64
}

/// The middles of equal parts of the normal distribution.
fn normal_parts(count: usize) -> Vec<f64> {
    let middle = |part: usize| {
        let wanted = (part as f64 + 0.5) / count as f64;
        let (mut low, mut high) = (-6.0, 6.0);
        while high - low > 1e-6 {
            let middle = (low + high) / 2.0;
            if normal_below(middle) < wanted {
                low = middle
            } else {
                high = middle
            }
        }
        low
    };
    (0..count).map(middle).collect()
}

#[test]
fn jitter_has_the_asked_distribution() {
    let parts = normal_parts(200);
    // Of 10 000 values one sample in a hundred is farther away than this.
    let count: usize = 10_000;
    let limit = 1.63 / (count as f64).sqrt();
    for shape in Shape::ALL {
        let late = line(|line| {
            line.delay = Some(ms(100));
            line.jitter = Some(Jitter {
                spread: ms(10),
                shape,
            });
        });
        // So far apart that order changes none.
        let delays = delays(&mut channel(&[late]), count as u64, 1_000_000);
        let values: Vec<f64> = delays
            .iter()
            .map(|delay| (*delay as f64 / 1000.0 - 100.0) / 10.0)
            .collect();
        assert!(
            values.iter().all(|value| (-4.001..=4.001).contains(value)),
            "{shape}"
        );
        let capped = |below: &dyn Fn(f64) -> f64, x: f64| if x >= 3.9999 { 1.0 } else { below(x) };
        let below: &dyn Fn(f64) -> f64 = match shape {
            Shape::Uniform => &|x| f64::midpoint(x, 1.0).clamp(0.0, 1.0),
            Shape::Normal => &normal_below,
            Shape::Pareto => &pareto_below,
            Shape::ParetoNormal => &|x| mixed_below(x, &parts),
        };
        // Values at the cap are more than the distribution has there; below it they are what it says.
        let kept: Vec<f64> = values.clone();
        let far = distance(kept, |x| capped(below, x));
        let at_cap = values.iter().filter(|value| **value >= 3.9999).count();
        let slack = share(at_cap, count);
        assert!(slack < 0.02, "{shape}: {at_cap} at the cap");
        assert!(
            far < limit + slack,
            "{shape}: {far} from its distribution, limit {limit}"
        );
        // The test can fail: the other distributions are far away.
        if shape != Shape::Uniform {
            let other = distance(values, |x| f64::midpoint(x, 1.0).clamp(0.0, 1.0));
            assert!(other > 3.0 * limit, "{shape}: {other}");
        }
    }
}

#[test]
fn jitter_alone_keeps_the_order() {
    let late = line(|line| {
        line.delay = Some(ms(50));
        line.jitter = Some(Jitter {
            spread: ms(20),
            shape: Shape::Normal,
        });
    });
    let copies = run(&mut channel(&[late]), 10_000, 1_000);
    let times: Vec<u64> = copies.iter().map(|copies| time(&copies[0])).collect();
    assert!(times.is_sorted());
}
