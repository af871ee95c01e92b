//! The committed inputs, each of which once made a target fail: a folder per target, a file per input.

use std::path::PathBuf;
use std::{fs, io};

/// Returns the folder of a target.
pub fn folder(target: &str) -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "corpus", target].iter().collect()
}

/// Returns all inputs of a target in the order of their names; none if it has no folder.
pub fn load(target: &str) -> io::Result<Vec<(String, Vec<u8>)>> {
    let mut inputs = Vec::new();
    let entries = match folder(target).read_dir() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(inputs),
        entries => entries?,
    };
    for entry in entries {
        let path = entry?.path();
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        inputs.push((name, fs::read(&path)?));
    }
    inputs.sort();
    Ok(inputs)
}
