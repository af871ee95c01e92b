//! One leg of a session: the proxy and one peer.

use teetap_wire::{Code, Control, Packet, Proto, Scratch, Seq, Token, Trailing, receiver::token_fits};

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
        let shown = packet.header.token;
        if token_fits(self.token_in, shown) {
            return Ok(());
        }
        Err(if shown.is_some() {
            Code::WrongToken
        } else {
            Code::MissingToken
        })
    }

    /// Handles a valid packet of the peer.
    pub(crate) fn on_valid(&mut self, packet: &Packet<'_>, now: Time) {
        self.last_received = now;
        let whole = packet.inflated.and_then(|inflated| inflated.trailing);
        if let Some(trailing) = whole.or(packet.end.and_then(|end| end.trailing)) {
            self.trailing = trailing;
        }
    }
}

/// The client leg of a session that has ended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EndedLeg {
    pub(crate) proto: Proto,
    /// The token that the client shows.
    pub(crate) shows: Token,
    /// The token that it expects.
    pub(crate) expects: Option<Token>,
    /// The last ack that it was shown.
    pub(crate) ack: Seq,
}

impl EndedLeg {
    /// Returns true if a datagram shows the token, and is not a CLOSE itself.
    pub(crate) fn is_due(&self, bytes: &[u8], scratch: &mut Scratch) -> bool {
        Packet::parse(self.proto, bytes, scratch).is_ok_and(|packet| {
            packet.header.token == Some(self.shows)
                && !matches!(packet.control(), Some(Control::Close { .. }))
        })
    }
}
