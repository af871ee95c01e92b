//! The kind of a recorded datagram, and the same datagram with another token.
//!
//! Law: this module uses only the kit's codec, so that it does not share the mistakes of the core, such as
//! a token in a wrong place.

use teetap_kit::{
    capture::Flow,
    codec::{Packing, Token, Variant, control, open, parse, seal},
    huffman::Ending,
};

/// The kind of a datagram to a proxy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    /// A datagram outside of any session.
    Connless,
    TokenRequest,
    TokenReply,
    Connect,
    /// CONNECTACCEPT, which is ACCEPT in 0.7.
    ConnectAccept,
    /// The client's answer to it in 0.6.
    Accept,
    KeepAlive,
    Close,
    /// Chunks, or an empty resend request.
    Data,
}

impl Kind {
    pub(crate) fn of(variant: Variant, bytes: &[u8]) -> Self {
        if bytes[0] & 0x20 != 0 {
            return Self::Connless;
        }
        let opened = open(variant, bytes).unwrap();
        if !opened.head.flags.control {
            return Self::Data;
        }
        match opened.payload[0] {
            control::KEEPALIVE => Self::KeepAlive,
            control::CONNECT => Self::Connect,
            control::CONNECT_ACCEPT => Self::ConnectAccept,
            control::ACCEPT => Self::Accept,
            control::CLOSE => Self::Close,
            control::TOKEN if opened.head.token == Some([0xff; 4]) => Self::TokenRequest,
            control::TOKEN => Self::TokenReply,
            other => panic!("control message {other}"),
        }
    }
}

/// Returns the variant of a flow. A flow without an answer has the variant of its request.
pub(crate) fn variant_of(flow: &Flow) -> Variant {
    let requested = || {
        flow.packets
            .iter()
            .find_map(|packet| control::offered(&packet.payload))
    };
    flow.variant().or_else(requested).unwrap_or(Variant::V6)
}

/// Returns how one side of a flow ends compressed data: only DDNet 20 omits the padding.
pub(crate) fn habit(flow: &Flow, variant: Variant, of_client: bool) -> Ending {
    let is_tight = |bytes: &[u8]| {
        let datagram = parse(variant, bytes).unwrap();
        datagram.head.flags.compressed && datagram.pack(Packing::Always(Ending::Padded)) != bytes
    };
    let sent = flow.packets.iter().filter(|packet| {
        flow.is_from_client(packet) == of_client && Kind::of(variant, &packet.payload) == Kind::Data
    });
    if variant == Variant::Ddnet && sent.map(|packet| &packet.payload[..]).any(is_tight) {
        Ending::Tight
    } else {
        Ending::Padded
    }
}

/// Returns the ack and the token of a connected datagram.
pub(crate) fn credentials(variant: Variant, bytes: &[u8]) -> (u16, Option<Token>) {
    let head = open(variant, bytes).unwrap().head;
    (head.ack, head.token)
}

/// Returns the datagram with another token in its usual place, compressed if it was compressed.
pub(crate) fn with_token(variant: Variant, bytes: &[u8], token: Token, ending: Ending) -> Vec<u8> {
    let opened = open(variant, bytes).unwrap();
    if opened.head.token.is_none() {
        return bytes.to_vec();
    }
    if variant != Variant::Ddnet {
        return spliced(bytes, 3, token);
    }
    let packing = if opened.head.flags.compressed {
        Packing::Always(ending)
    } else {
        Packing::Clear
    };
    let mut head = opened.head;
    head.token = Some(token);
    seal(&head, &opened.payload, packing)
}

/// Returns the bytes with four of them replaced.
pub(crate) fn spliced(bytes: &[u8], at: usize, token: Token) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    bytes[at..at + 4].copy_from_slice(&token);
    bytes
}

/// Returns four bytes of a datagram.
pub(crate) fn four(bytes: &[u8], at: usize) -> Token {
    bytes[at..at + 4].try_into().unwrap()
}

/// Returns the datagram uncompressed, which must not change if it is compressed again with another token.
pub(crate) fn in_clear(variant: Variant, bytes: &[u8]) -> Vec<u8> {
    let opened = open(variant, bytes).unwrap();
    seal(&opened.head, &opened.payload, Packing::Clear)
}

pub(crate) fn is_compressed(variant: Variant, bytes: &[u8]) -> bool {
    open(variant, bytes).unwrap().head.flags.compressed
}

/// Returns the datagram without the chunks that its receiver has already acked; a keepalive if no chunk is
/// left.
pub(crate) fn without_acked(variant: Variant, bytes: &[u8], acked: u16) -> Vec<u8> {
    let mut datagram = parse(variant, bytes).unwrap();
    let is_new = |seq: u16| acked.wrapping_sub(seq) & 0x3ff >= 512;
    let before = datagram.chunks.len();
    datagram.chunks.retain(|chunk| chunk.seq.is_none_or(is_new));
    let after = datagram.chunks.len();
    if after == before {
        return bytes.to_vec();
    }
    let head = datagram.head;
    if after == 0 && !head.flags.resend {
        return control::control(variant, head.ack, head.token, control::KEEPALIVE, &[]);
    }
    datagram.head.num_chunks = u8::try_from(after).unwrap();
    datagram.pack(if head.flags.compressed {
        Packing::IfShorter(Ending::Padded)
    } else {
        Packing::Clear
    })
}
