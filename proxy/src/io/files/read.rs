//! Reading files with a size limit and a timeout.

use std::{
    fs::{File, OpenOptions},
    io::{self, IsTerminal as _, Read as _},
    os::{
        fd::AsFd as _,
        unix::fs::{FileTypeExt as _, OpenOptionsExt as _},
    },
    path::Path,
    time::Duration,
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    fs::OFlags,
};

use crate::io::clock::Clock;

/// Maximum time for reading a pipe to its end.
pub const PATIENCE: Duration = Duration::from_secs(10);

/// Maximum bytes read from a pipe at once.
const CHUNK: usize = 64 << 10;

/// The path that means stdin.
const STDIN: &str = "-";

/// The reason why a file cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum Unread {
    /// An error of the operating system.
    #[error("{0}")]
    System(#[from] io::Error),
    /// The path leads to a pipe, a device or a socket, but only a file can be read.
    #[error("not a regular file")]
    NotRegular,
    /// The file is larger than this number of bytes.
    #[error("larger than {} KiB", .0 >> 10)]
    TooLarge(u64),
    /// The end of the pipe was not reached within [`PATIENCE`].
    #[error("its writer did not close it within {} s", PATIENCE.as_secs())]
    Late,
}

impl From<Unread> for io::Error {
    fn from(error: Unread) -> Self {
        match error {
            Unread::System(error) => error,
            other => Self::other(other),
        }
    }
}

/// Opens a regular file. A pipe or a device is refused without opening it, since that could block or have an
/// effect.
///
/// # Errors
/// [`Unread::NotRegular`], or the error of the operating system.
pub fn open_regular(path: &Path) -> Result<File, Unread> {
    // Checked before opening, since opening some devices has an effect. If the path is replaced in between,
    // the check below notices.
    let found = std::fs::metadata(path)?;
    if found.is_dir() {
        return Err(io::Error::from(io::ErrorKind::IsADirectory).into());
    }
    if !found.is_file() {
        return Err(Unread::NotRegular);
    }
    let file = open(path)?;
    if !file.metadata()?.is_file() {
        return Err(Unread::NotRegular);
    }
    Ok(file)
}

/// Reads a regular file of at most `limit` bytes.
///
/// # Errors
/// See [`Unread`].
pub fn read_regular(path: &Path, limit: u64) -> Result<Vec<u8>, Unread> {
    within(&open_regular(path)?, limit)
}

/// Reads a file that the user named: a regular file, a pipe such as `<(command)`, or stdin for `-`. The file
/// must have at most `limit` bytes, and a pipe must end within [`PATIENCE`]. Only a terminal has no time
/// limit.
///
/// # Errors
/// See [`Unread`].
pub fn read_given(path: &Path, limit: u64) -> Result<Vec<u8>, Unread> {
    read_within(path, limit, PATIENCE)
}

/// Like [`read_given`], with another time limit for pipes.
pub(super) fn read_within(path: &Path, limit: u64, patience: Duration) -> Result<Vec<u8>, Unread> {
    let deadline = Deadline {
        clock: Clock::start(),
        patience,
    };
    if path == Path::new(STDIN) {
        let stdin = io::stdin();
        let is_typed = stdin.is_terminal();
        let file = File::from(stdin.as_fd().try_clone_to_owned()?);
        return read_pipe(&file, limit, (!is_typed).then_some(deadline));
    }
    let file = open(path)?;
    let kind = file.metadata()?.file_type();
    if kind.is_file() {
        within(&file, limit)
    } else if kind.is_fifo() || kind.is_char_device() {
        read_pipe(&file, limit, Some(deadline))
    } else if kind.is_dir() {
        Err(io::Error::from(io::ErrorKind::IsADirectory).into())
    } else {
        Err(Unread::NotRegular)
    }
}

/// Opens anything without waiting for its other end. A terminal does not become the controlling terminal of
/// this process.
fn open(path: &Path) -> io::Result<File> {
    let flags = OFlags::NONBLOCK | OFlags::NOCTTY;
    OpenOptions::new()
        .read(true)
        .custom_flags(i32::try_from(flags.bits()).unwrap_or_default())
        .open(path)
}

/// Reads a file whose bytes can be read without waiting.
fn within(file: &File, limit: u64) -> Result<Vec<u8>, Unread> {
    if file.metadata()?.len() > limit {
        return Err(Unread::TooLarge(limit));
    }
    let mut bytes = Vec::new();
    // The file may grow in the meantime, and files of the kernel have no length.
    file.take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
    bounded(bytes, limit)
}

/// Reads to the end, at most until the deadline.
fn read_pipe(file: &File, limit: u64, deadline: Option<Deadline>) -> Result<Vec<u8>, Unread> {
    let mut bytes = Vec::new();
    let mut chunk = vec![0; CHUNK];
    while bytes.len() as u64 <= limit {
        if let Some(deadline) = &deadline {
            deadline.wait(file)?;
        }
        match (&mut &*file).read(&mut chunk) {
            Ok(0) => return bounded(bytes, limit),
            Ok(len) => bytes.extend_from_slice(chunk.get(..len).unwrap_or_default()),
            Err(error) if is_temporary(&error) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Err(Unread::TooLarge(limit))
}

/// The time limit for a pipe.
struct Deadline {
    clock: Clock,
    patience: Duration,
}

impl Deadline {
    /// Waits until the pipe can be read.
    fn wait(&self, file: &File) -> Result<(), Unread> {
        loop {
            let passed = Duration::from_micros(self.clock.now().0);
            let left = self.patience.saturating_sub(passed);
            if left.is_zero() {
                return Err(Unread::Late);
            }
            let mut fds = [PollFd::new(file, PollFlags::IN)];
            match poll(&mut fds, Timespec::try_from(left).ok().as_ref()) {
                Ok(0) | Err(rustix::io::Errno::INTR) => {}
                Ok(_) => return Ok(()),
                Err(error) => return Err(io::Error::from(error).into()),
            }
        }
    }
}

fn is_temporary(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::Interrupted | io::ErrorKind::WouldBlock
    )
}

fn bounded(bytes: Vec<u8>, limit: u64) -> Result<Vec<u8>, Unread> {
    if bytes.len() as u64 > limit {
        return Err(Unread::TooLarge(limit));
    }
    Ok(bytes)
}
