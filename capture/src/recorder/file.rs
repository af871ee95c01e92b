//! The file of a recording: opened, checked and locked before anything starts, and written in whole events.
//!
//! Law: no other file is changed. An existing file is appended to only if it is a recording of teetap; an event that
//! a crash left half written at its end is cut off, with a warning.

use std::{
    fs::{self, File},
    io::{self, BufReader, Seek as _, SeekFrom, Write as _},
    path::{Path, PathBuf},
};

use rustix::fs::{FlockOperation, flock};
use teetap_proxy::io::{
    files::{Access, PrivateError, open_private},
    is_moved,
};
use teetap_wire::printable_path;

use crate::{
    ReadError,
    pcapng::{self, Block, PcapNg},
};

/// A file that cannot be recorded to.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// An existing file that is not a recording of teetap.
    #[error("cannot record to {path}: it exists and is not a teetap recording; name another file", path = printable_path(.0))]
    NotOurs(PathBuf),
    /// A recording in progress.
    #[error("cannot record to {path}: another teetap records to it; name another file", path = printable_path(.0))]
    Busy(PathBuf),
    /// A recording that is damaged before its end.
    #[error("cannot append to {path}: {error}; name another file", path = printable_path(path))]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The damage and its place.
        error: ReadError,
    },
    /// A file that others own or can read.
    #[error("cannot record to {path}: {error}", path = printable_path(path))]
    Others {
        /// The file.
        path: PathBuf,
        /// The reason.
        error: PrivateError,
    },
    /// A file that cannot be created or written.
    #[error("cannot write the recording {path}: {error}", path = printable_path(path))]
    Create {
        /// The file.
        path: PathBuf,
        /// The error of the operating system.
        error: io::Error,
    },
}

/// Finds the end of the last whole event of a recording; `None` if it is not a recording of teetap.
///
/// # Errors
/// See [`ReadError`], when it is damaged before its end.
pub type FindEnd = fn(&mut BufReader<&File>) -> Result<Option<u64>, ReadError>;

/// A file that is ready for a recording. Dropped before [`RecordingFile::keep`], it is removed if it is new.
#[derive(Debug)]
pub struct RecordingFile {
    path: PathBuf,
    file: File,
    is_new: bool,
    /// True if others could read the file before.
    was_open: bool,
    is_kept: bool,
    cut: u64,
    /// Bytes in the file.
    end: u64,
}

impl RecordingFile {
    /// Opens or creates the file. Others can no longer read it.
    ///
    /// # Errors
    /// See [`FileError`]; the file is unchanged then.
    pub fn open(path: &Path, find_end: FindEnd) -> Result<Self, FileError> {
        let failed = |error| FileError::Create {
            path: path.to_owned(),
            error,
        };
        let not_ours = || FileError::NotOurs(path.to_owned());
        // A pipe or device cannot be read back.
        let is_there = match fs::metadata(path) {
            Ok(found) if found.is_file() => true,
            Ok(_) => return Err(not_ours()),
            Err(_) => false,
        };
        let found = open_private(path, Access::ReadAppend).map_err(|error| match error {
            PrivateError::System(error) => failed(error),
            error => FileError::Others {
                path: path.to_owned(),
                error,
            },
        })?;
        if !found.is_regular {
            return Err(not_ours());
        }
        let mut opened = Self {
            path: path.to_owned(),
            file: found.file,
            was_open: found.was_open,
            is_new: !is_there,
            is_kept: false,
            cut: 0,
            end: 0,
        };
        match flock(&opened.file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(rustix::io::Errno::WOULDBLOCK) => return Err(FileError::Busy(path.to_owned())),
            // The file system has no locks.
            Err(_) => {}
        }
        let length = opened.file.metadata().map_err(failed)?.len();
        if length > 0 {
            let found = find_end(&mut BufReader::with_capacity(1 << 20, &opened.file));
            let end = found.map_err(|error| FileError::Damaged {
                path: path.to_owned(),
                error,
            })?;
            opened.end = end.ok_or_else(not_ours)?;
            opened.cut = length.saturating_sub(opened.end);
        }
        Ok(opened)
    }

    /// Keeps the file from now on, without the half event at its end.
    ///
    /// # Errors
    /// Errors of the operating system.
    pub fn keep(&mut self) -> Result<(), FileError> {
        self.is_kept = true;
        let cut = self.file.set_len(self.end);
        cut.and_then(|()| self.file.seek(SeekFrom::Start(self.end)).map(|_| ()))
            .map_err(|error| FileError::Create {
                path: self.path.clone(),
                error,
            })
    }

    /// The file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the bytes of the half event that is cut off at its end.
    #[must_use]
    pub fn cut(&self) -> u64 {
        self.cut
    }

    /// Returns true if other users could read or write the file before it was opened.
    #[must_use]
    pub fn was_open(&self) -> bool {
        self.was_open
    }

    /// Returns true if the file holds a recording that is appended to.
    #[must_use]
    pub fn is_appended(&self) -> bool {
        self.end > 0
    }

    /// Returns true if the path no longer leads to the file: it was deleted or moved, or another file has its name.
    #[must_use]
    pub fn is_gone(&self) -> bool {
        is_moved(&self.file, &self.path)
    }

    /// Writes bytes; `ends` are the ends of whole events in them. On an error, returns the number of events in the
    /// file.
    pub(super) fn write(&mut self, bytes: &[u8], ends: &[usize]) -> Result<(), (usize, io::Error)> {
        let mut written = 0;
        let failed = loop {
            let rest = bytes.get(written..).unwrap_or_default();
            if rest.is_empty() {
                self.end += bytes.len() as u64;
                return Ok(());
            }
            match self.file.write(rest) {
                Ok(0) => break io::ErrorKind::WriteZero.into(),
                Ok(more) => written += more,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => break error,
            }
        };
        let whole = ends.iter().take_while(|end| **end <= written).count();
        let kept = whole
            .checked_sub(1)
            .and_then(|last| ends.get(last))
            .copied()
            .unwrap_or(0);
        self.end += kept as u64;
        // If that fails too, the next run that appends cuts it off.
        let _half_an_event_stays = self.file.set_len(self.end);
        Err((whole, failed))
    }
}

impl Drop for RecordingFile {
    fn drop(&mut self) {
        if self.is_new && !self.is_kept {
            let _taken_meanwhile = fs::remove_file(&self.path);
        }
    }
}

/// [`FindEnd`] of pcapng.
///
/// # Errors
/// The file cannot be read.
pub fn end_of_pcapng(file: &mut BufReader<&File>) -> Result<Option<u64>, ReadError> {
    let mut blocks = PcapNg::new(file);
    loop {
        match blocks.next() {
            Ok(Some(Block::Section { program, own })) => {
                let is_ours =
                    own.is_some() && program.is_some_and(|program| program.starts_with(pcapng::PROGRAM));
                if !is_ours {
                    return Ok(None);
                }
            }
            Ok(Some(_)) => {}
            Ok(None) => return Ok(Some(blocks.offset())),
            // Left by a crash.
            Err(ReadError::Cut(begin)) if begin > 0 => return Ok(Some(begin)),
            Err(ReadError::Cut(_) | ReadError::Unknown(_)) => return Ok(None),
            Err(ReadError::Damaged { offset: 0, .. }) => return Ok(None),
            Err(error) => return Err(error),
        }
    }
}
