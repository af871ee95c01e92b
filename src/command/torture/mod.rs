//! `teetap torture HOST -- CMD`: a client joins once for each message of a login and each fault.
//!
//! Law: a cell is a run of this program with a listen port and a session of its own, so its line repeats it. What a cell
//! is expected to survive is a table of facts about the peers, not what the runs show.
//!
//! | file | contents |
//! |---|---|
//! | `login.rs` | the messages of a login |
//! | `cell.rs` | a message and a fault: the rule, and what peers survive |
//! | `run.rs` | one run of this program |
//! | `watch.rs` | the facts that its lines show |
//! | `verdict.rs` | the verdict that follows from them |
//! | `tries.rs` | the order of runs: baseline, cells, second tries |
//! | `status.rs` | the progress on stderr |
//! | `table.rs` | the results as text, JSON lines and a JUnit report |

mod cell;
mod login;
mod run;
mod status;
mod table;
mod tries;
mod verdict;
mod watch;

use std::{
    io,
    num::NonZeroUsize,
    path::Path,
    sync::mpsc,
    thread,
    time::{Duration, Instant, SystemTime},
};

use teetap_harness::junit::Report;

use crate::{
    cli::TortureOptions,
    exit::{Exit, Failure},
    look, output,
    signals::Signals,
    wake::Wake,
};

use self::{
    cell::Cell,
    run::{Plan, Stopper},
    status::Status,
    table::Table,
    tries::Tester,
    verdict::{Judged, Verdict},
};

/// The result of a cell.
#[derive(Clone, Debug)]
struct Tried {
    cell: Cell,
    judged: Judged,
    /// The verdict of the first try, if there was a second one.
    first: Option<Verdict>,
    /// The time that it took.
    took: Duration,
}

impl Tried {
    /// Returns true if peers of the protocol cope with the fault, and this client did not.
    fn has_failed(&self) -> bool {
        self.cell.is_survived() && self.judged.verdict.is_bad()
    }

    /// Returns true if it failed first, and not when it was tried alone.
    fn is_second(&self) -> bool {
        self.first.is_some() && !self.judged.verdict.is_bad()
    }

    /// Returns the sentence about it: the message, the fault, the verdict and the reason.
    fn sentence(&self) -> String {
        let (dir, name, fault) = (
            &self.cell.step.dir,
            self.cell.step.short(),
            self.cell.fault.name(),
        );
        let first = match &self.first {
            Some(first) if self.is_second() => format!("{first}; when tried again, "),
            Some(_) => "twice: ".to_owned(),
            None => String::new(),
        };
        let why = match (&self.judged.verdict, &self.judged.why) {
            (Verdict::Faulty(..), Some(why)) => format!(" {why}"),
            (_, Some(why)) => format!(": {why}"),
            (_, None) => String::new(),
        };
        format!("{dir} {name} {fault}: {first}{}{why}", self.judged.verdict)
    }
}

/// Runs the command.
pub(crate) fn torture(options: &TortureOptions) -> anyhow::Result<Exit> {
    let (wall, start) = (SystemTime::now(), Instant::now());
    let report = options.junit.as_deref().map(Report::create);
    let report = report.transpose().map_err(Failure::report)?;
    let (wake, woken) = mpsc::channel();
    let plan = Plan::new(options)?;
    let _signals = Signals::install(wake).map_err(Failure::network)?;
    let (stopper, status) = (Stopper::default(), Status::new());
    let jobs = options.jobs.map_or(1, NonZeroUsize::get);
    let (outcome, signal) = thread::scope(|scope| {
        let work = scope.spawn(|| Tester::new(&plan, &stopper, &status).all(jobs));
        let mut signal = None;
        while !work.is_finished() {
            if let Ok(Wake::Signal(number)) = woken.recv_timeout(Duration::from_millis(50)) {
                signal = Some(number);
                stopper.stop();
            }
        }
        let crashed = || Failure::failed("the matrix crashed: this is a bug");
        (work.join().unwrap_or_else(|_| Err(crashed())), signal)
    });
    status.end();
    let results = outcome?;
    if signal.is_some() && results.tried.is_empty() {
        return Ok(Exit::Signal(signal.unwrap_or_default()));
    }
    let table = Table::new(&plan, results, options.all);
    if options.json.json {
        output::write_out(table.json().as_bytes())?;
    } else {
        output::print(&table.text(look::columns(io::stdout())))?;
    }
    if let Some(report) = report {
        let suite = table.suite(wall, start.elapsed());
        report.write(&suite).map_err(Failure::network)?;
    }
    Ok(signal.map_or_else(|| table.exit(), Exit::Signal))
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
