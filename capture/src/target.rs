//! The file that a user names for a recording. Its ending selects the format.

use std::{
    fs, io,
    os::{fd::AsFd as _, unix::fs::MetadataExt as _},
    path::{Path, PathBuf},
    time::Duration,
};

use teetap_inspect::row;
use teetap_proxy::io::files::is_pipe;

use crate::{
    Encode, Encoder, FileError, RecordingFile, Run,
    jsonl::{JsonLines, end_of_json_lines},
    recorder::{Destination, FindEnd, FlightPlan, Goal, Numbered, RecordingPipe, end_of_pcapng},
};

/// The name that means stdout.
const STDOUT: &str = "-";

/// The name of a file has none of the endings that select a format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "expected a name that ends in .pcapng (for tshark and teetap) or .jsonl (JSON lines), a pipe, or - for pcapng on stdout"
)]
pub struct UnknownEnding;

/// A file, a named pipe or stdout to record to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    path: PathBuf,
    format: Format,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    PcapNg,
    JsonLines,
}

impl Target {
    /// Parses the name of a file. `-` is stdout. A pipe without an ending, such as that of `>(command)`, and stdout are
    /// written as pcapng.
    ///
    /// # Errors
    /// Returns the reason if the ending is neither `.pcapng` nor `.jsonl`.
    pub fn parse(text: &str) -> Result<Self, UnknownEnding> {
        let mut path = PathBuf::from(text);
        let is = |ending: &str| {
            path.extension()
                .is_some_and(|found| found.eq_ignore_ascii_case(ending))
        };
        let format = match (is("pcapng"), is("jsonl")) {
            (true, _) => Format::PcapNg,
            (_, true) => Format::JsonLines,
            _ if text == STDOUT || is_stdout(&path) => {
                path = PathBuf::from(STDOUT);
                Format::PcapNg
            }
            _ if is_pipe(&path) => Format::PcapNg,
            _ => return Err(UnknownEnding),
        };
        Ok(Self { path, format })
    }

    /// Returns the name of the file; `-` for stdout.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns true if the recording is written to stdout.
    #[must_use]
    pub fn is_stdout(&self) -> bool {
        self.path == Path::new(STDOUT)
    }

    /// Returns true if the recording is written to stdout or to a named pipe.
    #[must_use]
    pub fn is_pipe(&self) -> bool {
        self.is_stdout() || is_pipe(&self.path)
    }

    /// Opens or creates the file, and locks it; opens a named pipe if it has a reader.
    ///
    /// # Errors
    /// See [`FileError`]. The file is unchanged then.
    pub fn open(&self) -> Result<Destination, FileError> {
        if self.is_stdout() {
            return RecordingPipe::stdout().map(Into::into);
        }
        if is_pipe(&self.path) {
            return RecordingPipe::open(&self.path).map(Into::into);
        }
        RecordingFile::open(&self.path, self.find_end()).map(Into::into)
    }

    fn find_end(&self) -> FindEnd {
        match self.format {
            Format::PcapNg => end_of_pcapng,
            Format::JsonLines => end_of_json_lines,
        }
    }

    /// Prepares a recording of the last minutes, `keep`. If `on_match`, a new file is written after each event that has
    /// [`saves`](teetap_inspect::DecodedEvent::saves); otherwise the file is written at the end of the run, and a new one is
    /// only there then.
    ///
    /// # Errors
    /// See [`FileError`]. The file is unchanged then.
    pub fn open_flight(&self, keep: Duration, on_match: bool) -> Result<FlightPlan, FileError> {
        let goal = match on_match {
            true => Goal::OnMatch(Numbered::new(&self.path)?),
            false => Goal::AtEnd(Some(self.open()?.withdraw(self.find_end()))),
        };
        Ok(FlightPlan { keep, goal })
    }

    /// Returns an encoder of the format for a run.
    #[must_use]
    pub fn encoder(&self, run: Run) -> Box<dyn Encode> {
        match self.format {
            Format::PcapNg => Box::new(Encoder::new(run, row::comment)),
            Format::JsonLines => Box::new(JsonLines::new(run)),
        }
    }
}

/// Returns true if the path leads to stdout, as `/dev/stdout` does, and stdout is not a regular file.
fn is_stdout(path: &Path) -> bool {
    let stdout = io::stdout().as_fd().try_clone_to_owned().map(fs::File::from);
    let stdout = stdout.and_then(|stdout| stdout.metadata());
    let Ok((stdout, found)) = stdout.and_then(|stdout| Ok((stdout, fs::metadata(path)?))) else {
        return false;
    };
    !found.is_file() && !found.is_dir() && (found.dev(), found.ino()) == (stdout.dev(), stdout.ino())
}
