//! pcapng files: reading those of any program, and writing those of teetap.

pub(crate) mod number;
mod read;
pub(crate) mod write;

pub(crate) use number::{PROGRAM, SECTION};
pub(crate) use read::{Block, PcapNg};
