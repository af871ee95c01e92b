//! The numbers that a receiver may ack.

use teetap_wire::{Code, Seq, receiver::in_window};

/// The acks of one direction: from the last valid one to the highest number that was sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AckWindow {
    /// The last valid ack.
    pub last: Seq,
    /// The highest number that was sent.
    pub top: Seq,
}

impl AckWindow {
    /// Checks an ack as the sender of the numbers does, who drops a datagram whose ack is outside the window.
    ///
    /// # Errors
    /// The oddity of an ack outside the window.
    pub const fn check(self, ack: Seq) -> Result<(), Code> {
        if in_window(ack.get(), self.last.get(), self.top) {
            Ok(())
        } else if ack.is_behind(self.last) {
            Err(Code::AckBehind)
        } else {
            Err(Code::AckAhead)
        }
    }

    /// Records that a number was sent, for the first time or again.
    pub fn sent(&mut self, number: Seq) {
        if !number.is_behind(self.top) {
            self.top = number;
        }
    }
}
