//! The packet around the chunks: header, token, compression.

use std::borrow::Cow;

use super::{Chunks, Fault, Flags, MAX_DATAGRAM, Token, Variant};
use crate::huffman::{self, Ending};

/// Header of a datagram of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// Layout of the header.
    pub variant: Variant,
    /// Packet flags.
    pub flags: Flags,
    /// Bits of the first byte without a meaning in this variant, at their place.
    pub spare: u8,
    /// Last vital sequence number received in order (12 bits in [`Variant::V6`], else 10).
    pub ack: u16,
    /// Number of chunks, as written.
    pub num_chunks: u8,
    /// The token, wherever the variant carries it.
    pub token: Option<Token>,
}

impl Head {
    /// Creates a header with only these fields set.
    pub fn new(variant: Variant, ack: u16, token: Option<Token>) -> Self {
        Self {
            variant,
            flags: Flags::default(),
            spare: 0,
            ack,
            num_chunks: 0,
            token,
        }
    }
}

/// A parsed datagram. Only a compressed payload is copied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opened<'a> {
    /// The header.
    pub head: Head,
    /// Raw header bytes of a connless datagram (6 or 9), else empty.
    pub connless: &'a [u8],
    /// Clear payload without token.
    pub payload: Cow<'a, [u8]>,
}

impl Opened<'_> {
    /// Returns the chunks that a reference receiver reads; none in control and connless datagrams.
    pub fn chunks(&self) -> Chunks<'_> {
        let flags = self.head.flags;
        let count = if flags.control || flags.connless {
            0
        } else {
            self.head.num_chunks
        };
        Chunks::new(self.head.variant, &self.payload, count)
    }
}

/// The way in which a payload is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packing {
    /// Not compressed.
    Clear,
    /// Compressed if the result is shorter, as reference senders do.
    IfShorter(Ending),
    /// Compressed.
    Always(Ending),
}

/// Parses a datagram of a known variant; fails if every receiver drops it unread. Ignores bytes after the 1400th.
pub fn open(variant: Variant, bytes: &[u8]) -> Result<Opened<'_>, Fault> {
    let bytes = bytes.get(..MAX_DATAGRAM).unwrap_or(bytes);
    if variant.is_seven() {
        open_seven(variant, bytes)
    } else {
        open_six(variant, bytes)
    }
}

/// Writes a datagram of a connection.
pub fn seal(head: &Head, payload: &[u8], packing: Packing) -> Vec<u8> {
    let mut body = Cow::Borrowed(payload);
    if head.variant == Variant::Ddnet {
        body.to_mut().extend(head.token.unwrap_or_default());
    }
    let packed = match packing {
        Packing::Clear => None,
        Packing::IfShorter(ending) => {
            Some(huffman::compress(&body, ending)).filter(|packed| packed.len() < body.len())
        }
        Packing::Always(ending) => Some(huffman::compress(&body, ending)),
    };
    let mut out = Vec::with_capacity(7 + body.len());
    let [high, low] = head.ack.to_be_bytes();
    let ack_high = if head.variant == Variant::V6 {
        high & 0x0f
    } else {
        high & 3
    };
    out.extend([
        flag_bits(head, packed.is_some()) | head.spare | ack_high,
        low,
        head.num_chunks,
    ]);
    if head.variant != Variant::Ddnet {
        out.extend(head.token.iter().flatten());
    }
    out.extend_from_slice(packed.as_deref().unwrap_or(&body));
    out
}

fn flag_bits(head: &Head, compressed: bool) -> u8 {
    let bit = |set: bool, six: u8, seven: u8| match (set, head.variant.is_seven()) {
        (false, _) => 0,
        (true, false) => six,
        (true, true) => seven,
    };
    let token = if head.variant == Variant::V65 && head.token.is_some() {
        0x08
    } else {
        0
    };
    bit(head.flags.control, 0x10, 0x04)
        | bit(head.flags.resend, 0x40, 0x08)
        | bit(compressed, 0x80, 0x10)
        | bit(head.flags.connless, 0x20, 0x20)
        | token
}

fn open_six(variant: Variant, bytes: &[u8]) -> Result<Opened<'_>, Fault> {
    let [first, ack_low, num_chunks, rest @ ..] = bytes else {
        return Err(Fault::TooShort);
    };
    let flags = Flags {
        control: first & 0x10 != 0,
        connless: first & 0x20 != 0,
        resend: first & 0x40 != 0,
        compressed: first & 0x80 != 0,
    };
    let (ack_mask, token_flag) = match variant {
        Variant::V6 => (0x0f, 0),
        Variant::V65 => (0x03, 0x08),
        _ => (0x03, 0),
    };
    let mut head = Head::new(variant, u16::from_be_bytes([first & ack_mask, *ack_low]), None);
    head.flags = flags;
    head.num_chunks = *num_chunks;
    head.spare = first & 0x0f & !ack_mask & !token_flag;
    if flags.connless {
        let (connless, payload) = bytes.split_at_checked(6).ok_or(Fault::TooShort)?;
        head.flags = Flags {
            connless: true,
            ..Flags::default()
        };
        return Ok(Opened {
            head,
            connless,
            payload: Cow::Borrowed(payload),
        });
    }
    let mut body = rest;
    if first & token_flag != 0 {
        let (token, behind) = body.split_first_chunk().ok_or(Fault::TooShort)?;
        head.token = Some(*token);
        body = behind;
    }
    let mut payload = unpack(variant, flags, body)?;
    if variant == Variant::Ddnet {
        let (front, token) = payload.split_last_chunk().ok_or(Fault::TooShort)?;
        head.token = Some(*token);
        let length = front.len();
        match &mut payload {
            Cow::Owned(owned) => owned.truncate(length),
            Cow::Borrowed(slice) => *slice = slice.get(..length).unwrap_or_default(),
        }
    }
    Ok(Opened {
        head,
        connless: &[],
        payload,
    })
}

fn open_seven(variant: Variant, bytes: &[u8]) -> Result<Opened<'_>, Fault> {
    let [first, ack_low, num_chunks, rest @ ..] = bytes else {
        return Err(Fault::TooShort);
    };
    if first & 0x20 != 0 {
        if first & 3 != 1 {
            return Err(Fault::ConnlessVersion);
        }
        let (connless, payload) = bytes.split_at_checked(9).ok_or(Fault::TooShort)?;
        let mut head = Head::new(
            variant,
            0,
            connless.get(1..5).and_then(|token| token.try_into().ok()),
        );
        head.flags.connless = true;
        return Ok(Opened {
            head,
            connless,
            payload: Cow::Borrowed(payload),
        });
    }
    let (token, body) = rest.split_first_chunk().ok_or(Fault::TooShort)?;
    let mut head = Head::new(variant, u16::from_be_bytes([first & 3, *ack_low]), Some(*token));
    head.flags = Flags {
        control: first & 0x04 != 0,
        connless: false,
        resend: first & 0x08 != 0,
        compressed: first & 0x10 != 0,
    };
    head.spare = first & 0xc0;
    head.num_chunks = *num_chunks;
    if variant == Variant::V7 && body.len() > variant.payload_limit() {
        return Err(Fault::TooLong);
    }
    let payload = unpack(variant, head.flags, body)?;
    Ok(Opened {
        head,
        connless: &[],
        payload,
    })
}

fn unpack(variant: Variant, flags: Flags, body: &[u8]) -> Result<Cow<'_, [u8]>, Fault> {
    if !flags.compressed {
        return Ok(Cow::Borrowed(body));
    }
    huffman::decompress(body, variant.payload_limit())
        .map(Cow::Owned)
        .ok_or(Fault::BadCompression)
}
