//! Bytes of the Teeworlds and DDNet protocol and their meaning.
//!
//! Law of this crate: pure functions over bytes. It reads no clock, no socket, no file and no randomness; what
//! peers send never makes it panic and never makes it allocate more than one datagram's worth of memory, or, in a
//! [`snap::Store`], more than its limit.
//!
//! The four variants of the protocol ([`Proto`]) differ in *data* only: [`Layout`] says where they differ and all
//! other code reads it.
//!
//! | module | bytes |
//! |---|---|
//! | [`packet`] | the datagram of a connection: header, token, compression |
//! | [`chunk`] | the messages inside a packet, vital or not |
//! | [`control`] | handshake, keepalive and close packets |
//! | [`connless`] | datagrams outside a connection: server browser, master server |
//! | [`mod@detect`] | what the first datagram of an unknown address is |
//! | [`message`] | the id at the start of a chunk |
//! | [`def`] | what the messages say: definitions, decoding, encoding |
//! | [`snap`] | snapshots: differences, and the snapshots they are differences to |
//! | [`huffman`], [`varint`] | the two codings beneath |
//! | [`proto`], [`token`], [`seq`], [`note`] | the words all of them share |
//!
//! What it is not: it holds no connection state, but for the snapshots without which a later one says nothing, and takes
//! no decision about what to forward.

#![warn(missing_docs)]

pub mod chunk;
pub mod connless;
pub mod control;
pub mod def;
pub mod detect;
pub mod huffman;
pub mod message;
pub mod note;
pub mod packet;
pub mod proto;
pub mod seq;
pub mod snap;
pub mod token;
pub mod varint;

pub use chunk::{Chunk, ChunkHeader, ChunkTooLarge, Chunks, write_chunk};
pub use connless::{Connless, is_connless, write_v7};
pub use control::{Control, accept, close, connect, connect_accept, printable, token_reply, token_request};
pub use detect::{First, detect};
pub use huffman::{HuffmanError, Inflated, Trailing, compress, decompress, replace_tail};
pub use message::{Layer, MessageId, identify};
pub use note::{Code, Note, Notes, Place, Severity};
pub use packet::{
    Flags, Header, HeaderBits, HeaderField, HeaderView, MAX_CHUNKS, MAX_COMPOSED_PAYLOAD, MAX_DATAGRAM,
    Packet, PacketError, Rewrite, Scratch, rewrite, write,
};
pub use proto::{ConnectForm, Dir, Layout, ParseProtoError, Proto, Side, TokenPlace};
pub use seq::Seq;
pub use token::Token;
pub use varint::Int;
