//! The part of a datagram in its session: a handshake packet, a CLOSE, or numbered messages.

use teetap_wire::{Control, Flags, Inflated, Packet, Proto, Scratch, Seq, Token, TokenPlace};

/// Role and contents of a datagram in a connection.
#[derive(Clone, Debug, Default)]
pub struct DatagramRole {
    /// Protocol that a CONNECT requests; `None` for other datagrams.
    pub requests: Option<Proto>,
    /// True for a token request or its reply, which precede the session.
    pub is_token: bool,
    /// True if the datagram accepts the session.
    pub accepts: bool,
    /// True for a DDNet client's ACCEPT, which makes the server create a slot.
    pub is_lone_accept: bool,
    /// The optional reason of a CLOSE; `None` for other datagrams.
    pub closes: Option<Option<Box<[u8]>>>,
    /// The token that the sender of a datagram after the handshake writes.
    pub token: Option<Token>,
    /// Token that a handshake packet gives to the other side.
    pub gives: Option<Token>,
    /// The result of inflating the payload; `None` if it is not compressed.
    pub inflated: Option<Inflated>,
    /// Ack of the datagram; `None` in a handshake packet.
    pub ack: Option<Seq>,
    /// Sequence numbers of the vital messages in the datagram.
    pub numbers: Vec<Seq>,
    /// True if the packet cannot be parsed, or its header announces more chunks than the payload contains.
    pub is_short: bool,
}

impl DatagramRole {
    /// Parses a datagram. `is_cut` is true if the recording has truncated it.
    #[must_use]
    pub fn parse(proto: Proto, bytes: &[u8], is_cut: bool, scratch: &mut Scratch) -> Self {
        let mut role = parse_whole(proto, bytes, scratch);
        if is_cut && proto.layout().token == TokenPlace::PayloadTail {
            // The bytes at the position of the token are not a token.
            role.token = None;
        }
        role
    }
}

fn parse_whole(proto: Proto, bytes: &[u8], scratch: &mut Scratch) -> DatagramRole {
    let Ok(packet) = Packet::parse(proto, bytes, scratch) else {
        return DatagramRole {
            is_short: true,
            ..DatagramRole::default()
        };
    };
    let mut role = DatagramRole {
        token: packet.header.token,
        inflated: packet.inflated,
        ack: Some(packet.header.ack),
        ..DatagramRole::default()
    };
    if !packet.header.flags.contains(Flags::CONTROL) {
        let mut chunks = packet.chunks();
        role.numbers
            .extend(chunks.by_ref().filter_map(|chunk| chunk.header.vital));
        role.is_short = chunks.missing() > 0;
        return role;
    }
    role.numbers
        .extend(packet.chunks_of_control().filter_map(|chunk| chunk.header.vital));
    role.gives = given_token(&packet);
    match packet.control() {
        Some(Control::Connect { .. }) => (role.requests, role.token, role.ack) = (Some(proto), None, None),
        // In 0.6.5, the header of this packet has the token of the client.
        Some(Control::ConnectAccept { .. }) => (role.accepts, role.token, role.ack) = (true, None, None),
        // DDNet servers ignore the ack of an ACCEPT.
        Some(Control::Accept) if proto == Proto::Ddnet => (role.is_lone_accept, role.ack) = (true, None),
        Some(Control::Token { .. }) => (role.is_token, role.token, role.ack) = (true, None, None),
        Some(Control::Close { reason }) => role.closes = Some(reason.map(Into::into)),
        _ => {}
    }
    role
}

/// Returns the token that a handshake packet gives to the other side, which writes that token from then on; `None` for
/// other packets.
///
/// The token of a CONNECT of 0.6 is not given: both sides write the server's token later.
pub(in crate::track) fn given_token(packet: &Packet<'_>) -> Option<Token> {
    let given = match (packet.proto, packet.control()?) {
        (Proto::V7, Control::Connect { token, .. } | Control::Token { token, .. }) => token,
        (Proto::V65, Control::ConnectAccept { token, .. }) => token,
        (Proto::Ddnet, Control::ConnectAccept { tken: true, .. }) => packet.header.token,
        _ => None,
    };
    given.filter(|token| *token != Token::NONE)
}
