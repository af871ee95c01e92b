use std::{
    fs::{self, OpenOptions},
    io::Write as _,
    os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink},
    path::{Path, PathBuf},
    process::Command,
    thread,
    time::{Duration, Instant},
};

use super::{read::read_within, *};

/// Creates a pipe in a folder of its own.
fn pipe() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pipe");
    assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
    (folder, path)
}

/// Reads a file that a user would name. Fails the test if reading takes 5 s or longer.
fn read(path: &Path, limit: u64) -> Result<Vec<u8>, String> {
    let start = Instant::now();
    let read = read_within(path, limit, Duration::from_millis(200));
    assert!(start.elapsed() < Duration::from_secs(5), "{}", path.display());
    read.map_err(|error| error.to_string())
}

fn regular(path: &Path, limit: u64) -> Result<Vec<u8>, String> {
    let start = Instant::now();
    let read = read_regular(path, limit);
    assert!(start.elapsed() < Duration::from_secs(5), "{}", path.display());
    read.map_err(|error| error.to_string())
}

#[test]
fn a_regular_file_is_read_up_to_its_limit() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    fs::write(&path, [7; 2048]).unwrap();
    for reader in [read, regular] {
        assert_eq!(reader(&path, 2048), Ok(vec![7; 2048]));
        assert_eq!(reader(&path, 2047), Err("larger than 1 KiB".to_owned()));
        let error = reader(folder.path(), 9).unwrap_err();
        assert!(error.contains("is a directory"), "{error}");
        let error = reader(&folder.path().join("none"), 9).unwrap_err();
        assert!(error.contains("No such file"), "{error}");
    }
    // A file of the kernel has no length.
    assert_eq!(
        regular(Path::new("/proc/kallsyms"), 1024),
        Err("larger than 1 KiB".to_owned())
    );
}

#[test]
fn a_pipe_without_a_writer_is_never_waited_for_long() {
    let (folder, path) = pipe();
    let link = folder.path().join("link");
    symlink(&path, &link).unwrap();
    for path in [&path, &link] {
        assert_eq!(regular(path, 9), Err("not a regular file".to_owned()));
        assert_eq!(
            read(path, 9),
            Err("its writer did not close it within 10 s".to_owned())
        );
    }
    // A writer that writes something but never closes the pipe.
    let mut writer = OpenOptions::new().read(true).write(true).open(&path).unwrap();
    writer.write_all(b"drop when").unwrap();
    assert_eq!(
        read(&path, 9),
        Err("its writer did not close it within 10 s".to_owned())
    );
}

#[test]
fn a_pipe_is_read_to_its_end_once() {
    let (_folder, path) = pipe();
    let to = path.clone();
    let writer = thread::spawn(move || fs::write(to, vec![b'x'; 200_000]).unwrap());
    let read_it = read_within(&path, 200_000, Duration::from_secs(20));
    assert_eq!(read_it.unwrap(), vec![b'x'; 200_000]);
    writer.join().unwrap();
}

#[test]
fn a_device_has_an_end() {
    assert_eq!(
        read(Path::new("/dev/zero"), 1 << 20),
        Err("larger than 1024 KiB".to_owned())
    );
    assert_eq!(read(Path::new("/dev/null"), 9), Ok(Vec::new()));
    for path in ["/dev/zero", "/dev/null"] {
        assert_eq!(regular(Path::new(path), 9), Err("not a regular file".to_owned()));
    }
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn others_can_no_longer_read_a_file_that_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    for access in [Access::Append, Access::ReadAppend] {
        let opened = open_private(&path, access).unwrap();
        assert_eq!(
            (opened.was_open, opened.is_regular, mode(&path)),
            (false, true, 0o600)
        );
        for (given, expected) in [(0o644, 0o600), (0o666, 0o600), (0o620, 0o600), (0o701, 0o700)] {
            set_mode(&path, given);
            assert!(open_private(&path, access).unwrap().was_open, "{given:o}");
            assert_eq!(mode(&path), expected, "{given:o}");
        }
        fs::remove_file(&path).unwrap();
    }
    let created = create_new(&path).unwrap();
    assert_eq!(mode(&path), 0o600);
    drop(created);
    let again = create_new(&path).unwrap_err();
    assert_eq!(again.kind(), std::io::ErrorKind::AlreadyExists);
    let link = folder.path().join("link");
    symlink(folder.path().join("target"), &link).unwrap();
    let through = create_new(&link).unwrap_err();
    assert_eq!(through.kind(), std::io::ErrorKind::AlreadyExists);
}

