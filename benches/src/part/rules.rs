//! The cost of rules and of link lines, and the accuracy of their delays.
//!
//! Everything is compared with the same binary without rules, measured in turn with it.

use std::time::Duration;

use anyhow::{Context as _, Result, bail};

use super::{Bench, DIALECTS, Run, capacity};
use crate::load::{Plan, Spread, join};
use crate::net::Socket;
use crate::stats::{Report, median, number, percentile};
use crate::subject::Subject;
use crate::traffic::Traffic;

/// Number of sessions for rules.
const SESSIONS: usize = 16;
/// Number of sessions for link lines.
const LINKED: usize = 64;

/// Messages that the traffic does not contain, of both directions and of all protocols.
const RARE: [&str; 20] = [
    "sv_motd",
    "sv_broadcast",
    "sv_kill_msg",
    "sv_emoticon",
    "sv_vote_set",
    "sv_vote_status",
    "sv_vote_option_add",
    "sv_vote_clear_options",
    "sv_extra_projectile",
    "sv_tune_params",
    "rcon_line",
    "sv_team",
    "cl_kill",
    "cl_emoticon",
    "cl_vote",
    "cl_call_vote",
    "cl_set_team",
    "rcon_cmd",
    "rcon_auth",
    "cl_set_spectator_mode",
];

/// The delay whose accuracy is measured.
const DELAY: Duration = Duration::from_millis(20);
/// Goals for the error of a delay in milliseconds: median and 99th percentile.
const GOALS: (f64, f64) = (0.3, 2.0);

