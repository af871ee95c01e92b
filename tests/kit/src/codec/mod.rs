//! A second, plain codec of the game's datagrams: headers, tokens, chunks and control messages.
//!
//! Law: written from the wire format alone and shares nothing with the product's codec. It prefers obvious
//! correctness over speed.
//!
//! A codec is not a session: [`crate::peer`] decides what a receiver accepts (tokens, acks, states).
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

/// Maximum bytes of a datagram that any receiver reads.
pub const MAX_DATAGRAM: usize = 1400;

/// Four opaque bytes that prove that a sender can receive at its address.
pub type Token = [u8; 4];

/// The token of a peer that has no token yet.
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
    /// DDNet's 0.6: token after the payload.
    Ddnet,
    /// Teeworlds 0.7.
    V7,
    /// DDNet's own 0.7: the same bytes as [`Variant::V7`], but a different behaviour.
    D7,
}

impl Variant {
    /// All variants.
    pub const ALL: [Self; 5] = [Self::V6, Self::V65, Self::Ddnet, Self::V7, Self::D7];

    /// Returns true if headers have the layout of 0.7.
    pub fn is_seven(self) -> bool {
        matches!(self, Self::V7 | Self::D7)
    }

    /// Returns true if the implementation is DDNet.
    pub fn is_ddnet(self) -> bool {
        matches!(self, Self::Ddnet | Self::D7)
    }

    /// Returns the size in bytes of a receiver's payload buffer, including DDNet's token.
    pub(crate) fn payload_limit(self) -> usize {
        match self {
            Self::V6 => 1394,
            Self::V65 => 1390,
            Self::Ddnet | Self::D7 => 1397,
            Self::V7 => 1391,
        }
    }

    /// Returns the maximum payload in bytes, without any token, that a sender collects before it flushes.
    pub(crate) fn flush_limit(self) -> usize {
        match self {
            Self::V6 => 1394,
            Self::V65 | Self::Ddnet | Self::D7 => 1390,
            Self::V7 => 1391,
        }
    }
}

/// The packet flags that have the same meaning in every variant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags {
    /// The payload is one control message.
    pub control: bool,
    /// The datagram is outside of any session.
    pub connless: bool,
    /// The sender misses a vital chunk and requests all unacked chunks again.
    pub resend: bool,
    /// The payload is Huffman coded.
    pub compressed: bool,
}

/// The reason why bytes are not a datagram of the variant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The datagram is shorter than its header and token.
    TooShort,
    /// The Huffman stream has no end, or inflates to more than a receiver accepts.
    BadCompression,
    /// A 0.7 payload above 1391 bytes.
    TooLong,
    /// A connless 0.7 datagram whose version is not 1.
    ConnlessVersion,
}

/// A parsed datagram that owns its parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Datagram {
    /// The header.
    pub head: Head,
    /// Raw header bytes of a connless datagram, else empty.
    pub connless: Vec<u8>,
    /// Clear payload without token. [`Datagram::build`] ignores it if there are chunks to build from.
    pub payload: Vec<u8>,
    /// The chunks of a data packet.
    pub chunks: Vec<Chunk>,
    /// Bytes after the last chunk of a data packet.
    pub trailing: Vec<u8>,
}

impl Datagram {
    /// Creates an uncompressed data packet of these chunks. The count saturates at 255.
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

    /// Returns the bytes, compressed if the header says so, even if that makes them longer.
    pub fn build(&self) -> Vec<u8> {
        self.pack(if self.head.flags.compressed {
            Packing::Always(Ending::Padded)
        } else {
            Packing::Clear
        })
    }

    /// Returns the bytes with the given packing, ignoring the compression flag.
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

/// Same as [`open`], but the result owns its parts.
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
