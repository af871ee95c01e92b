//! `teetap shrink JOURNAL -- CMD`: the smallest set of faults with which a command still fails.

use std::{
    cell::RefCell,
    ffi::{OsStr, OsString},
    fs::{self, File},
    io::Write as _,
    os::unix::{ffi::OsStrExt as _, ffi::OsStringExt as _},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::mpsc,
    time::Duration,
};

use teetap_engine::faults;
use teetap_proxy::io::{
    files::{Access, PrivateError, open_private},
    journal::{DecisionLine, Journal},
};
use teetap_rules::Decision;
use teetap_wire::{printable, printable_path};

use crate::{
    child,
    cli::ShrinkOptions,
    exit::{Exit, Failure},
    output::{counted, say},
    shrink::Search,
    signals::Signals,
    wake::Wake,
};

/// The word of the command that stands for the path of the journal.
const PLACE: &[u8] = b"{faults}";

/// The time between two looks at a command and at signals.
const TICK: Duration = Duration::from_millis(10);

/// Faults that are listed at the end.
const MAX_LISTED: usize = 100;

/// Searches the smallest set of faults.
///
/// # Errors
/// [`Failure`]s of the command line, a journal that cannot be read, a command that cannot be started, or one that does not
/// fail with all faults, or fails without any.
pub(crate) fn shrink(options: &ShrinkOptions) -> anyhow::Result<Exit> {
    if options.fails > options.runs {
        let text = format!("--fails {} is more than --runs {}", options.fails, options.runs);
        return Err(Failure::usage(text).into());
    }
    let has_place = |word: &OsString| word.as_bytes().windows(PLACE.len()).any(|part| part == PLACE);
    if !options.command.iter().any(has_place) {
        let text = "no word of the command has {faults}, which becomes the path of a journal; add --faults-from {faults}";
        return Err(Failure::usage(text).into());
    }
    let journal = faults::read(&options.journal).map_err(|error| Failure::faults(&error))?;
    let output = options.output.clone().unwrap_or_else(|| beside(&options.journal));
    // Before an hour of runs.
    let is_new = !output.exists();
    drop(open_private(&output, Access::Append).map_err(|error| cannot_write(&output, &error))?);
    let (wake, woken) = mpsc::channel();
    let _signals = Signals::install(wake).map_err(Failure::network)?;
    let folder = tempfile::tempdir().map_err(Failure::network)?;
    let tests = Tests {
        journal: &journal,
        options,
        path: folder.path().join("faults.jsonl"),
        woken,
        runs: 0,
    };
    let result = search(tests, &output);
    if is_new && fs::metadata(&output).is_ok_and(|found| found.len() == 0) {
        fs::remove_file(&output).map_err(|error| cannot_write(&output, &error))?;
    }
    result
}

/// Verifies that the search makes sense, and makes it.
fn search(mut tests: Tests<'_>, output: &Path) -> anyhow::Result<Exit> {
    let all = tests.journal.decisions.len();
    say(&format!(
        "teetap: {}: {}",
        tests.name(),
        counted(all as u64, "fault")
    ));
    let every: Vec<usize> = (0..all).collect();
    match tests.fails(&every) {
        Ok(true) => {}
        Ok(false) => {
            let text =
                "the command does not fail with all faults of the journal: there is nothing to look for";
            return Err(Failure::failed(text).into());
        }
        Err(stop) => return stop.end(),
    }
    match tests.fails(&[]) {
        Ok(false) => {}
        Ok(true) => {
            let text = "the command fails without any fault, so no fault of the journal is the cause";
            return Err(Failure::failed(text).into());
        }
        Err(stop) => return stop.end(),
    }
    let stopped = RefCell::new(None);
    let mut best = all;
    let found = Search::new(|part: &[usize]| match tests.fails(part) {
        Ok(fails) => {
            if fails && part.len() < best {
                best = part.len();
                say(&format!("teetap: fails with {}", counted(best as u64, "fault")));
            }
            Some(fails)
        }
        Err(stop) => {
            *stopped.borrow_mut() = Some(stop);
            None
        }
    })
    .run(all);
    let left: Vec<&Decision> = found
        .elements
        .iter()
        .filter_map(|at| tests.journal.decisions.get(*at))
        .collect();
    let bytes = tests.journal.with(left.iter().copied());
    let written = emptied(output).and_then(|mut file| Ok(file.write_all(&bytes)?));
    written.map_err(|error| cannot_write(output, &error))?;
    report(&left, all, tests.runs, output, found.is_stopped);
    match stopped.into_inner() {
        None => Ok(Exit::Ok),
        Some(stop) => stop.end(),
    }
}

