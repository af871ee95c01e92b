//! The flight recorder: keeps the last minutes of a run in memory, and writes them at the end of the run, or to a new
//! file whenever a message matches.
//!
//! Disk space is bounded: at most [`MOST_FILES`] files per run, each with the kept minutes and at most
//! [`LONGEST_FILE`] after them.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
    time::Duration,
};

use teetap_proxy::session::Time;

use super::{
    destination::Destination,
    file::{FileError, RecordingFile},
    ring::{Kind, Ring},
};

/// Time after a match for which its file continues.
pub const AFTER: Duration = Duration::from_secs(10);

/// Maximum time for which matches continue a file. The next match begins a new file.
pub(super) const LONGEST_FILE: Duration = Duration::from_mins(10);

/// Maximum number of files of a run.
pub(super) const MOST_FILES: u64 = 100;

/// The time that a flight recorder keeps, and the file that it writes.
#[derive(Debug)]
pub struct FlightPlan {
    pub(crate) keep: Duration,
    pub(crate) goal: Goal,
}

/// When a flight recorder writes.
#[derive(Debug)]
pub(crate) enum Goal {
    /// At the end of the run; `None` once it was written.
    AtEnd(Option<Destination>),
    /// After each match.
    OnMatch(Numbered),
}

/// Names of the files that matches begin: `run-1.pcapng`, `run-2.pcapng` and so on for `run.pcapng`.
#[derive(Debug)]
pub(crate) struct Numbered {
    path: PathBuf,
    last: u64,
}

impl Numbered {
    /// Names files after `path`.
    ///
    /// # Errors
    /// The folder does not exist.
    pub(crate) fn new(path: &Path) -> Result<Self, FileError> {
        let folder = path.parent().filter(|folder| *folder != Path::new(""));
        let found = std::fs::metadata(folder.unwrap_or(Path::new(".")));
        found.map_err(|error| FileError::Create {
            path: path.to_owned(),
            error,
        })?;
        Ok(Self {
            path: path.to_owned(),
            last: 0,
        })
    }

    /// Creates the next file. Numbers of files that exist are skipped.
    pub(super) fn create(&mut self) -> Result<RecordingFile, FileError> {
        loop {
            self.last += 1;
            let stem = self.path.file_stem().unwrap_or_default();
            let mut name = OsString::from(stem);
            name.push(format!("-{}", self.last));
            if let Some(ending) = self.path.extension() {
                name.push(".");
                name.push(ending);
            }
            if let Some(file) = RecordingFile::create(&self.path.with_file_name(name))? {
                return Ok(file);
            }
        }
    }
}

impl FlightPlan {
    /// Returns the name of the file, or the name after which files are named.
    #[must_use]
    pub fn path(&self) -> &Path {
        match &self.goal {
            Goal::AtEnd(Some(file)) => file.path(),
            Goal::AtEnd(None) => Path::new(""),
            Goal::OnMatch(names) => &names.path,
        }
    }

    /// Returns the file that is written at the end of the run.
    #[must_use]
    pub fn file(&self) -> Option<&Destination> {
        match &self.goal {
            Goal::AtEnd(file) => file.as_ref(),
            Goal::OnMatch(_) => None,
        }
    }
}

/// A flight recorder.
#[derive(Debug)]
pub(super) struct Flight {
    pub(super) ring: Ring,
    pub(super) goal: Goal,
    /// Encoded start of the run.
    pub(super) header: Vec<u8>,
    /// Time of the first match of the current file, and time at which the file ends.
    pub(super) current: Option<(Time, Time)>,
    /// Earliest time of the next file, after an error.
    pub(super) not_before: Time,
    /// Number of files.
    pub(super) files: u64,
}

impl Flight {
    pub(super) fn new(FlightPlan { keep, goal }: FlightPlan, header: Vec<u8>) -> Self {
        Self {
            ring: Ring::new(keep),
            goal,
            header,
            current: None,
            not_before: Time::ZERO,
            files: 0,
        }
    }

    /// Returns the number and the name of files before the first match; `None` if the file is written at the end.
    pub(super) fn saved(&self) -> Option<(u64, PathBuf)> {
        match &self.goal {
            Goal::AtEnd(_) => None,
            Goal::OnMatch(names) => Some((0, names.path.clone())),
        }
    }

    /// Adds an encoded event.
    pub(super) fn push(&mut self, at: Time, kind: Kind, bytes: &[u8], packets: u64) {
        self.ring.push(at, kind, bytes, packets);
    }
}
