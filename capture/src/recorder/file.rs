//! The file of a recording: opened, checked and locked before the run starts, and written in complete events.
//!
//! Law: only recordings by teetap are appended to; any other existing file stays unchanged. An incomplete event at the
//! end of a file, which a crash may have left, is removed with a warning.

use std::{
    fs::{self, File},
    io::{self, BufReader, Seek as _, SeekFrom, Write as _},
    path::{Path, PathBuf},
};

use rustix::fs::{FlockOperation, flock};
use teetap_proxy::io::{
    files::{Access, PrivateError, create_new, open_private},
    is_moved,
};
use teetap_wire::printable_path;

use crate::{
    ReadError,
    pcapng::{self, Block, PcapNg},
};

/// Reason why a file cannot be recorded to.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// The file exists and is not a recording of teetap.
    #[error("cannot record to {path}: it exists and is not a teetap recording; name another file", path = printable_path(.0))]
    NotOurs(PathBuf),
    /// Another teetap records to the file.
    #[error("cannot record to {path}: another teetap records to it; name another file", path = printable_path(.0))]
    Busy(PathBuf),
    /// The recording is damaged before its end.
    #[error("cannot append to {path}: {error}; name another file", path = printable_path(path))]
    Damaged {
        /// Path of the file.
        path: PathBuf,
        /// Damage and its position.
        error: ReadError,
    },
    /// Other users own the file or can read it.
    #[error("cannot record to {path}: {error}", path = printable_path(path))]
    Others {
        /// Path of the file.
        path: PathBuf,
        /// Reason why the file is refused.
        error: PrivateError,
    },
    /// Stdout is a terminal.
    #[error(
        "cannot write a recording to a terminal: pipe it to a program, as in teetap -w - HOST | wireshark -k -i -, or name a file"
    )]
    Terminal,
    /// The file cannot be created or written.
    #[error("cannot write the recording {path}: {error}", path = printable_path(path))]
    Create {
        /// Path of the file.
        path: PathBuf,
        /// Error of the operating system.
        error: io::Error,
    },
}

/// Returns the end of the last complete event in a recording; `None` if it is not a recording of teetap.
///
/// # Errors
/// See [`ReadError`]; the recording is damaged before its end.
pub(crate) type FindEnd = fn(&mut BufReader<&File>) -> Result<Option<u64>, ReadError>;

/// A file that is ready for a recording. If it is new, it is removed when dropped before it is kept, or without any
/// complete event.
#[derive(Debug)]
pub struct RecordingFile {
    path: PathBuf,
    file: File,
    is_new: bool,
    /// True if other users could read or write the file before.
    was_open: bool,
    is_kept: bool,
    cut: u64,
    /// Number of bytes in the file.
    end: u64,
    /// Opens the file again when it is kept; `None` unless it was [withdrawn](Self::withdraw).
    withdrawn: Option<FindEnd>,
}

