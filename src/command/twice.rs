//! Recordings that are read twice.

use std::{
    fs::File,
    io::{self, BufRead, BufReader, Read},
    os::unix::fs::FileExt as _,
    path::Path,
};

use super::file;

/// Bytes read at once.
const BLOCK: usize = 256 << 10;

/// Returns two readers of a recording. Stdin and pipes are copied to an unnamed temporary file first.
pub(super) fn twice(mut input: file::Input, path: &Path) -> io::Result<(impl BufRead, file::Input)> {
    let first = if input.is_live {
        let mut copy = tempfile::tempfile()?;
        io::copy(&mut input.bytes, &mut copy)?;
        let second = copy.try_clone()?;
        input = file::of_file(second)?;
        copy
    } else {
        File::open(path)?
    };
    // Duplicated descriptors share a file position, so the first reader keeps a position of its own.
    let first = BufReader::with_capacity(BLOCK, At { file: first, at: 0 });
    Ok((first, input))
}

/// Reader of a file from its start, independent of the position of other descriptors.
struct At {
    file: File,
    at: u64,
}

impl Read for At {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read_at(buffer, self.at)?;
        self.at += read as u64;
        Ok(read)
    }
}
