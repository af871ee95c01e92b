//! Reusable buffers, so that decoding allocates little memory.

use teetap_wire::{Scratch, def::Decoded};

use super::Decoder;
use crate::Reading;

/// Reusable buffers for messages, payloads and readings.
#[derive(Default)]
pub(super) struct Buffers {
    /// The fields of the current message.
    pub(super) message: Decoded,
    /// The fields of the current message, for a message without a definition.
    pub(super) unknown: Decoded,
    scratch: Option<Box<Scratch>>,
    reading: Option<Reading>,
}

impl Decoder {
    /// Lends the buffer into which payloads are inflated; return it with [`Self::give_back`].
    pub(crate) fn lend_scratch(&mut self) -> Box<Scratch> {
        self.buffers.scratch.take().unwrap_or_default()
    }

    pub(crate) fn give_back(&mut self, scratch: Box<Scratch>) {
        self.buffers.scratch = Some(scratch);
    }

    /// Returns an empty reading that reuses the buffers of the last recycled reading.
    pub(crate) fn lend_reading(&mut self) -> Reading {
        self.buffers.reading.take().unwrap_or_default()
    }

    /// Keeps the buffers of a reading for the next reading.
    pub fn recycle(&mut self, mut reading: Reading) {
        reading.clear();
        self.buffers.reading = Some(reading);
    }
}
