//! Indexes positions in a long recording from which reading can start.
//!
//! Law: the contents of packets are skipped, so that indexing a large file is much faster than reading it. Reading from
//! an indexed position returns the same events as reading from the beginning, except for data that depends on earlier
//! traffic, such as contexts and snapshots. The index ends at the first damaged part of the file.

use std::{
    io::{self, BufRead, Chain, Cursor, Read, Seek, SeekFrom},
    sync::Arc,
};

use crate::{Format, pcap, pcapng::number, source::Order};

/// Minimum bytes between two places.
const STEP: u64 = 256 << 10;

/// Maximum bytes of a place's header; more than the interfaces of any capture need.
const LONGEST_HEAD: usize = 4 << 20;

/// Bytes at the beginning of a line that are inspected.
const LINE: usize = 64;

/// Part of the line that starts a run.
const START: &[u8] = br#""event":"start""#;

/// A place in a recording from which reading can start.
#[derive(Clone, Debug)]
pub struct IndexedPlace {
    /// Number of bytes of the recording before this place.
    pub offset: u64,
    /// Number of packets of the recording before this place; 0 for JSON lines, whose messages contain their numbers.
    pub packets: u64,
    /// Header that applies from this place on.
    head: Arc<[u8]>,
}

impl IndexedPlace {
    /// Returns the beginning of a recording.
    #[must_use]
    pub fn start() -> Self {
        Self {
            offset: 0,
            packets: 0,
            head: Arc::from([]),
        }
    }

    /// Returns a reader that starts with the header and continues at this place.
    ///
    /// # Errors
    /// The error of the operating system.
    pub(crate) fn open<R: Read + Seek>(&self, mut file: R) -> io::Result<Chain<Cursor<Arc<[u8]>>, R>> {
        file.seek(SeekFrom::Start(self.offset))?;
        Ok(Cursor::new(Arc::clone(&self.head)).chain(file))
    }

    /// Returns the length of the header, which is read before the bytes of the recording.
    #[must_use]
    pub(crate) fn head(&self) -> u64 {
        self.head.len() as u64
    }
}

/// Finds all positions in a recording from which reading can start.
#[derive(Debug)]
pub struct Index<R> {
    input: R,
    format: Format,
    order: Order,
    /// Minimum bytes between two places.
    step: u64,
    /// Number of bytes read so far.
    offset: u64,
    /// Offset of the last place.
    last: u64,
    /// Number of packets so far.
    packets: u64,
    head: Vec<u8>,
    /// Copy of the header that places share; `None` until a place needs it.
    shared: Option<Arc<[u8]>>,
    /// First bytes of the current item.
    buffer: Vec<u8>,
}

impl<R: BufRead> Index<R> {
    /// Returns an index for a recording of this format.
    pub(crate) fn new(input: R, format: Format) -> Self {
        Self {
            input,
            format,
            order: Order::Little,
            step: STEP,
            offset: 0,
            last: 0,
            packets: 0,
            head: Vec::new(),
            shared: None,
            buffer: Vec::new(),
        }
    }

    /// Returns the number of bytes indexed so far.
    pub const fn offset(&self) -> u64 {
        self.offset
    }

    /// Returns the next place; `None` at the end or at damage.
    ///
    /// # Errors
    /// The error of the operating system.
    pub(crate) fn next_place(&mut self) -> io::Result<Option<IndexedPlace>> {
        loop {
            let (begin, packets) = (self.offset, self.packets);
            let is_item = match self.format {
                Format::Pcap => self.record()?,
                Format::PcapNg => self.block()?,
                Format::JsonLines => self.line()?,
            };
            let Some(is_item) = is_item else { return Ok(None) };
            if is_item && begin >= self.last + self.step {
                self.last = begin;
                let head = self.shared.get_or_insert_with(|| self.head.as_slice().into());
                return Ok(Some(IndexedPlace {
                    offset: begin,
                    packets,
                    head: Arc::clone(head),
                }));
            }
        }
    }

