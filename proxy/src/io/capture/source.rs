//! The bytes of a recording, piece by piece.
//!
//! Law: a piece is at most [`LONGEST`] bytes, so that a damaged length costs no memory; pieces that are not wanted are skipped
//! without being kept.

use std::io::{self, Read};

use super::error::ReadError;

/// Bytes of the longest piece that is kept: more than any packet with its comments.
pub(super) const LONGEST: u32 = 4 << 20;

/// Bytes skipped at once.
const STEP: usize = 64 << 10;

/// Reads pieces and knows where it is.
#[derive(Debug)]
pub(super) struct Source<R> {
    input: R,
    offset: u64,
    piece: Vec<u8>,
}

impl<R: Read> Source<R> {
    pub(super) fn new(input: R) -> Self {
        Self {
            input,
            offset: 0,
            piece: Vec::new(),
        }
    }

    /// Bytes read so far.
    pub(super) fn offset(&self) -> u64 {
        self.offset
    }

    /// The next `len` bytes, at most [`LONGEST`] of them; `None` when there is nothing more at all. `begin`: where the thing begins that these bytes
    /// belong to.
    ///
    /// # Errors
    /// [`ReadError::Cut`] when there are fewer, and what the operating system says.
    pub(super) fn piece(&mut self, begin: u64, len: u32) -> Result<Option<&[u8]>, ReadError> {
        let wanted = usize::try_from(len.min(LONGEST)).unwrap_or_default();
        self.piece.resize(wanted, 0);
        let mut read = 0;
        while let Some(room) = self.piece.get_mut(read..).filter(|room| !room.is_empty()) {
            match self.input.read(room) {
                Ok(0) => break,
                Ok(more) => {
                    read += more;
                    self.offset += more as u64;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    let offset = self.offset;
                    return Err(ReadError::System { offset, error });
                }
            }
        }
        match read {
            0 if wanted > 0 && begin == self.offset => Ok(None),
            read if read < wanted => Err(ReadError::Cut(begin)),
            _ => Ok(Some(&self.piece)),
        }
    }

    /// What was read last.
    pub(super) fn last(&self) -> &[u8] {
        &self.piece
    }

    /// The next `len` bytes, which have to be there.
    ///
    /// # Errors
    /// As [`Self::piece`].
    pub(super) fn more(&mut self, begin: u64, len: u32) -> Result<&[u8], ReadError> {
        self.piece(begin, len)?.ok_or(ReadError::Cut(begin))
    }

    /// Leaves out `len` bytes.
    ///
    /// # Errors
    /// As [`Self::piece`].
    pub(super) fn skip(&mut self, begin: u64, mut len: u32) -> Result<(), ReadError> {
        while len > 0 {
            let step = len.min(u32::try_from(STEP).unwrap_or(u32::MAX));
            self.more(begin, step)?;
            len -= step;
        }
        Ok(())
    }
}
