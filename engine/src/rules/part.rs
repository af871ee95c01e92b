//! A text of rules and where it comes from: the command line, or a file that is read again when it changes.

use std::{
    fs, io,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};

use teetap_proxy::io::files::{Unread, read_given, read_regular};
use teetap_wire::printable_path;

use super::RulesError;

/// The maximum size of a file in bytes.
pub(super) const MAX_FILE: u64 = 1 << 20;

/// The path that stands for stdin.
const STDIN: &str = "-";

/// A text, and where it comes from.
#[derive(Clone, Debug)]
pub(super) struct Part {
    /// The name in messages, without control characters.
    pub(super) name: String,
    /// The last text without errors.
    pub(super) text: String,
    pub(super) file: Option<Watched>,
}

/// A file that is read again when it changes.
#[derive(Clone, Debug)]
pub(super) struct Watched {
    pub(super) path: PathBuf,
    /// `None` while it is missing.
    pub(super) stamp: Option<Stamp>,
    /// The last text, if it has an error, or another file has one.
    pub(super) pending: Option<String>,
}

/// The marks of a change: seconds and nanoseconds of the modification time, length, inode.
pub(super) type Stamp = (i64, i64, u64, u64);

/// The result of a look at a file.
pub(super) enum Look {
    Same,
    Other,
    /// For the first time, why it cannot be read.
    Gone(String),
}

impl Part {
    pub(super) fn typed(name: &str, text: &str) -> Self {
        Self {
            name: name.to_owned(),
            text: text.to_owned(),
            file: None,
        }
    }

    pub(super) fn read(path: &Path) -> Result<Self, RulesError> {
        let name = printable_path(path);
        // The time is taken before the contents, so that a later change is noticed. Stdin has none.
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

    /// Returns it with its last text, whether that has an error or not.
    pub(super) fn newest(&self) -> Self {
        let mut newest = self.clone();
        let pending = newest.file.as_mut().and_then(|file| file.pending.take());
        newest.text = pending.unwrap_or(newest.text);
        newest
    }

    /// Looks for a change, and reads it.
    pub(super) fn look(&mut self) -> Look {
        let Some(file) = &mut self.file else {
            return Look::Same;
        };
        let found = match stamp(&file.path) {
            Ok(found) if found.is_some() && found == file.stamp => return Look::Same,
            Ok(found) => again(&file.path).map(|text| (found, text)),
            Err(error) => Err(error.to_string()),
        };
        match found {
            Ok((stamp, text)) => {
                file.stamp = stamp;
                if text == *file.pending.as_ref().unwrap_or(&self.text) {
                    return Look::Same;
                }
                file.pending = Some(text);
                Look::Other
            }
            Err(error) => match file.stamp.take() {
                Some(_) => Look::Gone(error),
                None => Look::Same,
            },
        }
    }
}

/// The stamp of a file; `None` for what is not a regular file, such as a pipe, and can be read once only.
fn stamp(path: &Path) -> io::Result<Option<Stamp>> {
    let found = fs::metadata(path)?;
    Ok(found
        .is_file()
        .then(|| (found.mtime(), found.mtime_nsec(), found.len(), found.ino())))
}

/// Reads at most 1 MiB of text from a file or a pipe; `-` stands for stdin.
///
/// # Errors
/// Returns the reason why the file cannot be read.
pub fn contents(path: &Path) -> Result<String, String> {
    text(read_given(path, MAX_FILE))
}

/// Reads the text of a regular file again.
fn again(path: &Path) -> Result<String, String> {
    text(read_regular(path, MAX_FILE))
}

fn text(read: Result<Vec<u8>, Unread>) -> Result<String, String> {
    let bytes = read.map_err(|error| error.to_string())?;
    String::from_utf8(bytes)
        .map_err(|error| format!("not UTF-8 at byte {}", error.utf8_error().valid_up_to()))
}
