//! Finds the single mistake in a malformed handshake that keeps it from opening a session.

use super::OpensNothing;
use crate::{First, Token, detect, huffman};

/// The control flags of 0.6 and of 0.7, and the compression flag of each.
const SIX: u8 = 0x10;
const SEVEN: u8 = 0x04;
const COMPRESSED_SIX: u8 = 0x80;
const COMPRESSED_SEVEN: u8 = 0x10;
/// The token flag of 0.6.5.
const TOKEN: u8 = 0x08;

const MAGIC: &[u8] = b"TKEN";
/// The start of a TOKEN request of 0.7 after flags, ack and number of chunks.
const REQUEST: [u8; 5] = [0xff, 0xff, 0xff, 0xff, 5];
/// Number of bytes at the start of a datagram in which the parts of a handshake are searched.
const NEAR: usize = 16;
/// Minimum length in bytes of a datagram that was padded like a CONNECT of 0.6.5 or a request of 0.7.
const PADDED: usize = 500;
/// Size in bytes of the buffer for an inflated handshake.
const ROOM: usize = 600;

/// The protocol of a handshake.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Family {
    Six,
    Seven,
}

/// Returns the mistake of a malformed handshake; `None` for any other datagram.
pub(super) fn handshake(datagram: &[u8]) -> Option<OpensNothing> {
    let &[flags, ack, count, id, ..] = datagram else {
        return None;
    };
    compression(datagram)
        .or_else(|| moved(datagram))
        .or_else(|| with_magic(datagram))
        .or_else(|| other_flags(datagram))
        .or_else(|| other_id(datagram))
        .or_else(|| match (flags, datagram.len()) {
            (SIX, _) if [ack, count] == [0, 0] => six(id, datagram),
            (SEVEN, _) if [ack, count] == [0, 0] => seven(datagram),
            _ => None,
        })
}

/// Returns the family of a handshake, regardless of byte 0; `None` if the bytes after it are not a valid handshake.
fn body(datagram: &[u8]) -> Option<Family> {
    let rest = datagram.get(1..)?;
    let with = |flags: u8| [&[flags], rest].concat();
    let is_seven = |bytes: &[u8]| match detect(bytes) {
        First::TokenRequest {
            header_token, token, ..
        } => header_token == Token::NONE && token != Token::NONE,
        First::Connect7 { token, .. } => token != Token::NONE && is_padded(bytes, 12),
        _ => false,
    };
    let is_six = |bytes: &[u8]| match *bytes {
        [_, 0, 0, 1] => true,
        [_, 0, 0, 1, b't' | b'T', b'k' | b'K', b'e' | b'E', b'n' | b'N', ..] => true,
        [_, 0, 0, 1, 0, 0, 0, 0, ..] => is_padded(bytes, 12),
        _ => false,
    };
    if is_seven(&with(SEVEN)) {
        Some(Family::Seven)
    } else {
        is_six(datagram).then_some(Family::Six)
    }
}

/// Returns true if a datagram is as long as a padded handshake and only zeros follow from `at` on.
fn is_padded(datagram: &[u8], at: usize) -> bool {
    let padding = datagram.get(at..).unwrap_or_default();
    datagram.len() >= PADDED && padding.iter().all(|byte| *byte == 0)
}

/// Detects a compressed handshake, marked or not, and a plain handshake with the compression flag.
fn compression(datagram: &[u8]) -> Option<OpensNothing> {
    let (&flags, rest) = datagram.split_first()?;
    let (family, plain, header) = match flags {
        _ if flags == SIX | COMPRESSED_SIX => (Family::Six, SIX, 3),
        _ if flags == SEVEN | COMPRESSED_SEVEN => (Family::Seven, SEVEN, 7),
        SIX => {
            return inflated(datagram, 3)
                .is_some_and(|clear| body(&clear) == Some(Family::Six))
                .then_some(OpensNothing::CompressionUnmarked);
        }
        SEVEN => {
            return inflated(datagram, 7)
                .is_some_and(|clear| body(&clear) == Some(Family::Seven))
                .then_some(OpensNothing::CompressionUnmarked);
        }
        _ => return None,
    };
    let opens = |bytes: &[u8]| body(bytes) == Some(family);
    if inflated(datagram, header).is_some_and(|clear| opens(&clear)) {
        return Some(OpensNothing::Compressed);
    }
    opens(&[&[plain], rest].concat()).then_some(OpensNothing::NotCompressed)
}

/// Returns the datagram with everything after its first `header` bytes inflated.
fn inflated(datagram: &[u8], header: usize) -> Option<Vec<u8>> {
    let (header, payload) = datagram.split_at_checked(header)?;
    let mut clear = [0; ROOM];
    let len = huffman::decompress(payload, &mut clear).ok()?.len;
    Some([header, clear.get(..len)?].concat())
}

