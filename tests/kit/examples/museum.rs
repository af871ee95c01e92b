//! Writes the recordings of the museum into a folder, and the repaired ones into `repaired/` in it: `cargo run -p teetap-kit --example museum -- museum`.

use std::{env, fs, path::PathBuf};

use teetap_kit::museum::PIECES;

fn main() -> anyhow::Result<()> {
    let folder = env::args_os()
        .nth(1)
        .map_or_else(|| PathBuf::from("museum"), PathBuf::from);
    fs::create_dir_all(folder.join("repaired"))?;
    for piece in PIECES {
        let name = format!("{}.pcap", piece.name);
        fs::write(folder.join(&name), piece.recording())?;
        fs::write(folder.join("repaired").join(&name), piece.repaired())?;
    }
    Ok(())
}
