//! Added latency at the speed of the game, compared with the naive tokio forwarder.
//!
//! The latency of a datagram is the time from just before it is sent until the kernel has it in the receiver's queue.
//! The latency without a process between client and server is subtracted.

use std::time::Duration;

use anyhow::Result;

use super::{DIALECTS, Run};
use crate::load::{Latencies, Load, Plan, Spread, join};
use crate::net::Socket;
use crate::stats::{Report, least, median, number, percentile};
use crate::subject::Which;
use crate::traffic::Traffic;

const SESSIONS: usize = 64;

/// Median and 99th percentile of each round, in microseconds.
#[derive(Debug, Default)]
struct Figures {
    p50: Vec<f64>,
    p99: Vec<f64>,
    /// CPU time per datagram, in microseconds; empty without a process between client and server.
    cost: Vec<f64>,
}

/// Measures, and prints the results.
pub(crate) fn measure(run: &Run, report: &mut Report) -> Result<()> {
    let (rounds, time) = (run.either(5, 2), Duration::from_secs(run.either(3, 1)));
    report.line(&format!(
        "\nAdded latency, {SESSIONS} sessions at game speed, microseconds: median p50 and best p99 of {rounds} \
         interleaved rounds of {time:?}"
    ));
    report.line(
        "| traffic | direct | minimal | batching | naive tokio | teetap | p50 teetap/naive | p99 teetap/naive | CPU us | goals |",
    );
    report.line("|---|---|---|---|---|---|---|---|---|---|");
    for (variant, name) in DIALECTS {
        let traffic = Traffic::new(variant);
        let plan = Plan {
            stamped: true,
            ..Plan::new(&traffic, SESSIONS)
        };
        let mut direct = straight(&plan)?;
        let mut benches = run.all(&plan)?;
        for spread in [Spread::Even, Spread::Burst] {
            let mut figures: [Figures; 5] = Default::default();
            for _ in 0..rounds {
                let [straight, between @ ..] = &mut figures;
                straight.play(&mut direct, time, spread)?;
                for (bench, figures) in benches.iter_mut().zip(between) {
                    let before = bench.subject.cpu_time()?;
                    let datagrams = figures.play(&mut bench.load, time, spread)?;
                    let cost = number(bench.subject.cpu_time()? - before) / 1000.0;
                    figures.cost.push(cost / number(datagrams));
                }
            }
            print(name, spread, &figures, report);
        }
    }
    Ok(())
}

/// Joins sessions without a process between client and server.
fn straight(plan: &Plan<'_>) -> Result<Load> {
    let server = Socket::open(plan.stamped)?;
    let addr = server.addr()?;
    join(plan, server, addr)
}

fn print(name: &str, spread: Spread, [direct, rest @ ..]: &[Figures; 5], report: &mut Report) {
    let base = median(&direct.p50);
    let added: Vec<(f64, f64)> = rest
        .iter()
        .map(|figures| (median(&figures.p50) - base, least(&figures.p99) - base))
        .collect();
    let of = |which: Which| {
        let place = Which::ALL.iter().position(|one| *one == which);
        place
            .and_then(|place| added.get(place))
            .copied()
            .unwrap_or_default()
    };
    let [minimal, batching, naive, teetap] = Which::ALL.map(of);
    let ratios = (teetap.0 / naive.0, teetap.1 / naive.1);
    let (what, goals) = match spread {
        Spread::Even => {
            let what = format!("{name}, even, both ways");
            let p50 = report.at_most(&format!("latency p50, {what}"), ratios.0, 1.1);
            let p99 = report.at_most(&format!("latency p99, {what}"), ratios.1, 1.3);
            (what, format!("p50 {p50}, p99 {p99}"))
        }
        Spread::Burst => {
            let what = format!("{name}, snapshots in a burst");
            let p50 = report.at_most(&format!("latency p50, {what}"), ratios.0, 1.5);
            (what, format!("p50 {p50}"))
        }
    };
    let cost: Vec<String> = rest
        .iter()
        .map(|figures| format!("{:.1}", median(&figures.cost)))
        .collect();
    let pair = |(p50, p99): (f64, f64)| format!("{p50:.1} / {p99:.1}");
    report.line(&format!(
        "| {what} | {} | {} | {} | {} | {} | **{:.2}** | **{:.2}** | {} | {goals} |",
        pair((base, least(&direct.p99))),
        pair(minimal),
        pair(batching),
        pair(naive),
        pair(teetap),
        ratios.0,
        ratios.1,
        cost.join(" / "),
    ));
}

impl Figures {
    /// Plays one round, and returns its number of datagrams.
    fn play(&mut self, load: &mut Load, time: Duration, spread: Spread) -> Result<u64> {
        load.paced(time, spread, |_| Ok(()))?;
        let tally = load.take_tally().clean("a run at game speed")?;
        self.add(load.take_latencies(), spread);
        Ok(tally.right)
    }

    fn add(&mut self, latencies: Latencies, spread: Spread) {
        let Latencies { c2s, s2c } = latencies;
        // In a burst, only the snapshots are of interest.
        let inputs = if spread == Spread::Even { c2s } else { Vec::new() };
        let mut micros: Vec<f64> = s2c
            .into_iter()
            .chain(inputs)
            .map(|time| number(time) / 1000.0)
            .collect();
        self.p50.push(percentile(&mut micros, 0.5));
        self.p99.push(percentile(&mut micros, 0.99));
    }
}
