//! One leg of a session: the connection between the proxy and one peer.

use teetap_wire::{
    Code, Control, Packet, Proto, Scratch, Seq, Token, Trailing, receiver::token_fits, written_form,
};

use super::Time;

/// The state that the proxy and one peer share.
#[derive(Debug)]
pub(crate) struct Leg {
    pub(crate) proto: Proto,
    /// The token that the peer must send; `None` on a leg without tokens, or if not known yet.
    pub(crate) token_in: Option<Token>,
    /// The token that the proxy sends to the peer.
    pub(crate) token_out: Option<Token>,
    /// Time of the last valid packet from the peer.
    pub(crate) last_received: Time,
    /// How the peer terminates a Huffman stream.
    pub(crate) trailing: Trailing,
    /// Number of datagrams received from the peer.
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

    /// Returns the protocol in which the peer wrote a datagram: a CLOSE of DDNet may lack the token.
    pub(crate) fn form(&self, datagram: &[u8]) -> Proto {
        written_form(self.proto, datagram, self.token_in)
    }

    /// Checks the token of a packet against the token that the peer must send.
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

    /// Records a valid packet of the peer.
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
    /// The token that the client must send.
    pub(crate) shows: Token,
    /// The token that the client expects.
    pub(crate) expects: Option<Token>,
    /// The last ack that was sent to the client.
    pub(crate) ack: Seq,
    /// True if the proxy has ended the session with a CLOSE.
    pub(crate) is_closed: bool,
    /// True if the client has sent nothing since the answer to its CONNECT.
    pub(crate) may_still_arrive: bool,
}

impl EndedLeg {
    /// Returns true if the client has to be sent a CLOSE again: its datagram contains the token and is not a
    /// CLOSE itself, and the proxy has ended the session with a CLOSE.
    pub(crate) fn is_due(&self, bytes: &[u8], scratch: &mut Scratch) -> bool {
        self.is_closed
            && Packet::parse(self.proto, bytes, scratch).is_ok_and(|packet| {
                packet.header.token == Some(self.shows)
                    && !matches!(packet.control(), Some(Control::Close { .. }))
            })
    }

    /// Returns true if a datagram is the late ACCEPT of a client that has not sent anything before. The
    /// tokens of a DDNet server are valid for as long as it runs (16.4, network_server.cpp, `GetToken`).
    pub(crate) fn is_accepted(&self, bytes: &[u8], scratch: &mut Scratch) -> bool {
        self.may_still_arrive
            && self.proto == Proto::Ddnet
            && Packet::parse(self.proto, bytes, scratch).is_ok_and(|packet| {
                packet.header.token == Some(self.shows) && matches!(packet.control(), Some(Control::Accept))
            })
    }
}
