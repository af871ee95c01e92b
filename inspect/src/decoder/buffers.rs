//! Buffers that are used again from message to message, so that reading allocates little.

use teetap_wire::{Scratch, def::Decoded};

use super::Decoder;
use crate::Reading;

/// Buffers for messages, payloads and readings.
#[derive(Default)]
pub(super) struct Buffers {
    /// The fields of each message.
    pub(super) message: Decoded,
    /// The fields of messages without a definition of their own.
    pub(super) unknown: Decoded,
    scratch: Option<Box<Scratch>>,
    reading: Option<Reading>,
}

impl Decoder {
    /// Lends a buffer to inflate into, until [`Self::give_back`].
    pub(crate) fn lend_scratch(&mut self) -> Box<Scratch> {
        self.buffers.scratch.take().unwrap_or_default()
    }

    pub(crate) fn give_back(&mut self, scratch: Box<Scratch>) {
        self.buffers.scratch = Some(scratch);
    }

    /// Lends an empty reading with buffers of one that was recycled.
    pub(crate) fn lend_reading(&mut self) -> Reading {
        self.buffers.reading.take().unwrap_or_default()
    }

    /// Takes the buffers of a reading that is not needed any more.
    pub fn recycle(&mut self, mut reading: Reading) {
        reading.clear();
        self.buffers.reading = Some(reading);
    }
}
