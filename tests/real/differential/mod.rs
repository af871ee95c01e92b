//! Hundreds of handshakes and rejoins with one mistake each, by a scripted client on real sockets: directly and
//! through the built binary they have the same progress and receive the same answers at the same time.
//!
//! Law: a handshake that fails against the real server fails in the same way behind the proxy, and a handshake that
//! succeeds directly succeeds behind the proxy. `exceptions.rs` lists the cases in which this is impossible, with the
//! reasons.
//!
//! Servers: Debian's Teeworlds 0.7.5 and DDNet 16.4; scripted servers of 0.6.4 and 0.6.5, unless `TEETAP_SERVER_064`
//! and `TEETAP_SERVER_065` name real servers; a scripted server for DDNet's challenge, which 16.4 sends wrongly. The
//! short form runs a part of the cells, `TEETAP_LONG=1` (`tests/run --long`) all of them, and `TEETAP_CELLS=text` the
//! cells whose names contain the text.

mod beginners;
mod cells;
mod exceptions;
mod explained;
mod firsts;
mod habits;
mod mistakes;
mod more;
mod pauses;
mod rejoins;
mod special;
mod target;

use std::collections::VecDeque;
use std::path::Path;
use std::sync::Mutex;
use std::thread;
use std::time::Duration;

use anyhow::{Result, ensure};
use teetap_kit::real::{Teetap, turn};
use teetap_kit::script::Trace;

use crate::TEETAP;
use cells::Cell;
use exceptions::exception;
use target::Target;

/// A tick of the server, plus the delay of two programs on a busy machine.
const TOLERANCE: Duration = Duration::from_millis(20 + 40);

/// Number of times that a cell is repeated before it is reported as different.
const TRIES: usize = 2;

/// Number of repeated cells that run in parallel: on a busy machine, times differ.
const FEW: usize = 6;

/// A cell with its two runs.
#[derive(Debug)]
struct Outcome {
    cell: Cell,
    direct: Trace,
    proxied: Trace,
}

impl Outcome {
    fn difference(&self) -> Option<String> {
        self.direct.difference(&self.proxied, TOLERANCE)
    }
}

#[test]
fn handshakes_and_rejoins_are_the_same_through_the_proxy() -> Result<()> {
    let _turn = turn::shared()?;
    let outcomes = Mutex::new(Vec::new());
    thread::scope(|scope| {
        let lanes: Vec<_> = lanes()
            .into_iter()
            .map(|cells| scope.spawn(|| lane(cells, &outcomes)))
            .collect();
        lanes.into_iter().try_for_each(|lane| lane.join().unwrap())
    })?;
    report(&outcomes.into_inner()?)
}

/// The scripted servers of 0.6.4 and 0.6.5 must answer handshakes like the real ones; tested only if the real ones
/// are available.
#[test]
fn the_scripted_servers_answer_as_the_real_ones() -> Result<()> {
    let _turn = turn::shared()?;
    let wrong = Mutex::new(Vec::new());
    thread::scope(|scope| {
        let lanes: Vec<_> = lanes()
            .into_iter()
            .map(|cells| scope.spawn(|| scripted_as_real(cells, &wrong)))
            .collect();
        lanes.into_iter().try_for_each(|lane| lane.join().unwrap())
    })?;
    let wrong = wrong.into_inner()?;
    ensure!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
    Ok(())
}

fn scripted_as_real(cells: Vec<Cell>, wrong: &Mutex<Vec<String>>) -> Result<()> {
    let Some(target) = cells.first().map(|cell| cell.target) else {
        return Ok(());
    };
    let (Some(mut real), Some(scripted)) = (target.start_real()?, target.start_scripted()?) else {
        return Ok(());
    };
    let outcomes = side_by_side(cells, real.room(), |cell| {
        let (direct, answered) = thread::scope(|scope| {
            let direct = scope.spawn(|| cell.script.run(real.addr(), 1));
            let scripted = cell.script.run(scripted.addr(), 2);
            (direct.join().unwrap(), scripted)
        });
        Ok(Outcome {
            cell,
            direct: direct?,
            proxied: answered?,
        })
    })?;
    // Scripted servers send nothing compressed, and have no leftover buffer. Whether a challenge is valid for 14 s
    // depends on the age of its salt (0.6.5, network_server.cpp, `Update`), which differs between two servers.
    let is_same = |Outcome { cell, .. }: &Outcome| {
        let by_age = cell.target.is_challenged() && cell.name.contains("waits 14 s");
        exception(&cell.name).is_none() && !cell.name.contains("inflate") && !by_age
    };
    for outcome in outcomes.into_iter().filter(is_same) {
        let (real, scripted) = (&outcome.direct, &outcome.proxied);
        let handshake = real.handshake().difference(&scripted.handshake(), TOLERANCE);
        let progress = (real.progress() != scripted.progress()).then(|| "progress".to_owned());
        if let Some(difference) = handshake.or(progress) {
            let text = format!(
                "{}\n  {difference}\n  real\n{real}  scripted\n{scripted}",
                outcome.cell.name
            );
            wrong.lock().unwrap().push(text);
        }
    }
    real.stop()
}