/// Detects the marks of a handshake at a wrong offset.
fn moved(datagram: &[u8]) -> Option<OpensNothing> {
    let near = datagram.get(..NEAR).unwrap_or(datagram);
    let at = |mark: &[u8]| near.windows(mark.len()).position(|bytes| bytes == mark);
    if !is_control(datagram) {
        return None;
    }
    match (at(&REQUEST), at(MAGIC)) {
        (Some(at), _) if at != 3 && at <= 6 => Some(OpensNothing::FieldMoved),
        (_, Some(at)) if at != 4 && at <= 7 => Some(OpensNothing::MagicMoved),
        _ => None,
    }
}

/// Returns true if byte 0 is a control flag, shifted to its place or not.
fn is_control(datagram: &[u8]) -> bool {
    matches!(datagram.first(), Some(&(SIX | SEVEN | 1)))
}

/// Classifies a control message of DDNet with the magic in its place.
fn with_magic(datagram: &[u8]) -> Option<OpensNothing> {
    let &[SIX, 0, 0, id, ref rest @ ..] = datagram else {
        return None;
    };
    let magic = rest.get(..MAGIC.len())?;
    let has_none = rest.get(MAGIC.len()..) == Some(&Token::NONE.0);
    match id {
        _ if !magic.eq_ignore_ascii_case(MAGIC) => None,
        1 | 4 => None,
        2 => Some(OpensNothing::OfServer),
        // After the magic, CONNECT has no token, but ACCEPT has one.
        3 if has_none => Some(OpensNothing::PackedId),
        3 => Some(OpensNothing::AcceptFirst),
        _ if has_none => Some(OpensNothing::WrongId),
        _ => None,
    }
}

/// Detects a handshake with wrong flags.
fn other_flags(datagram: &[u8]) -> Option<OpensNothing> {
    let flags = *datagram.first()?;
    Some(match (flags, body(datagram)?) {
        (SIX, Family::Seven) => OpensNothing::FlagOfSix,
        (SEVEN, Family::Six) => OpensNothing::FlagOfSeven,
        (SIX, Family::Six) | (SEVEN, Family::Seven) => return None,
        // Servers ignore some flags: resend, the reserved flags in 0.7, and bit 04 in 0.6.5.
        (_, Family::Seven) if flags & 0x34 == SEVEN => return None,
        (_, Family::Six) if flags & 0xbc == SIX => return None,
        (_, Family::Six) if flags & 0xbc == SIX | SEVEN && datagram.get(4..8) != Some(MAGIC) => return None,
        (1, _) => OpensNothing::FlagNotShifted,
        (_, Family::Six) if flags == SIX | TOKEN => OpensNothing::TokenFlag,
        (_, Family::Six) => OpensNothing::FlagsOfSix,
        (_, Family::Seven) => OpensNothing::FlagsOfSeven,
    })
}

/// Detects a request of 0.7 with a wrong id.
fn other_id(datagram: &[u8]) -> Option<OpensNothing> {
    match *datagram {
        [SEVEN, 0, 0, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 5 | 1, ..] => Some(OpensNothing::WideId),
        [SEVEN, 0, 0, 0xff, 0xff, 0xff, 0xff, id, ..] => match id {
            // The encoded id of a message is 2 * id for game messages, and 2 * id + 1 for system messages.
            10 | 11 | 3 => Some(OpensNothing::PackedId),
            // Other code handles mistakes in CONNECT, CLOSE and TOKEN.
            1 | 4 | 5 => None,
            _ => Some(OpensNothing::WrongId),
        },
        _ => None,
    }
}

/// Classifies a control message in a header of 0.6.
fn six(id: u8, datagram: &[u8]) -> Option<OpensNothing> {
    match (id, datagram.len()) {
        (5, _) => Some(OpensNothing::HeaderOfSix),
        (2, 4 | 8) => Some(OpensNothing::OfServer),
        (3, 4 | 8) => Some(OpensNothing::AcceptFirst),
        (0, 7) if datagram.ends_with(&[0, 0, 0, 1]) => Some(OpensNothing::WideId),
        _ => None,
    }
}

/// Classifies a control message in a header of 0.7.
fn seven(datagram: &[u8]) -> Option<OpensNothing> {
    match *datagram {
        // A KEEPALIVE and an ACCEPT whose token begins with such a byte have the same length.
        [_, _, _, 1 | 5, _, _, _, 0 | 2] => None,
        [_, _, _, 5] | [_, _, _, 1 | 5, _, _, _, _] => Some(OpensNothing::NoTokenField),
        [_, _, _, 1 | 5, _, _, _, _, ..] if is_padded(datagram, 8) => Some(OpensNothing::NoTokenField),
        [_, _, _, _, _, _, _, 2] | [_, _, _, _, _, _, _, 2, _, _, _, _] => Some(OpensNothing::OfServer),
        _ => None,
    }
}
