//! Where a recording is written: a file, or a pipe that another program reads.

use std::{path::Path, sync::atomic::AtomicBool};

use super::{
    file::{FileError, FindEnd, RecordingFile},
    outcome::Trouble,
    pipe::RecordingPipe,
};

/// A file, a named pipe or stdout.
#[derive(Debug)]
pub struct Destination(Kind);

#[derive(Debug)]
enum Kind {
    File(RecordingFile),
    Pipe(RecordingPipe),
}

impl From<RecordingFile> for Destination {
    fn from(file: RecordingFile) -> Self {
        Self(Kind::File(file))
    }
}

impl From<RecordingPipe> for Destination {
    fn from(pipe: RecordingPipe) -> Self {
        Self(Kind::Pipe(pipe))
    }
}

impl Destination {
    /// Returns the path; `stdout` for stdout.
    #[must_use]
    pub fn path(&self) -> &Path {
        match &self.0 {
            Kind::File(file) => file.path(),
            Kind::Pipe(pipe) => pipe.path(),
        }
    }

    /// Returns true for a named pipe or stdout.
    #[must_use]
    pub const fn is_pipe(&self) -> bool {
        matches!(self.0, Kind::Pipe(_))
    }

    /// Returns the number of bytes in the incomplete event at the end of the file, which is removed.
    #[must_use]
    pub fn cut(&self) -> u64 {
        match &self.0 {
            Kind::File(file) => file.cut(),
            Kind::Pipe(_) => 0,
        }
    }

    /// Returns true if other users could read the file or the pipe before it was opened.
    #[must_use]
    pub fn was_open(&self) -> bool {
        match &self.0 {
            Kind::File(file) => file.was_open(),
            Kind::Pipe(pipe) => pipe.was_open(),
        }
    }

    /// Returns true if the run is appended to an earlier recording.
    #[must_use]
    pub fn is_appended(&self) -> bool {
        match &self.0 {
            Kind::File(file) => file.is_appended(),
            Kind::Pipe(_) => false,
        }
    }

    /// Removes a new file until it is kept.
    pub(crate) fn withdraw(self, find_end: FindEnd) -> Self {
        match self.0 {
            Kind::File(file) => file.withdraw(find_end).into(),
            kind @ Kind::Pipe(_) => Self(kind),
        }
    }

    /// Keeps the file from now on.
    pub(super) fn keep(&mut self) -> Result<(), FileError> {
        match &mut self.0 {
            Kind::File(file) => file.keep(),
            Kind::Pipe(_) => Ok(()),
        }
    }

    /// Returns true if the path no longer leads to the file.
    pub(super) fn is_gone(&self) -> bool {
        match &self.0 {
            Kind::File(file) => file.is_gone(),
            Kind::Pipe(_) => false,
        }
    }

    /// Returns true if no program reads the pipe any more.
    pub(super) fn has_lost_reader(&self) -> bool {
        match &self.0 {
            Kind::File(_) => false,
            Kind::Pipe(pipe) => pipe.has_lost_reader(),
        }
    }

    /// Writes bytes, which contain complete events that end at `ends`. On an error, returns the number of events that
    /// were written. `is_over` is set at the end of the run.
    pub(super) fn write(
        &mut self,
        bytes: &[u8],
        ends: &[usize],
        is_over: &AtomicBool,
    ) -> Result<(), (usize, Trouble)> {
        match &mut self.0 {
            Kind::File(file) => file
                .write(bytes, ends)
                .map_err(|(whole, error)| (whole, Trouble::Write(error.to_string()))),
            Kind::Pipe(pipe) => pipe.write(bytes, is_over).map_err(|(written, trouble)| {
                let whole = ends.iter().take_while(|end| **end <= written).count();
                (whole, trouble)
            }),
        }
    }
}
