//! A second, plain codec of the game's datagrams: headers, tokens, chunks and control messages.
//!
//! Law: written from the wire format alone and shares nothing with the product's codec. It favours being obviously
//! right over being fast, and copies what it likes.
//!
//! A codec is not a session: what a receiver accepts (tokens, acks, states) is the business of [`crate::peer`].
//!
//! Sources: Teeworlds 0.6.4, 0.6.5 and 0.7.5 `network.h`/`network.cpp`, DDNet `network.h`/`network.cpp`.

pub use chunk::{Chunk, ChunkRef, Chunks, put_chunk};
pub use packet::{Head, Opened, Packing, open, seal};

use crate::huffman::Ending;

mod chunk;
pub mod control;
pub mod extended;
mod packet;
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

    /// Returns true if headers have the layout of 0.7.
    pub fn is_seven(self) -> bool {
        matches!(self, Self::V7 | Self::D7)
    }

    /// Returns true if the implementation is DDNet.
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

/// The reason why bytes are not a datagram of the variant.
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

/// [`open`], with owned parts.
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
