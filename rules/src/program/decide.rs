//! The decisions of a program, as requested by the proxy.

use std::any::Any;

use teetap_wire::{Dir, MessageId, Proto, Seq};

use super::shared::Shared;
use crate::impair::LineSet;
use crate::verdict::{Effect, Made, Message, Verdict};

/// Decides about the messages of one session. [`Program::open`](crate::Program::open) creates it; it is dropped when
/// the session ends or another program is set.
pub trait Decide: Any + Send {
    /// Decides about the first copy of a message. `shared` contains the counts that all sessions share, created by
    /// [`Program::share`](crate::Program::share).
    fn decide(&mut self, message: &Message<'_>, shared: &mut Shared) -> Verdict;

    /// Observes the first copy of a message that is forwarded without a decision, because the program does not act in
    /// its direction, or the direction cannot be renumbered yet. See [`Interest::observes`](crate::Interest::observes). The
    /// verdict does not change the message; it lists the rules that took part, and marks.
    fn observe(&mut self, _message: &Message<'_>, _shared: &mut Shared) -> Verdict {
        Verdict::PASS
    }

    /// Returns true if messages with this id have no effect, whatever their fields are. The caller may then skip
    /// [`Self::decide`] and [`Self::observe`], but not [`Self::repeat`].
    fn ignores(&self, _of: (Proto, Dir), _id: MessageId, _shared: &mut Shared) -> bool {
        false
    }

    /// Handles another copy of a message that was decided or observed before, because its sender resends it. The
    /// verdict does not change the message; it lists the rules that took part, and marks. See
    /// [`Interest::repeats`](crate::Interest::repeats).
    fn repeat(&mut self, _message: &Message<'_>, _shared: &mut Shared) -> Verdict {
        Verdict::PASS
    }

    /// Returns the effects since the last call, in order. The caller calls this after each datagram and each
    /// [`Self::on_time`].
    fn effects(&mut self) -> Vec<Effect> {
        Vec::new()
    }

    /// Records that a vital message was sent to the client with this sequence number. See
    /// [`Interest::measures`](crate::Interest::measures).
    fn on_sent(&mut self, _at: u64, _seq: Seq, _resend: bool) {}

    /// Records an ack of the client, which refers to the numbers that were sent to the client. See
    /// [`Interest::measures`](crate::Interest::measures).
    fn on_ack(&mut self, _at: u64, _ack: Seq) {}

    /// Returns the time of the next call of [`Self::on_time`], in microseconds since the start of the run; `None` for
    /// never. The caller reads it after every message and every call of `on_time`.
    fn deadline(&self) -> Option<u64> {
        None
    }

    /// Runs the actions that are due, while the session is online. Returns messages to send.
    fn on_time(&mut self, _at: u64, _shared: &mut Shared) -> Vec<Made> {
        Vec::new()
    }

    /// Returns the link lines with an open window: lines without a window, and lines whose window was started by a
    /// message and not ended.
    fn open_lines(&self) -> LineSet {
        LineSet::ALL
    }

    /// Handles the end of the session, after its last message. The caller reads the effects afterwards.
    fn on_end(&mut self) {}
}
