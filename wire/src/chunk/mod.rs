//! Chunks: the messages inside a packet, each with its own small header.
//!
//! Law: this module reads exactly the chunks that the reference unpacker reads. The unpacker stops after the announced
//! number of chunks, ignores the remaining bytes, and gives up at the first chunk that does not fit (Teeworlds 0.6.5
//! network.cpp, `CNetRecvUnpacker::FetchChunk`). Bytes that it ignores are reported.
//!
//! Out of scope: the state machine of vital chunks. Here, a sequence number is only a field of the header.

use crate::note::{Code, Note, Notes};
use crate::{Proto, Seq};

const RESEND: u8 = 0x80;
const VITAL: u8 = 0x40;

/// The header of a chunk: 2 bytes, or 3 if it is vital.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChunkHeader {
    /// The sequence number; `None` if the chunk is not vital.
    pub vital: Option<Seq>,
    /// True if the sender marks the chunk as a retransmission. No reference receiver looks at the flag.
    pub resend: bool,
    /// The length of the data in bytes: up to 1023 in 0.6, up to 4095 by the field in 0.7.
    pub size: u16,
}

impl ChunkHeader {
    /// Reads a header and returns it with its length in bytes. `None` if `bytes` ends before the header does.
    ///
    /// In 0.6, bits 7 and 6 of the sequence number are sent twice. As in the reference, both copies are or-ed.
    #[must_use]
    pub fn decode(proto: Proto, bytes: &[u8]) -> Option<(Self, usize)> {
        let split = proto.layout().chunk_split;
        let (&[first, second], rest) = bytes.split_first_chunk()?;
        let low_mask = (1u8 << split) - 1;
        let size = u16::from(first & 0x3f) << split | u16::from(second & low_mask);
        let resend = first & RESEND != 0;
        if first & VITAL == 0 {
            return Some((
                Self {
                    vital: None,
                    resend,
                    size,
                },
                2,
            ));
        }
        let &third = rest.first()?;
        let seq = Seq::new(u16::from(second & !low_mask) << 2 | u16::from(third));
        Some((
            Self {
                vital: Some(seq),
                resend,
                size,
            },
            3,
        ))
    }

    /// Appends the header. `size` is truncated to the bits of its field.
    fn encode(self, proto: Proto, out: &mut Vec<u8>) {
        let split = proto.layout().chunk_split;
        let low_mask = (1u8 << split) - 1;
        let [_, size_low] = self.size.to_be_bytes();
        let [_, size_high] = (self.size >> split).to_be_bytes();
        let resend = if self.resend { RESEND } else { 0 };
        let first = size_high & 0x3f | resend;
        let second = size_low & low_mask;
        match self.vital {
            None => out.extend_from_slice(&[first, second]),
            Some(seq) => {
                let [_, high] = (seq.get() >> 2).to_be_bytes();
                out.extend_from_slice(&[first | VITAL, second | high & !low_mask, seq.low()]);
            }
        }
    }

    /// Returns the length of a header in bytes.
    #[must_use]
    pub const fn header_len(vital: bool) -> usize {
        if vital { 3 } else { 2 }
    }
}

/// One chunk of a payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Chunk<'a> {
    /// The header.
    pub header: ChunkHeader,
    /// The message.
    pub data: &'a [u8],
    /// The offset of the header in the payload.
    pub at: usize,
}

impl Chunk<'_> {
    /// Returns the offset of the first byte after the chunk in the payload.
    #[must_use]
    pub const fn end(&self) -> usize {
        self.at + ChunkHeader::header_len(self.header.vital.is_some()) + self.data.len()
    }
}

/// The number of sizes that the headers of 0.6 and DDNet can state.
const SIZES: usize = 1 << 10;
/// The number of counts that the header of a packet can state.
const COUNTS: usize = 1 << 8;

/// An iterator over the chunks of a payload. After the last chunk, it reports chunks and bytes that receivers do not
/// read.
#[derive(Debug, Clone)]
pub struct Chunks<'a> {
    proto: Proto,
    rest: &'a [u8],
    at: usize,
    left: u8,
    broken: bool,
    is_cut: bool,
}

impl<'a> Chunks<'a> {
    /// Creates an iterator over the chunks of a clear `payload`, without a payload-tail token, of a packet that
    /// announces `num_chunks`.
    #[must_use]
    pub const fn new(proto: Proto, payload: &'a [u8], num_chunks: u8) -> Self {
        Self {
            proto,
            rest: payload,
            at: 0,
            left: num_chunks,
            broken: false,
            is_cut: false,
        }
    }

