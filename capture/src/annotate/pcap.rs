//! Copies classic pcap as pcapng.

use std::io::{Read, Write};

use super::copy::{AnnotateError, Copy};
use crate::{
    ReadError,
    pcap::{self, HEADER, RECORD},
    pcapng::{
        number::{INTERFACE, INTERFACE_FCS, INTERFACE_RESOLUTION, PACKET},
        write::{self, bare_section},
    },
    source::{LONGEST, Source},
};

/// Nanoseconds per unit of a file with microseconds.
const MICRO: u64 = 1000;

/// Flag in the link type of pcap: the upper four bits are the length of the checksums after frames, in units of 2 bytes.
const HAS_FCS: u32 = 1 << 26;

pub(super) fn copy<R: Read, W: Write>(
    input: impl Read,
    copy: &mut Copy<'_, R, W>,
) -> Result<(), AnnotateError> {
    let mut source = Source::new(input);
    let header = source.more(0, HEADER)?;
    let known = header.first_chunk().copied().and_then(pcap::magic);
    let (order, unit) = known.ok_or(ReadError::Unknown("it has no header of a capture"))?;
    let (snaplen, link) = (order.u32_at(header, 16), order.u32_at(header, 20));
    bare_section(&mut copy.buffer);
    write::block(INTERFACE, &mut copy.buffer, |out| {
        out.extend_from_slice(&(link & 0xffff).to_le_bytes());
        out.extend_from_slice(&snaplen.to_le_bytes());
        let resolution = if unit == MICRO { 6 } else { 9 };
        write::option(INTERFACE_RESOLUTION, &[resolution], out);
        if link & HAS_FCS != 0 {
            let bytes = u8::try_from(link >> 28).unwrap_or_default() * 2;
            write::option(INTERFACE_FCS, &[bytes], out);
        }
        write::option(0, &[], out);
    });
    let units = 1_000_000_000 / unit;
    loop {
        let begin = source.offset();
        let Some(record) = source.piece(begin, RECORD)? else {
            return Ok(());
        };
        let [seconds, fraction, length, whole] = [0, 4, 8, 12].map(|at| order.u32_at(record, at));
        if length > LONGEST {
            return Err(ReadError::damaged(begin, format!("a packet of {length} bytes")).into());
        }
        let frame = match length {
            0 => &[][..],
            length => source.more(begin, length)?,
        };
        copy.done.packets += 1;
        let comment = copy.comments.of(copy.done.packets);
        copy.done.commented += u64::from(comment.is_some());
        write::block(PACKET, &mut copy.buffer, |out| {
            out.extend_from_slice(&0_u32.to_le_bytes());
            write::time(u64::from(seconds) * units + u64::from(fraction), out);
            out.extend_from_slice(&length.to_le_bytes());
            out.extend_from_slice(&whole.to_le_bytes());
            out.extend_from_slice(frame);
            write::pad(frame.len(), out);
            if let Some(comment) = comment {
                write::comment(comment.text, out);
                write::option(0, &[], out);
            }
        });
        copy.end_block()?;
    }
}
