//! The game's Huffman coding of packet payloads.
//!
//! All versions use the same fixed tree. Code words are sent with the least significant bit first, followed by an
//! end-of-stream code and zero bits up to the next byte.
//!
//! Law: compression produces the same bytes as the reference implementation. Decompression accepts the same input as
//! the reference implementation, and reports the properties of the input that a byte-exact proxy needs.
//!
//! Out of scope: the compression flag of a packet, and the meaning of the decompressed bytes.

mod tables;
#[cfg(test)]
mod tests;

use tables::{BATCH, CODES, Code, EOF, EOF_BITS, WINDOW, descend, is_leaf, step};

/// The form of the end of a stream whose bits end on a byte boundary. Elsewhere both forms are the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Trailing {
    /// One more zero byte: `bits / 8 + 1` bytes. All releases before DDNet 20 write this.
    Always,
    /// No more bytes: `bits / 8` bytes, rounded up. DDNet 20 and later write this.
    WhenPartial,
}

/// The result of a decompression.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Inflated {
    /// The number of clear bytes written.
    pub len: usize,
    /// The number of compressed bits read, including the 15 of the end-of-stream code.
    pub bits: usize,
    /// The form of the end; `None` if both forms are the same here, or if the byte after the last bit is not zero.
    pub trailing: Option<Trailing>,
    /// The number of bytes after the end in that form. All receivers ignore them.
    pub surplus: usize,
}

/// The reason why an input cannot be inflated. Receivers drop the datagram in both cases.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum HuffmanError {
    /// The output cannot hold all clear bytes.
    #[error("inflates to more than a payload can hold")]
    OutputFull,
    /// The input ends without the end-of-stream code. Receivers before DDNet 20 read on in zeros until their output
    /// is full, which fails too, unless only the last two bits of the code, zeros, are missing.
    #[error("the compressed data has no end")]
    EndOfInput,
}

/// Appends the compressed `input` to `out`.
pub fn compress(input: &[u8], trailing: Trailing, out: &mut Vec<u8>) {
    compress_parts(&[input], trailing, out);
}

/// Appends the concatenation of `parts`, compressed, to `out`.
pub(crate) fn compress_parts(parts: &[&[u8]], trailing: Trailing, out: &mut Vec<u8>) {
    let mut bits = BitWriter::new(out);
    parts.iter().for_each(|part| bits.put_all(part));
    bits.finish(trailing);
}

/// Returns the number of bits of the code of a byte.
#[must_use]
pub fn bits_of(byte: u8) -> u8 {
    code(byte).len
}

/// Inflates `input` into the start of `out`.
///
/// # Errors
/// Returns [`HuffmanError::OutputFull`] if there are more clear bytes than `out` holds, and
/// [`HuffmanError::EndOfInput`] if the end-of-stream code is missing.
pub fn decompress(input: &[u8], out: &mut [u8]) -> Result<Inflated, HuffmanError> {
    Stream::new(input).finish(out)
}

/// The end of a compressed stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StreamEnd {
    /// The number of bits, including the 15 of the end-of-stream code.
    pub bits: usize,
    /// As [`Inflated::trailing`].
    pub trailing: Option<Trailing>,
}

/// Returns the offset of the first bit of the codes of `tail`, and the end of the stream. `None` unless these codes
/// and the end-of-stream code are the last bits of `input`, in one of the two forms.
fn end_of(input: &[u8], tail: [u8; 4]) -> Option<(usize, StreamEnd)> {
    let last = input.iter().rposition(|byte| *byte != 0)?;
    let top = input.get(last)?.checked_ilog2()?;
    let eof = CODES[EOF];
    // The last set bit is the highest set bit of the end-of-stream code, since only zeros can follow.
    let begin = (last * 8 + top as usize).checked_sub(eof.bits.checked_ilog2()? as usize)?;
    let bits = begin + EOF_BITS;
    let trailing = match (bits % 8, input.len().checked_sub(bits / 8)?) {
        (0, 0) => Some(Trailing::WhenPartial),
        (0, 1) => Some(Trailing::Always),
        (1.., 1) => None,
        _ => return None,
    };
    let (mut wanted, mut count) = (0, 0);
    for code in tail.map(code) {
        wanted |= u128::from(code.bits) << count;
        count += u32::from(code.len);
    }
    let begin = begin.checked_sub(count as usize)?;
    wanted |= u128::from(eof.bits) << count;
    count += u32::from(eof.len);
    let mut found = [0; 16];
    for (to, from) in found.iter_mut().zip(input.get(begin / 8..)?) {
        *to = *from;
    }
    let found = u128::from_le_bytes(found) >> (begin % 8) & ((1 << count) - 1);
    (found == wanted).then_some((begin, StreamEnd { bits, trailing }))
}

/// A compressed input that is inflated only as far as it is read.
#[derive(Debug)]
pub(crate) struct Stream<'a> {
    reader: Reader<'a>,
    len: usize,
    has_ended: bool,
}

impl<'a> Stream<'a> {
    pub(crate) fn new(input: &'a [u8]) -> Self {
        Self {
            reader: Reader::new(input),
            len: 0,
            has_ended: false,
        }
    }

