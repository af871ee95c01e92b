//! The facts about a leg that determine the actions of its receiver.

use crate::{Proto, Seq, Token};

/// The state of a connection, as the receiver sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Phase {
    /// A server without a slot for the address; a client without a connection to it.
    NoSlot,
    /// A client of 0.7 that waits for the token of the server.
    WantsToken,
    /// A client that has sent CONNECT and waits for the answer.
    Connecting,
    /// A server that has answered CONNECT and waits for the first data (0.6.4, 0.7.5).
    Pending,
    /// Both sides may send messages.
    Online,
    /// A connection that a CLOSE ended.
    Ended,
}

/// The decision of a server about one more client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Admission {
    /// The client is accepted.
    Open,
    /// The address is banned.
    Banned,
    /// All slots are in use.
    Full,
    /// Too many clients have the same address.
    PerAddress,
    /// Too many connections were opened from the address in a short time (DDNet).
    TooFast,
    /// A DDNet server that accepts no clients of 0.7.
    NoSeven,
}

/// The state of one leg from the point of view of its receiver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Leg {
    /// The protocol that both sides agreed on. It is ignored without a slot.
    pub proto: Proto,
    /// The state of the connection.
    pub phase: Phase,
    /// The token that the receiver expects, or, without a slot, the token that the server gives to the address.
    /// `None` if it expects none.
    pub token_in: Option<Token>,
    /// The token that the receiver writes into its own datagrams.
    pub token_out: Option<Token>,
    /// The last vital chunk that the receiver received in order.
    pub ack: Seq,
    /// True if the next vital chunk counts as in order regardless of its number, as after a handshake without tokens.
    pub ack_unknown: bool,
    /// The last ack that the receiver accepted, 0 to 1023, or larger in Teeworlds 0.6.4.
    pub peer_ack: u16,
    /// The last vital chunk that the receiver sent.
    pub sequence: Seq,
    /// The decision of the server about one more client.
    pub admission: Admission,
    /// True if the server verifies addresses with a challenge in snapshots: `sv_vanilla_antispoof` of DDNet,
    /// `sv_allow_old_clients` of 0.6.5.
    pub challenges: bool,
    /// The first byte of the previous payload that the receiver read; `None` if unknown. Releases before DDNet 19.4 use
    /// it as the id of an empty control packet.
    pub leftover: Option<u8>,
}

impl Leg {
    /// Returns a leg at the start of its numbering.
    #[must_use]
    pub const fn new(proto: Proto, phase: Phase, token_in: Option<Token>) -> Self {
        Self {
            proto,
            phase,
            token_in,
            token_out: None,
            ack: Seq::ZERO,
            ack_unknown: false,
            peer_ack: 0,
            sequence: Seq::ZERO,
            admission: Admission::Open,
            challenges: false,
            leftover: None,
        }
    }

    /// Returns true if the receiver has a connection with the address.
    #[must_use]
    pub const fn has_slot(&self) -> bool {
        !matches!(self.phase, Phase::NoSlot | Phase::Ended)
    }

    /// Returns the leg at the start of a new numbering.
    pub(super) const fn renumbered(self) -> Self {
        Self {
            ack: Seq::ZERO,
            ack_unknown: false,
            peer_ack: 0,
            sequence: Seq::ZERO,
            ..self
        }
    }
}

/// Returns true if a receiver accepts an ack: it lies in the cyclic range from the last accepted ack to the last
/// number that the receiver sent (`CNetConnection::Feed` of all releases from 0.6.4 on).
#[must_use]
pub const fn in_window(ack: u16, peer_ack: u16, sequence: Seq) -> bool {
    let last = sequence.get();
    if last >= peer_ack {
        ack >= peer_ack && ack <= last
    } else {
        ack >= peer_ack || ack <= last
    }
}

/// Returns true if a receiver that expects the token `wanted` accepts a datagram with the token `shown`.
#[must_use]
pub fn token_fits(wanted: Option<Token>, shown: Option<Token>) -> bool {
    wanted.is_none_or(|wanted| shown == Some(wanted))
}
