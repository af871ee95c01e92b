//! Reads pcapng files with several sections and interfaces, any time resolution, and both byte orders.
//!
//! Law: unknown blocks are skipped. Reading ends at a block whose two length fields differ, because the start of the
//! next block is unknown.
//!
//! Source: draft-ietf-opsawg-pcapng.

use std::io::Read;

use teetap_wire::Side;

use super::number;
use crate::{
    ReadError,
    frame::{Captured, Link},
    source::{LONGEST, Order, Source},
};

/// Maximum number of interfaces in a section.
const MAX_INTERFACES: usize = 4096;

/// A pcapng capture file.
#[derive(Debug)]
pub(crate) struct PcapNg<R> {
    source: Source<R>,
    order: Order,
    interfaces: Vec<Interface>,
    /// Time of the last packet, for simple packets, which have none.
    time: u64,
    /// Index of the last packet's interface.
    interface: usize,
}

/// An interface of a section.
#[derive(Clone, Debug)]
struct Interface {
    link: Link,
    snaplen: u32,
    /// Time units per second.
    units: u64,
    /// Seconds to add to each time.
    offset: i64,
    /// Leg, in captures of teetap.
    leg: Option<Side>,
}

/// A block that the reader returns.
#[derive(Debug)]
pub(crate) enum Block<'a> {
    /// A new section.
    Section {
        /// Program that wrote the section.
        program: Option<&'a str>,
        /// Description of the run, in captures of teetap.
        own: Option<&'a [u8]>,
    },
    Packet {
        captured: Captured<'a>,
        leg: Option<Side>,
        own: Option<&'a [u8]>,
    },
    /// Interface statistics, which captures of teetap use for notes without a packet.
    Statistics { own: Option<&'a [u8]> },
}

/// Type and offset of a block.
#[derive(Clone, Copy)]
struct Head {
    kind: u32,
    begin: u64,
}

impl<R: Read> PcapNg<R> {
    /// Reads from the start of a file, whose first block must be a section header.
    pub(crate) fn new(input: R) -> Self {
        Self {
            source: Source::new(input),
            order: Order::Little,
            interfaces: Vec::new(),
            time: 0,
            interface: 0,
        }
    }

    /// Returns the index of the last packet's interface in its section.
    pub(crate) fn interface(&self) -> usize {
        self.interface
    }

    /// Returns the number of bytes in the complete blocks read so far.
    pub(crate) fn offset(&self) -> u64 {
        self.source.offset()
    }

    /// Returns the next section, packet or statistics; `None` at the end.
    ///
    /// # Errors
    /// See [`ReadError`]. Nothing more can be read then.
    pub(crate) fn next(&mut self) -> Result<Option<Block<'_>>, ReadError> {
        let head = loop {
            let Some(head) = self.read()? else { return Ok(None) };
            match head.kind {
                number::INTERFACE => self.add_interface(head.begin)?,
                kind if is_wanted(kind) => break head,
                _ => {}
            }
        };
        let (order, body) = (self.order, without_length(self.source.last()));
        let broken = || ReadError::damaged(head.begin, "a packet that is longer than its block");
        match head.kind {
            number::SECTION => {
                self.interfaces.clear();
                let options = Options::parse(order, body.get(12..).unwrap_or_default());
                Ok(Some(Block::Section {
                    program: options
                        .get(number::SECTION_PROGRAM)
                        .and_then(|text| std::str::from_utf8(text).ok()),
                    own: options.get(number::OWN),
                }))
            }
            number::STATISTICS => Ok(Some(Block::Statistics {
                own: Options::parse(order, body.get(12..).unwrap_or_default()).get(number::OWN),
            })),
            kind => {
                let found = Found::parse(kind, order, body).ok_or_else(broken)?;
                let Some(interface) = self.interfaces.get(found.interface) else {
                    let text = format!(
                        "a packet of interface {}, which is not described",
                        found.interface
                    );
                    return Err(ReadError::damaged(head.begin, text));
                };
                self.interface = found.interface;
                if let Some(units) = found.time {
                    self.time = interface.nanoseconds(units);
                }
                let simple = usize::try_from(interface.snaplen)
                    .ok()
                    .filter(|len| *len > 0 && kind == number::SIMPLE_PACKET);
                let frame = found
                    .frame
                    .get(..simple.unwrap_or(found.frame.len()))
                    .unwrap_or(found.frame);
                Ok(Some(Block::Packet {
                    captured: Captured {
                        time: self.time,
                        link: interface.link,
                        frame,
                    },
                    leg: interface.leg,
                    own: Options::parse(order, found.options).get(number::OWN),
                }))
            }
        }
    }

    /// Reads a block. The body of a block of interest stays in the source.
    fn read(&mut self) -> Result<Option<Head>, ReadError> {
        let begin = self.source.offset();
        let Some(head) = self.source.piece(begin, 8)? else {
            return Ok(None);
        };
        let head: [u8; 8] = head.first_chunk().copied().unwrap_or_default();
        let [a, b, c, d, length @ ..] = head;
        let is_section = [a, b, c, d] == number::SECTION.to_le_bytes();
        let mut read = 8;
        if is_section {
            let magic = self
                .source
                .more(begin, 4)?
                .first_chunk()
                .copied()
                .unwrap_or_default();
            let known = [Order::Little, Order::Big]
                .into_iter()
                .find(|order| order.u32(magic) == number::MAGIC);
            self.order = known.ok_or_else(|| ReadError::damaged(begin, "a section without its mark"))?;
            read = 12;
        } else if begin == 0 {
            return Err(ReadError::Unknown("it does not begin as a pcapng file does"));
        }
        let kind = if is_section {
            number::SECTION
        } else {
            self.order.u32([a, b, c, d])
        };
        let length = self.order.u32(length);
        if length < read + 4 || !length.is_multiple_of(4) {
            return Err(ReadError::damaged(begin, format!("a block of {length} bytes")));
        }
        let rest = length - read;
        if is_wanted(kind) || kind == number::INTERFACE {
            if rest > LONGEST {
                return Err(ReadError::damaged(begin, format!("a block of {length} bytes")));
            }
            self.source.more(begin, rest)?;
        } else {
            self.source.skip(begin, rest - 4)?;
            self.source.more(begin, 4)?;
        }
        let last = self.source.last().last_chunk().copied().unwrap_or_default();
        if self.order.u32(last) != length {
            return Err(ReadError::damaged(begin, "a block whose two lengths differ"));
        }
        Ok(Some(Head { kind, begin }))
    }

    fn add_interface(&mut self, begin: u64) -> Result<(), ReadError> {
        if self.interfaces.len() >= MAX_INTERFACES {
            return Err(ReadError::damaged(begin, "more interfaces than any capture has"));
        }
        let (order, body) = (self.order, without_length(self.source.last()));
        let options = Options::parse(order, body.get(8..).unwrap_or_default());
        let resolution = options.get(number::INTERFACE_RESOLUTION).and_then(<[u8]>::first);
        let offset = options
            .get(number::INTERFACE_OFFSET)
            .and_then(<[u8]>::first_chunk)
            .copied();
        self.interfaces.push(Interface {
            link: Link::of(order.u16_at(body, 0)),
            snaplen: order.u32_at(body, 4),
            units: units(resolution.copied().unwrap_or(6)),
            offset: offset.map_or(0, |bytes: [u8; 8]| match order {
                Order::Little => i64::from_le_bytes(bytes),
                Order::Big => i64::from_be_bytes(bytes),
            }),
            leg: number::leg_of(options.get(number::INTERFACE_NAME).unwrap_or_default()),
        });
        Ok(())
    }
}