/// Returns the cells to run, grouped by the server that they share.
fn lanes() -> Vec<Vec<Cell>> {
    let wanted = std::env::var("TEETAP_CELLS").ok();
    let is_long = std::env::var_os("TEETAP_LONG").is_some();
    let chosen: Vec<Cell> = cells::all()
        .into_iter()
        .filter(|cell| match &wanted {
            Some(text) => cell.name.contains(text.as_str()),
            None => is_long || cells::is_short(cell),
        })
        .collect();
    let of = |target: Target| {
        let cells: Vec<_> = chosen
            .iter()
            .filter(|cell| cell.target == target)
            .cloned()
            .collect();
        let size = cells.len().div_ceil(target.lanes()).max(1);
        cells.chunks(size).map(<[Cell]>::to_vec).collect::<Vec<_>>()
    };
    Target::ALL.into_iter().flat_map(of).collect()
}

/// Runs the cells, `at_once` in parallel.
fn side_by_side<C: Send, T: Send>(
    cells: Vec<C>,
    at_once: usize,
    run: impl Fn(C) -> Result<T> + Sync,
) -> Result<Vec<T>> {
    let (queue, done) = (Mutex::new(VecDeque::from(cells)), Mutex::new(Vec::new()));
    thread::scope(|scope| {
        let work = || -> Result<()> {
            loop {
                let next = queue.lock().unwrap().pop_front();
                let Some(cell) = next else {
                    return Ok(());
                };
                let outcome = run(cell)?;
                done.lock().unwrap().push(outcome);
            }
        };
        let workers: Vec<_> = (0..at_once).map(|_| scope.spawn(work)).collect();
        workers.into_iter().try_for_each(|worker| worker.join().unwrap())
    })?;
    Ok(done.into_inner().unwrap())
}

/// Runs cells on one server and one proxy. Repeats cells that differ, with few others in parallel.
fn lane(cells: Vec<Cell>, all: &Mutex<Vec<Outcome>>) -> Result<()> {
    let Some(target) = cells.first().map(|cell| cell.target) else {
        return Ok(());
    };
    let mut server = target.start()?;
    let teetap = Teetap::start_keeping(Path::new(TEETAP), server.addr(), &[], |line| {
        line.contains("\"start\"")
    })?;
    let both = |cell: Cell| -> Result<Outcome> {
        let (direct, proxied) = thread::scope(|scope| {
            let direct = scope.spawn(|| cell.script.run(server.addr(), 1));
            let proxied = cell.script.run(teetap.listen(), 2);
            (direct.join().unwrap(), proxied)
        });
        Ok(Outcome {
            cell,
            direct: direct?,
            proxied: proxied?,
        })
    };
    let mut outcomes = side_by_side(cells, server.room(), both)?;
    for _ in 0..TRIES {
        let is_right =
            |outcome: &Outcome| outcome.difference().is_none() || exception(&outcome.cell.name).is_some();
        let (right, again): (Vec<_>, Vec<_>) = outcomes.into_iter().partition(is_right);
        outcomes = right;
        outcomes.extend(side_by_side(
            again.into_iter().map(|outcome| outcome.cell).collect(),
            FEW.min(server.room()),
            both,
        )?);
    }
    all.lock().unwrap().extend(outcomes);
    drop(teetap);
    server.stop()
}

#[expect(clippy::print_stdout, reason = "the figures are for those who run it")]
fn report(outcomes: &[Outcome]) -> Result<()> {
    let (mut wrong, mut known) = (0, 0);
    for outcome in outcomes {
        let name = &outcome.cell.name;
        let Some(difference) = outcome.difference() else {
            continue;
        };
        let reason = exception(name);
        println!(
            "{}{name}\n  {difference}",
            if reason.is_some() { "(known) " } else { "" }
        );
        println!(
            "  directly\n{}  through the proxy\n{}",
            outcome.direct, outcome.proxied
        );
        wrong += usize::from(reason.is_none());
        known += usize::from(reason.is_some());
    }
    println!("{} cells, {wrong} differ, {known} are known to", outcomes.len());
    ensure!(wrong == 0, "{wrong} of {} cells differ", outcomes.len());
    Ok(())
}