#[test]
fn a_link_of_the_user_is_followed_and_a_device_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let (path, link) = (folder.path().join("file"), folder.path().join("link"));
    symlink(&path, &link).unwrap();
    open_private(&link, Access::Append)
        .unwrap()
        .file
        .write_all(b"text")
        .unwrap();
    assert_eq!((fs::read(&path).unwrap(), mode(&path)), (b"text".to_vec(), 0o600));
    let null = open_private(Path::new("/dev/null"), Access::Append).unwrap();
    assert_eq!((null.was_open, null.is_regular), (false, false));
}

/// Without the non-blocking flag, opening a pipe for writing would wait for a reader.
#[test]
fn a_pipe_without_a_reader_is_an_error() {
    let (_folder, path) = pipe();
    let start = Instant::now();
    let error = open_private(&path, Access::Append).unwrap_err().to_string();
    assert!(error.contains("No such device or address"), "{error}");
    assert!(start.elapsed() < Duration::from_secs(5));
}

/// Needs the right to change the owner of a file.
#[test]
fn files_and_links_of_another_user_are_refused() {
    const OTHER: u32 = 12_345;
    let folder = tempfile::tempdir().unwrap();
    let (path, link) = (folder.path().join("file"), folder.path().join("link"));
    fs::write(&path, "text").unwrap();
    symlink(&path, &link).unwrap();
    if std::os::unix::fs::lchown(&link, Some(OTHER), None).is_err() {
        // The tests above do not need this right.
        return;
    }
    for access in [Access::Append, Access::ReadAppend] {
        let error = open_private(&link, access).unwrap_err().to_string();
        assert_eq!(
            error,
            "the symbolic link belongs to another user; name another file"
        );
    }
    std::os::unix::fs::chown(&path, Some(OTHER), None).unwrap();
    set_mode(&path, 0o666);
    let error = open_private(&path, Access::Append).unwrap_err().to_string();
    assert_eq!(error, "it belongs to another user; name another file");
    let found = fs::metadata(&path).unwrap();
    assert_eq!((found.uid(), found.len(), mode(&path)), (OTHER, 4, 0o666));
}

/// Writes to a pipe with little patience.
fn write_pipe(path: &Path, bytes: &[u8]) -> Result<(), String> {
    let patience = Duration::from_millis(200);
    let mut pipe = PipeWriter::open(path, patience).map_err(|error| error.to_string())?;
    pipe.write_all(bytes).map_err(|error| error.to_string())
}

#[test]
fn a_writer_to_a_pipe_waits_for_a_reader_but_not_for_long() {
    let (folder, path) = pipe();
    let none = "no program has opened the pipe for reading within 0 s".to_owned();
    assert_eq!(write_pipe(&path, b"text"), Err(none));
    let link = folder.path().join("link");
    symlink(&path, &link).unwrap();
    // More than a pipe holds.
    let bytes = vec![b'x'; 200_000];
    for path in [&path, &link] {
        let from = path.clone();
        let reader = thread::spawn(move || fs::read(from).unwrap());
        assert_eq!(write_pipe(path, &bytes), Ok(()));
        assert_eq!(reader.join().unwrap(), bytes);
        assert_eq!(mode(path), 0o600, "other users could read the pipe");
    }
    // A reader that does not read, and one that goes away.
    let reader = OpenOptions::new().read(true).write(true).open(&path).unwrap();
    let stalled = "the reader of the pipe has not read for 0 s".to_owned();
    assert_eq!(write_pipe(&path, &bytes), Err(stalled));
    drop(reader);
    let from = path.clone();
    let reader = thread::spawn(move || drop(fs::File::open(from).unwrap()));
    let error = write_pipe(&path, &bytes).unwrap_err();
    assert!(error.contains("Broken pipe"), "{error}");
    reader.join().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "").unwrap();
    assert_eq!(
        write_pipe(&file, b"text"),
        Err("it is not a pipe any more".to_owned())
    );
}
