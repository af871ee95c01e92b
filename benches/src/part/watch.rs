//! The cost of watching: CPU time per datagram of the whole process at game speed, with plain output, a recording, and both.
//!
//! An event is decoded once however many watch, so two watchers should cost less than the sum of each alone.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result};
use tempfile::TempDir;

use super::{Bench, DIALECTS, Run, capacity};
use crate::load::{Plan, Spread, join};
use crate::net::Socket;
use crate::stats::{Report, median, number};
use crate::subject::Subject;
use crate::traffic::Traffic;

/// The watchers of a run, and the options for them; `FILE` stands for a new recording. Stdout is discarded.
const WATCHED: [(&str, &[&str]); 5] = [
    ("none", &["-q"]),
    ("plain lines", &[]),
    ("recording", &["-q", "-w", FILE]),
    ("plain lines, recording", &["-w", FILE]),
    ("JSON lines, recording", &["--json", "-w", FILE]),
];
const FILE: &str = "FILE";

const SESSIONS: usize = 64;
/// Time that the process gets to write the last events.
const REST: Duration = Duration::from_millis(300);

/// Measures and prints; with `before`, an older binary beside the built one.
///
/// # Errors
/// When a datagram got lost or changed, or a process failed.
pub(crate) fn measure(run: &Run, before: Option<&Path>, report: &Report) -> Result<()> {
    let (runs, time) = (run.either(5, 1), Duration::from_secs(run.either(3, 1)));
    report.line(&format!(
        "\nWatchers: CPU time per datagram of the whole process, {SESSIONS} sessions at game speed, median of {runs} runs of {time:?} [least-most]"
    ));
    for (variant, name) in DIALECTS {
        let traffic = Traffic::new(variant);
        let plan = Plan {
            traffic: &traffic,
            variant,
            sessions: SESSIONS,
            stamped: false,
        };
        report.line(&format!(
            "| {name}, watched by | before | teetap | before/teetap |"
        ));
        report.line("|---|---|---|---|");
        for (watchers, options) in WATCHED {
            let (mut old, mut new) = (Vec::new(), Vec::new());
            for _ in 0..runs {
                if let Some(before) = before {
                    old.push(cost(run, before, options, &plan, time)?);
                }
                new.push(cost(run, &run.teetap, options, &plan, time)?);
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

/// Nanoseconds per datagram of one run.
fn cost(run: &Run, teetap: &Path, options: &[&str], plan: &Plan<'_>, time: Duration) -> Result<f64> {
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
    bench.load.paced(time, Spread::Even, |_| Ok(()))?;
    std::thread::sleep(REST);
    let after = bench.subject.cpu_time()?;
    let tally = bench.load.take_tally().clean("a watched run")?;
    Ok(number(after - before) / number(tally.right))
}
