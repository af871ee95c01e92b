//! A map that no client has, large enough to time its download.
//!
//! The programs treat a map as a file: they read the parts that its header names, and hash the whole file. So a
//! packaged map with appended filler still works, but has its own hash and can have any size.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};

use super::installed;

/// The map's name, for `sv_map`.
const NAME: &str = "teetap-big";

/// A playable map of a chosen size.
#[derive(Debug)]
pub struct BigMap {
    bytes: Vec<u8>,
}

impl BigMap {
    /// Creates a 0.7 map of `size` bytes.
    pub fn seven(size: usize) -> Result<Self> {
        Self::build(
            installed("/usr/share/games/teeworlds/data/maps/dm1.map", "teeworlds-data")?,
            size,
        )
    }

    /// Creates a 0.6 map of `size` bytes.
    pub fn six(size: usize) -> Result<Self> {
        Self::build(
            installed("/usr/share/games/ddnet/data/maps/dm1.map", "ddnet-data")?,
            size,
        )
    }

    /// Returns the whole file.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns the console line that makes a server play the map.
    pub fn setting() -> String {
        format!("sv_map {NAME}")
    }

    /// Writes the map into a folder of maps.
    pub fn write_into(&self, folder: &Path) -> Result<()> {
        let path = folder.join(format!("{NAME}.map"));
        std::fs::write(&path, &self.bytes).with_context(|| format!("write {}", path.display()))
    }

    fn build(packaged: &str, size: usize) -> Result<Self> {
        let mut bytes = std::fs::read(packaged).with_context(|| format!("read {packaged}"))?;
        // SplitMix64: bytes that the game's Huffman code cannot compress, like the deflated parts of a real map.
        let mut state = 0_u64;
        while bytes.len() < size {
            state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
            let mixed = (state ^ (state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
            bytes.extend((mixed ^ (mixed >> 27)).to_le_bytes());
        }
        Ok(Self { bytes })
    }
}

/// Returns the only file in a client's folder of downloaded maps; both games keep it under their data folder.
pub fn downloaded(home: &Path, game: &str) -> Result<PathBuf> {
    let folder = home.join(".local/share").join(game).join("downloadedmaps");
    let listed = std::fs::read_dir(&folder).with_context(|| format!("list {}", folder.display()))?;
    let paths = listed
        .map(|entry| Ok(entry?.path()))
        .collect::<Result<Vec<_>>>()?;
    ensure!(paths.len() == 1, "not one downloaded map: {paths:?}");
    paths.into_iter().next().context("no downloaded map")
}
