//! Capacity: 1 / CPU time per datagram, relative to the minimal and the batching forwarder, and the part of that time
//! outside the kernel.
//!
//! The traffic is the traffic of the game without the time between the ticks. The proxy is always busy, so the cost
//! of a datagram does not include wakeups.

use anyhow::Result;

use super::{DIALECTS, Run};
use crate::load::Plan;
use crate::stats::{Report, least, median, most, number};
use crate::traffic::Traffic;

/// The goals for a number of sessions, by dialect as in [`DIALECTS`].
struct Goal {
    sessions: usize,
    /// Goals for the capacity relative to the minimal forwarder.
    minimal: [f64; 2],
    /// Goals for the capacity relative to the batching forwarder, and for the time outside the kernel per datagram,
    /// in microseconds.
    batching: Option<[(f64, f64); 2]>,
}

const GOALS: [Goal; 3] = [
    Goal {
        sessions: 1,
        minimal: [0.80, 0.80],
        batching: None,
    },
    Goal {
        sessions: 16,
        minimal: [0.85, 0.80],
        batching: Some([(0.90, 0.75), (0.85, 1.1)]),
    },
    Goal {
        sessions: 256,
        minimal: [0.85, 0.80],
        batching: Some([(0.90, 0.75), (0.85, 1.1)]),
    },
];

/// Maximum number of datagrams on their way at once.
pub(super) const WINDOW: usize = 64;

/// The cost of a datagram for one subject.
#[derive(Debug, Default)]
pub(super) struct Costs {
    /// Nanoseconds of CPU time per datagram, for each run.
    pub(super) total: Vec<f64>,
    /// Nanoseconds outside the kernel per datagram, over all runs.
    user: f64,
}

/// Measures, and prints the results.
pub(crate) fn measure(run: &Run, report: &mut Report) -> Result<()> {
    let (runs, datagrams) = (run.either(9, 3), run.either(60_000, 10_000));
    report.line(&format!(
        "\nCapacity: CPU time per datagram, median of {runs} interleaved runs of {datagrams} datagrams [least-most], \
         and its part outside the kernel"
    ));
    for (dialect, (variant, name)) in DIALECTS.into_iter().enumerate() {
        let traffic = Traffic::new(variant);
        report.line(&format!("{name}: {}", traffic.summary()));
        report.line(
            "| sessions | minimal | batching | naive tokio | teetap | naive/minimal | teetap/minimal | goal | \
             teetap/batching | goal | us outside the kernel | goal |",
        );
        report.line("|---|---|---|---|---|---|---|---|---|---|---|---|");
        for goal in &GOALS {
            let plan = Plan::new(&traffic, goal.sessions);
            let costs = interleaved(run, &plan, runs, datagrams)?;
            print(name, dialect, goal, &costs, report);
        }
    }
    Ok(())
}

fn print(
    name: &str,
    dialect: usize,
    goal: &Goal,
    [minimal, batching, naive, teetap]: &[Costs; 4],
    report: &mut Report,
) {
    let sessions = goal.sessions;
    let ratio = |against: &Costs, of: &Costs| capacity(&against.total, &of.total);
    let (of_minimal, of_batching) = (ratio(minimal, teetap), ratio(batching, teetap));
    let user = teetap.user / 1000.0;
    let wanted = goal.minimal.get(dialect).copied().unwrap_or(1.0);
    let minimal_word = report.at_least(
        &format!("capacity, {name}, {sessions} sessions"),
        of_minimal,
        wanted,
    );
    let [mut batching_word, mut user_word] = [String::new(), String::new()];
    if let Some((capacity, most)) = goal.batching.and_then(|goals| goals.get(dialect).copied()) {
        let what = format!("capacity of the batching forwarder, {name}, {sessions} sessions");
        batching_word = report.at_least(&what, of_batching, capacity);
        let what = format!("microseconds outside the kernel, {name}, {sessions} sessions");
        user_word = report.at_most(&what, user, most);
    }
    let shown = [minimal, batching, naive, teetap]
        .map(|costs| format!("{}, {:.2}", figure(&costs.total), costs.user / 1000.0));
    report.line(&format!(
        "| {sessions} | {} | {:.2} | **{of_minimal:.2}** | {minimal_word} | **{of_batching:.2}** | {batching_word} | \
         **{user:.2}** | {user_word} |",
        shown.join(" | "),
        ratio(minimal, naive),
    ));
}

/// Returns the costs of each subject, in the order of [`Which::ALL`](crate::subject::Which::ALL).
pub(super) fn interleaved(run: &Run, plan: &Plan<'_>, runs: usize, datagrams: usize) -> Result<[Costs; 4]> {
    let mut benches = run.all(plan)?;
    let mut costs: [Costs; 4] = Default::default();
    for (bench, costs) in benches.iter_mut().zip(&mut costs) {
        bench.cost(datagrams / 4, WINDOW)?;
        costs.user = -number(bench.subject.user_time()?);
    }
    for _ in 0..runs {
        for (bench, costs) in benches.iter_mut().zip(&mut costs) {
            costs.total.push(bench.cost(datagrams, WINDOW)?);
        }
    }
    let played = number(u64::try_from(runs * datagrams)?);
    for (bench, costs) in benches.iter().zip(&mut costs) {
        costs.user = (costs.user + number(bench.subject.user_time()?)) / played;
    }
    Ok(costs)
}

/// Returns the capacity of the second subject relative to the first. It is computed run by run, so that changes in
/// the speed of the machine have no effect.
fn capacity(first: &[f64], second: &[f64]) -> f64 {
    let ratios: Vec<f64> = first
        .iter()
        .zip(second)
        .map(|(first, second)| first / second)
        .collect();
    median(&ratios)
}

/// Returns the median cost in microseconds with its range, as a text.
pub(super) fn figure(costs: &[f64]) -> String {
    let micro = |nanoseconds: f64| nanoseconds / 1000.0;
    format!(
        "{:.2} us [{:.2}-{:.2}]",
        micro(median(costs)),
        micro(least(costs)),
        micro(most(costs))
    )
}
