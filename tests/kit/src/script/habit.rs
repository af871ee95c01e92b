//! Mistakes that a client makes in every datagram.

/// A mistake in the state of a client that starts at some step of a script.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Habit {
    /// Acks the highest number seen instead of the last one in order.
    AcksHighest,
    /// Acks nothing.
    AcksNothing,
    /// Acks 20 numbers more than were received.
    AcksAhead,
    /// Counts non-vital messages into its ack.
    AcksAll,
    /// Drops compressed datagrams.
    NoInflate,
    /// Gives each vital message the number 1.
    SameNumber,
    /// Numbers its vital messages from 0.
    FromZero,
    /// Counts its own non-vital messages.
    NumbersAll,
    /// Sends its own token instead of the server's.
    OwnToken,
    /// Sends the server's token with its bytes reversed.
    ReversedToken,
}