/// Prints what is left.
fn report(left: &[&Decision], all: usize, runs: u64, output: &Path, is_stopped: bool) {
    let shown = left.iter().take(MAX_LISTED).map(|decision| row(decision));
    shown.for_each(|line| say(&line));
    if left.len() > MAX_LISTED {
        say(&format!("  and {} more", left.len() - MAX_LISTED));
    }
    let stopped = if is_stopped {
        ", stopped before the end"
    } else {
        ""
    };
    let path = printable_path(output);
    let runs = counted(runs, "run");
    say(&format!(
        "teetap: {} of {all} left after {runs}{stopped}, written to {path}",
        counted(left.len() as u64, "fault")
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

/// Runs of the command.
struct Tests<'a> {
    journal: &'a Journal,
    options: &'a ShrinkOptions,
    /// The journal of a run.
    path: PathBuf,
    woken: mpsc::Receiver<Wake>,
    /// Runs so far.
    runs: u64,
}

/// The reason for which the search stops.
enum Stop {
    Signal(u8),
    Failure(Failure),
}

impl Stop {
    fn end(self) -> anyhow::Result<Exit> {
        match self {
            Self::Signal(number) => Ok(Exit::Signal(number)),
            Self::Failure(failure) => Err(failure.into()),
        }
    }
}

impl Tests<'_> {
    /// Returns true if the command fails with these faults as often as wanted.
    fn fails(&mut self, part: &[usize]) -> Result<bool, Stop> {
        let decisions = part.iter().filter_map(|at| self.journal.decisions.get(*at));
        let bytes = self.journal.with(decisions);
        let written = emptied(&self.path).and_then(|mut file| Ok(file.write_all(&bytes)?));
        written.map_err(|error| Stop::Failure(cannot_write(&self.path, &error)))?;
        let (mut failed, mut left) = (0, self.options.runs);
        while failed < self.options.fails && failed + left >= self.options.fails {
            left -= 1;
            failed += u32::from(self.run()?);
        }
        Ok(failed >= self.options.fails)
    }

    /// Runs the command once. Returns true if it fails.
    fn run(&mut self) -> Result<bool, Stop> {
        self.runs += 1;
        let words: Vec<OsString> = self
            .options
            .command
            .iter()
            .map(|word| filled(word, &self.path))
            .collect();
        let Some((program, arguments)) = words.split_first() else {
            return Err(Stop::Failure(Failure::usage("no command after --")));
        };
        let output = || {
            if self.options.verbose {
                Stdio::from(std::io::stderr())
            } else {
                Stdio::null()
            }
        };
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::null());
        command.stdout(output()).stderr(output());
        let mut child = child::spawn(command, false).map_err(Stop::Failure)?;
        loop {
            let ended = child.ended();
            match ended.map_err(|error| Stop::Failure(Failure::network(error)))? {
                Some(end) => return Ok(end.exit() != Exit::Ok),
                None => {
                    if let Ok(Wake::Signal(number)) = self.woken.recv_timeout(TICK) {
                        return Err(Stop::Signal(number));
                    }
                }
            }
        }
    }

    fn name(&self) -> String {
        printable_path(&self.options.journal)
    }
}

/// Replaces `{faults}` in a word.
fn filled(word: &OsStr, path: &Path) -> OsString {
    let mut rest = word.as_bytes();
    let mut filled = Vec::with_capacity(rest.len());
    while let Some((first, after)) = rest.split_first() {
        if let Some(after) = rest.strip_prefix(PLACE) {
            filled.extend_from_slice(path.as_os_str().as_bytes());
            rest = after;
        } else {
            filled.push(*first);
            rest = after;
        }
    }
    OsString::from_vec(filled)
}

/// Returns the path of the result: JOURNAL.min.jsonl, without a doubled `.jsonl`.
fn beside(journal: &Path) -> PathBuf {
    journal.with_extension("min.jsonl")
}

/// Opens a file that only its owner can read, and empties it.
fn emptied(path: &Path) -> Result<File, PrivateError> {
    let opened = open_private(path, Access::Append)?;
    if opened.is_regular {
        opened.file.set_len(0)?;
    }
    Ok(opened.file)
}

fn cannot_write(path: &Path, error: &dyn std::fmt::Display) -> Failure {
    let path = printable_path(path);
    Failure::network(format!("cannot write {path}: {error}"))
}
