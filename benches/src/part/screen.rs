//! The cost of the terminal UI: the latency of the traffic with and without it, the time from a key to its frame, and
//! the bytes of a frame.
//!
//! The screen is a pseudo-terminal of 120 by 40 cells, which is read as fast as it is written (see [`crate::eye`]).

use std::time::Duration;

use anyhow::{Context as _, Result};
use teetap_kit::codec::Variant;

use super::{Bench, DIALECTS, Run};
use crate::eye::ScreenRecord;
use crate::load::{Load, Plan, Spread, join};
use crate::net::Socket;
use crate::stats::{Report, least, median, most, number, percentile};
use crate::subject::{Subject, Which};
use crate::traffic::Traffic;

/// Numbers of sessions: many players, and 20 000 messages per second.
const SESSIONS: [usize; 2] = [64, 267];
const MIB: f64 = 1024.0 * 1024.0;

/// Measures, and prints the results.
pub(crate) fn measure(run: &Run, report: &mut Report) -> Result<()> {
    let (rounds, time) = (run.either(5, 1), Duration::from_secs(run.either(4, 2)));
    report.line(&format!(
        "\nThe terminal UI, sessions at game speed, {rounds} interleaved rounds of {time:?} without and with it: median p50 and \
         best p99 of the latency in microseconds, CPU time per datagram of the whole process"
    ));
    report.line(
        "| traffic | sessions | datagrams/s | p50 / p99 without | with | ratios | us CPU without / with | MiB | \
         key to frame ms | frames/s | bytes per frame | goals |",
    );
    report.line("|---|---|---|---|---|---|---|---|---|---|---|---|");
    for (variant, name) in DIALECTS {
        for sessions in SESSIONS {
            one(run, report, (variant, name), sessions, (rounds, time))?;
        }
    }
    Ok(())
}

/// The figures of a subject.
#[derive(Debug, Default)]
struct Figures {
    p50: Vec<f64>,
    p99: Vec<f64>,
    /// CPU time per datagram, in microseconds.
    cost: Vec<f64>,
    datagrams: u64,
}

fn one(
    run: &Run,
    report: &mut Report,
    (variant, name): (Variant, &str),
    sessions: usize,
    (rounds, time): (usize, Duration),
) -> Result<()> {
    let traffic = Traffic::new(variant);
    let plan = Plan {
        stamped: true,
        ..Plan::new(&traffic, sessions)
    };
    let mut without = run.bench(Which::Teetap, &plan)?;
    let (mut with, mut eye) = watched(run, &plan)?;
    let (mut plain, mut shown) = (Figures::default(), Figures::default());
    for _ in 0..rounds {
        // The screen is read in both cases, so that the load generator does the same work.
        plain.play(&mut without, time, |_| eye.read_output())?;
        eye.look(false);
        shown.play(&mut with, time, |_| eye.take_and_press())?;
        eye.look(true);
    }
    let (_, memory) = with.subject.memory()?;
    let what = format!("{name}, {sessions} sessions");
    let ratios = (
        median(&shown.p50) / median(&plain.p50),
        least(&shown.p99) / least(&plain.p99),
    );
    eye.press("Q")?;
    let seen = eye.figures();
    let keys = percentile(&mut seen.keys.clone(), 0.99);
    let goals = [
        report.at_most(&format!("latency p50 with the screen, {what}"), ratios.0, 1.05),
        report.at_most(&format!("latency p99 with the screen, {what}"), ratios.1, 1.05),
        report.at_most(&format!("key to frame in ms, {what}"), keys, 50.0),
    ];
    let seconds = time.as_secs_f64() * number(u64::try_from(rounds)?);
    let frames = number(u64::try_from(seen.frames)?);
    let pair = |figures: &Figures| format!("{:.1} / {:.1}", median(&figures.p50), least(&figures.p99));
    report.line(&format!(
        "| {name} | {sessions} | {:.0} | {} | {} | **{:.2}** / **{:.2}** | {:.1} / {:.1} | {:.0} | {:.0}, most {:.0} | {:.0} | {:.0} | {} |",
        number(shown.datagrams) / seconds,
        pair(&plain),
        pair(&shown),
        ratios.0,
        ratios.1,
        median(&plain.cost),
        median(&shown.cost),
        number(memory) / MIB,
        median(&seen.keys),
        most(&seen.keys),
        frames / seconds,
        number(u64::try_from(seen.bytes)?) / frames.max(1.0),
        goals.join(", ")
    ));
    Ok(())
}

/// Starts the built binary with its terminal UI, and joins sessions through it.
fn watched(run: &Run, plan: &Plan<'_>) -> Result<(Bench, ScreenRecord)> {
    let server = Socket::open(plan.stamped)?;
    let (eye, inner) = ScreenRecord::open()?;
    let subject = Subject::start_on_screen(&run.teetap, inner, server.addr()?, &run.cores)?;
    let load = join(plan, server, subject.addr).context("joining with a screen")?;
    Ok((Bench { load, subject }, eye))
}

impl Figures {
    /// Plays one round.
    fn play(
        &mut self,
        bench: &mut Bench,
        time: Duration,
        beside: impl FnMut(&mut Load) -> Result<()>,
    ) -> Result<()> {
        let before = bench.subject.cpu_time()?;
        bench.load.paced(time, Spread::Even, beside)?;
        let cost = number(bench.subject.cpu_time()? - before) / 1000.0;
        let tally = bench.load.take_tally().clean("a run with or without a screen")?;
        let latencies = bench.load.take_latencies();
        let both = latencies.c2s.into_iter().chain(latencies.s2c);
        let mut micros: Vec<f64> = both.map(|time| number(time) / 1000.0).collect();
        self.p50.push(percentile(&mut micros, 0.5));
        self.p99.push(percentile(&mut micros, 0.99));
        self.cost.push(cost / number(tally.right));
        self.datagrams += tally.right;
        Ok(())
    }
}
