//! The file that a user names for a recording. Its ending selects the format.

use std::path::{Path, PathBuf};

use teetap_inspect::row;

use crate::{
    Encode, Encoder, FileError, RecordingFile, Run,
    jsonl::{JsonLines, end_of_json_lines},
    recorder::end_of_pcapng,
};

/// The name of a file has none of the endings that select a format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected a name that ends in .pcapng (for tshark and teetap) or .jsonl (JSON lines)")]
pub struct UnknownEnding;

/// A file to record to.
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
    /// Parses the name of a file.
    ///
    /// # Errors
    /// Returns the reason if the ending is neither `.pcapng` nor `.jsonl`.
    pub fn parse(text: &str) -> Result<Self, UnknownEnding> {
        let path = PathBuf::from(text);
        let is = |ending: &str| {
            path.extension()
                .is_some_and(|found| found.eq_ignore_ascii_case(ending))
        };
        let format = match (is("pcapng"), is("jsonl")) {
            (true, _) => Format::PcapNg,
            (_, true) => Format::JsonLines,
            _ => return Err(UnknownEnding),
        };
        Ok(Self { path, format })
    }

    /// Returns the name of the file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Opens or creates the file, and locks it.
    ///
    /// # Errors
    /// See [`FileError`]. The file is unchanged then.
    pub fn open(&self) -> Result<RecordingFile, FileError> {
        match self.format {
            Format::PcapNg => RecordingFile::open(&self.path, end_of_pcapng),
            Format::JsonLines => RecordingFile::open(&self.path, end_of_json_lines),
        }
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
