//! New files: created beside their place, and renamed once they are complete.

use std::{
    fs,
    io::{self, Write as _},
    path::Path,
};

use teetap_wire::printable_path;
use tempfile::NamedTempFile;

use crate::exit::Failure;

/// Creates a temporary file beside the output. It is renamed once it is complete, so that an interrupted run creates no
/// partial output.
///
/// The file has mode 0600, like all recordings.
pub(super) fn create(path: &Path) -> Result<NamedTempFile, Failure> {
    if path == Path::new("-") {
        return Err(Failure::usage("cannot write to stdout; name a file"));
    }
    if fs::symlink_metadata(path).is_ok() {
        return Err(exists(path));
    }
    temporary(path)
}

/// Creates a temporary file beside `path`.
fn temporary(path: &Path) -> Result<NamedTempFile, Failure> {
    let folder = match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    };
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    tempfile::Builder::new()
        .prefix(&format!("{name}."))
        .suffix(".part")
        .tempfile_in(folder)
        .map_err(|error| cannot_write(path, &error))
}

/// Renames the temporary file to the output. Fails if the output exists.
pub(super) fn persist(written: NamedTempFile, path: &Path) -> Result<(), Failure> {
    match written.persist_noclobber(path) {
        Ok(_) => Ok(()),
        Err(failed) if failed.error.kind() == io::ErrorKind::AlreadyExists => Err(exists(path)),
        Err(failed) => Err(cannot_write(path, &failed.error)),
    }
}

/// Replaces the contents of a file, and keeps its permissions. If that fails, the old contents stay.
pub(super) fn replace(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    let failed = |error: io::Error| cannot_write(path, &error);
    // A symbolic link stays, and its target is replaced.
    let target = fs::canonicalize(path).map_err(failed)?;
    let found = fs::metadata(&target).map_err(failed)?;
    if !found.is_file() {
        return Err(failed(io::Error::other("not a regular file")));
    }
    let mut file = temporary(&target)?;
    file.write_all(bytes).map_err(failed)?;
    file.as_file()
        .set_permissions(found.permissions())
        .map_err(failed)?;
    file.persist(&target).map_err(|error| failed(error.error))?;
    Ok(())
}

fn exists(path: &Path) -> Failure {
    Failure::usage(format!("{} exists; name another file", printable_path(path)))
}

pub(super) fn cannot_write(path: &Path, error: &io::Error) -> Failure {
    let error = error.to_string();
    // Leaves out the name of the temporary file.
    let why = error.split_once(" at path ").map_or(&*error, |(why, _)| why);
    Failure::network(format!("cannot write {}: {why}", printable_path(path)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Another program may create the file while this one writes.
    #[test]
    fn a_file_that_exists_at_the_end_is_kept_and_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out.pcapng");
        let new = || NamedTempFile::new_in(folder.path()).unwrap();
        assert!(persist(new(), &path).is_ok(), "the name is free");
        fs::write(&path, "of others").unwrap();
        let error = persist(new(), &path).unwrap_err().to_string();
        assert_eq!(error, format!("{} exists; name another file", path.display()));
        assert_eq!(fs::read_to_string(&path).unwrap(), "of others");
    }

    #[test]
    fn a_file_is_replaced_behind_its_link_with_its_permissions() {
        use std::os::unix::fs::{PermissionsExt as _, symlink};
        let folder = tempfile::tempdir().unwrap();
        let (path, link) = (folder.path().join("rules.tap"), folder.path().join("link"));
        fs::write(&path, "old").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        symlink(&path, &link).unwrap();
        replace(&link, b"new").unwrap();
        let mode = fs::metadata(&path).unwrap().permissions().mode() & 0o777;
        assert_eq!(
            (fs::read_to_string(&path).unwrap(), mode),
            ("new".to_owned(), 0o640)
        );
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    }
}
