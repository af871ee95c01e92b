//! Reads recordings of every format: directly, ahead on a thread, or from a place on.

pub mod ahead;
pub mod from;
pub mod places;

use std::io::BufRead;

use teetap_inspect::jsonl::Lines;

use crate::{Format, Item, Playback, ReadError, Tally};

/// A recording of any format.
pub enum Recording<R> {
    /// A capture, pcap or pcapng.
    Capture(Box<Playback<R>>),
    /// JSON lines.
    Lines(Box<Lines<R>>),
}

impl<R: BufRead> Recording<R> {
    /// Opens a recording, detecting its format by the first bytes.
    ///
    /// # Errors
    /// The first bytes match no format, or cannot be read.
    pub fn open(input: R) -> Result<Self, ReadError> {
        Self::after(0, input)
    }

    /// Opens a recording at a place after `packets` packets.
    ///
    /// # Errors
    /// Same as [`Self::open`].
    pub fn after(packets: u64, mut input: R) -> Result<Self, ReadError> {
        Ok(match Format::detect(&mut input)? {
            Format::Pcap => Self::Capture(Box::new(Playback::pcap(input)?.after(packets))),
            Format::PcapNg => Self::Capture(Box::new(Playback::pcapng(input).after(packets))),
            Format::JsonLines => Self::Lines(Box::new(Lines::new(input))),
        })
    }

    /// Returns the next item; `None` at the end.
    ///
    /// # Errors
    /// The recording is damaged or cannot be read. Nothing can be read after that.
    pub fn read(&mut self) -> Result<Option<Item>, ReadError> {
        match self {
            Self::Capture(capture) => capture.read(),
            Self::Lines(lines) => lines.read(),
        }
    }

    /// Returns the counts of the datagrams and messages that were read.
    #[must_use]
    fn tally(&self) -> Tally {
        match self {
            Self::Capture(capture) => capture.tally(),
            Self::Lines(lines) => lines.tally(),
        }
    }
}
