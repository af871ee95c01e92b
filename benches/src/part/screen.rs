//! The cost of the terminal UI: latency of the traffic with and without it, the time from a key to its frame, and the bytes of
//! a frame.
//!
//! The screen is a pseudo-terminal of 120 by 40 cells that is read as fast as it is written.

use std::num::NonZero;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use teetap_kit::codec::Variant;
use teetap_kit::terminal::Terminal;

use super::{Bench, DIALECTS, Run};
use crate::load::{Load, Plan, Spread, join};
use crate::net::Socket;
use crate::stats::{Report, least, median, most, number, percentile};
use crate::subject::{Subject, Which};
use crate::traffic::Traffic;

/// Sessions of the runs: many players, and 20 000 messages a second.
const SESSIONS: [usize; 2] = [64, 267];
const COLUMNS: NonZero<u16> = NonZero::new(120).unwrap();
const ROWS: NonZero<u16> = NonZero::new(40).unwrap();
/// Keys that show other views, and a text that only that view has.
const KEYS: [(&str, &str); 4] = [
    ("4", "client | proxy"),
    ("6", "rtt c/s "),
    ("2", "drop  inj"),
    ("1", "following"),
];
/// The time between a frame that was waited for and the next key: no multiple of the time between frames.
const REST: Duration = Duration::from_millis(170);
/// The time between two looks at the screen.
const LOOK: Duration = Duration::from_millis(1);
/// The sequence that ends each frame: the cursor is hidden.
const FRAME: &[u8] = b"\x1b[?25l";
const MIB: f64 = 1024.0 * 1024.0;

/// Measures and prints.
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
    let (mut with, mut terminal) = watched(run, &plan)?;
    let (mut plain, mut shown) = (Figures::default(), Figures::default());
    let mut eye = Eye::default();
    let (mut frames, mut bytes) = (0, 0);
    for _ in 0..rounds {
        plain.play(&mut without, time, |_| Ok(()))?;
        let before = terminal.written().len();
        shown.play(&mut with, time, |_| eye.look(&mut terminal))?;
        eye.close();
        let written = terminal.written();
        let written = written.get(before..).unwrap_or_default();
        frames += written.windows(FRAME.len()).filter(|part| *part == FRAME).count();
        bytes += written.len();
    }
    let (_, memory) = with.subject.memory()?;
    let what = format!("{name}, {sessions} sessions");
    let ratios = (
        median(&shown.p50) / median(&plain.p50),
        least(&shown.p99) / least(&plain.p99),
    );
    let keys = percentile(&mut eye.times.clone(), 0.99);
    let goals = [
        report.at_most(&format!("latency p50 with the screen, {what}"), ratios.0, 1.05),
        report.at_most(&format!("latency p99 with the screen, {what}"), ratios.1, 1.05),
        report.at_most(&format!("key to frame in ms, {what}"), keys, 50.0),
    ];
    let seconds = time.as_secs_f64() * number(u64::try_from(rounds)?);
    let frames = number(u64::try_from(frames)?);
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
        median(&eye.times),
        most(&eye.times),
        frames / seconds,
        number(u64::try_from(bytes)?) / frames.max(1.0),
        goals.join(", ")
    ));
    terminal.press("Q")?;
    Ok(())
}

/// Starts the built binary with its screen, and joins sessions through it.
fn watched(run: &Run, plan: &Plan<'_>) -> Result<(Bench, Terminal)> {
    let server = Socket::open(plan.stamped)?;
    let (terminal, inner) = Terminal::open(COLUMNS, ROWS)?;
    let subject = Subject::start_on_screen(&run.teetap, inner, server.addr()?, &run.cores)?;
    let load = join(plan, server, subject.addr).context("joining with a screen")?;
    Ok((Bench { load, subject }, terminal))
}

impl Figures {
    /// One round.
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

/// A person who presses keys and waits for their views.
#[derive(Debug, Default)]
struct Eye {
    /// The time from each key to the frame with its view, in milliseconds.
    times: Vec<f64>,
    /// The place of the next key, or of the one whose view is waited for.
    turn: usize,
    /// The time of that key.
    pressed: Option<Instant>,
    looked: Option<Instant>,
}

impl Eye {
    /// Looks away until the next round: the time of a key that waits for its view then would be that of the pause.
    fn close(&mut self) {
        if self.pressed.take().is_some() {
            self.turn += 1;
        }
    }

    /// Presses a key when it is time to, or looks for its view.
    fn look(&mut self, terminal: &mut Terminal) -> Result<()> {
        let since = self.looked.map_or(REST, |looked| looked.elapsed());
        if since < if self.pressed.is_some() { LOOK } else { REST } {
            return Ok(());
        }
        self.looked = Some(Instant::now());
        let (key, text) = KEYS.get(self.turn % KEYS.len()).context("no keys")?;
        match self.pressed {
            None => {
                terminal.press(key)?;
                self.pressed = Some(Instant::now());
            }
            Some(pressed) if terminal.text().contains(text) => {
                self.times.push(pressed.elapsed().as_secs_f64() * 1000.0);
                self.turn += 1;
                self.pressed = None;
            }
            Some(_) => {}
        }
        Ok(())
    }
}
