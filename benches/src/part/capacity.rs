//! Capacity: 1 / CPU time per datagram, against the minimal forwarder.
//!
//! The traffic is the game's, with the time between the ticks left out: the proxy is busy all the while, and what a
//! datagram costs is work, not waking up.

use anyhow::Result;

use super::{DIALECTS, Run};
use crate::load::Plan;
use crate::stats::{Report, least, median, most};
use crate::traffic::Traffic;

/// Sessions, and the capacity against the minimal forwarder that is to be reached with 0.7 and with DDNet.
const GOALS: [(usize, [f64; 2]); 3] = [(1, [0.80, 0.80]), (16, [0.85, 0.80]), (256, [0.85, 0.80])];

/// Datagrams on their way at once.
pub(super) const WINDOW: usize = 64;

/// Measures and prints.
pub(crate) fn measure(run: &Run, report: &mut Report) -> Result<()> {
    let (runs, datagrams) = (run.either(9, 3), run.either(60_000, 10_000));
    report.line(&format!(
        "\nCapacity: CPU time per datagram, median of {runs} interleaved runs of {datagrams} datagrams [least-most]"
    ));
    for (dialect, (variant, name)) in DIALECTS.into_iter().enumerate() {
        let traffic = Traffic::new(variant);
        report.line(&format!("{name}: {}", traffic.summary()));
        report.line("| sessions | minimal | naive tokio | teetap | naive/minimal | teetap/minimal | goal |");
        report.line("|---|---|---|---|---|---|---|");
        for (sessions, goals) in GOALS {
            let plan = Plan::new(&traffic, sessions);
            let costs = interleaved(run, &plan, runs, datagrams)?;
            let [minimal, naive, teetap] = &costs;
            let (naive_ratio, ratio) = (capacity(minimal, naive), capacity(minimal, teetap));
            let goal = goals.get(dialect).copied().unwrap_or(1.0);
            let word = report.at_least(&format!("capacity, {name}, {sessions} sessions"), ratio, goal);
            report.line(&format!(
                "| {sessions} | {} | {} | {} | {naive_ratio:.2} | **{ratio:.2}** | {word} |",
                figure(minimal),
                figure(naive),
                figure(teetap),
            ));
        }
    }
    Ok(())
}

/// Nanoseconds per datagram of each run: minimal, naive, teetap.
pub(super) fn interleaved(
    run: &Run,
    plan: &Plan<'_>,
    runs: usize,
    datagrams: usize,
) -> Result<[Vec<f64>; 3]> {
    let mut benches = run.all(plan)?;
    let mut costs: [Vec<f64>; 3] = Default::default();
    for bench in &mut benches {
        bench.cost(datagrams / 4, WINDOW)?;
    }
    for _ in 0..runs {
        for (bench, costs) in benches.iter_mut().zip(&mut costs) {
            costs.push(bench.cost(datagrams, WINDOW)?);
        }
    }
    Ok(costs)
}

/// Capacity against the first, run by run, so that a machine that changes its speed changes nothing.
fn capacity(first: &[f64], second: &[f64]) -> f64 {
    let ratios: Vec<f64> = first
        .iter()
        .zip(second)
        .map(|(first, second)| first / second)
        .collect();
    median(&ratios)
}

/// Microseconds, with the range.
pub(super) fn figure(costs: &[f64]) -> String {
    let micro = |nanoseconds: f64| nanoseconds / 1000.0;
    format!(
        "{:.2} us [{:.2}-{:.2}]",
        micro(median(costs)),
        micro(least(costs)),
        micro(most(costs))
    )
}