    /// Marks the payload as cut: it ends inside the message of the last chunk.
    pub(crate) const fn cut(self) -> Self {
        Self { is_cut: true, ..self }
    }

    /// Returns the bytes not yet read; at the end, the bytes that no chunk covers.
    #[must_use]
    pub const fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// Returns the number of chunks announced but not yet read; at the end, the number of missing chunks.
    #[must_use]
    pub const fn missing(&self) -> u8 {
        self.left
    }

    /// Returns the oddities. Empty until the iterator has ended.
    #[must_use]
    pub fn notes(&self) -> Notes {
        let mut notes = Notes::new();
        let (at, len) = (self.at, self.rest.len());
        if self.broken && len > 0 {
            notes.push(Note {
                code: Code::ChunkTruncated,
                at,
                len,
            });
        } else if self.broken {
            // The third header byte is the count.
            notes.push(Note {
                code: Code::ChunkCountTooHigh,
                at: 2,
                len: 1,
            });
        } else if self.left == 0 && len > 0 {
            notes.push(self.surplus());
        }
        notes
    }

    /// Returns the note about the bytes that no chunk covers.
    fn surplus(&self) -> Note {
        let (at, len) = (self.at, self.rest.len());
        let (code, at, len) = if len == SIZES && at > 0 && self.proto.layout().chunk_split == 4 {
            (Code::ChunkSizeCut, at, len)
        } else if self.has_exactly(COUNTS) {
            (Code::ChunkCountCut, 2, 1)
        } else {
            (Code::TrailingBytes, at, len)
        };
        Note { code, at, len }
    }

    /// Returns true if the unread bytes are exactly `count` whole chunks.
    fn has_exactly(&self, count: usize) -> bool {
        let mut rest = self.rest;
        if rest.len() < 2 * count {
            return false;
        }
        for _ in 0..count {
            let next = ChunkHeader::decode(self.proto, rest)
                .and_then(|(header, len)| rest.get(len + usize::from(header.size)..));
            let Some(next) = next else { return false };
            rest = next;
        }
        rest.is_empty()
    }
}

impl<'a> Iterator for Chunks<'a> {
    type Item = Chunk<'a>;

    fn next(&mut self) -> Option<Chunk<'a>> {
        if self.left == 0 || self.broken {
            return None;
        }
        let found = ChunkHeader::decode(self.proto, self.rest).and_then(|(header, len)| {
            let behind = self.rest.get(len..)?;
            let size = usize::from(header.size);
            let (data, rest) = if self.is_cut && self.left == 1 {
                (behind.get(..size).unwrap_or(behind), Default::default())
            } else {
                behind.split_at_checked(size)?
            };
            Some((
                Chunk {
                    header,
                    data,
                    at: self.at,
                },
                rest,
            ))
        });
        let Some((chunk, rest)) = found else {
            self.broken = true;
            return None;
        };
        self.at = chunk.end();
        self.rest = rest;
        self.left -= 1;
        Some(chunk)
    }
}

impl std::iter::FusedIterator for Chunks<'_> {}

/// The error for a message that no chunk of the variant can carry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a message of {size} bytes does not fit a chunk: the maximum is {max}")]
pub struct ChunkTooLarge {
    /// The length of the message in bytes.
    pub size: usize,
    /// The maximum of the variant in bytes.
    pub max: usize,
}

/// Appends a chunk, header and data.
///
/// # Errors
/// Returns [`ChunkTooLarge`] and appends nothing if `data` is longer than 1023 bytes in 0.6 (limit of the size field)
/// or 1388 in 0.7 (limit of a payload).
pub fn write_chunk(
    proto: Proto,
    vital: Option<Seq>,
    resend: bool,
    data: &[u8],
    out: &mut Vec<u8>,
) -> Result<(), ChunkTooLarge> {
    let max = proto.layout().max_chunk;
    let size = data.len();
    let field = u16::try_from(size)
        .ok()
        .filter(|_| size <= max)
        .ok_or(ChunkTooLarge { size, max })?;
    ChunkHeader {
        vital,
        resend,
        size: field,
    }
    .encode(proto, out);
    out.extend_from_slice(data);
    Ok(())
}

#[cfg(test)]
mod tests;
