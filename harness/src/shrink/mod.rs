//! The smallest set of faults with which a command still fails.
//!
//! Law: the command receives its faults as a journal of their own. Before the search starts, it must fail with all of
//! them and succeed without any.

mod search;

use std::{
    ffi::{OsStr, OsString},
    fs::File,
    io::{self, Write as _},
    os::unix::ffi::{OsStrExt as _, OsStringExt as _},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    thread,
    time::Duration,
};

use teetap_proxy::io::{
    files::{Access, PrivateError, open_private},
    journal::Journal,
};
use teetap_wire::printable_path;

use self::search::Search;
use crate::child::{self, ChildError, ProcessGroup};

/// Placeholder in the command for the path of the journal.
const PLACE: &[u8] = b"{faults}";

/// Time between two checks of the command.
const TICK: Duration = Duration::from_millis(10);

/// The command, and how often it must fail.
#[derive(Clone, Copy, Debug)]
pub struct Trial<'a> {
    /// Journal with all faults.
    pub journal: &'a Journal,
    /// Words of the command; `{faults}` becomes the path of a journal.
    pub command: &'a [OsString],
    /// Maximum runs for each set of faults.
    pub runs: u32,
    /// Number of those runs that must fail.
    pub fails: u32,
    /// True to send the output of the command to stderr; otherwise it is discarded.
    pub is_verbose: bool,
}

/// Result of a search.
#[derive(Debug)]
pub struct Found {
    /// Remaining faults: indexes of the journal's decisions, in ascending order.
    pub faults: Vec<usize>,
    /// Number of runs.
    pub runs: u64,
    /// True if the search was stopped before its end.
    pub is_stopped: bool,
    /// Error that ended the search; `None` if there was none.
    pub failure: Option<ShrinkError>,
}

/// Reason why there is no smallest set of faults.
#[derive(Debug, thiserror::Error)]
pub enum ShrinkError {
    /// The command does not fail with all faults.
    #[error("the command does not fail with all faults of the journal: there is nothing to look for")]
    Passes,
    /// The command fails without any fault.
    #[error("the command fails without any fault, so no fault of the journal is the cause")]
    FailsWithout,
    /// The search was stopped before it began.
    #[error("stopped")]
    Stopped,
    /// The command cannot be started.
    #[error(transparent)]
    Command(#[from] ChildError),
    /// The system does not report how the command ended.
    #[error(transparent)]
    System(#[from] io::Error),
    /// A journal cannot be written.
    #[error("cannot write {path}: {error}")]
    Write {
        /// Path, printable.
        path: String,
        /// Reason why the file cannot be written.
        error: PrivateError,
    },
}

/// Returns true if a word of a command contains the placeholder for the path of a journal.
#[must_use]
pub fn has_place(word: &OsStr) -> bool {
    word.as_bytes().windows(PLACE.len()).any(|part| part == PLACE)
}

/// Searches for the smallest set of faults. Calls `smaller` with the number of faults of each smaller set that fails.
/// Stops, and ends the command, once `is_stopped` returns true.
///
/// # Errors
/// See [`ShrinkError`]. An error that occurs during the search ends it, and is part of the result.
pub fn shrink(
    trial: Trial<'_>,
    is_stopped: impl Fn() -> bool,
    mut smaller: impl FnMut(usize),
) -> Result<Found, ShrinkError> {
    let folder = tempfile::tempdir()?;
    let mut tests = Tests {
        trial,
        path: folder.path().join("faults.jsonl"),
        is_stopped,
        runs: 0,
    };
    let all = trial.journal.decisions.len();
    let every: Vec<usize> = (0..all).collect();
    if !tests.fails(&every)? {
        return Err(ShrinkError::Passes);
    }
    if tests.fails(&[])? {
        return Err(ShrinkError::FailsWithout);
    }
    let mut failure = None;
    let mut best = all;
    let found = Search::new(|part: &[usize]| match tests.fails(part) {
        Ok(fails) => {
            if fails && part.len() < best {
                best = part.len();
                smaller(best);
            }
            Some(fails)
        }
        Err(error) => {
            failure = Some(error);
            None
        }
    })
    .run(all);
    Ok(Found {
        faults: found.elements,
        runs: tests.runs,
        is_stopped: found.is_stopped,
        failure: failure.filter(|error| !matches!(error, ShrinkError::Stopped)),
    })
}

/// Opens a file that only its owner can read, and truncates it.
///
/// # Errors
/// The path cannot be used for a private file, or the system refuses access.
pub fn emptied(path: &Path) -> Result<File, PrivateError> {
    let opened = open_private(path, Access::Append)?;
    if opened.is_regular {
        opened.file.set_len(0)?;
    }
    Ok(opened.file)
}

/// Runs of the command with parts of the faults.
struct Tests<'a, S> {
    trial: Trial<'a>,
    /// Path of the journal of a run.
    path: PathBuf,
    is_stopped: S,
    /// Number of runs so far.
    runs: u64,
}

impl<S: Fn() -> bool> Tests<'_, S> {
    /// Returns true if the command fails with these faults in the required number of runs.
    fn fails(&mut self, part: &[usize]) -> Result<bool, ShrinkError> {
        let journal = self.trial.journal;
        let bytes = journal.with(part.iter().filter_map(|at| journal.decisions.get(*at)));
        let written = emptied(&self.path).and_then(|mut file| Ok(file.write_all(&bytes)?));
        written.map_err(|error| ShrinkError::Write {
            path: printable_path(&self.path),
            error,
        })?;
        let (mut failed, mut left) = (0, self.trial.runs);
        while failed < self.trial.fails && failed + left >= self.trial.fails {
            left -= 1;
            failed += u32::from(self.run()?);
        }
        Ok(failed >= self.trial.fails)
    }

    /// Runs the command once. Returns true if it fails.
    fn run(&mut self) -> Result<bool, ShrinkError> {
        self.runs += 1;
        let mut child = child::spawn(self.command()?, ProcessGroup::Alone)?;
        loop {
            match child.ended()? {
                Some(end) => return Ok(!end.is_success()),
                None if (self.is_stopped)() => return Err(ShrinkError::Stopped),
                None => thread::sleep(TICK),
            }
        }
    }

    fn command(&self) -> Result<Command, ShrinkError> {
        let words = self.trial.command.iter();
        let words: Vec<OsString> = words.map(|word| filled(word, &self.path)).collect();
        let (program, arguments) = words.split_first().ok_or(ChildError::NoCommand)?;
        let output = || {
            if self.trial.is_verbose {
                Stdio::from(io::stderr())
            } else {
                Stdio::null()
            }
        };
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::null());
        command.stdout(output()).stderr(output());
        Ok(command)
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
