//! `teetap torture HOST -- CMD`: a client joins once for each message of a login and each fault.
//!
//! Law: a cell is a run of this program with a listen port and a session of its own, so its line repeats it. What a cell
//! is expected to survive is a table of facts about the peers, not what the runs show.

mod cell;
mod login;
mod run;
mod table;

use std::{
    num::NonZeroUsize,
    path::Path,
    sync::{Mutex, mpsc},
    thread,
    time::{Duration, Instant, SystemTime},
};

use crate::{
    cli::TortureOptions,
    exit::{Exit, Failure},
    junit::Report,
    live::Wake,
    output,
    signals::Signals,
};

use self::{
    cell::Cell,
    login::Login,
    run::{Joined, Plan, Stopper},
    table::Table,
};

/// The result of a cell.
#[derive(Clone, Debug)]
struct Tried {
    cell: Cell,
    joined: Joined,
    /// The time that it took.
    took: Duration,
}

/// Runs the command.
pub(crate) fn torture(options: &TortureOptions) -> anyhow::Result<Exit> {
    let (wall, start) = (SystemTime::now(), Instant::now());
    let report = options.junit.as_deref().map(Report::create).transpose()?;
    let (wake, woken) = mpsc::channel();
    let _signals = Signals::install(wake).map_err(Failure::network)?;
    let plan = Plan::new(options)?;
    let stopper = Stopper::default();
    let (sender, results) = mpsc::channel();
    let work = || {
        let outcome = run_all(&plan, jobs(options.jobs), &stopper);
        // The receiver is gone if a signal ended the run.
        let _ended = sender.send(outcome);
    };
    let outcome = thread::scope(|scope| {
        scope.spawn(work);
        loop {
            if let Ok(Wake::Signal(number)) = woken.try_recv() {
                stopper.stop();
                return Err(Exit::Signal(number));
            }
            if let Ok(outcome) = results.recv_timeout(Duration::from_millis(50)) {
                return Ok(outcome);
            }
        }
    });
    let (baseline, tried) = match outcome {
        Ok(outcome) => outcome?,
        Err(exit) => return Ok(exit),
    };
    let table = Table::new(&plan, baseline, tried);
    if options.json.json {
        output::write_out(table.json().as_bytes())?;
    } else {
        output::print(&table.text())?;
    }
    if let Some(report) = report {
        let suite = table.suite(wall, start.elapsed());
        report.write(&suite).map_err(Failure::network)?;
    }
    Ok(table.exit())
}

/// Returns how many runs there are at once.
fn jobs(wanted: Option<NonZeroUsize>) -> usize {
    wanted
        .or_else(|| thread::available_parallelism().ok())
        .map_or(1, NonZeroUsize::get)
}

/// Runs the baseline, then all cells.
fn run_all(plan: &Plan, jobs: usize, stopper: &Stopper) -> Result<(Duration, Vec<Tried>), Failure> {
    let (joined, lines) = plan.run(None, stopper)?;
    let Joined::After(baseline) = joined else {
        return Err(Failure::failed(format!(
            "the baseline run without a fault did not join: {joined}; try teetap run {} -- CMD",
            plan.target()
        )));
    };
    let login = Login::of(&lines).only(&plan.only)?;
    let cells = Mutex::new(Cell::all(&login).into_iter().enumerate());
    let tried = Mutex::new(Vec::new());
    let failed = Mutex::new(None);
    let next = || cells.lock().ok().and_then(|mut cells| cells.next());
    let work = || {
        while let Some((at, cell)) = next() {
            let begun = Instant::now();
            match plan.run(Some(&cell), stopper) {
                Ok((joined, _)) => {
                    let took = begun.elapsed();
                    if let Ok(mut tried) = tried.lock() {
                        tried.push((at, Tried { cell, joined, took }));
                    }
                }
                Err(failure) => {
                    if let Ok(mut failed) = failed.lock() {
                        *failed = Some(failure);
                    }
                    return;
                }
            }
        }
    };
    thread::scope(|scope| {
        for _ in 0..jobs {
            scope.spawn(work);
        }
    });
    if let Ok(Some(failure)) = failed.into_inner() {
        return Err(failure);
    }
    let mut tried = tried.into_inner().unwrap_or_default();
    tried.sort_by_key(|(at, _)| *at);
    Ok((baseline, tried.into_iter().map(|(_, tried)| tried).collect()))
}

/// Returns the path of this program, which runs the cells.
fn program() -> Result<std::path::PathBuf, Failure> {
    std::env::current_exe().map_err(|error| Failure::network(format!("cannot find this program: {error}")))
}

/// Returns the name of this program for lines that repeat a cell.
fn shown(path: &Path) -> String {
    path.file_name()
        .map_or_else(|| "teetap".to_owned(), |name| name.to_string_lossy().into_owned())
}
