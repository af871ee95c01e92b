//! The committed starting points: one file an input, a folder a target.

use std::path::PathBuf;
use std::{fs, io};

/// The folder of a target.
#[must_use]
pub fn folder(target: &str) -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "corpus", target].iter().collect()
}

/// All inputs of a target, by name.
///
/// # Errors
/// The folder or a file in it cannot be read.
pub fn load(target: &str) -> io::Result<Vec<(String, Vec<u8>)>> {
    let mut inputs = Vec::new();
    for entry in folder(target).read_dir()? {
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
