//! Datagrams of an unknown session: messages, keepalives, resend requests.

use super::OpensNothing;
use crate::{Chunks, Proto, Seq, TokenPlace, huffman};

/// Length in bytes of a header without a token, and of a header with a token.
const SIX: usize = 3;
const SEVEN: usize = 7;
/// Size in bytes of the buffer for an inflated payload.
const ROOM: usize = 1400;

/// Classifies a datagram of a session; `None` if the datagram does not look like part of a session.
pub(super) fn session(datagram: &[u8]) -> Option<OpensNothing> {
    if is_keepalive(datagram) || is_resend_request(datagram) {
        return Some(OpensNothing::Running);
    }
    let &[flags, ack, count, ..] = datagram else {
        return None;
    };
    if let Some(header) = compressed(datagram) {
        let payload = datagram.get(header..)?;
        let inflates = huffman::decompress(payload, &mut [0; ROOM]).is_ok();
        return (count > 0 && inflates).then_some(OpensNothing::Running);
    }
    let first = Proto::ALL
        .into_iter()
        .find_map(|proto| first_number(proto, datagram))?;
    let acks = ack != 0 || flags & 3 != 0;
    Some(match first {
        Some(first) if first == Seq::ZERO.next() && !acks => OpensNothing::DataFirst,
        _ => OpensNothing::Running,
    })
}

/// Returns the length in bytes of everything before the contents of the first message.
pub(super) fn head(datagram: &[u8]) -> usize {
    if let Some(header) = compressed(datagram) {
        return header;
    }
    let header = Proto::ALL
        .into_iter()
        .find(|proto| first_number(*proto, datagram).is_some())
        .map_or(SIX, header_len);
    let is_vital = datagram.get(header).is_some_and(|first| first & 0x40 != 0);
    // The header of the chunk, and the id of its message.
    header + if is_vital { 4 } else { 3 }
}

/// Returns true for a keepalive of 0.6, of 0.6.5 and DDNet with its token, or of 0.7.
fn is_keepalive(datagram: &[u8]) -> bool {
    match *datagram {
        [flags, _, 0, 0] | [flags, _, 0, 0, _, _, _, _] if flags & !3 == 0x10 => true,
        [flags, _, 0, _, _, _, _, 0] => flags & !3 == 0x18 || flags & !3 == 0x04,
        _ => false,
    }
}

/// Returns true for an empty datagram that requests a resend.
fn is_resend_request(datagram: &[u8]) -> bool {
    match *datagram {
        [flags, _, 0] | [flags, _, 0, _, _, _, _] if flags & !3 == 0x40 => true,
        [flags, _, 0, _, _, _, _] => flags & !3 == 0x48 || flags & !3 == 0x08,
        _ => false,
    }
}

/// Returns the length of the header of data with the compression flag of 0.6 or of 0.7; `None` for other data.
fn compressed(datagram: &[u8]) -> Option<usize> {
    match datagram.first().map(|flags| flags & !3) {
        Some(0x80) => Some(SIX),
        Some(0x88 | 0x10) => Some(SEVEN),
        _ => None,
    }
}

/// Returns the sequence number of the first vital chunk if chunks of the variant fill the plain payload exactly,
/// apart from DDNet's token. The inner `None` if no chunk is vital.
fn first_number(proto: Proto, datagram: &[u8]) -> Option<Option<Seq>> {
    let &[flags, _, count, ..] = datagram else {
        return None;
    };
    if count == 0 {
        return None;
    }
    let expected = match proto.layout().token {
        TokenPlace::HeaderWhenFlag(flag) => flag,
        _ => 0,
    };
    if flags & !3 != expected {
        return None;
    }
    let payload = datagram.get(header_len(proto)..)?;
    let payload = match proto.layout().token {
        TokenPlace::PayloadTail => payload.split_last_chunk::<4>()?.0,
        _ => payload,
    };
    let mut chunks = Chunks::new(proto, payload, count);
    let mut first = None;
    for chunk in chunks.by_ref() {
        if chunk.data.is_empty() {
            return None;
        }
        first = first.or(chunk.header.vital);
    }
    (chunks.missing() == 0 && chunks.rest().is_empty()).then_some(first)
}

const fn header_len(proto: Proto) -> usize {
    match proto.layout().token {
        TokenPlace::Nowhere | TokenPlace::PayloadTail => SIX,
        TokenPlace::HeaderWhenFlag(_) | TokenPlace::Header => SEVEN,
    }
}
