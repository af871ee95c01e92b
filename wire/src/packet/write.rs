//! Writes new packets, and rewrites received packets with another token, ack and resend flag.

use super::header::{ACK_HIGH, BASE};
use super::{Flags, Header, HeaderView, MAX_DATAGRAM, Packet, seen};
use crate::huffman::{self, Trailing};
use crate::proto::{Layout, TokenPlace};
use crate::{Proto, Seq, Token};

/// Replaces `out` with a datagram as a reference sender writes it.
///
/// [`Flags::COMPRESSION`] of `header` is ignored: the payload is compressed if `compress` is `Some`, the packet is not
/// a control packet, and the result is strictly smaller. A token at the end of the payload is appended before the
/// compression. If the variant always has a token and `header` has none, [`Token::NONE`] is written in 0.7, and no
/// token in DDNet's 0.6. `payload` is written unchanged, even if no receiver would accept its length.
pub fn write(proto: Proto, header: &Header, payload: &[u8], compress: Option<Trailing>, out: &mut Vec<u8>) {
    let layout = proto.layout();
    out.clear();
    let flags = header.flags.difference(Flags::COMPRESSION);
    let mut first = flag_bits(layout, flags) | header.ack.high();
    let (mut header_token, mut tail) = (None, None);
    match layout.token {
        TokenPlace::Nowhere => {}
        TokenPlace::PayloadTail => tail = header.token,
        TokenPlace::Header => header_token = Some(header.token.unwrap_or(Token::NONE)),
        TokenPlace::HeaderWhenFlag(bit) => {
            header_token = header.token;
            first |= header_token.map_or(0, |_| bit);
        }
    }
    out.extend_from_slice(&[first, header.ack.low(), header.num_chunks]);
    if let Some(token) = header_token {
        out.extend_from_slice(&token.0);
    }
    let tail: &[u8] = tail.as_ref().map_or(&[], |token| &token.0);
    let start = out.len();
    if let Some(trailing) = compress
        && !flags.contains(Flags::CONTROL)
    {
        huffman::compress_parts(&[payload, tail], trailing, out);
        if out.len() - start < payload.len() + tail.len() {
            set_bits(out, layout.compression, layout.compression);
            return;
        }
        out.truncate(start);
    }
    out.extend_from_slice(payload);
    out.extend_from_slice(tail);
}

/// The fields that [`rewrite`] replaces in a received datagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rewrite {
    /// The token of the other leg; `None` keeps the old one.
    pub token: Option<Token>,
    /// The new ack.
    pub ack: Seq,
    /// The new resend flag.
    pub resend: bool,
    /// The usual way in which the sender ends compressed data.
    pub usual: Trailing,
}

/// Replaces `out` with the received `datagram` with another token, ack and resend flag. `packet` must be parsed from
/// `datagram`.
///
/// All other bytes stay the same: unknown header bits, wrong counts, bytes that receivers ignore. Bytes after the first
/// 1400 are removed, since receivers do not read them. A packet without a token stays without a token, and if `token`
/// is `None`, the old token stays. A compressed DDNet packet keeps all codes before the token. The end of the
/// compressed data keeps its form, or gets the form `usual` if the bytes do not show which form it has. If the result
/// is not smaller than the uncompressed payload, the uncompressed payload is written.
pub fn rewrite(packet: &Packet<'_>, datagram: &[u8], with: Rewrite, out: &mut Vec<u8>) {
    let Rewrite {
        token,
        ack,
        resend,
        usual,
    } = with;
    let layout = packet.proto.layout();
    let datagram = seen(datagram);
    let old = packet.header.token;
    let replaced = token.zip(old).filter(|(new, old)| new != old);
    out.clear();
    match (replaced, layout.token) {
        (Some((new, old)), TokenPlace::PayloadTail) => retail(packet, datagram, old, new, usual, out),
        _ => out.extend_from_slice(datagram),
    }
    let Some((first, rest)) = out.split_first_mut() else {
        return;
    };
    if let (Some((new, _)), true) = (replaced, HeaderView::new(packet.proto, datagram).has_token())
        && let Some(place) = rest.get_mut(BASE - 1..).and_then(<[u8]>::first_chunk_mut)
    {
        *place = new.0;
    }
    let resend = if resend { layout.resend } else { 0 };
    *first = *first & !(ACK_HIGH | layout.resend) | ack.high() | resend;
    if let Some(low) = rest.first_mut() {
        *low = ack.low();
    }
}

/// Writes a packet with a payload-tail token, with `new` in place of `old`.
fn retail(packet: &Packet<'_>, datagram: &[u8], old: Token, new: Token, usual: Trailing, out: &mut Vec<u8>) {
    let Some((header, body)) = datagram.split_at_checked(BASE) else {
        return;
    };
    out.extend_from_slice(header);
    if let Some(inflated) = packet.inflated {
        let trailing = inflated.trailing.unwrap_or(usual);
        huffman::replace_tail(body, inflated.bits, &old.0, &new.0, trailing, out);
        if out.len() - BASE < inflated.len {
            let surplus = body.len().saturating_sub(inflated.surplus);
            out.extend_from_slice(body.get(surplus..).unwrap_or(&[]));
            out.truncate(MAX_DATAGRAM);
            return;
        }
        out.truncate(BASE);
        set_bits(out, packet.proto.layout().compression, 0);
    } else if let Some(end) = packet.end {
        // A packet is cut only if the result is smaller than the clear payload with any token.
        let trailing = end.trailing.unwrap_or(usual);
        huffman::replace_tail(body, end.bits, &old.0, &new.0, trailing, out);
        out.truncate(MAX_DATAGRAM);
        return;
    }
    out.extend_from_slice(packet.payload);
    out.extend_from_slice(&new.0);
}

fn flag_bits(layout: &Layout, flags: Flags) -> u8 {
    let bit = |flag, bit| if flags.contains(flag) { bit } else { 0 };
    bit(Flags::CONTROL, layout.control) | bit(Flags::RESEND, layout.resend)
}

/// Sets the bits of `mask` in byte 0 to their values in `bits`.
fn set_bits(datagram: &mut [u8], mask: u8, bits: u8) {
    if let Some(first) = datagram.first_mut() {
        *first = *first & !mask | bits;
    }
}
