//! The committed inputs, each of which made a target fail once: one file an input, a folder a target.

use std::path::PathBuf;
use std::{fs, io};

/// The folder of a target.
pub fn folder(target: &str) -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "corpus", target].iter().collect()
}

/// All inputs of a target, by name; none when it has no folder.
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