    /// Appends `count` bytes to the buffer. Returns false at the end of the recording.
    fn more(&mut self, count: usize) -> io::Result<bool> {
        let wanted = self.buffer.len() + count;
        let read = (&mut self.input)
            .take(count as u64)
            .read_to_end(&mut self.buffer)?;
        self.offset += read as u64;
        Ok(self.buffer.len() == wanted)
    }

    /// Skips `count` bytes. Returns false at the end of the recording.
    fn skip(&mut self, mut count: u64) -> io::Result<bool> {
        while count > 0 {
            let there = self.input.fill_buf()?.len();
            if there == 0 {
                return Ok(false);
            }
            let part = usize::try_from(count).unwrap_or(there).min(there);
            self.input.consume(part);
            self.offset += part as u64;
            count -= part as u64;
        }
        Ok(true)
    }

    /// Skips a record of a pcap file, or reads the file header. Returns true for a record; `None` at the end.
    fn record(&mut self) -> io::Result<Option<bool>> {
        self.buffer.clear();
        if self.offset == 0 {
            if !self.more(pcap::HEADER as usize)? {
                return Ok(None);
            }
            let known = self.buffer.first_chunk().copied().and_then(pcap::magic);
            let Some((order, _)) = known else { return Ok(None) };
            self.order = order;
            self.head.clone_from(&self.buffer);
            return Ok(Some(false));
        }
        if !self.more(pcap::RECORD as usize)? {
            return Ok(None);
        }
        let length = self.order.u32_at(&self.buffer, 8);
        self.packets += 1;
        Ok(self.skip(length.into())?.then_some(true))
    }

    /// Skips a block of a pcapng file, but keeps sections and interfaces as header. Returns true for any other block;
    /// `None` at the end.
    fn block(&mut self) -> io::Result<Option<bool>> {
        self.buffer.clear();
        if !self.more(12)? {
            return Ok(None);
        }
        let word = |at: usize| {
            self.buffer
                .get(at..at + 4)
                .and_then(|bytes| bytes.first_chunk().copied())
        };
        let (Some(kind), Some(magic)) = (word(0), word(8)) else {
            return Ok(None);
        };
        let is_section = kind == number::SECTION.to_le_bytes();
        if is_section {
            let orders = [Order::Little, Order::Big];
            let Some(order) = orders.into_iter().find(|order| order.u32(magic) == number::MAGIC) else {
                return Ok(None);
            };
            self.order = order;
        }
        let length = self.order.u32_at(&self.buffer, 4);
        let Some(rest) = length.checked_sub(12).filter(|_| length.is_multiple_of(4)) else {
            return Ok(None);
        };
        let kind = self.order.u32(kind);
        if !is_section && kind != number::INTERFACE {
            self.packets += u64::from(number::is_packet(kind));
            return Ok(self.skip(rest.into())?.then_some(true));
        }
        let rest = rest as usize;
        if is_section {
            self.head.clear();
        }
        if rest > LONGEST_HEAD.saturating_sub(self.head.len()) || !self.more(rest)? {
            return Ok(None);
        }
        self.head.extend_from_slice(&self.buffer);
        self.shared = None;
        Ok(Some(false))
    }

    /// Skips a line, but keeps the start of a run as header. Returns true for any other line; `None` at the end.
    fn line(&mut self) -> io::Result<Option<bool>> {
        self.buffer.clear();
        let read = (&mut self.input)
            .take(LINE as u64)
            .read_until(b'\n', &mut self.buffer)?;
        self.offset += read as u64;
        if read == 0 {
            return Ok(None);
        }
        let is_start = self.buffer.windows(START.len()).any(|part| part == START);
        if !is_start {
            if self.buffer.last() != Some(&b'\n') {
                self.offset += self.input.skip_until(b'\n')? as u64;
            }
            return Ok(Some(true));
        }
        if self.buffer.last() != Some(&b'\n') {
            let read = (&mut self.input)
                .take(LONGEST_HEAD as u64)
                .read_until(b'\n', &mut self.buffer)?;
            self.offset += read as u64;
        }
        if self.buffer.last() != Some(&b'\n') {
            return Ok(None);
        }
        self.head.clone_from(&self.buffer);
        self.shared = None;
        Ok(Some(false))
    }
}

#[cfg(test)]
mod tests;
