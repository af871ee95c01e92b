//! `teetap shrink JOURNAL -- CMD`: the smallest set of faults with which a command still fails.

use std::{
    cell::Cell,
    fs,
    io::Write as _,
    path::{Path, PathBuf},
    sync::mpsc,
};

use teetap_engine::faults;
use teetap_harness::shrink::{self, Found, ShrinkError, Trial, emptied, has_place};
use teetap_proxy::io::{
    files::{Access, open_private},
    journal::{DecisionLine, Journal},
};
use teetap_rules::Decision;
use teetap_wire::{counted, printable, printable_path};

use crate::{
    cli::ShrinkOptions,
    exit::{Exit, Failure},
    output::print_status,
    signals::Signals,
    wake::Wake,
};

/// Maximum number of faults listed at the end.
const MAX_LISTED: usize = 100;

/// Searches for the smallest set of faults.
///
/// # Errors
/// Returns a [`Failure`] if the command line is wrong, the journal cannot be read, or the command cannot be started,
/// succeeds with all faults, or fails without any.
pub(crate) fn shrink(options: &ShrinkOptions) -> anyhow::Result<Exit> {
    if options.fails > options.runs {
        let text = format!("--fails {} is more than --runs {}", options.fails, options.runs);
        return Err(Failure::usage(text).into());
    }
    if !options.command.iter().any(|word| has_place(word)) {
        let text = "no word of the command has {faults}, which becomes the path of a journal; add --faults-from {faults}";
        return Err(Failure::usage(text).into());
    }
    let journal = faults::read(&options.journal).map_err(|error| Failure::faults(&error))?;
    let output = options.output.clone().unwrap_or_else(|| beside(&options.journal));
    // Checks before an hour of runs that the output can be written.
    let is_new = !output.exists();
    drop(open_private(&output, Access::Append).map_err(|error| cannot_write(&output, &error))?);
    let (wake, woken) = mpsc::channel();
    let _signals = Signals::install(wake).map_err(Failure::network)?;
    let result = search(options, &journal, &output, &woken);
    if is_new && fs::metadata(&output).is_ok_and(|found| found.len() == 0) {
        fs::remove_file(&output).map_err(|error| cannot_write(&output, &error))?;
    }
    result
}

/// Searches, and writes the remaining faults.
fn search(
    options: &ShrinkOptions,
    journal: &Journal,
    output: &Path,
    woken: &mpsc::Receiver<Wake>,
) -> anyhow::Result<Exit> {
    let all = journal.decisions.len();
    let name = printable_path(&options.journal);
    print_status(&format!("teetap: {name}: {}", counted(all, "fault")));
    let signal = Cell::new(None);
    let is_stopped = || {
        if let Ok(Wake::Signal(number)) = woken.try_recv() {
            signal.set(Some(number));
        }
        signal.get().is_some()
    };
    let trial = Trial {
        journal,
        command: &options.command,
        runs: options.runs,
        fails: options.fails,
        is_verbose: options.verbose,
    };
    let smaller = |faults: usize| print_status(&format!("teetap: fails with {}", counted(faults, "fault")));
    let stopped = || signal.get().map(Exit::Signal);
    let found = match shrink::shrink(trial, is_stopped, smaller) {
        Ok(found) => found,
        Err(ShrinkError::Stopped) => return Ok(stopped().unwrap_or(Exit::Internal)),
        Err(error) => return Err(refused(error).into()),
    };
    let decisions = &journal.decisions;
    let left: Vec<&Decision> = found.faults.iter().filter_map(|at| decisions.get(*at)).collect();
    let bytes = journal.with(left.iter().copied());
    let written = emptied(output).and_then(|mut file| Ok(file.write_all(&bytes)?));
    written.map_err(|error| cannot_write(output, &error))?;
    report(&left, all, &found, output);
    match found.failure {
        Some(error) => Err(refused(error).into()),
        None => Ok(stopped().unwrap_or(Exit::Ok)),
    }
}

fn refused(error: ShrinkError) -> Failure {
    match error {
        ShrinkError::Passes | ShrinkError::FailsWithout => Failure::failed(error),
        ShrinkError::Command(error) => Failure::child(error),
        ShrinkError::Stopped | ShrinkError::System(_) | ShrinkError::Write { .. } => Failure::network(error),
    }
}

/// Prints the remaining faults.
fn report(left: &[&Decision], all: usize, found: &Found, output: &Path) {
    let shown = left.iter().take(MAX_LISTED).map(|decision| row(decision));
    shown.for_each(|line| print_status(&line));
    if left.len() > MAX_LISTED {
        print_status(&format!("  and {} more", left.len() - MAX_LISTED));
    }
    let stopped = if found.is_stopped {
        ", stopped before the end"
    } else {
        ""
    };
    let path = printable_path(output);
    let runs = counted(found.runs, "run");
    print_status(&format!(
        "teetap: {} of {all} left after {runs}{stopped}, written to {path}",
        counted(left.len(), "fault")
    ));
}

/// Returns a fault as a line of a table.
fn row(decision: &Decision) -> String {
    let line = DecisionLine::new(decision);
    let dir = line.dir.map_or("-".to_owned(), |dir| dir.0.to_string());
    let (subject, by) = match (&line.message, line.datagram) {
        (Some(message), _) => (
            format!("{message} {}", line.ordinal.unwrap_or_default()),
            line.rule.unwrap_or_default(),
        ),
        (None, datagram) => (
            format!("datagram {}", datagram.unwrap_or_default()),
            line.link.unwrap_or_default(),
        ),
    };
    let text = format!(
        "{:>9.3} #{:<3} {dir} {subject:<20} {:<24} by {by}",
        line.t, line.session, line.action
    );
    printable(text.as_bytes())
}

/// Returns the path of the result: JOURNAL.min.jsonl, without a doubled `.jsonl`.
fn beside(journal: &Path) -> PathBuf {
    journal.with_extension("min.jsonl")
}

fn cannot_write(path: &Path, error: &dyn std::fmt::Display) -> Failure {
    let path = printable_path(path);
    Failure::network(format!("cannot write {path}: {error}"))
}
