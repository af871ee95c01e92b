//! `teetap torture HOST -- CMD`: a client joins once for each message of a login and each fault.
//!
//! | file | contents |
//! |---|---|
//! | `prepare.rs` | the settings of the runs |
//! | `repeat.rs` | the line that repeats a cell |
//! | `status.rs` | the progress on stderr |
//! | `table.rs` | the results as text, JSON lines and a JUnit report |

mod prepare;
mod repeat;
mod status;
mod table;

use std::{
    io,
    num::NonZeroUsize,
    sync::mpsc,
    thread,
    time::{Duration, Instant, SystemTime},
};

use teetap_harness::{
    junit::Report,
    step_summary::StepSummary,
    torture::{self, Plan, Stopper, TortureError},
};

use crate::{
    cli::TortureOptions,
    exit::{Exit, Failure},
    look, output,
    signals::Signals,
    wake::Wake,
};

use self::{prepare::prepare, status::Status, table::Table};

/// Runs the command.
pub(crate) fn torture(options: &TortureOptions) -> anyhow::Result<Exit> {
    let (wall, start) = (SystemTime::now(), Instant::now());
    let report = options.junit.as_deref().map(Report::create);
    let report = report.transpose().map_err(Failure::report)?;
    let summary = options.summary.as_deref().map(StepSummary::open);
    let summary = summary.transpose().map_err(Failure::network)?;
    let (wake, woken) = mpsc::channel();
    if options.command.is_empty() {
        let text = "no command after --; write teetap torture HOST -- CMD {addr}";
        return Err(Failure::usage(text).into());
    }
    let prepare = |rule: Option<&str>| prepare(options, rule);
    let plan = Plan {
        prepare: &prepare,
        command: &options.command,
        timeout: options.timeout,
        stay: options.stay,
        only: &options.only,
    };
    let _signals = Signals::install(wake).map_err(Failure::network)?;
    let (stopper, status) = (Stopper::default(), Status::new());
    let jobs = options.jobs.map_or(1, NonZeroUsize::get);
    let (outcome, signal) = thread::scope(|scope| {
        let tell = |progress: torture::Progress<'_>| status.tell(progress);
        let (plan, stopper) = (&plan, &stopper);
        let work = scope.spawn(move || torture::run(plan, stopper, jobs, &tell));
        let mut signal = None;
        while !work.is_finished() {
            if let Ok(Wake::Signal(number)) = woken.recv_timeout(Duration::from_millis(50)) {
                signal = Some(number);
                stopper.stop();
            }
        }
        (work.join(), signal)
    });
    status.end();
    let outcome = outcome.map_err(|_| Failure::failed("the matrix crashed: this is a bug"))?;
    let results = outcome.map_err(refused)?;
    if signal.is_some() && results.tried.is_empty() {
        return Ok(Exit::Signal(signal.unwrap_or_default()));
    }
    let table = Table::new(options, &plan, results);
    if options.json.json {
        output::write_out(table.json().as_bytes())?;
    } else {
        output::print(&table.text(look::columns(io::stdout())))?;
    }
    let suite = table.suite(wall, start.elapsed());
    if let Some(report) = report {
        report.write(&suite).map_err(Failure::network)?;
    }
    if let Some(summary) = summary {
        summary.append(&suite).map_err(Failure::network)?;
    }
    Ok(signal.map_or_else(|| table.exit(), Exit::Signal))
}

fn refused(error: TortureError) -> Failure {
    match error {
        TortureError::NoBaseline(_) => Failure::failed(error),
        TortureError::NoMessage { .. } => Failure::usage(error),
        TortureError::Run(_) => Failure::network(error),
    }
}
