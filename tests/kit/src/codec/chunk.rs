//! Chunks: the messages inside a data packet.

use super::Variant;

/// A chunk that owns its bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chunk {
    /// Sequence number (0..1024) of a vital chunk; `None` if the chunk is not vital.
    pub seq: Option<u16>,
    /// True if the chunk is marked as a retransmission.
    pub resend: bool,
    /// The message.
    pub data: Vec<u8>,
}

impl Chunk {
    /// Creates a chunk that is sent for the first time.
    pub fn new(seq: Option<u16>, data: impl Into<Vec<u8>>) -> Self {
        let (resend, data) = (false, data.into());
        Self { seq, resend, data }
    }
}

/// A chunk inside a payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChunkRef<'a> {
    /// Sequence number of a vital chunk.
    pub seq: Option<u16>,
    /// True if the chunk is marked as a retransmission.
    pub resend: bool,
    /// The message.
    pub data: &'a [u8],
}

impl From<ChunkRef<'_>> for Chunk {
    fn from(chunk: ChunkRef<'_>) -> Self {
        Self {
            seq: chunk.seq,
            resend: chunk.resend,
            data: chunk.data.to_vec(),
        }
    }
}

/// Iterator over the complete chunks of a payload, up to the number that the header announces.
#[derive(Clone, Debug)]
pub struct Chunks<'a> {
    seven: bool,
    rest: &'a [u8],
    left: u8,
}

impl<'a> Chunks<'a> {
    /// Iterates over a clear payload (without token) whose header announces `count` chunks.
    pub fn new(variant: Variant, payload: &'a [u8], count: u8) -> Self {
        Self {
            seven: variant.is_seven(),
            rest: payload,
            left: count,
        }
    }

    /// Returns the bytes not read yet.
    pub fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// Returns the number of chunks announced but not read yet. Above 0 at the end if the packet is too short for its
    /// count.
    pub fn left(&self) -> u8 {
        self.left
    }
}

impl<'a> Iterator for Chunks<'a> {
    type Item = ChunkRef<'a>;

    fn next(&mut self) -> Option<ChunkRef<'a>> {
        if self.left == 0 {
            return None;
        }
        let [b0, b1, behind @ ..] = self.rest else {
            return None;
        };
        let (b0, b1) = (u16::from(*b0), u16::from(*b1));
        let size = if self.seven {
            (b0 & 0x3f) << 6 | b1 & 0x3f
        } else {
            (b0 & 0x3f) << 4 | b1 & 0x0f
        };
        let (seq, behind) = if b0 & 0x40 == 0 {
            (None, behind)
        } else {
            let (b2, behind) = behind.split_first()?;
            // 0.6 sends bits 7 and 6 of the number twice; the reference ORs both copies.
            let high = if self.seven { b1 & 0xc0 } else { b1 & 0xf0 };
            (Some(high << 2 | u16::from(*b2)), behind)
        };
        let (data, behind) = behind.split_at_checked(usize::from(size))?;
        self.rest = behind;
        self.left -= 1;
        Some(ChunkRef {
            seq,
            resend: b0 & 0x80 != 0,
            data,
        })
    }
}

/// Appends a chunk. `data` must be shorter than 1024 bytes in 0.6 and 4096 in 0.7; a longer one gets a wrong size, as
/// with the reference.
pub fn put_chunk(out: &mut Vec<u8>, variant: Variant, seq: Option<u16>, resend: bool, data: &[u8]) {
    let size_low_bits = if variant.is_seven() { 6 } else { 4 };
    let low_byte = |value: usize| value.to_le_bytes()[0];
    let mut b0 = low_byte(data.len() >> size_low_bits) & 0x3f;
    let mut b1 = low_byte(data.len()) & ((1 << size_low_bits) - 1);
    if resend {
        b0 |= 0x80;
    }
    match seq {
        None => out.extend([b0, b1]),
        Some(seq) => {
            let [_, b2] = seq.to_be_bytes();
            let high_mask = if variant.is_seven() { 0xc0 } else { 0xf0 };
            b1 |= low_byte(usize::from(seq >> 2)) & high_mask;
            out.extend([b0 | 0x40, b1, b2]);
        }
    }
    out.extend_from_slice(data);
}
