//! Recordings of every format, read from their first byte on.

use std::io::BufRead;

use teetap_capture::{Format, Item, Playback, ReadError, Tally};
use teetap_inspect::jsonl::Lines;

/// Any recording.
pub(crate) enum Recording<R> {
    Capture(Box<Playback<R>>),
    Lines(Box<Lines<R>>),
}

impl<R: BufRead> Recording<R> {
    /// Opens a recording by its first bytes.
    pub(crate) fn of(input: R) -> Result<Self, ReadError> {
        Self::after(0, input)
    }

    /// Opens a recording at a place after so many packets.
    pub(crate) fn after(packets: u64, mut input: R) -> Result<Self, ReadError> {
        Ok(match Format::of(&mut input)? {
            Format::Pcap => Self::Capture(Box::new(Playback::pcap(input)?.after(packets))),
            Format::PcapNg => Self::Capture(Box::new(Playback::pcapng(input).after(packets))),
            Format::JsonLines => Self::Lines(Box::new(Lines::new(input))),
        })
    }

    pub(crate) fn read(&mut self) -> Result<Option<Item>, ReadError> {
        match self {
            Self::Capture(capture) => capture.read(),
            Self::Lines(lines) => lines.read(),
        }
    }

    pub(crate) fn tally(&self) -> Tally {
        match self {
            Self::Capture(capture) => capture.tally(),
            Self::Lines(lines) => lines.tally(),
        }
    }
}
