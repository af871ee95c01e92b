//! Writes a capture again, with a comment on each packet of the game, as captures of teetap have.
//!
//! Law: everything else is copied byte for byte: packets, interfaces, times, comments, unknown blocks. pcapng keeps its
//! byte order and its sections, whose lengths become unknown. pcap becomes pcapng with its link type, its time units and
//! its lengths.
//!
//! The capture is read twice at once: [`Comments`] decodes it, and the copy asks for the comment of each packet. Both
//! are streamed, so that memory is bounded.

mod comments;
mod copy;
mod pcap;
mod pcapng;
#[cfg(test)]
mod tests;

use std::io::{BufRead, Read, Write};

pub use comments::Comments;
use copy::Copy;
pub use copy::{AnnotateError, Annotated};

use crate::{Format, ReadError};

/// Writes the capture `input` to `out` with comments. `comments` reads the same capture.
///
/// # Errors
/// The input is not a capture or is damaged, or the output cannot be written. The counts describe the part before.
pub fn annotate(
    mut input: impl BufRead,
    comments: Comments<impl Read>,
    out: impl Write,
    done: &mut Annotated,
) -> Result<(), AnnotateError> {
    let format = Format::detect(&mut input)?;
    let mut copy = Copy {
        comments,
        out,
        block: Vec::new(),
        buffer: Vec::new(),
        done,
    };
    let read = match format {
        Format::Pcap => pcap::copy(input, &mut copy),
        Format::PcapNg => pcapng::copy(input, &mut copy),
        Format::JsonLines => Err(ReadError::Unknown("JSON lines have no packets to comment on").into()),
    };
    // The part before the damage is kept.
    if !matches!(read, Err(AnnotateError::Write(_))) {
        copy.flush()?;
    }
    read
}
