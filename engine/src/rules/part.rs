//! A text of rules with its origin: the command line, or a file that is read again when it changes.

use std::{
    fs, io,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};

use teetap_proxy::io::files::{Unread, read_given, read_regular};
use teetap_wire::printable_path;

use super::error::{RulesError, TextError};

/// Maximum size of a file in bytes.
pub(super) const MAX_FILE: u64 = 1 << 20;

/// Path that means stdin.
const STDIN: &str = "-";

/// A text of rules and its origin.
#[derive(Clone, Debug)]
pub(super) struct RuleText {
    /// Name in messages, without control characters.
    pub(super) name: String,
    /// Last text without errors.
    pub(super) text: String,
    pub(super) file: Option<Watched>,
}

/// A file that is read again when it changes.
#[derive(Clone, Debug)]
pub(super) struct Watched {
    pub(super) path: PathBuf,
    /// State of the file when it was last read; `None` while it is missing.
    pub(super) stamp: Option<Stamp>,
    /// Text that was read last, if it or another file has an error.
    pub(super) pending: Option<String>,
}

/// Marks that reveal a change: seconds and nanoseconds of the modification time, length, inode.
pub(super) type Stamp = (i64, i64, u64, u64);

/// Result of checking a file.
pub(super) enum FileCheck {
    Same,
    Other,
    /// The file cannot be read, reported once with the reason.
    Gone(TextError),
}

impl RuleText {
    pub(super) fn typed(name: &str, text: &str) -> Self {
        Self {
            name: name.to_owned(),
            text: text.to_owned(),
            file: None,
        }
    }

    pub(super) fn read(path: &Path) -> Result<Self, RulesError> {
        let name = printable_path(path);
        // The time is read before the contents, so that a later change is noticed. Stdin has none.
        let stamp = stamp(path).ok().flatten().filter(|_| path != Path::new(STDIN));
        let text = match contents(path) {
            Ok(text) => text,
            Err(cause) => return Err(RulesError::Unreadable { name, cause }),
        };
        Ok(Self {
            name,
            text,
            file: stamp.map(|stamp| Watched {
                path: path.to_owned(),
                stamp: Some(stamp),
                pending: None,
            }),
        })
    }

    /// Returns the part with its newest text, whether or not that has an error.
    pub(super) fn newest(&self) -> Self {
        let mut newest = self.clone();
        let pending = newest.file.as_mut().and_then(|file| file.pending.take());
        newest.text = pending.unwrap_or(newest.text);
        newest
    }

    /// Checks the file, and reads it if it has changed.
    pub(super) fn look(&mut self) -> FileCheck {
        let Some(file) = &mut self.file else {
            return FileCheck::Same;
        };
        let found = match stamp(&file.path) {
            Ok(found) if found.is_some() && found == file.stamp => return FileCheck::Same,
            Ok(found) => again(&file.path).map(|text| (found, text)),
            Err(error) => Err(TextError::State(error)),
        };
        match found {
            Ok((stamp, text)) => {
                file.stamp = stamp;
                if text == *file.pending.as_ref().unwrap_or(&self.text) {
                    return FileCheck::Same;
                }
                file.pending = Some(text);
                FileCheck::Other
            }
            Err(error) => match file.stamp.take() {
                Some(_) => FileCheck::Gone(error),
                None => FileCheck::Same,
            },
        }
    }
}

/// Returns the stamp of a file; `None` for anything but a regular file, such as a pipe, which can be read only once.
fn stamp(path: &Path) -> io::Result<Option<Stamp>> {
    let found = fs::metadata(path)?;
    Ok(found
        .is_file()
        .then(|| (found.mtime(), found.mtime_nsec(), found.len(), found.ino())))
}

/// Reads at most 1 MiB of text from a file or a pipe; `-` means stdin.
///
/// # Errors
/// Returns the reason why the file cannot be read.
pub fn contents(path: &Path) -> Result<String, TextError> {
    text(read_given(path, MAX_FILE))
}

/// Reads the text of a regular file again.
fn again(path: &Path) -> Result<String, TextError> {
    text(read_regular(path, MAX_FILE))
}

fn text(read: Result<Vec<u8>, Unread>) -> Result<String, TextError> {
    Ok(String::from_utf8(read?).map_err(|error| error.utf8_error())?)
}
