//! The file of a recording: opened, checked and locked before anything starts, and written in whole events.
//!
//! Law: no other file is touched. An existing file is only appended to when it is a recording of teetap; what
//! a crash has left half written at its end is cut off, with a warning.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, BufReader, Seek as _, SeekFrom, Write as _},
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
};

use rustix::fs::{FlockOperation, flock};

use crate::{
    ReadError,
    pcapng::{self, Block, PcapNg},
};

/// Why a file cannot be recorded to.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// It is somebody else's.
    #[error("cannot record to {path}: it exists and is not a teetap recording; name another file", path = .0.display())]
    NotOurs(PathBuf),
    /// Somebody writes it.
    #[error("cannot record to {path}: another teetap records to it; name another file", path = .0.display())]
    Busy(PathBuf),
    /// It is damaged not only at its end.
    #[error("cannot append to {path}: {error}; name another file", path = path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Where and how.
        error: ReadError,
    },
    /// A file that cannot be created or written.
    #[error("cannot write the recording {path}: {error}", path = path.display())]
    Create {
        /// The file.
        path: PathBuf,
        /// The error of the operating system.
        error: io::Error,
    },
}

/// Finds the end of the last whole thing in a recording; `None` = not a recording of teetap.
///
/// # Errors
/// When it is damaged before its end.
pub type FindEnd = fn(&mut BufReader<&File>) -> Result<Option<u64>, ReadError>;

/// A file that is ready for a recording. Dropped without [`RecordingFile::keep`] it goes, if it was not there before.
#[derive(Debug)]
pub struct RecordingFile {
    path: PathBuf,
    file: File,
    is_new: bool,
    is_kept: bool,
    cut: u64,
    /// Bytes in the file.
    end: u64,
}

impl RecordingFile {
    /// Opens or creates the file, readable and writable by its owner alone.
    ///
    /// # Errors
    /// See [`FileError`]; nothing was changed then.
    pub fn open(path: &Path, find_end: FindEnd) -> Result<Self, FileError> {
        let failed = |error| FileError::Create {
            path: path.to_owned(),
            error,
        };
        let not_ours = || FileError::NotOurs(path.to_owned());
        // A pipe or device would not give back what was written, and opening one may wait for ever.
        let is_there = match fs::metadata(path) {
            Ok(found) if found.is_file() => true,
            Ok(_) => return Err(not_ours()),
            Err(_) => false,
        };
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(path)
            .map_err(failed)?;
        let mut opened = Self {
            path: path.to_owned(),
            file,
            is_new: !is_there,
            is_kept: false,
            cut: 0,
            end: 0,
        };
        match flock(&opened.file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(rustix::io::Errno::WOULDBLOCK) => return Err(FileError::Busy(path.to_owned())),
            // A file system without locks.
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

    /// The file stays: the run begins.
    ///
    /// # Errors
    /// What the operating system says.
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

    /// Bytes of something half written that are cut off at its end.
    #[must_use]
    pub fn cut(&self) -> u64 {
        self.cut
    }

    /// Returns true if it appends to a recording.
    #[must_use]
    pub fn is_appended(&self) -> bool {
        self.end > 0
    }

    /// Writes bytes of which `ends` are the ends of whole events. How many of those are in the file, and why not all.
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
        // Where even that fails the end is cut off when the file is appended to.
        let _half_an_event_stays = self.file.set_len(self.end);
        Err((whole, failed))
    }
}

impl Drop for RecordingFile {
    fn drop(&mut self) {
        if self.is_new && !self.is_kept {
            let _somebody_else_took_it = fs::remove_file(&self.path);
        }
    }
}

/// [`FindEnd`] of pcapng.
///
/// # Errors
/// As there.
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
            // What a crash left behind.
            Err(ReadError::Cut(begin)) if begin > 0 => return Ok(Some(begin)),
            Err(ReadError::Cut(_) | ReadError::Unknown(_)) => return Ok(None),
            Err(ReadError::Damaged { offset: 0, .. }) => return Ok(None),
            Err(error) => return Err(error),
        }
    }
}
