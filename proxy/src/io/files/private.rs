//! Writing: files that only their owner can read.

use std::{
    fs::{self, File, OpenOptions},
    io,
    os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _},
    path::Path,
};

use rustix::{
    fs::{Mode, OFlags, fchmod, fcntl_getfl, fcntl_setfl},
    io::Errno,
    process::geteuid,
};

/// Permissions of everybody but the owner.
const OTHERS: u32 = 0o077;

/// The use of a file that is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Only appended to.
    Append,
    /// Read, too.
    ReadAppend,
}

/// A file that only its owner can read from now on.
#[derive(Debug)]
pub struct Private {
    /// The file.
    pub file: File,
    /// True if others could read or write it before.
    pub was_open: bool,
    /// False for a device or a pipe.
    pub is_regular: bool,
}

/// The reason why a file cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum PrivateError {
    /// The file, or the symbolic link to it, belongs to another user.
    #[error("{0} belongs to another user; name another file")]
    Foreign(&'static str),
    /// Others can read the file, and that cannot be changed.
    #[error("other users can read it, and that cannot be changed; name another file")]
    Open,
    /// An error of the operating system.
    #[error("{0}")]
    System(#[from] io::Error),
}

/// Creates a file with mode 0600 that must not exist yet. A symbolic link counts as a file.
///
/// # Errors
/// The error of the operating system.
pub fn create_new(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .append(true)
        .create_new(true)
        .mode(0o600)
        .open(path)
}

/// Opens a file, or creates it. A file that others can read becomes readable by its owner alone; a file
/// or a symbolic link of another user is refused. Opening never waits.
///
/// # Errors
/// See [`PrivateError`].
pub fn open_private(path: &Path, access: Access) -> Result<Private, PrivateError> {
    let file = match open(path, access, OFlags::NOFOLLOW) {
        Err(error) if Errno::from_io_error(&error) == Some(Errno::LOOP) => {
            let owner = fs::symlink_metadata(path)?.uid();
            if owner != geteuid().as_raw() && owner != 0 {
                return Err(PrivateError::Foreign("the symbolic link"));
            }
            open(path, access, OFlags::empty())?
        }
        opened => opened?,
    };
    let found = file.metadata()?;
    if !found.is_file() {
        // A terminal or /dev/null. Writers of it may wait, as for any program.
        let flags = fcntl_getfl(&file).map_err(io::Error::from)?;
        fcntl_setfl(&file, flags - OFlags::NONBLOCK).map_err(io::Error::from)?;
        return Ok(Private {
            file,
            was_open: false,
            is_regular: false,
        });
    }
    if found.uid() != geteuid().as_raw() {
        return Err(PrivateError::Foreign("it"));
    }
    let was_open = found.permissions().mode() & OTHERS != 0;
    if was_open {
        let own = Mode::from_raw_mode(found.permissions().mode() & !OTHERS & 0o7777);
        fchmod(&file, own).map_err(|_| PrivateError::Open)?;
        if file.metadata()?.permissions().mode() & OTHERS != 0 {
            return Err(PrivateError::Open);
        }
    }
    Ok(Private {
        file,
        was_open,
        is_regular: true,
    })
}

fn open(path: &Path, access: Access, more: OFlags) -> io::Result<File> {
    let flags = OFlags::NONBLOCK | OFlags::NOCTTY | more;
    OpenOptions::new()
        .read(access == Access::ReadAppend)
        .append(true)
        .create(true)
        .mode(0o600)
        .custom_flags(i32::try_from(flags.bits()).unwrap_or_default())
        .open(path)
}
