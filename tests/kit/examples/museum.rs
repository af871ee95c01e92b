//! Writes the recordings of the museum into a folder: `cargo run -p teetap-kit --example museum -- museum`.

use std::{env, fs, path::PathBuf};

use teetap_kit::museum::PIECES;

fn main() -> anyhow::Result<()> {
    let folder = env::args_os()
        .nth(1)
        .map_or_else(|| PathBuf::from("museum"), PathBuf::from);
    fs::create_dir_all(&folder)?;
    for piece in PIECES {
        fs::write(folder.join(format!("{}.pcap", piece.name)), piece.recording())?;
    }
    Ok(())
}
