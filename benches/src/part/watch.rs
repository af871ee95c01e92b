//! The cost of watching: CPU time per datagram of the whole process, with plain output, a recording, and both.
//!
//! The traffic is sent in bursts as fast as possible, with pauses in which the watchers catch up. No event is missed,
//! and wakeups cost little.
//!
//! An event is decoded once for any number of watchers, so two watchers should cost less than the sum of each alone.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result};
use tempfile::TempDir;

use super::{Bench, DIALECTS, Run, capacity};
use crate::load::{Plan, join};
use crate::net::Socket;
use crate::stats::{Report, median, number};
use crate::subject::Subject;
use crate::traffic::Traffic;

/// The watchers of a run, and their options. `FILE` is replaced by the path of a new recording. Stdout is discarded.
const WATCHED: [(&str, &[&str]); 5] = [
    ("none", &["-q"]),
    ("plain lines", &[]),
    ("recording", &["-q", "-w", FILE]),
    ("plain lines, recording", &["-w", FILE]),
    ("JSON lines, recording", &["--json", "-w", FILE]),
];
const FILE: &str = "FILE";

const SESSIONS: usize = 16;
/// Number of datagrams in a burst.
const BURST: usize = 2000;
/// Time in which the watchers catch up after a burst.
const PAUSE: Duration = Duration::from_millis(50);
/// Time in which the last events are written.
const REST: Duration = Duration::from_millis(300);

/// Measures, and prints the results. `before` is an older binary that is measured beside the built one.
pub(crate) fn measure(run: &Run, before: Option<&Path>, report: &Report) -> Result<()> {
    let (runs, bursts) = (run.either(7, 1), run.either(20, 5));
    report.line(&format!(
        "\nWatchers: CPU time per datagram of the whole process, {SESSIONS} sessions, median of {runs} runs of {bursts} bursts of {BURST} datagrams [least-most]"
    ));
    for (variant, name) in DIALECTS {
        let traffic = Traffic::new(variant);
        let plan = Plan::new(&traffic, SESSIONS);
        report.line(&format!(
            "| {name}, watched by | before | teetap | before/teetap |"
        ));
        report.line("|---|---|---|---|");
        for (watchers, options) in WATCHED {
            let (mut old, mut new) = (Vec::new(), Vec::new());
            for _ in 0..runs {
                if let Some(before) = before {
                    old.push(cost(run, before, options, &plan, bursts)?);
                }
                new.push(cost(run, &run.teetap, options, &plan, bursts)?);
            }
            let (figure, ratio) = if old.is_empty() {
                ("-".to_owned(), "-".to_owned())
            } else {
                (
                    capacity::figure(&old),
                    format!("{:.2}", median(&old) / median(&new)),
                )
            };
            report.line(&format!(
                "| {watchers} | {figure} | {} | {ratio} |",
                capacity::figure(&new)
            ));
        }
    }
    Ok(())
}

/// Returns the nanoseconds per datagram of one run.
fn cost(run: &Run, teetap: &Path, options: &[&str], plan: &Plan<'_>, bursts: usize) -> Result<f64> {
    let folder = TempDir::new()?;
    let file = folder.path().join("run.pcapng");
    let file = file.to_str().context("a temporary folder with an odd name")?;
    let options: Vec<&str> = options
        .iter()
        .map(|option| if *option == FILE { file } else { option })
        .collect();
    let server = Socket::open(plan.stamped)?;
    let subject = Subject::start_watched(teetap, &options, server.addr()?, &run.cores)?;
    let load = join(plan, server, subject.addr).with_context(|| format!("joining with {options:?}"))?;
    let mut bench = Bench { load, subject };
    std::thread::sleep(REST);
    let before = bench.subject.cpu_time()?;
    for _ in 0..bursts {
        bench.load.fast(BURST, capacity::WINDOW)?;
        std::thread::sleep(PAUSE);
    }
    std::thread::sleep(REST);
    let after = bench.subject.cpu_time()?;
    let tally = bench.load.take_tally().clean("a watched run")?;
    Ok(number(after - before) / number(tally.right))
}
