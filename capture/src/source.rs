//! Reads the bytes of a recording, piece by piece.
//!
//! Law: a piece has at most [`LONGEST`] bytes, so that a damaged length field cannot exhaust memory. Unwanted pieces
//! are skipped without being stored. Pieces are borrowed from the read buffer, not copied.

use std::{
    io::{self, Read},
    ops::Range,
};

use crate::ReadError;

/// Maximum bytes of a piece; more than any packet with its comments.
pub(super) const LONGEST: u32 = 4 << 20;

/// Bytes per read.
const BLOCK: usize = 256 << 10;

/// Bytes per step of a skip.
const STEP: usize = 64 << 10;

/// Byte order of the numbers in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    Little,
    Big,
}

impl Order {
    pub(super) fn u16(self, bytes: [u8; 2]) -> u16 {
        match self {
            Self::Little => u16::from_le_bytes(bytes),
            Self::Big => u16::from_be_bytes(bytes),
        }
    }

    pub(super) fn u32(self, bytes: [u8; 4]) -> u32 {
        match self {
            Self::Little => u32::from_le_bytes(bytes),
            Self::Big => u32::from_be_bytes(bytes),
        }
    }

    /// Returns the bytes of a number.
    pub(super) fn bytes32(self, number: u32) -> [u8; 4] {
        match self {
            Self::Little => number.to_le_bytes(),
            Self::Big => number.to_be_bytes(),
        }
    }

    /// Same as [`Self::bytes32`], for two bytes.
    pub(super) fn bytes16(self, number: u16) -> [u8; 2] {
        match self {
            Self::Little => number.to_le_bytes(),
            Self::Big => number.to_be_bytes(),
        }
    }

    /// Returns the number at offset `at`; 0 if it is out of bounds.
    pub(super) fn u32_at(self, bytes: &[u8], at: usize) -> u32 {
        let found = bytes.get(at..).and_then(<[u8]>::first_chunk);
        self.u32(found.copied().unwrap_or_default())
    }

    /// Same as [`Self::u32_at`], for two bytes.
    pub(super) fn u16_at(self, bytes: &[u8], at: usize) -> u16 {
        let found = bytes.get(at..).and_then(<[u8]>::first_chunk);
        self.u16(found.copied().unwrap_or_default())
    }
}

/// Reads pieces and tracks their offset.
#[derive(Debug)]
pub(super) struct Source<R> {
    input: R,
    /// Number of bytes returned so far.
    offset: u64,
    buffer: Vec<u8>,
    /// Range of the bytes that are read but not returned yet.
    ahead: Range<usize>,
    /// Range of the last piece.
    last: Range<usize>,
}

impl<R: Read> Source<R> {
    pub(super) fn new(input: R) -> Self {
        Self {
            input,
            offset: 0,
            buffer: Vec::new(),
            ahead: 0..0,
            last: 0..0,
        }
    }

    /// Returns the number of bytes returned so far.
    pub(super) fn offset(&self) -> u64 {
        self.offset
    }

    /// Returns the next `len` bytes, at most [`LONGEST`]; `None` at the end of the input. `begin` is the offset of the
    /// block or record to which they belong.
    ///
    /// # Errors
    /// [`ReadError::Cut`] if the input ends before them, or an error of the operating system.
    pub(super) fn piece(&mut self, begin: u64, len: u32) -> Result<Option<&[u8]>, ReadError> {
        let wanted = usize::try_from(len.min(LONGEST)).unwrap_or_default();
        if self.ahead.len() < wanted {
            self.fill(wanted)?;
        }
        let read = self.ahead.len().min(wanted);
        self.last = self.ahead.start..self.ahead.start + read;
        self.ahead.start += read;
        self.offset += read as u64;
        match read {
            0 if wanted > 0 && begin == self.offset => Ok(None),
            read if read < wanted => Err(ReadError::Cut(begin)),
            _ => Ok(Some(self.last())),
        }
    }

    /// Returns the last piece again.
    pub(super) fn last(&self) -> &[u8] {
        self.buffer.get(self.last.clone()).unwrap_or_default()
    }

