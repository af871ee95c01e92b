//! The numbers that a receiver may ack.

use teetap_wire::{Code, Dir, Seq, receiver::in_window};

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

/// The numbers of a session since one more ACCEPT of DDNet's. The server begins its own anew when it takes that, and expects those
/// of the client from 1 on (DDNet 16.4, network_server.cpp, `OnConnCtrlMsg`), but its datagrams show that only later.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Anew {
    c2s: AckWindow,
    s2c: AckWindow,
}

impl Anew {
    /// Returns the acks of the new numbers of one direction.
    #[must_use]
    pub const fn window(self, dir: Dir) -> AckWindow {
        match dir {
            Dir::C2s => self.c2s,
            Dir::S2c => self.s2c,
        }
    }

    const fn window_mut(&mut self, dir: Dir) -> &mut AckWindow {
        match dir {
            Dir::C2s => &mut self.c2s,
            Dir::S2c => &mut self.s2c,
        }
    }

    /// Records that a number was sent. Others than the next one may be of the old numbers, and no receiver acks them.
    pub fn sent(&mut self, dir: Dir, number: Seq) {
        let window = self.window_mut(dir);
        if number == window.top.next() {
            window.top = number;
        }
    }

    /// Returns true if a number of the server's that its client has acked comes again as the next new one: the server has begun anew.
    #[must_use]
    pub fn is_shown_by(&self, number: Seq, acked: Seq) -> bool {
        number == self.s2c.top.next() && number.is_behind(acked)
    }

    /// Takes an ack of the numbers of a direction that is outside the old window. Returns true if it is in the new one.
    pub fn takes(&mut self, dir: Dir, ack: Seq) -> bool {
        let window = self.window_mut(dir);
        let is_valid = window.check(ack).is_ok();
        if is_valid {
            window.last = ack;
        }
        is_valid
    }
}
