//! Detects that a file that is being written is no longer at its path.

use std::{
    fs::{self, File},
    io,
    os::unix::fs::MetadataExt as _,
    path::Path,
};

/// Returns true if the path no longer leads to the file: it was deleted or moved, or another file has its name.
#[must_use]
pub fn is_moved(file: &File, path: &Path) -> bool {
    match (fs::metadata(path), file.metadata()) {
        (Ok(there), Ok(own)) => (there.dev(), there.ino()) != (own.dev(), own.ino()),
        (Err(error), _) => error.kind() == io::ErrorKind::NotFound,
        (Ok(_), Err(_)) => false,
    }
}
