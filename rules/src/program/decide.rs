//! The decisions of a program, as the proxy asks for them.

use std::any::Any;

use teetap_wire::{Dir, MessageId, Proto, Seq};

use super::shared::Shared;
use crate::impair::LineSet;
use crate::verdict::{Effect, Made, Message, Verdict};

/// The decisions about the messages of one session. [`Program::open`](crate::Program::open) creates them; they are
/// dropped when the session ends or another program is set.
pub trait Decide: Any + Send {
    /// Decides about the first copy of a message. `shared` has the counts that all sessions share, which
    /// [`Program::share`](crate::Program::share) creates.
    fn decide(&mut self, message: &Message<'_>, shared: &mut Shared) -> Verdict;

    /// Observes the first copy of a message that passes without a decision: the program does not act in its direction,
    /// or the direction may not be renumbered yet. See [`Logic::observes`](crate::Logic::observes). The verdict passes the
    /// message unchanged; it has the rules that took part, and marks.
    fn observe(&mut self, _message: &Message<'_>, _shared: &mut Shared) -> Verdict {
        Verdict::PASS
    }

    /// Returns true if nothing would come of a message with this id, whatever its fields are: the caller may skip
    /// [`Self::decide`] or [`Self::observe`], and need not know the message. Not of other copies, see [`Self::repeat`].
    fn ignores(&self, _of: (Proto, Dir), _id: MessageId, _shared: &mut Shared) -> bool {
        false
    }

    /// Handles another copy of a message that was decided or observed before: its sender sends it again. The verdict
    /// passes it as it was; it has the rules that took part, and marks. See [`Logic::repeats`](crate::Logic::repeats).
    fn repeat(&mut self, _message: &Message<'_>, _shared: &mut Shared) -> Verdict {
        Verdict::PASS
    }

    /// Returns the effects since the last call, in their order. The caller calls it after each datagram and each
    /// [`Self::on_time`].
    fn effects(&mut self) -> Vec<Effect> {
        Vec::new()
    }

    /// Handles the sending of a vital message to the client, under this number. See
    /// [`Logic::measures`](crate::Logic::measures).
    fn on_sent(&mut self, _at: u64, _seq: Seq, _resend: bool) {}

    /// Handles an ack of the client, of the numbers that it was sent. See
    /// [`Logic::measures`](crate::Logic::measures).
    fn on_ack(&mut self, _at: u64, _ack: Seq) {}

    /// Returns the time for the next call of [`Self::on_time`], in microseconds since the start of the run. `None` for
    /// never. The caller reads it after every message and every call of `on_time`.
    fn deadline(&self) -> Option<u64> {
        None
    }

    /// Handles the deadline while the session is online. Returns the messages to send.
    fn on_time(&mut self, _at: u64, _shared: &mut Shared) -> Vec<Made> {
        Vec::new()
    }

    /// Returns the link lines whose windows are open: those without a window, and those whose window a message has begun and
    /// none has ended.
    fn open_lines(&self) -> LineSet {
        LineSet::ALL
    }

    /// Handles the end of the session: no message follows. The caller reads the effects afterwards.
    fn on_end(&mut self) {}
}
