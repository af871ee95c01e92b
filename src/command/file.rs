//! Recordings that are read from start to end, with a progress line.

use std::{
    fs::File,
    io::{self, BufReader, Seek as _, Write as _},
    os::fd::AsFd as _,
    path::Path,
};

use teetap_wire::printable_path;

use crate::{
    cli::Quiet,
    exit::Failure,
    progress::{Progress, Watched},
};

/// Bytes read from the file at once.
const BLOCK: usize = 256 << 10;

/// A recording.
pub(super) struct Input {
    pub(super) bytes: Bytes,
    /// Progress line; `None` if stderr is not a terminal.
    pub(super) progress: Option<Progress>,
    /// True if the recording may still grow, so that items are shown as soon as they are read.
    pub(super) is_live: bool,
}

/// The bytes of a recording.
pub(super) type Bytes = BufReader<Watched<File>>;

/// The file name that means stdin.
pub(super) const STDIN: &str = "-";

/// Returns the path to print: `stdin` for [`STDIN`].
pub(super) fn shown(path: &Path) -> &Path {
    if path == Path::new(STDIN) {
        Path::new("stdin")
    } else {
        path
    }
}

/// Opens a recording, or stdin.
pub(super) fn open(quiet: Quiet, path: &Path) -> Result<Input, Failure> {
    let cannot =
        |error: io::Error| Failure::usage(format!("cannot open {}: {error}", printable_path(shown(path))));
    let file = if path == Path::new(STDIN) {
        io::stdin().as_fd().try_clone_to_owned().map(File::from)
    } else {
        File::open(path)
    };
    let file = file.map_err(cannot)?;
    let kind = file.metadata().map_err(cannot)?;
    if kind.is_dir() {
        return Err(cannot(io::ErrorKind::IsADirectory.into()));
    }
    let progress = if quiet.quiet {
        None
    } else {
        Progress::for_file(&file)
    };
    Ok(Input {
        bytes: BufReader::with_capacity(BLOCK, Watched::new(file, progress.clone())),
        progress,
        is_live: !kind.is_file(),
    })
}

/// Opens a recording that is embedded in the program.
pub(super) fn embedded(bytes: &[u8]) -> io::Result<Input> {
    let mut file = tempfile::tempfile()?;
    file.write_all(bytes)?;
    of_file(file)
}

/// Returns the recording in a file, read from the start of the file.
pub(super) fn of_file(mut file: File) -> io::Result<Input> {
    file.rewind()?;
    Ok(Input {
        bytes: BufReader::with_capacity(BLOCK, Watched::new(file, None)),
        progress: None,
        is_live: false,
    })
}