/// A set of rules: its name, the rules, and the goal for the cost relative to no rules.
type Set = (&'static str, Vec<String>, Option<f64>);

/// Measures, and prints the results.
pub(crate) fn measure(run: &Run, report: &mut Report) -> Result<()> {
    let (runs, datagrams) = (run.either(7, 3), run.either(60_000, 10_000));
    report.line(&format!(
        "\nRules and link lines: CPU time per datagram, median of {runs} interleaved runs of {datagrams} datagrams [least-most]"
    ));
    for (variant, name) in DIALECTS {
        let traffic = Traffic::new(variant);
        let plan = Plan::new(&traffic, SESSIONS);
        report.line(&format!(
            "| {name}, {SESSIONS} sessions | teetap | / no rules | goal |"
        ));
        report.line("|---|---|---|---|");
        compare(run, &plan, (runs, datagrams), rules(), (name, report))?;
        let plan = Plan::new(&traffic, LINKED);
        report.line(&format!(
            "| {name}, {LINKED} sessions | teetap | / no rules | goal |"
        ));
        report.line("|---|---|---|---|");
        compare(run, &plan, (runs, datagrams), links(), (name, report))?;
    }
    accuracy(run, report)
}

/// Returns the sets of rules. The traffic has inputs, snapshots, and one chat message in 8 datagrams of the server.
fn rules() -> Vec<Set> {
    let each = |action: &str, count: usize| -> Vec<String> {
        let rule = |number: usize, name: &&str| format!("r{number}: {action} when {name}");
        (0..count)
            .zip(RARE.iter().cycle())
            .map(|(number, name)| rule(number, name))
            .collect()
    };
    let checked = |count: usize| -> Vec<String> {
        (0..count)
            .map(|number| format!("r{number}: log when input.intended_tick == {}", 5 + number))
            .collect()
    };
    vec![
        ("no rules", Vec::new(), None),
        ("1 rule that logs, never matches", each("log", 1), Some(1.05)),
        ("20 such rules", each("log", 20), Some(1.05)),
        ("50 such rules", each("log", 50), None),
        (
            "1 rule that drops, on sv_chat, armed",
            vec!["drop when sv_chat.message == \"other\"".to_owned()],
            Some(1.10),
        ),
        ("20 rules that drop, never match, armed", each("drop", 20), None),
        ("1 condition on each input", checked(1), None),
        ("20 conditions on each input", checked(20), None),
        ("50 conditions on each input", checked(50), None),
    ]
}

fn links() -> Vec<Set> {
    let line = |text: &str| vec![text.to_owned()];
    vec![
        ("no link lines", Vec::new(), None),
        ("`delay 2ms`", line("link both delay 2ms"), None),
        (
            "`delay 2ms jitter 500us normal`",
            line("link both delay 2ms jitter 500us normal"),
            None,
        ),
        (
            "`delay 2ms rate 100mbit`",
            line("link both delay 2ms rate 100mbit"),
            None,
        ),
    ]
}

/// Compares the cost of each set of rules with the cost of the first set.
fn compare(
    run: &Run,
    plan: &Plan<'_>,
    (runs, datagrams): (usize, usize),
    sets: Vec<Set>,
    (dialect, report): (&str, &mut Report),
) -> Result<()> {
    let mut benches = Vec::new();
    for (name, rules, _) in &sets {
        benches.push(start(run, plan, rules).with_context(|| format!("starting with {name}"))?);
    }
    for bench in &mut benches {
        bench.cost(datagrams / 4, capacity::WINDOW)?;
    }
    let mut costs: Vec<Vec<f64>> = vec![Vec::new(); sets.len()];
    for _ in 0..runs {
        for (bench, costs) in benches.iter_mut().zip(&mut costs) {
            costs.push(bench.cost(datagrams, capacity::WINDOW)?);
        }
    }
    let none = costs.first().cloned().unwrap_or_default();
    for ((name, _, goal), costs) in sets.iter().zip(&costs) {
        let ratios: Vec<f64> = costs.iter().zip(&none).map(|(cost, none)| cost / none).collect();
        let ratio = median(&ratios);
        let word = goal.map(|goal| report.at_most(&format!("{name}, {dialect}"), ratio, goal));
        let word = word.unwrap_or_else(|| "-".to_owned());
        report.line(&format!(
            "| {name} | {} | **{ratio:.2}** | {word} |",
            capacity::figure(costs)
        ));
    }
    Ok(())
}

/// Starts the binary with rules, and joins sessions through it.
fn start(run: &Run, plan: &Plan<'_>, rules: &[String]) -> Result<Bench> {
    let mut options = vec!["-q", "--seed", "7"];
    for rule in rules {
        options.extend(["-r", rule]);
    }
    let server = Socket::open(plan.stamped)?;
    let subject = Subject::start_watched(&run.teetap, &options, server.addr()?, &run.cores)?;
    let load = join(plan, server, subject.addr)?;
    Ok(Bench { load, subject })
}

/// Measures the errors of delays by rules and link lines. The latency without rules is subtracted.
fn accuracy(run: &Run, report: &mut Report) -> Result<()> {
    let time = Duration::from_secs(run.either(10, 1));
    report.line(&format!(
        "\nDelays of {DELAY:?}, {LINKED} sessions at game speed for {time:?}: error in milliseconds"
    ));
    report.line("| | median | 99th percentile | goals |");
    report.line("|---|---|---|---|");
    for (variant, name) in DIALECTS {
        let traffic = Traffic::new(variant);
        let plan = Plan {
            stamped: true,
            ..Plan::new(&traffic, LINKED)
        };
        let link = format!("link both delay {}ms", DELAY.as_millis());
        let rule = format!("delay {}ms when not vital", DELAY.as_millis());
        let mut plain = latencies(&mut start(run, &plan, &[])?, time)?;
        let base = percentile(&mut plain, 0.5);
        // The variation that the machine causes.
        let mut spread: Vec<f64> = plain.iter().map(|delay| (delay - base).abs()).collect();
        let (median, most) = (percentile(&mut spread, 0.5), percentile(&mut spread, 0.99));
        report.line(&format!("| {name}, no delay | {median:.3} | {most:.3} | - |"));
        for (what, text) in [("link line", link), ("rule", rule)] {
            let mut bench = start(run, &plan, &[text]).with_context(|| format!("a delay by a {what}"))?;
            let wanted = DELAY.as_secs_f64() * 1000.0 + base;
            bench.load.loosen();
            let delays = latencies(&mut bench, time)?;
            let count = delays.len();
            // The rule does not delay vital messages.
            let delayed = delays.into_iter().filter(|delay| *delay > wanted / 2.0);
            let mut errors: Vec<f64> = delayed.map(|delay| (delay - wanted).abs()).collect();
            if errors.len() < count / 2 {
                bail!("a {what} delayed only {} of {count} datagrams", errors.len());
            }
            let (median, most) = (percentile(&mut errors, 0.5), percentile(&mut errors, 0.99));
            let words = (
                report.at_most(&format!("delay of a {what}, median, {name}"), median, GOALS.0),
                report.at_most(&format!("delay of a {what}, p99, {name}"), most, GOALS.1),
            );
            report.line(&format!(
                "| {name}, {what} | {median:.3} | {most:.3} | {}; {} |",
                words.0, words.1
            ));
        }
    }
    Ok(())
}

/// Plays at game speed. Returns the latency of each datagram, in milliseconds.
///
/// # Errors
/// Returns an error if less than half of the datagrams arrived.
fn latencies(bench: &mut Bench, time: Duration) -> Result<Vec<f64>> {
    bench.load.paced(time, Spread::Even, |_| Ok(()))?;
    let sent = bench.load.take_tally().sent;
    let times = bench.load.take_latencies();
    let all = times.c2s.into_iter().chain(times.s2c);
    let all: Vec<f64> = all.map(|time| number(time) / 1_000_000.0).collect();
    if (all.len() as u64) < sent / 2 {
        bail!("only {} of {sent} datagrams arrived", all.len());
    }
    Ok(all)
}
