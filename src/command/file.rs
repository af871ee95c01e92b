//! Recordings that are read from the start to the end, with a line that says how far.

use std::{fs::File, io::BufReader, path::Path};

use crate::{
    cli::Options,
    exit::Failure,
    progress::{Progress, Watched},
};

/// Bytes read from the file at once.
const BLOCK: usize = 256 << 10;

/// A recording.
pub(super) type Input = BufReader<Watched<File>>;

/// Opens it; and what to tell how far it is, where somebody would see that.
///
/// # Errors
/// [`Failure`]s of the command line: it cannot be opened, or is a folder.
pub(super) fn open(options: &Options, path: &Path) -> Result<(Input, Option<Progress>), Failure> {
    let cannot = |error: std::io::Error| Failure::usage(format!("cannot open {}: {error}", path.display()));
    let file = File::open(path).map_err(cannot)?;
    if file.metadata().map_err(cannot)?.is_dir() {
        return Err(Failure::usage(format!(
            "cannot open {}: it is a folder",
            path.display()
        )));
    }
    let progress = if options.quiet { None } else { Progress::of(&file) };
    let input = BufReader::with_capacity(BLOCK, Watched::new(file, progress.clone()));
    Ok((input, progress))
}