impl RecordingFile {
    /// Opens or creates the file. Other users can no longer read it.
    ///
    /// # Errors
    /// See [`FileError`]. The file is unchanged then.
    pub(crate) fn open(path: &Path, find_end: FindEnd) -> Result<Self, FileError> {
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
            withdrawn: None,
        };
        match flock(&opened.file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(rustix::io::Errno::WOULDBLOCK) => return Err(FileError::Busy(path.to_owned())),
            // The file system does not support locks.
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

    /// Creates a new file; `None` if the path exists.
    ///
    /// # Errors
    /// An error of the operating system.
    pub(super) fn create(path: &Path) -> Result<Option<Self>, FileError> {
        match create_new(path) {
            Ok(file) => Ok(Some(Self {
                path: path.to_owned(),
                file,
                is_new: true,
                was_open: false,
                is_kept: false,
                cut: 0,
                end: 0,
                withdrawn: None,
            })),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(None),
            Err(error) => Err(FileError::Create {
                path: path.to_owned(),
                error,
            }),
        }
    }

    /// Removes a new file until it is kept, so that a run that is killed leaves no empty file.
    #[must_use]
    pub(super) fn withdraw(mut self, find_end: FindEnd) -> Self {
        if self.is_new {
            let _taken_meanwhile = fs::remove_file(&self.path);
            self.is_new = false;
            self.withdrawn = Some(find_end);
        }
        self
    }

    /// Keeps the file from now on, and removes an incomplete event at its end.
    ///
    /// # Errors
    /// An error of the operating system. A file that was withdrawn: see [`Self::open`].
    pub(super) fn keep(&mut self) -> Result<(), FileError> {
        if let Some(find_end) = self.withdrawn.take() {
            *self = Self::open(&self.path, find_end)?;
        }
        self.is_kept = true;
        let cut = self.file.set_len(self.end);
        cut.and_then(|()| self.file.seek(SeekFrom::Start(self.end)).map(|_| ()))
            .map_err(|error| FileError::Create {
                path: self.path.clone(),
                error,
            })
    }

    /// Returns the path of the file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the number of bytes in the incomplete event at its end, which is removed when the file is kept.
    #[must_use]
    pub fn cut(&self) -> u64 {
        self.cut
    }

    /// Returns true if other users could read or write the file before it was opened.
    #[must_use]
    pub fn was_open(&self) -> bool {
        self.was_open
    }

    /// Returns true if the file contains a recording, to which the run is appended.
    #[must_use]
    pub fn is_appended(&self) -> bool {
        self.end > 0
    }

    /// Returns true if the path no longer leads to the file, because it was deleted, moved or replaced.
    #[must_use]
    pub(super) fn is_gone(&self) -> bool {
        is_moved(&self.file, &self.path)
    }

    /// Writes bytes, which contain complete events that end at `ends`. On an error, returns the number of events that
    /// are in the file.
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
        // If this fails, too, the next run that appends removes the incomplete event.
        let _half_an_event_stays = self.file.set_len(self.end);
        self.is_kept = self.end > 0;
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

/// Implements [`FindEnd`] for pcapng.
///
/// # Errors
/// The file cannot be read, or is damaged before its end.
pub(crate) fn end_of_pcapng(file: &mut BufReader<&File>) -> Result<Option<u64>, ReadError> {
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
            // A crash has left an incomplete event.
            Err(ReadError::Cut(begin)) if begin > 0 => return Ok(Some(begin)),
            Err(ReadError::Cut(_) | ReadError::Unknown(_)) => return Ok(None),
            Err(ReadError::Damaged { offset: 0, .. }) => return Ok(None),
            Err(error) => return Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::OwnedFd;

    use rustix::fs::{OFlags, fcntl_setfl};

    use super::*;

    #[test]
    fn a_new_file_without_an_event_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run.pcapng");
        let mut file = RecordingFile::create(&path).unwrap().unwrap();
        file.keep().unwrap();
        file.write(b"event", &[5]).unwrap();
        // A disk without room.
        let full = || fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        file.file = full();
        assert_eq!(file.write(b"more", &[4]).unwrap_err().0, 0);
        drop(file);
        assert_eq!(fs::read(&path).unwrap(), b"event");
        fs::remove_file(&path).unwrap();
        let mut file = RecordingFile::create(&path).unwrap().unwrap();
        file.keep().unwrap();
        file.file = full();
        assert_eq!(file.write(b"event", &[5]).unwrap_err().0, 0);
        drop(file);
        assert!(!path.exists());
    }

    /// A pipe that nobody reads takes some bytes and then fails, like a full disk.
    #[test]
    fn an_event_that_was_written_to_its_end_counts_as_written() {
        let (_reader, writer) = io::pipe().unwrap();
        fcntl_setfl(&writer, OFlags::NONBLOCK).unwrap();
        let mut file = RecordingFile {
            path: PathBuf::new(),
            file: OwnedFd::from(writer).into(),
            is_new: false,
            was_open: false,
            is_kept: true,
            cut: 0,
            end: 0,
            withdrawn: None,
        };
        let room = 64 << 10;
        let (ends, after) = ([100, room, room + 1], vec![0; room + 1]);
        let (whole, error) = file.write(&after, &ends).unwrap_err();
        assert_eq!(
            (whole, file.end, error.kind()),
            (2, room as u64, io::ErrorKind::WouldBlock),
            "whole events, end of the file"
        );
    }
}
