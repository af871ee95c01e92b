//! Why a recording cannot be read, or not any further.

use std::io;

/// Why a recording cannot be read, or not any further. What comes before it has been given out.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// What the operating system said.
    #[error("cannot read any further than byte {offset}: {error}")]
    System {
        /// Bytes read before.
        offset: u64,
        /// What it said.
        error: io::Error,
    },
    /// It is something else.
    #[error("this is no recording: {0}")]
    Unknown(&'static str),
    /// It ends in the middle of something.
    #[error("the recording breaks off: what begins at byte {0} is not all there")]
    Cut(u64),
    /// Something in it cannot be.
    #[error("the recording is damaged at byte {offset}: {text}")]
    Damaged {
        /// Where the damaged part begins.
        offset: u64,
        /// What is wrong.
        text: String,
    },
}

impl ReadError {
    pub(super) fn damaged(offset: u64, text: impl Into<String>) -> Self {
        Self::Damaged {
            offset,
            text: text.into(),
        }
    }
}
