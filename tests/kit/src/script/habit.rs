//! Mistakes that a client makes in every datagram.

/// A mistake in the state of a client, from some moment on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Habit {
    /// Acks the highest number seen in place of the last one in order.
    AcksHighest,
    /// Acks nothing.
    AcksNothing,
    /// Acks 20 numbers more than came.
    AcksAhead,
    /// Counts messages that are not vital into its ack.
    AcksAll,
    /// Drops compressed datagrams.
    NoInflate,
    /// Gives each vital message the number 1.
    SameNumber,
    /// Numbers its vital messages from 0.
    FromZero,
    /// Counts its own messages that are not vital.
    NumbersAll,
    /// Shows its own token in place of the server's.
    OwnToken,
    /// Shows the server's token with its bytes in reverse.
    ReversedToken,
}
