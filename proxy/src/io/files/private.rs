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

/// Permission bits of everybody but the owner.
const OTHERS: u32 = 0o077;

/// How a file is used after opening.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Append only.
    Append,
    /// Append and read.
    ReadAppend,
}

/// A file that is now accessible only to its owner.
#[derive(Debug)]
pub struct Private {
    /// The file.
    pub file: File,
    /// True if other users could access the file before.
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
    /// Other users can access the file, and its permissions cannot be changed.
    #[error("other users can read it, and that cannot be changed; name another file")]
    Open,
    /// An error of the operating system.
    #[error("{0}")]
    System(#[from] io::Error),
}

/// Creates a file with mode 0600 that must not exist yet. A symbolic link counts as a file.
///
/// # Errors
/// Returns the error of the operating system.
pub fn create_new(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .append(true)
        .create_new(true)
        .mode(0o600)
        .open(path)
}

/// Opens or creates a file. If other users can access the file, their permissions are removed. A file or a
/// symbolic link of another user is refused. Opening never blocks.
///
/// # Errors
/// See [`PrivateError`].
pub fn open_private(path: &Path, access: Access) -> Result<Private, PrivateError> {
    let mut options = OpenOptions::new();
    options
        .read(access == Access::ReadAppend)
        .append(true)
        .create(true)
        .mode(0o600);
    let file = open_own(path, &mut options)?;
    if !file.metadata()?.is_file() {
        // A terminal or /dev/null. Writing to it may block, as for any program.
        let flags = fcntl_getfl(&file).map_err(io::Error::from)?;
        fcntl_setfl(&file, flags - OFlags::NONBLOCK).map_err(io::Error::from)?;
        return Ok(Private {
            file,
            was_open: false,
            is_regular: false,
        });
    }
    let was_open = make_private(&file)?;
    Ok(Private {
        file,
        was_open,
        is_regular: true,
    })
}

/// Removes the permissions of other users. Returns true if there were any.
///
/// # Errors
/// The file belongs to another user, or its permissions cannot be changed.
pub(super) fn make_private(file: &File) -> Result<bool, PrivateError> {
    let found = file.metadata()?;
    if found.uid() != geteuid().as_raw() {
        return Err(PrivateError::Foreign("it"));
    }
    let was_open = found.permissions().mode() & OTHERS != 0;
    if was_open {
        let own = Mode::from_raw_mode(found.permissions().mode() & !OTHERS & 0o7777);
        fchmod(file, own).map_err(|_| PrivateError::Open)?;
        if file.metadata()?.permissions().mode() & OTHERS != 0 {
            return Err(PrivateError::Open);
        }
    }
    Ok(was_open)
}

/// Opens a file without blocking. A symbolic link of another user is refused.
pub(super) fn open_own(path: &Path, options: &mut OpenOptions) -> Result<File, PrivateError> {
    match open(path, options, OFlags::NOFOLLOW) {
        Err(error) if Errno::from_io_error(&error) == Some(Errno::LOOP) => {
            let owner = fs::symlink_metadata(path)?.uid();
            if owner != geteuid().as_raw() && owner != 0 {
                return Err(PrivateError::Foreign("the symbolic link"));
            }
            Ok(open(path, options, OFlags::empty())?)
        }
        opened => Ok(opened?),
    }
}

fn open(path: &Path, options: &mut OpenOptions, more: OFlags) -> io::Result<File> {
    let flags = OFlags::NONBLOCK | OFlags::NOCTTY | more;
    options
        .custom_flags(i32::try_from(flags.bits()).unwrap_or_default())
        .open(path)
}