/// Returns a body without the block's second length.
fn without_length(body: &[u8]) -> &[u8] {
    body.split_last_chunk::<4>().map_or(body, |(body, _)| body)
}

fn is_wanted(kind: u32) -> bool {
    number::is_packet(kind) || matches!(kind, number::SECTION | number::STATISTICS)
}

/// Returns the time units per second: a power of ten, or of two if the highest bit is set. A power that exceeds 64 bits
/// means nanoseconds.
fn units(resolution: u8) -> u64 {
    let exponent = u32::from(resolution & 0x7f);
    let base: u64 = if resolution & 0x80 == 0 { 10 } else { 2 };
    base.checked_pow(exponent).unwrap_or(1_000_000_000)
}

impl Interface {
    /// Converts a time in units of the interface to nanoseconds since 1970.
    fn nanoseconds(&self, units: u64) -> u64 {
        let time = u128::from(units) * 1_000_000_000 / u128::from(self.units.max(1));
        let offset = i128::from(self.offset) * 1_000_000_000;
        let time = i128::try_from(time).unwrap_or(i128::MAX).saturating_add(offset);
        u64::try_from(time.max(0)).unwrap_or(u64::MAX)
    }
}

/// A packet within its block.
struct Found<'a> {
    interface: usize,
    time: Option<u64>,
    frame: &'a [u8],
    options: &'a [u8],
}

impl<'a> Found<'a> {
    /// Returns `None` if the packet is longer than the block.
    fn parse(kind: u32, order: Order, body: &'a [u8]) -> Option<Self> {
        let at = |place| order.u32_at(body, place);
        if kind == number::SIMPLE_PACKET {
            let whole = usize::try_from(at(0)).ok()?;
            let frame = body.get(4..)?;
            return Some(Self {
                interface: 0,
                time: None,
                frame: frame.get(..whole).unwrap_or(frame),
                options: &[],
            });
        }
        let interface = match kind {
            number::OLD_PACKET => u32::from(order.u16_at(body, 0)),
            _ => at(0),
        };
        let (frame, options) = body.get(20..)?.split_at_checked(usize::try_from(at(12)).ok()?)?;
        Some(Self {
            interface: usize::try_from(interface).ok()?,
            time: Some(u64::from(at(4)) << 32 | u64::from(at(8))),
            frame,
            options: options
                .get(frame.len().next_multiple_of(4) - frame.len()..)
                .unwrap_or_default(),
        })
    }
}

/// Options at the end of a block.
#[derive(Clone, Copy)]
struct Options<'a> {
    order: Order,
    rest: &'a [u8],
}

impl<'a> Options<'a> {
    fn parse(order: Order, rest: &'a [u8]) -> Self {
        Self { order, rest }
    }

    /// Returns the first option with this code.
    fn get(mut self, wanted: u16) -> Option<&'a [u8]> {
        loop {
            let (head, rest) = self.rest.split_at_checked(4)?;
            let (code, length) = (
                self.order.u16_at(head, 0),
                usize::from(self.order.u16_at(head, 2)),
            );
            if code == 0 {
                return None;
            }
            let value = rest.get(..length)?;
            if code == wanted {
                return Some(value);
            }
            self.rest = rest.get(length.next_multiple_of(4)..)?;
        }
    }
}
