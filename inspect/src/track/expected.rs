//! The values that a datagram should have had.

use teetap_wire::{Seq, Token};

/// Expected values of a datagram, as far as earlier datagrams show them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Expected {
    /// The expected token, if the token of the datagram is wrong or missing.
    pub token: Option<Token>,
    /// The token that the sender gave to the receiver, if the token of the datagram is wrong or missing.
    pub own: Option<Token>,
    /// The token that the receiver gave to the sender in 0.6.5, where only the server's token is written.
    pub peer: Option<Token>,
    /// The highest valid ack if the ack of the datagram is ahead; the lowest if it is behind.
    pub ack: Option<Seq>,
}