    /// Inflates until `out` holds at least `goal` clear bytes, or the stream ends. Returns the number of clear bytes,
    /// and true at the end of the stream. Every call on one stream must pass the same `out`.
    ///
    /// # Errors
    /// As [`decompress`], for the part that was inflated.
    pub(crate) fn inflate(&mut self, goal: usize, out: &mut [u8]) -> Result<(usize, bool), HuffmanError> {
        if !self.has_ended && self.len < goal {
            let (len, has_ended) =
                inflate(&mut self.reader, out, self.len, goal).map_err(|(error, _)| error)?;
            (self.len, self.has_ended) = (len, has_ended);
        }
        Ok((self.len, self.has_ended))
    }

    /// Returns the end of the input if its last bits are the codes of `tail` and none of these codes was inflated
    /// yet.
    ///
    /// The codes before `tail` are not checked: if one of them overlaps these bits, which no compressor writes, the
    /// clear bytes do not end with `tail`.
    pub(crate) fn end(&self, tail: [u8; 4]) -> Option<StreamEnd> {
        let (begin, end) = end_of(self.reader.input, tail)?;
        (self.reader.position() <= begin).then_some(end)
    }

    /// Inflates the rest of the stream.
    ///
    /// # Errors
    /// As [`decompress`].
    pub(crate) fn finish(mut self, out: &mut [u8]) -> Result<Inflated, HuffmanError> {
        let (len, _) = self.inflate(usize::MAX, out)?;
        let input = self.reader.input;
        let bits = self.reader.position();
        let used = bits / 8;
        let (trailing, end) = match (bits % 8, input.get(used)) {
            (0, None) => (Some(Trailing::WhenPartial), used),
            (0, Some(0)) => (Some(Trailing::Always), used + 1),
            (0, Some(_)) => (None, used),
            _ => (None, used + 1),
        };
        Ok(Inflated {
            len,
            bits,
            trailing,
            surplus: input.len().saturating_sub(end),
        })
    }
}

/// The part of an input that can be inflated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Prefix {
    /// The number of clear bytes written.
    pub len: usize,
    /// The number of compressed bits read for them, including an end-of-stream code.
    pub bits: usize,
    /// The reason for the end; `None` at the end-of-stream code.
    pub error: Option<HuffmanError>,
}

/// Inflates as much of `input` as possible into the start of `out`, to show the contents of datagrams that receivers
/// drop.
#[must_use]
pub fn prefix(input: &[u8], out: &mut [u8]) -> Prefix {
    let mut reader = Reader::new(input);
    let (len, error) = match inflate(&mut reader, out, 0, usize::MAX) {
        Ok((len, _)) => (len, None),
        Err((error, len)) => (len, Some(error)),
    };
    let bits = reader.position();
    Prefix { len, bits, error }
}

/// Appends the stream `compressed` to `out`, and replaces the codes of `old_tail`, the last bytes of the decompressed
/// data, with the codes of `new_tail`. `bits` is [`Inflated::bits`] of `compressed`. All codes before the tail stay the
/// same, bit for bit.
///
/// The decompressed data must end with `old_tail`; otherwise the result decompresses to other data.
pub(crate) fn replace_tail(
    compressed: &[u8],
    bits: usize,
    old_tail: &[u8],
    new_tail: &[u8],
    trailing: Trailing,
    out: &mut Vec<u8>,
) {
    let tail: usize = old_tail.iter().map(|&byte| usize::from(code(byte).len)).sum();
    let start = bits.min(compressed.len() * 8).saturating_sub(EOF_BITS + tail);
    let (whole, rest) = compressed
        .split_at_checked(start / 8)
        .unwrap_or((compressed, &[]));
    out.extend_from_slice(whole);
    let mut writer = BitWriter::new(out);
    let partial = u32::try_from(start % 8).unwrap_or(0);
    let kept = rest.first().copied().unwrap_or(0);
    writer.put(u64::from(kept) & ((1 << partial) - 1), partial);
    writer.put_all(new_tail);
    writer.finish(trailing);
}

/// The length of the longest code in bits.
const LONGEST: u32 = 15;

fn code(byte: u8) -> Code {
    CODES.get(usize::from(byte)).copied().unwrap_or(CODES[EOF])
}

/// Inflates after the `len` clear bytes at the start of `out`, until `out` holds at least `goal` clear bytes or the
/// end-of-stream code is read. Returns the number of clear bytes in `out`, also with an error, and true at the end of
/// the stream.
fn inflate(
    reader: &mut Reader<'_>,
    out: &mut [u8],
    mut len: usize,
    goal: usize,
) -> Result<(usize, bool), (HuffmanError, usize)> {
    while len < goal {
        len += inflate_rounds(reader, out.get_mut(len..).unwrap_or_default(), goal - len);
        if reader.have < LONGEST {
            reader.refill();
        }
        let found = step(reader.bits);
        if found.count() > 0
            && found.bits() <= reader.have
            && let Some(room) = out.get_mut(len..).and_then(<[u8]>::first_chunk_mut)
        {
            *room = found.symbols();
            reader.skip(found.bits());
            len += found.count();
            continue;
        }
        let (symbol, bits) = match (found.count(), found.symbols()) {
            (0, _) => long_code(found.node(), found.bits(), reader.bits),
            (_, [first, ..]) => (u16::from(first), u32::from(code(first).len)),
        };
        if bits > reader.have {
            return Err((HuffmanError::EndOfInput, len));
        }
        reader.skip(bits);
        let Ok(byte) = u8::try_from(symbol) else {
            return Ok((len, true));
        };
        *out.get_mut(len).ok_or((HuffmanError::OutputFull, len))? = byte;
        len += 1;
    }
    Ok((len, false))
}

