//! A script in the loop: each input is held until a subscriber of the control socket releases it. The figure is the
//! latency with the script minus the latency without a rule.

use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use tempfile::TempDir;

use super::{Bench, DIALECTS, Run};
use crate::load::{Plan, Spread, join};
use crate::net::Socket;
use crate::stats::{Report, number, percentile};
use crate::subject::Subject;
use crate::traffic::Traffic;

/// Goal for the median time that a message is held, in milliseconds.
const GOAL: f64 = 1.0;
/// Time limit until the control socket accepts a connection.
const PATIENCE: Duration = Duration::from_secs(10);

/// Measures, and prints the results.
pub(crate) fn measure(run: &Run, report: &mut Report) -> Result<()> {
    let time = Duration::from_secs(run.either(10, 2));
    report.line(&format!(
        "\nA script that releases each input of one session at game speed for {time:?}: milliseconds that it takes"
    ));
    report.line("| | median | 99th percentile | goal |");
    report.line("|---|---|---|---|");
    for (variant, name) in DIALECTS {
        let traffic = Traffic::new(variant);
        let plan = Plan {
            stamped: true,
            ..Plan::new(&traffic, 1)
        };
        let mut plain = inputs(run, &plan, None, time)?;
        let base = percentile(&mut plain, 0.5);
        let folder = TempDir::new()?;
        let path = folder.path().join("run.sock");
        let waits = inputs(run, &plan, Some(&path), time)?;
        let mut waits: Vec<f64> = waits.iter().map(|wait| wait - base).collect();
        let (median, most) = (percentile(&mut waits, 0.5), percentile(&mut waits, 0.99));
        let word = report.at_most(&format!("a script in the loop, median, {name}"), median, GOAL);
        report.line(&format!("| {name} | {median:.3} | {most:.3} | {word} |"));
    }
    Ok(())
}

/// Plays at game speed, with a script at the control socket if there is one. Returns the latency of each datagram of
/// the client, in milliseconds.
fn inputs(run: &Run, plan: &Plan<'_>, control: Option<&Path>, time: Duration) -> Result<Vec<f64>> {
    let mut options = vec!["-q", "--seed", "7"];
    if let Some(path) = control {
        let path = path.to_str().context("a temporary folder with an odd name")?;
        options.extend(["-r", "pause when input", "--control", path]);
    }
    let server = Socket::open(plan.stamped)?;
    let subject = Subject::start_watched(&run.teetap, &options, server.addr()?, &run.cores)?;
    let script = control.map(subscribe).transpose()?;
    let script = script.map(|stream| thread::spawn(move || release_all(&stream)));
    let mut bench = Bench {
        load: join(plan, server, subject.addr)?,
        subject,
    };
    bench.load.loosen();
    bench.load.paced(time, Spread::Even, |_| Ok(()))?;
    let times = bench.load.take_latencies();
    drop(bench);
    if let Some(script) = script {
        let released = script.join().ok().context("the script panicked")??;
        ensure!(released > 0, "nothing was held");
    }
    Ok(times
        .c2s
        .into_iter()
        .map(|time| number(time) / 1_000_000.0)
        .collect())
}

/// Connects to the control socket, and subscribes to messages that are not sent, so that only the events for all
/// subscribers are received.
fn subscribe(path: &Path) -> Result<UnixStream> {
    let begun = Instant::now();
    let mut stream = loop {
        match UnixStream::connect(path) {
            Ok(stream) => break stream,
            Err(error) => ensure!(begun.elapsed() < PATIENCE, "cannot connect: {error}"),
        }
        thread::sleep(Duration::from_millis(2));
    };
    writeln!(stream, r#"{{"id":1,"cmd":"subscribe","filter":"sv_motd"}}"#)?;
    Ok(stream)
}

/// Releases each held message until the run ends. Returns the number of messages.
fn release_all(stream: &UnixStream) -> Result<u64> {
    let mut released = 0;
    for line in BufReader::new(stream).lines() {
        let Ok(line) = line else { break };
        let Some(held) = line
            .split(r#""held":"#)
            .nth(1)
            .filter(|_| line.contains(r#""kind":"held""#))
        else {
            continue;
        };
        let held: String = held.chars().take_while(char::is_ascii_digit).collect();
        released += 1;
        let id = released + 1;
        let request = format!(r#"{{"id":{id},"cmd":"release","session":1,"dir":"c2s","held":{held}}}"#);
        if writeln!(&mut &*stream, "{request}").is_err() {
            break;
        }
    }
    Ok(released)
}
