//! A recording that another program reads while it is written: stdout, or a named pipe.
//!
//! Law: the recorder waits for a reader and for room in the pipe, but the run does not: until the end of the run the
//! wait has no limit, then at most [`STALLED`] without progress and [`LONGEST`] in all.

use std::{
    fs::File,
    io::{self, IsTerminal as _},
    os::fd::AsFd as _,
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::Duration,
};

use teetap_proxy::{
    io::{
        Clock,
        files::{PrivateError, has_no_reader, open_pipe, write_ready},
    },
    session::Time,
};

use super::{file::FileError, outcome::Trouble};

/// Name of stdout in lines for the user.
const STDOUT: &str = "stdout";

/// Interval between two attempts to open the pipe or to write to it.
const STEP: Duration = Duration::from_millis(20);

/// Maximum wait at the end of a run for a reader that reads nothing.
const STALLED: Duration = Duration::from_secs(2);

/// Maximum time at the end of a run for writing the rest.
const LONGEST: Duration = Duration::from_secs(10);

/// Stdout or a named pipe.
#[derive(Debug)]
pub struct RecordingPipe {
    path: PathBuf,
    /// `None` until a program has opened the pipe for reading.
    file: Option<File>,
    was_open: bool,
    clock: Clock,
    /// Time at which the end of the run was noticed, and time of the last progress.
    ending: Option<(Time, Time)>,
}

impl RecordingPipe {
    /// Returns stdout.
    ///
    /// # Errors
    /// Stdout is a terminal, or closed.
    pub(crate) fn stdout() -> Result<Self, FileError> {
        let stdout = io::stdout();
        if stdout.is_terminal() {
            return Err(FileError::Terminal);
        }
        let file = stdout.as_fd().try_clone_to_owned().map(File::from);
        let file = file.map_err(|error| FileError::Create {
            path: STDOUT.into(),
            error,
        })?;
        Ok(Self::new(STDOUT.into(), Some(file), false))
    }

    /// Opens a named pipe. If it has no reader yet, it is opened once it has one.
    ///
    /// # Errors
    /// The pipe belongs to another user, or cannot be opened.
    pub(crate) fn open(path: &Path) -> Result<Self, FileError> {
        let opened = open_pipe(path).map_err(|error| match error {
            PrivateError::System(error) => FileError::Create {
                path: path.to_owned(),
                error,
            },
            error => FileError::Others {
                path: path.to_owned(),
                error,
            },
        })?;
        let was_open = opened.as_ref().is_some_and(|opened| opened.was_open);
        Ok(Self::new(
            path.to_owned(),
            opened.map(|opened| opened.file),
            was_open,
        ))
    }

    fn new(path: PathBuf, file: Option<File>, was_open: bool) -> Self {
        Self {
            path,
            file,
            was_open,
            clock: Clock::start(),
            ending: None,
        }
    }

    /// Returns the path of the pipe; `stdout` for stdout.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns true if other users could read the pipe before it was opened.
    pub(super) const fn was_open(&self) -> bool {
        self.was_open
    }

    /// Returns true if no program reads the pipe any more.
    pub(super) fn has_lost_reader(&self) -> bool {
        self.file.as_ref().is_some_and(has_no_reader)
    }

    /// Writes all bytes, and waits for a reader and for room. `is_over` is set at the end of the run. On an error,
    /// returns the number of bytes that were written.
    pub(super) fn write(&mut self, bytes: &[u8], is_over: &AtomicBool) -> Result<(), (usize, Trouble)> {
        let mut written = 0;
        while let Some(rest) = bytes.get(written..).filter(|rest| !rest.is_empty()) {
            let more = self.write_some(rest).map_err(|trouble| (written, trouble))?;
            written += more;
            if is_over.load(Ordering::Acquire) && self.is_late(more > 0) {
                let trouble = match self.file {
                    Some(_) => Trouble::Stalled,
                    None => Trouble::Unread,
                };
                return Err((written, trouble));
            }
        }
        Ok(())
    }

    /// Writes as many bytes as the pipe takes; 0 after a while without a reader or without room.
    fn write_some(&mut self, bytes: &[u8]) -> Result<usize, Trouble> {
        let file = match &self.file {
            Some(file) => file,
            None => match open_pipe(&self.path) {
                Ok(Some(opened)) => self.file.insert(opened.file),
                Ok(None) => {
                    thread::sleep(STEP);
                    return Ok(0);
                }
                Err(error) => return Err(Trouble::Write(error.to_string())),
            },
        };
        write_ready(file, bytes, STEP).map_err(|error| match error.kind() {
            io::ErrorKind::BrokenPipe => Trouble::ReaderLeft,
            _ => Trouble::Write(error.to_string()),
        })
    }

    /// Returns true if the run has ended and the rest is not worth a longer wait.
    fn is_late(&mut self, has_progress: bool) -> bool {
        let now = self.clock.now();
        let (since, last) = self.ending.get_or_insert((now, now));
        if has_progress {
            *last = now;
        }
        // Without a reader there is nothing to wait for.
        let is_unread = self.file.is_none();
        is_unread || now.since(*last) >= STALLED || now.since(*since) >= LONGEST
    }
}