/// The number of steps between two refills.
const ROUND: usize = (56 / WINDOW) as usize;

/// Inflates in rounds of several look-ups, as long as input and output have enough bytes left for a round, so that a
/// look-up needs no bounds checks. Stops at a code that is longer than a window, or once `goal` decompressed bytes are
/// written. Returns the number of decompressed bytes written.
fn inflate_rounds(reader: &mut Reader<'_>, out: &mut [u8], goal: usize) -> usize {
    let (mut bits, mut have, mut at) = (reader.bits, reader.have, reader.at);
    let mut len = 0;
    'rounds: while len < goal
        && let Some(word) = reader.input.get(at..).and_then(<[u8]>::first_chunk)
        && let Some(room) = out
            .get_mut(len..)
            .and_then(<[u8]>::first_chunk_mut::<{ ROUND * BATCH }>)
    {
        bits |= u64::from_le_bytes(*word) << have;
        at += ((63 - have) >> 3) as usize;
        have |= 56;
        let mut written = 0;
        for _ in 0..ROUND {
            let found = step(bits);
            if found.count() == 0 {
                len += written;
                break 'rounds;
            }
            if let Some(place) = room.get_mut(written..written + BATCH) {
                place.copy_from_slice(&found.symbols());
            }
            bits = found.skip(bits);
            have -= found.bits();
            written += found.count();
        }
        len += written;
    }
    (reader.bits, reader.have, reader.at) = (bits, have, at);
    len
}

/// Follows a code that starts with the `used` low bits of `bits` and leads to `node`. Returns the leaf and the length
/// of the code.
fn long_code(mut node: u16, mut used: u32, bits: u64) -> (u16, u32) {
    while !is_leaf(node) {
        node = descend(node, bits >> used);
        used += 1;
    }
    (node, used)
}

/// A bit stream: `have` valid bits in `bits`, next bit lowest; `at` = next input byte. Bits above `have` are either
/// the input that follows or zeros.
#[derive(Debug)]
struct Reader<'a> {
    input: &'a [u8],
    at: usize,
    bits: u64,
    have: u32,
}

impl<'a> Reader<'a> {
    fn new(input: &'a [u8]) -> Self {
        Self {
            input,
            at: 0,
            bits: 0,
            have: 0,
        }
    }

    /// Reads input until at least 56 bits are available, or the input ends.
    fn refill(&mut self) {
        let rest = self.input.get(self.at..).unwrap_or(&[]);
        if let Some(word) = rest.first_chunk() {
            self.bits |= u64::from_le_bytes(*word) << self.have;
            self.at += ((63 - self.have) >> 3) as usize;
            self.have |= 56;
            return;
        }
        for &byte in rest {
            if self.have > 56 {
                return;
            }
            self.bits |= u64::from(byte) << self.have;
            self.at += 1;
            self.have += 8;
        }
    }

    fn skip(&mut self, bits: u32) {
        self.bits >>= bits;
        self.have -= bits;
    }

    /// Returns the number of bits read so far.
    fn position(&self) -> usize {
        self.at * 8 - self.have as usize
    }
}

/// A writer that appends bits to bytes, lowest first.
struct BitWriter<'a> {
    out: &'a mut Vec<u8>,
    bits: u64,
    have: u32,
}

impl<'a> BitWriter<'a> {
    fn new(out: &'a mut Vec<u8>) -> Self {
        Self {
            out,
            bits: 0,
            have: 0,
        }
    }

    /// Appends at most 32 bits.
    fn put(&mut self, bits: u64, count: u32) {
        self.bits |= bits << self.have;
        self.have += count;
        if self.have >= 32 {
            let [a, b, c, d, ..] = self.bits.to_le_bytes();
            self.out.extend_from_slice(&[a, b, c, d]);
            self.bits >>= 32;
            self.have -= 32;
        }
    }

    fn put_all(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            let Code { bits, len } = code(byte);
            self.put(u64::from(bits), u32::from(len));
        }
    }

    fn finish(mut self, trailing: Trailing) {
        let Code { bits, len } = CODES[EOF];
        self.put(u64::from(bits), u32::from(len));
        let bytes = match trailing {
            Trailing::Always => self.have / 8 + 1,
            Trailing::WhenPartial => self.have.div_ceil(8),
        };
        self.out
            .extend(self.bits.to_le_bytes().iter().take(bytes as usize));
    }
}

const _: () = assert!(WINDOW < LONGEST, "the end-of-stream code must not fit a window");
