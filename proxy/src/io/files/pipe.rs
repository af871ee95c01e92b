//! Writing to pipes whose reader may come late, read slowly or go away.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Write},
    os::{
        fd::AsFd,
        unix::fs::{FileTypeExt as _, MetadataExt as _},
    },
    path::Path,
    thread,
    time::Duration,
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::Errno,
};

use super::private::{Private, PrivateError, make_private, open_own};
use crate::{io::clock::Clock, session::Time};

/// Number of bytes that a write to a ready pipe accepts without blocking: `PIPE_BUF` of Linux.
const CHUNK: usize = 4096;

/// Interval between two attempts to open a pipe that has no reader.
const RETRY: Duration = Duration::from_millis(20);

/// Returns true if the path leads to a pipe.
#[must_use]
pub fn is_pipe(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|found| found.file_type().is_fifo())
}

/// Opens a pipe for writing. Returns `None` if it has no reader yet. A pipe or a symbolic link of another user is
/// refused, and the permissions of other users are removed. Opening never blocks.
///
/// # Errors
/// See [`PrivateError`]; [`PrivateError::System`] also if the path does not lead to a pipe.
pub fn open_pipe(path: &Path) -> Result<Option<Private>, PrivateError> {
    let found = fs::metadata(path)?;
    if !found.file_type().is_fifo() {
        return Err(io::Error::other("it is not a pipe any more").into());
    }
    if found.uid() != rustix::process::geteuid().as_raw() {
        return Err(PrivateError::Foreign("it"));
    }
    let file = match open_own(path, OpenOptions::new().append(true)) {
        Err(PrivateError::System(error)) if Errno::from_io_error(&error) == Some(Errno::NXIO) => {
            return Ok(None);
        }
        opened => opened?,
    };
    // If the path was replaced in between, the kind and the owner of the opened file count.
    let kind = file.metadata()?.file_type();
    if !kind.is_fifo() {
        return Err(io::Error::other("it is not a pipe any more").into());
    }
    let was_open = make_private(&file)?;
    Ok(Some(Private {
        file,
        was_open,
        is_regular: false,
    }))
}

/// Writes up to `CHUNK` bytes once `file` is ready, and returns their number: 0 if `wait` passes before. Never blocks
/// longer, even if the descriptor is in blocking mode, unless another program writes to the same pipe.
///
/// # Errors
/// The error of the operating system: [`io::ErrorKind::BrokenPipe`] if no program reads the pipe any more.
pub fn write_ready(file: &File, bytes: &[u8], wait: Duration) -> io::Result<usize> {
    let mut fds = [PollFd::new(file, PollFlags::OUT)];
    match poll(&mut fds, Timespec::try_from(wait).ok().as_ref()) {
        Ok(0) | Err(Errno::INTR) => return Ok(0),
        Ok(_) => {}
        Err(error) => return Err(error.into()),
    }
    let chunk = bytes.get(..CHUNK).unwrap_or(bytes);
    match (&mut &*file).write(chunk) {
        Ok(0) if !chunk.is_empty() => Err(io::ErrorKind::WriteZero.into()),
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted
            ) =>
        {
            Ok(0)
        }
        written => written,
    }
}

/// Returns true if `file` is a pipe that no program reads any more.
#[must_use]
pub fn has_no_reader(file: impl AsFd) -> bool {
    let mut fds = [PollFd::new(&file, PollFlags::empty())];
    let polled = poll(&mut fds, Some(&Timespec::default()));
    polled.is_ok_and(|ready| ready > 0) && fds.iter().any(|fd| fd.revents().contains(PollFlags::ERR))
}

/// Writer to a named pipe. Waits for the reader, but not for ever.
#[derive(Debug)]
pub struct PipeWriter {
    file: File,
    clock: Clock,
    patience: Duration,
}

impl PipeWriter {
    /// Returns a writer to an open pipe or device, which waits up to `patience` for its reader at each write.
    #[must_use]
    pub fn new(file: File, patience: Duration) -> Self {
        Self {
            file,
            clock: Clock::start(),
            patience,
        }
    }

    /// Opens a pipe, and waits up to `patience` for a program that reads it.
    ///
    /// # Errors
    /// See [`open_pipe`]; [`io::ErrorKind::TimedOut`] if no program opens the pipe.
    pub fn open(path: &Path, patience: Duration) -> Result<Self, PrivateError> {
        let clock = Clock::start();
        loop {
            if let Some(Private { file, .. }) = open_pipe(path)? {
                return Ok(Self {
                    file,
                    clock,
                    patience,
                });
            }
            if clock.now().since(Time::ZERO) >= patience {
                let seconds = patience.as_secs();
                let why = format!("no program has opened the pipe for reading within {seconds} s");
                return Err(io::Error::new(io::ErrorKind::TimedOut, why).into());
            }
            thread::sleep(RETRY);
        }
    }
}

impl Write for PipeWriter {
    /// Fails with [`io::ErrorKind::TimedOut`] if the reader does not read for the patience of [`Self::open`].
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let begin = self.clock.now();
        loop {
            let written = write_ready(&self.file, bytes, RETRY)?;
            if written > 0 || bytes.is_empty() {
                return Ok(written);
            }
            if self.clock.now().since(begin) >= self.patience {
                let seconds = self.patience.as_secs();
                let why = format!("the reader of the pipe has not read for {seconds} s");
                return Err(io::Error::new(io::ErrorKind::TimedOut, why));
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
