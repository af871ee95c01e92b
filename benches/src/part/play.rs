//! Traffic through one subject for some seconds, for a profiler.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use clap::Args;

use super::{DIALECTS, Run, capacity};
use crate::load::{Plan, Spread};
use crate::stats::{Report, number};
use crate::subject::Which;
use crate::traffic::Traffic;

/// The traffic to play, and the subject.
#[derive(Debug, Args)]
pub(crate) struct Play {
    /// The process between client and server
    #[arg(value_enum)]
    subject: Which,
    /// Sessions
    #[arg(long, default_value_t = 16)]
    sessions: usize,
    /// 0.7 or DDNet
    #[arg(long, default_value = "0.7")]
    dialect: String,
    /// Seconds
    #[arg(long, default_value_t = 10)]
    seconds: u64,
    /// At the speed of the game instead of as fast as it goes
    #[arg(long)]
    paced: bool,
}

/// Plays, and prints the cost.
pub(crate) fn play(run: &Run, play: &Play, report: &Report) -> Result<()> {
    let known = DIALECTS
        .into_iter()
        .find(|(_, name)| name.eq_ignore_ascii_case(&play.dialect));
    let (variant, _) = known.context("the dialects are 0.7 and DDNet")?;
    let traffic = Traffic::new(variant);
    let plan = Plan::new(&traffic, play.sessions);
    let mut bench = run.bench(play.subject, &plan)?;
    report.line(&format!("process {}", bench.subject.pid()));
    let (time, begun) = (Duration::from_secs(play.seconds), Instant::now());
    let before = bench.subject.cpu_time()?;
    if play.paced {
        bench.load.paced(time, Spread::Even, |_| Ok(()))?;
    } else {
        while begun.elapsed() < time {
            bench.load.fast(10_000, capacity::WINDOW)?;
        }
    }
    let cost = number(bench.subject.cpu_time()? - before);
    let tally = bench.load.take_tally().clean("playing")?;
    report.line(&format!(
        "{} datagrams, {:.2} us of CPU time each, {:.0} % of a core",
        tally.right,
        cost / 1000.0 / number(tally.right),
        cost / begun.elapsed().as_secs_f64() / 1e7
    ));
    Ok(())
}
