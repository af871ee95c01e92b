//! The messages and facts that a program needs from the session core.

use crate::proto_dirs::ProtoDirs;

/// The messages and facts that a program needs. By default it needs none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Interest {
    /// Directions in which a decision can be other than a pass. Other directions keep the sequence numbers of their
    /// sender.
    pub acts: ProtoDirs,
    /// Directions in which decisions depend on the messages, so that the caller must pass messages that are forwarded
    /// without a decision to [`Decide::observe`](super::Decide::observe).
    pub observes: ProtoDirs,
    /// Directions in which rules handle further copies of messages, see [`Decide::repeat`](super::Decide::repeat).
    pub repeats: ProtoDirs,
    /// Directions in which rules change items of snapshots, see [`Verdict::items`](crate::Verdict::items).
    pub snapshots: ProtoDirs,
    /// True if the program decides about control messages.
    pub controls: bool,
    /// True if rules decide about a CONNECT or its reply without a session.
    pub decides_alone: bool,
    /// True if the program decides about messages outside a connection.
    pub browses: bool,
    /// True if decisions depend on the round trip to the client, so that [`Decide::on_sent`](super::Decide::on_sent)
    /// and [`Decide::on_ack`](super::Decide::on_ack) are needed.
    pub measures: bool,
    /// True if decisions depend on the oddities of the chunks of a datagram.
    pub inspects: bool,
}
