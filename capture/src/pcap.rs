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

#[cfg(test)]
mod tests {
    use super::*;

    /// A field of a header or record.
    fn field(is_big: bool, value: u32) -> [u8; 4] {
        match is_big {
            true => value.to_be_bytes(),
            false => value.to_le_bytes(),
        }
    }

    fn header(is_big: bool, magic: u32, link: u32) -> Vec<u8> {
        let fields = [magic, 0x0004_0002, 0, 0, 65535, link];
        fields.iter().flat_map(|value| field(is_big, *value)).collect()
    }

    fn record(is_big: bool, fields: [u32; 4]) -> Vec<u8> {
        fields.iter().flat_map(|value| field(is_big, *value)).collect()
    }

    #[test]
    fn times_are_nanoseconds_in_each_order_and_unit() {
        for (magic, fraction) in [(0xa1b2_c3d4, 5_000), (0xa1b2_3c4d, 5)] {
            for is_big in [false, true] {
                // The upper bits of the link type are flags.
                let mut file = header(is_big, magic, 0xf400_0071);
                file.extend(record(is_big, [2, 5, 3, 9]));
                file.extend(b"abc");
                file.extend(record(is_big, [3, 0, 0, 0]));
                let mut pcap = Pcap::new(&*file).unwrap();
                let mut next = || {
                    let frame = pcap.next().unwrap()?;
                    Some((frame.time, frame.link, frame.frame.to_vec()))
                };
                let link = Link::of(113);
                assert_eq!(next(), Some((2_000_000_000 + fraction, link, b"abc".to_vec())));
                assert_eq!(next(), Some((3_000_000_000, link, Vec::new())));
                assert_eq!(next(), None);
            }
        }
        let unknown = Pcap::new(&*header(false, 0xa1b2_c3d5, 1)).err();
        assert!(matches!(unknown, Some(ReadError::Unknown(_))), "{unknown:?}");
    }

    #[test]
    fn a_packet_has_a_longest_length() {
        let read = |length: u32, bytes: u32| {
            let mut file = header(false, 0xa1b2_c3d4, 1);
            file.extend(record(false, [0, 0, length, length]));
            file.resize(file.len() + bytes as usize, 0);
            let mut pcap = Pcap::new(&*file).unwrap();
            let read = pcap.next();
            read.map(|frame| frame.map(|frame| frame.frame.len()))
                .map_err(|error| error.to_string())
        };
        assert_eq!(read(LONGEST, LONGEST), Ok(Some(LONGEST as usize)));
        let refused = read(LONGEST + 1, LONGEST + 1).unwrap_err();
        assert!(refused.contains("a packet of 4194305 bytes"), "{refused}");
        assert!(read(3, 2).is_err(), "the packet is cut");
    }
}
