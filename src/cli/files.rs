//! Checks of the files that the options of a run write.

use std::{
    fs,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};

use teetap_wire::printable_path;

use super::RunOptions;
use crate::exit::Failure;

/// Returns an error if one option writes a file that another option reads or writes: a report would replace the rules,
/// and a log would damage a recording.
pub(crate) fn check_files(options: &RunOptions) -> Result<(), Failure> {
    let written = [
        (
            "--write",
            options
                .write
                .as_ref()
                .filter(|target| !target.is_stdout())
                .map(|target| target.path()),
        ),
        ("--log", options.log.as_deref()),
        ("--junit", options.junit.as_deref()),
        ("--summary", options.summary.as_deref()),
        ("--journal", options.journal.as_deref()),
        ("--input-log", options.input_log.as_deref()),
    ];
    let read = [
        ("--faults-from", options.faults_from.as_deref()),
        (
            "--messages",
            options.show.contents.definitions.messages.as_deref(),
        ),
    ];
    let rules = options.rules.files.iter();
    let read = read
        .into_iter()
        .chain(rules.map(|path| ("--rules", Some(path.as_path()))));
    let mut known: Vec<(&str, FileIdentity)> = Vec::new();
    let all = written.into_iter().chain(read);
    for (index, (option, path)) in all.enumerate() {
        let Some(path) = path else { continue };
        let Some(place) = FileIdentity::of_path(path) else {
            continue;
        };
        if let Some((other, _)) = known.iter().find(|(_, known)| *known == place) {
            let path = printable_path(path);
            return Err(Failure::usage(format!(
                "cannot use {path} for {other} and {option}; name another file"
            )));
        }
        if index < written.len() {
            known.push((option, place));
        }
    }
    Ok(())
}

/// Identity of a file, whatever path names it.
#[derive(PartialEq, Eq)]
enum FileIdentity {
    /// A regular file: device and inode number.
    File(u64, u64),
    /// A file that does not exist yet.
    Path(PathBuf),
}

impl FileIdentity {
    /// Returns `None` for anything but a regular file, such as a device or a pipe, which several options may share.
    fn of_path(path: &Path) -> Option<Self> {
        match fs::metadata(path) {
            Ok(data) => data.is_file().then(|| Self::File(data.dev(), data.ino())),
            Err(_) => {
                let folder = path.parent().filter(|folder| *folder != Path::new(""));
                let folder = fs::canonicalize(folder.unwrap_or(Path::new(".")));
                let folder = folder.unwrap_or_default();
                Some(Self::Path(
                    folder.join(path.file_name().unwrap_or(path.as_os_str())),
                ))
            }
        }
    }
}
