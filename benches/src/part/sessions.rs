//! A thousand sessions: whether they stay alive, their memory, and the cost of a datagram among them.

use std::time::Duration;

use anyhow::Result;
use teetap_kit::codec::Variant;

use super::{DIALECTS, Run, capacity};
use crate::load::{Plan, Spread, join};
use crate::net::Socket;
use crate::proc;
use crate::stats::{Report, median, number};
use crate::subject::Which;
use crate::traffic::Traffic;

const FEW: usize = 16;
const MANY: usize = 1000;
const MIB: f64 = 1024.0 * 1024.0;

/// Measures, and prints the results.
pub(crate) fn measure(run: &Run, report: &mut Report) -> Result<()> {
    // Longer than the timeout of any peer.
    let time = Duration::from_secs(run.either(15, 3));
    report.line(&format!(
        "\n{MANY} sessions at game speed for {time:?}, all datagrams checked"
    ));
    report.line("| dialect | alive | lost | CPU of one core | base MiB | KiB per session | goals |");
    report.line("|---|---|---|---|---|---|---|");
    for (variant, name) in DIALECTS {
        alive(run, report, variant, name, time)?;
    }
    let (runs, datagrams) = (run.either(9, 3), run.either(60_000, 12_000));
    report.line(&format!(
        "\nCPU time per datagram as fast as it goes, {FEW} and {MANY} sessions, median of {runs} runs of {datagrams}"
    ));
    report.line("| dialect | forwarder | 16 sessions | 1000 sessions | growth |");
    report.line("|---|---|---|---|---|");
    for (variant, name) in DIALECTS {
        flat(run, report, variant, name, (runs, datagrams))?;
    }
    Ok(())
}

fn alive(run: &Run, report: &mut Report, variant: Variant, name: &str, time: Duration) -> Result<()> {
    let traffic = Traffic::new(variant);
    let plan = Plan::new(&traffic, MANY);
    let server = Socket::open(false)?;
    let addr = server.addr()?;
    let subject = run.start(Which::Teetap, addr)?;
    std::thread::sleep(Duration::from_millis(500));
    let (base, _) = subject.memory()?;
    let mut load = join(&plan, server, subject.addr)?;
    let cpu = subject.cpu_time()?;
    load.paced(time, Spread::Even, |_| Ok(()))?;
    let cpu = number(subject.cpu_time()? - cpu) / 1e9 / time.as_secs_f64();
    let played = load.take_tally();
    // One more turn of each session shows that all are alive.
    load.fast(3 * MANY, capacity::WINDOW)?;
    load.take_tally().clean("a thousand sessions, each once more")?;
    let open = proc::upstream_sockets(addr)?;
    let (_, highest) = subject.memory()?;
    let (base, each) = (
        number(base) / MIB,
        number(highest.saturating_sub(base)) / 1024.0 / number(u64::try_from(load.sessions())?),
    );
    let lost = number(played.lost + played.wrong);
    let words = [
        report.at_most(&format!("lost with a thousand sessions, {name}"), lost, 0.0),
        report.at_most(&format!("base memory in MiB, {name}"), base, 10.0),
        report.at_most(&format!("memory per session in KiB, {name}"), each, 8.0),
    ];
    report.line(&format!(
        "| {name} | {open} | {lost:.0} of {} | {:.0} % | **{base:.1}** | **{each:.1}** | {} |",
        played.sent,
        cpu * 100.0,
        words.join(", ")
    ));
    Ok(())
}

fn flat(
    run: &Run,
    report: &mut Report,
    variant: Variant,
    name: &str,
    (runs, datagrams): (usize, usize),
) -> Result<()> {
    let traffic = Traffic::new(variant);
    let costs = |sessions| {
        let plan = Plan::new(&traffic, sessions);
        capacity::interleaved(run, &plan, runs, datagrams)
    };
    let (few, many) = (costs(FEW)?, costs(MANY)?);
    for (which, (few, many)) in Which::ALL.into_iter().zip(few.iter().zip(&many)) {
        let (few, many) = (&few.total, &many.total);
        let growth = median(many) / median(few);
        let word = if which == Which::Teetap {
            format!(
                ", {}",
                report.at_most(&format!("growth of the cost, {name}"), growth, 1.15)
            )
        } else {
            String::new()
        };
        report.line(&format!(
            "| {name} | {which:?} | {} | {} | **{growth:.2}**{word} |",
            capacity::figure(few),
            capacity::figure(many)
        ));
    }
    Ok(())
}
