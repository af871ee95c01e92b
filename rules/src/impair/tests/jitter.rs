//! Tests of the distribution of jitter, and of the order that it keeps.

use super::*;

/// Returns the maximum distance between a sample and a distribution (Kolmogorov, Smirnov).
fn distance(mut sample: Vec<f64>, below: impl Fn(f64) -> f64) -> f64 {
    sample.sort_by(f64::total_cmp);
    let len = sample.len();
    let gap = |(at, x): (usize, &f64)| {
        let p = below(*x);
        (p - share(at, len)).abs().max((share(at + 1, len) - p).abs())
    };
    sample.iter().enumerate().map(gap).fold(0.0, f64::max)
}

/// Returns the share of the normal distribution below `x`, by integrating its density.
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

/// Returns the maximum of the Pareto distribution, its mean and its standard deviation, computed independently from the
/// middles of many equal parts.
fn pareto_moments() -> (f64, f64, f64) {
    let most = 1.5 + 4.0 * 0.75_f64.sqrt();
    let parts = 2_000_000;
    let value = |part: u32| {
        ((f64::from(part) + 0.5) / f64::from(parts))
            .powf(-1.0 / 3.0)
            .min(most)
    };
    let mean = (0..parts).map(value).sum::<f64>() / f64::from(parts);
    let squares = (0..parts).map(|part| (value(part) - mean).powi(2)).sum::<f64>();
    (most, mean, (squares / f64::from(parts)).sqrt())
}

/// Returns the share below `x` of a truncated Pareto distribution with exponent 3, mean 0 and standard deviation 1.
fn pareto_below(x: f64, (most, mean, deviation): (f64, f64, f64)) -> f64 {
    let raw = x * deviation + mean;
    if raw <= 1.0 {
        0.0
    } else if raw >= most {
        1.0
    } else {
        1.0 - raw.powi(-3)
    }
}

/// Returns the share below `x` of a quarter of the normal and three quarters of the Pareto distribution, by summing
/// over equal parts of the first.
fn mixed_below(x: f64, parts: &[f64], moments: (f64, f64, f64)) -> f64 {
    let x = x * (1.0_f64 / 16.0 + 9.0 / 16.0).sqrt();
    let below: f64 = parts
        .iter()
        .map(|normal| pareto_below((x - 0.25 * normal) / 0.75, moments))
        .sum();
    below / parts.len() as f64
}

/// Returns the middles of equal parts of the normal distribution.
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
    let moments = pareto_moments();
    // With 10 000 values, one sample in a hundred has a larger distance.
    let count: usize = 10_000;
    let limit = 1.63 / (count as f64).sqrt();
    for &shape in <Shape as strum::VariantArray>::VARIANTS {
        let late = line(|line| {
            line.delay = Some(ms(100));
            line.jitter = Some(Jitter {
                spread: ms(10),
                shape,
            });
        });
        // Far enough apart that keeping the order changes no delay.
        let delays = delays(&mut channel(&[late]), count as u64, 1_000_000);
        let values: Vec<f64> = delays
            .iter()
            .map(|delay| (*delay as f64 / 1000.0 - 100.0) / 10.0)
            .collect();
        let farthest = match shape {
            Shape::Uniform => 1.001,
            Shape::Normal => 4.001,
            Shape::Pareto => 5.46,
            Shape::ParetoNormal => 6.45,
        };
        assert!(
            values.iter().all(|value| value.abs() <= farthest),
            "{shape}: {:?}",
            values.iter().copied().reduce(f64::max)
        );
        let below: &dyn Fn(f64) -> f64 = match shape {
            Shape::Uniform => &|x| f64::midpoint(x, 1.0).clamp(0.0, 1.0),
            Shape::Normal => &normal_below,
            Shape::Pareto => &|x| pareto_below(x, moments),
            Shape::ParetoNormal => &|x| mixed_below(x, &parts, moments),
        };
        // The truncated distribution has more values at the cap; below it the values follow the distribution.
        let kept: Vec<f64> = values.clone();
        let far = distance(kept, below);
        let cap = if shape == Shape::Pareto { 5.457 } else { f64::MAX };
        let at_cap = values.iter().filter(|value| **value >= cap).count();
        let slack = share(at_cap, count);
        assert!(slack < 0.02, "{shape}: {at_cap} at the cap");
        assert!(
            far < limit + slack,
            "{shape}: {far} from its distribution, limit {limit}"
        );
        // Checks that the test can fail: the other distributions are far away.
        if shape != Shape::Uniform {
            let other = distance(values, |x| f64::midpoint(x, 1.0).clamp(0.0, 1.0));
            assert!(other > 3.0 * limit, "{shape}: {other}");
        }
    }
}

/// The mean and the standard deviation are as configured in the line.
#[test]
fn jitter_has_the_asked_mean_and_deviation() {
    for &shape in <Shape as strum::VariantArray>::VARIANTS {
        let late = line(|line| {
            line.delay = Some(ms(100));
            line.jitter = Some(Jitter {
                spread: ms(10),
                shape,
            });
        });
        let delays = delays(&mut channel(&[late]), 200_000, 1_000_000);
        let count = delays.len() as f64;
        let mean = delays.iter().sum::<u64>() as f64 / count;
        let squares = delays
            .iter()
            .map(|delay| (*delay as f64 - mean).powi(2))
            .sum::<f64>();
        let deviation = (squares / count).sqrt();
        // For the uniform shape, the spread is the maximum.
        let wanted = if shape == Shape::Uniform {
            10_000.0 / 3.0_f64.sqrt()
        } else {
            10_000.0
        };
        near(mean, 100_000.0, 0.001);
        near(deviation, wanted, 0.01);
    }
}

/// `reorder 50% gap 5` is one in 4 + 1 / 50 %.
#[test]
fn the_share_that_overtakes_is_the_one_that_is_read_out() {
    for (chance, gap, wanted) in [
        (50.0, 5, 1.0 / 6.0),
        (100.0, 5, 0.2),
        (25.0, 1, 0.25),
        (10.0, 3, 1.0 / 12.0),
    ] {
        let reorder = Reorder {
            share: percent(chance),
            gap,
        };
        let odd = line(|line| {
            line.delay = Some(ms(50));
            line.reorder = Some(reorder);
        });
        let all = run(&mut channel(&[odd]), MANY, 1_000);
        let ahead = all.iter().filter(|copies| copies[0].overtakes).count();
        near(share(ahead, all.len()), wanted, 0.03);
        near(f64::from(reorder.overall().millionths()) / 1e6, wanted, 1e-5);
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
