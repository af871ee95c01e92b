//! A second, plain codec of the game's datagrams: headers, tokens, chunks and control messages.
//!
//! Law: written from the wire format alone and shares nothing with the product's codec. It favours being obviously
//! right over being fast, and copies what it likes.
//!
//! It is not a session: what a receiver accepts (tokens, acks, states) is the business of [`crate::peer`].
//!
//! Sources: Teeworlds 0.6.4, 0.6.5 and 0.7.5 `network.h`/`network.cpp`, DDNet `network.h`/`network.cpp`.

use std::borrow::Cow;

pub use chunk::{Chunk, ChunkRef, Chunks, put_chunk};

use crate::huffman::{self, Ending};

mod chunk;
pub mod control;
#[cfg(test)]
mod tests;

/// No receiver reads more of a datagram than this many bytes.
pub const MAX_DATAGRAM: usize = 1400;

/// Four opaque bytes that prove that a sender can receive at its address.
pub type Token = [u8; 4];

/// The token of a peer that has none yet.
pub const NO_TOKEN: Token = [0xff; 4];

/// The four letters by which DDNet marks its token handshake.
pub const TKEN: Token = *b"TKEN";

/// A dialect of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Variant {
    /// Teeworlds 0.6.0 to 0.6.4 and every fallback to it: no token.
    V6,
    /// Teeworlds 0.6.5: token in the header.
    V65,
    /// DDNet's 0.6: token behind the payload.
    Ddnet,
    /// Teeworlds 0.7.
    V7,
    /// DDNet's own 0.7: the same bytes as [`Variant::V7`], other habits.
    D7,
}

impl Variant {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::V6, Self::V65, Self::Ddnet, Self::V7, Self::D7];

    /// Whether headers have the layout of 0.7.
    pub fn is_seven(self) -> bool {
        matches!(self, Self::V7 | Self::D7)
    }

    /// Whether the implementation behind it is DDNet.
    pub fn is_ddnet(self) -> bool {
        matches!(self, Self::Ddnet | Self::D7)
    }

    /// Bytes that a receiver's payload buffer holds, the token of DDNet included.
    pub fn payload_limit(self) -> usize {
        match self {
            Self::V6 => 1394,
            Self::V65 => 1390,
            Self::Ddnet | Self::D7 => 1397,
            Self::V7 => 1391,
        }
    }

    /// Payload bytes, without any token, before whose excess a sender flushes.
    pub fn flush_limit(self) -> usize {
        match self {
            Self::V6 => 1394,
            Self::V65 | Self::Ddnet | Self::D7 => 1390,
            Self::V7 => 1391,
        }
    }
}

/// The packet flags that mean the same in every variant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags {
    /// The payload is one control message.
    pub control: bool,
    /// Outside of any session.
    pub connless: bool,
    /// The sender misses a vital chunk and wants everything unacked again.
    pub resend: bool,
    /// The payload is Huffman coded.
    pub compressed: bool,
}

/// Why bytes are no datagram of the variant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Shorter than its header and token.
    TooShort,
    /// The Huffman stream does not end, or holds more than a receiver takes.
    BadCompression,
    /// A 0.7 payload above 1391 bytes.
    TooLong,
    /// A connless 0.7 datagram whose version is not 1.
    ConnlessVersion,
}

/// Header of a datagram with connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// Layout of the header.
    pub variant: Variant,
    /// Packet flags.
    pub flags: Flags,
    /// Bits of the first byte without a meaning in this variant, in place.
    pub spare: u8,
    /// Last vital sequence number received in order (12 bits in [`Variant::V6`], else 10).
    pub ack: u16,
    /// Number of chunks as written.
    pub num_chunks: u8,
    /// The token, wherever the variant puts it.
    pub token: Option<Token>,
}

impl Head {
    /// A header with nothing but these set.
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

/// A datagram opened without copying what is not compressed.
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
    /// The chunks as a reference receiver finds them; none in control and connless datagrams.
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

/// A datagram taken apart, owning its parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Datagram {
    /// The header.
    pub head: Head,
    /// Raw header bytes of a connless datagram, else empty.
    pub connless: Vec<u8>,
    /// Clear payload without token. Ignored by [`Datagram::build`] when there are chunks to build from.
    pub payload: Vec<u8>,
    /// The chunks of a data packet.
    pub chunks: Vec<Chunk>,
    /// Bytes behind the last chunk of a data packet.
    pub trailing: Vec<u8>,
}

impl Datagram {
    /// A data packet of these chunks, uncompressed. The count is cut at 255.
    pub fn of_chunks(variant: Variant, ack: u16, token: Option<Token>, chunks: Vec<Chunk>) -> Self {
        let mut head = Head::new(variant, ack, token);
        head.num_chunks = u8::try_from(chunks.len()).unwrap_or(u8::MAX);
        Self {
            head,
            connless: Vec::new(),
            payload: Vec::new(),
            chunks,
            trailing: Vec::new(),
        }
    }

    /// The bytes; compressed when the header says so, whether that saves bytes or not.
    pub fn build(&self) -> Vec<u8> {
        self.pack(if self.head.flags.compressed {
            Packing::Always(Ending::Padded)
        } else {
            Packing::Clear
        })
    }

    /// The bytes with the given packing, whatever the compression flag says.
    pub fn pack(&self, packing: Packing) -> Vec<u8> {
        if self.head.flags.connless {
            return [&self.connless[..], &self.payload[..]].concat();
        }
        if self.head.flags.control {
            return seal(&self.head, &self.payload, packing);
        }
        let mut payload = Vec::new();
        for chunk in &self.chunks {
            put_chunk(
                &mut payload,
                self.head.variant,
                chunk.seq,
                chunk.resend,
                &chunk.data,
            );
        }
        payload.extend(&self.trailing);
        seal(&self.head, &payload, packing)
    }
}

/// How a payload is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packing {
    /// As it is.
    Clear,
    /// Compressed if that is shorter, as reference senders do.
    IfShorter(Ending),
    /// Compressed.
    Always(Ending),
}

/// Opens a datagram of a known variant. Bytes behind the 1400th are not looked at.
///
/// # Errors
/// A [`Fault`] where every receiver of the variant drops the datagram unseen.
pub fn open(variant: Variant, bytes: &[u8]) -> Result<Opened<'_>, Fault> {
    let bytes = bytes.get(..MAX_DATAGRAM).unwrap_or(bytes);
    if variant.is_seven() {
        open_seven(variant, bytes)
    } else {
        open_six(variant, bytes)
    }
}

/// [`open`], with owned parts.
///
/// # Errors
/// As [`open`].
pub fn parse(variant: Variant, bytes: &[u8]) -> Result<Datagram, Fault> {
    let opened = open(variant, bytes)?;
    let mut walk = opened.chunks();
    let chunks = walk.by_ref().map(Chunk::from).collect();
    let data = !opened.head.flags.control && !opened.head.flags.connless;
    let trailing = if data { walk.rest().to_vec() } else { Vec::new() };
    let connless = opened.connless.to_vec();
    Ok(Datagram {
        head: opened.head,
        connless,
        payload: opened.payload.into_owned(),
        chunks,
        trailing,
    })
}

/// Writes a datagram with connection.
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
