//! Reads pcapng files by any program, and writes teetap's own pcapng files.

pub(crate) mod number;
mod read;
pub(crate) mod write;

pub(crate) use number::{PROGRAM, SECTION};
pub(crate) use read::{Block, PcapNg};