    /// Returns the next `len` bytes, which must exist.
    ///
    /// # Errors
    /// Same as [`Self::piece`].
    pub(super) fn more(&mut self, begin: u64, len: u32) -> Result<&[u8], ReadError> {
        self.piece(begin, len)?.ok_or(ReadError::Cut(begin))
    }

    /// Skips `len` bytes.
    ///
    /// # Errors
    /// Same as [`Self::piece`].
    pub(super) fn skip(&mut self, begin: u64, mut len: u32) -> Result<(), ReadError> {
        while len > 0 {
            let step = len.min(u32::try_from(STEP).unwrap_or(u32::MAX));
            self.more(begin, step)?;
            len -= step;
        }
        Ok(())
    }

    /// Reads until `wanted` bytes are buffered, or the input ends.
    fn fill(&mut self, wanted: usize) -> Result<(), ReadError> {
        let room = wanted.max(BLOCK);
        // Moves less than a piece, once per block.
        if self.buffer.len() < room {
            // The allocator zeroes it, which is cheaper than growing the old buffer, even for short recordings.
            let mut buffer = vec![0; room];
            let kept = self.buffer.get(self.ahead.clone()).unwrap_or_default();
            if let Some(begin) = buffer.get_mut(..kept.len()) {
                begin.copy_from_slice(kept);
            }
            self.buffer = buffer;
        } else {
            self.buffer.copy_within(self.ahead.clone(), 0);
        }
        self.ahead = 0..self.ahead.len();
        while self.ahead.len() < wanted
            && let Some(room) = self.buffer.get_mut(self.ahead.end..)
        {
            match self.input.read(room) {
                Ok(0) => break,
                Ok(more) => self.ahead.end += more,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    let offset = self.offset + self.ahead.len() as u64;
                    return Err(ReadError::System { offset, error });
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A reader that returns varying numbers of bytes and fails at its end.
    struct Odd {
        bytes: Vec<u8>,
        at: usize,
    }

    impl Read for Odd {
        fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
            if self.at == self.bytes.len() {
                return Err(io::ErrorKind::BrokenPipe.into());
            }
            let count = (self.at % 70_001 + 1)
                .min(room.len())
                .min(self.bytes.len() - self.at);
            room[..count].copy_from_slice(&self.bytes[self.at..self.at + count]);
            self.at += count;
            Ok(count)
        }
    }

    #[test]
    fn pieces_of_any_length_are_the_bytes_in_their_order() {
        let bytes: Vec<u8> = (0..2_000_003_u32)
            .map(|at| ((at * 7) >> 3).to_le_bytes()[0])
            .collect();
        let input = Odd {
            bytes: bytes.clone(),
            at: 0,
        };
        let mut source = Source::new(input);
        let (mut begin, mut len) = (0, 1);
        while begin + len <= bytes.len() {
            let piece = source
                .piece(begin as u64, u32::try_from(len).unwrap())
                .unwrap()
                .unwrap();
            assert!(piece == &bytes[begin..begin + len], "{len} at {begin}");
            assert!(source.last() == &bytes[begin..begin + len]);
            begin += len;
            assert_eq!(source.offset(), begin as u64);
            // Skips more than a block, too.
            len = len * 17 % 300_007;
        }
        source
            .skip(begin as u64, u32::try_from(bytes.len() - begin - 1).unwrap())
            .unwrap();
        // The last byte is still returned; the error belongs to the byte after it.
        assert_eq!(source.more(5, 1).unwrap(), &bytes[bytes.len() - 1..]);
        assert!(matches!(
            source.piece(5, 1),
            Err(ReadError::System {
                offset: 2_000_003,
                ..
            })
        ));
    }

    #[test]
    fn an_end_is_an_end_only_between_things() {
        let mut source = Source::new(&b"abcdef"[..]);
        assert_eq!(source.piece(0, 4).unwrap().unwrap(), b"abcd");
        assert!(matches!(source.piece(4, 4), Err(ReadError::Cut(4))));
        let mut source = Source::new(&b"abcd"[..]);
        source.piece(0, 4).unwrap();
        assert!(source.piece(4, 4).unwrap().is_none());
        assert!(matches!(source.more(2, 4), Err(ReadError::Cut(2))));
        assert_eq!(source.piece(2, 0).unwrap().unwrap(), b"");
    }
}
