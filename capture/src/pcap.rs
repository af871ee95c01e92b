//! Reads classic pcap files: microseconds and nanoseconds, both byte orders.
//!
//! Source: draft-ietf-opsawg-pcap.

use std::io::Read;

use crate::{
    ReadError,
    frame::{Captured, Link},
    source::{LONGEST, Order, Source},
};

pub(super) const HEADER: u32 = 24;
pub(super) const RECORD: u32 = 16;

/// A classic capture file.
#[derive(Debug)]
pub(super) struct Pcap<R> {
    source: Source<R>,
    order: Order,
    /// Nanoseconds per unit of the fraction of a time.
    unit: u64,
    link: Link,
}

/// Returns byte order and time unit for the first four bytes of a file; `None` if it is not pcap.
pub(super) fn magic(bytes: [u8; 4]) -> Option<(Order, u64)> {
    const MICRO: u32 = 0xa1b2_c3d4;
    const NANO: u32 = 0xa1b2_3c4d;
    [Order::Little, Order::Big]
        .into_iter()
        .find_map(|order| match order.u32(bytes) {
            MICRO => Some((order, 1000)),
            NANO => Some((order, 1)),
            _ => None,
        })
}

impl<R: Read> Pcap<R> {
    /// Reads the file header.
    ///
    /// # Errors
    /// [`ReadError::Unknown`] if it is missing.
    pub(super) fn new(input: R) -> Result<Self, ReadError> {
        let mut source = Source::new(input);
        let header = source.more(0, HEADER)?;
        let known = header.first_chunk().copied().and_then(magic);
        let (order, unit) = known.ok_or(ReadError::Unknown("it has no header of a capture"))?;
        // The upper bits describe checksums after the frames.
        let link = Link::of((order.u32_at(header, 20) & 0xffff).try_into().unwrap_or_default());
        Ok(Self {
            source,
            order,
            unit,
            link,
        })
    }

    /// Returns the next frame; `None` at the end.
    ///
    /// # Errors
    /// See [`ReadError`]. Nothing more can be read then.
    pub(super) fn next(&mut self) -> Result<Option<Captured<'_>>, ReadError> {
        let begin = self.source.offset();
        let Some(record) = self.source.piece(begin, RECORD)? else {
            return Ok(None);
        };
        let [seconds, fraction, length] = [0, 4, 8].map(|at| self.order.u32_at(record, at));
        if length > LONGEST {
            return Err(ReadError::damaged(begin, format!("a packet of {length} bytes")));
        }
        let time = u64::from(seconds) * 1_000_000_000 + u64::from(fraction) * self.unit;
        let frame = match length {
            0 => &[][..],
            length => self.source.more(begin, length)?,
        };
        Ok(Some(Captured {
            time,
            link: self.link,
            frame,
        }))
    }
}
