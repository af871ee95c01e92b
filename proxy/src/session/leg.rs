//! One leg of a session: the proxy and one peer.

use teetap_wire::{Code, Packet, Proto, Token, Trailing};

use super::Time;

/// The state that the proxy and one peer share.
#[derive(Debug)]
pub(crate) struct Leg {
    pub(crate) proto: Proto,
    /// The token that the peer has to send. `None` = a tokenless leg, or not known yet.
    pub(crate) token_in: Option<Token>,
    /// The token that the proxy sends.
    pub(crate) token_out: Option<Token>,
    /// When the peer last sent something valid.
    pub(crate) last_received: Time,
    /// How the peer ends a Huffman stream.
    pub(crate) trailing: Trailing,
    /// How many datagrams the peer has sent.
    pub(crate) ordinal: u64,
}

impl Leg {
    pub(crate) fn new(proto: Proto, now: Time) -> Self {
        Self {
            proto,
            token_in: None,
            token_out: None,
            last_received: now,
            trailing: Trailing::Always,
            ordinal: 0,
        }
    }

    /// Checks that the peer's token is the agreed one.
    pub(crate) fn check(&self, packet: &Packet<'_>) -> Result<(), Code> {
        match (self.token_in, packet.header.token) {
            (None, _) => Ok(()),
            (Some(wanted), Some(shown)) if wanted == shown => Ok(()),
            (Some(_), Some(_)) => Err(Code::WrongToken),
            (Some(_), None) => Err(Code::MissingToken),
        }
    }

    /// Handles a valid packet of the peer.
    pub(crate) fn on_valid(&mut self, packet: &Packet<'_>, now: Time) {
        self.last_received = now;
        if let Some(trailing) = packet.inflated.as_ref().and_then(|inflated| inflated.trailing) {
            self.trailing = trailing;
        }
    }
}
