//! One leg of a session: the proxy and one peer.

use teetap_wire::{
    Code, Control, Packet, Proto, Scratch, Seq, Token, Trailing, receiver::token_fits, written_form,
};

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

    /// Returns the protocol in which the peer wrote a datagram: a CLOSE of DDNet may have no token.
    pub(crate) fn form(&self, datagram: &[u8]) -> Proto {
        written_form(self.proto, datagram, self.token_in)
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
    /// True if the proxy has ended the session with a CLOSE.
    pub(crate) is_closed: bool,
    /// True if the client has sent nothing behind the answer to its CONNECT.
    pub(crate) may_come: bool,
}

impl EndedLeg {
    /// Returns true if a datagram shows the token, is not a CLOSE itself, and the proxy has ended the session with a CLOSE.
    pub(crate) fn is_due(&self, bytes: &[u8], scratch: &mut Scratch) -> bool {
        self.is_closed
            && Packet::parse(self.proto, bytes, scratch).is_ok_and(|packet| {
                packet.header.token == Some(self.shows)
                    && !matches!(packet.control(), Some(Control::Close { .. }))
            })
    }

    /// Returns true if a datagram is the ACCEPT with which the client comes at last. The tokens of a server of DDNet are valid for as
    /// long as it runs (16.4, network_server.cpp, `GetToken`).
    pub(crate) fn is_accepted(&self, bytes: &[u8], scratch: &mut Scratch) -> bool {
        self.may_come
            && self.proto == Proto::Ddnet
            && Packet::parse(self.proto, bytes, scratch).is_ok_and(|packet| {
                packet.header.token == Some(self.shows) && matches!(packet.control(), Some(Control::Accept))
            })
    }
}
