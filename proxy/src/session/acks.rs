//! The sequence numbers that a receiver may ack.

use teetap_wire::{Code, Dir, PerDir, Seq, receiver::in_window};

/// The ack window of one direction: from the last valid ack to the highest sequence number that was sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AckWindow {
    /// The last valid ack.
    pub last: Seq,
    /// The highest sequence number that was sent.
    pub top: Seq,
}

impl AckWindow {
    /// Checks an ack as the sender of the numbers does. The sender drops a datagram whose ack is outside the
    /// window.
    ///
    /// # Errors
    /// Returns the oddity of an ack outside the window.
    pub const fn check(self, ack: Seq) -> Result<(), Code> {
        if in_window(ack.get(), self.last.get(), self.top) {
            Ok(())
        } else if ack.is_behind(self.last) {
            Err(Code::AckBehind)
        } else {
            Err(Code::AckAhead)
        }
    }

    /// Records that a sequence number was sent, for the first time or again.
    pub fn sent(&mut self, number: Seq) {
        if !number.is_behind(self.top) {
            self.top = number;
        }
    }
}

/// Sequence numbers of a session since a further ACCEPT of DDNet. A server that reads such an ACCEPT
/// restarts its own numbers and expects the client's from 1 on (DDNet 16.4, network_server.cpp,
/// `OnConnCtrlMsg`), but its datagrams show that only later.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RestartedNumbers(PerDir<AckWindow>);

impl RestartedNumbers {
    /// Returns the ack window of the new numbers of one direction.
    #[must_use]
    pub fn window(self, dir: Dir) -> AckWindow {
        self.0[dir]
    }

    /// Records that a sequence number was sent. A number other than the next new one may belong to the old
    /// numbers, and no receiver acks it.
    pub fn sent(&mut self, dir: Dir, number: Seq) {
        let window = &mut self.0[dir];
        if number == window.top.next() {
            window.top = number;
        }
    }

    /// Returns true if the server sends a number that its client has acked before as the next new number: the
    /// server has restarted its numbers.
    #[must_use]
    pub fn is_shown_by(&self, number: Seq, acked: Seq) -> bool {
        number == self.0.s2c.top.next() && number.is_behind(acked)
    }

    /// Records an ack that is outside the old window. Returns true if it is inside the new one.
    pub fn accepts(&mut self, dir: Dir, ack: Seq) -> bool {
        let window = &mut self.0[dir];
        let is_valid = window.check(ack).is_ok();
        if is_valid {
            window.last = ack;
        }
        is_valid
    }
}
