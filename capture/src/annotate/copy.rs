//! The state of an annotation, and its result.

use std::io::{self, Read, Write};

use super::comments::Comments;
use crate::ReadError;

/// Bytes per write.
const BLOCK: usize = 256 << 10;

/// Error that ended an annotation.
#[derive(Debug, thiserror::Error)]
pub enum AnnotateError {
    /// The input cannot be read any further. The output contains the part before.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The output cannot be written.
    #[error(transparent)]
    Write(#[from] io::Error),
}

/// Counts of an annotated capture.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Annotated {
    /// Number of packets.
    pub packets: u64,
    /// Number of packets that got a comment.
    pub commented: u64,
    /// Number of packets that have their comment already.
    pub had: u64,
    /// Number of packets that should have a comment but whose blocks have no place for it.
    pub unplaced: u64,
    /// Bytes in the complete blocks of the output.
    pub bytes: u64,
}

/// The state of a copy.
pub(super) struct Copy<'a, R, W> {
    pub(super) comments: Comments<R>,
    pub(super) out: W,
    /// The block that is read.
    pub(super) block: Vec<u8>,
    pub(super) buffer: Vec<u8>,
    pub(super) done: &'a mut Annotated,
}

impl<R: Read, W: Write> Copy<'_, R, W> {
    /// Ends a complete block in the buffer.
    pub(super) fn end_block(&mut self) -> io::Result<()> {
        if self.buffer.len() >= BLOCK {
            self.flush()?;
        }
        Ok(())
    }

    /// Writes the complete blocks.
    pub(super) fn flush(&mut self) -> io::Result<()> {
        self.out.write_all(&self.buffer)?;
        self.done.bytes += self.buffer.len() as u64;
        self.buffer.clear();
        self.out.flush()
    }
}
