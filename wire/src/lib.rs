#![doc = include_str!("../README.md")]
//!
//! Law: all results depend only on the inputs. This crate uses no clock, socket, file or source of randomness. Input
//! from peers never makes it panic, and never makes it allocate more memory than the size of a datagram, or than the
//! limit of a [`snap::Store`].
//!
//! The four variants of the protocol ([`Proto`]) differ in *data* only: [`Layout`] lists the differences and all
//! other code reads them from it.
//!
//! | module | contents |
//! |---|---|
//! | [`packet`] | the datagram of a connection: header, token, compression |
//! | [`chunk`] | the messages inside a packet, vital or not |
//! | [`control`] | handshake, keepalive and close packets |
//! | [`connless`] | datagrams outside a connection: server browser, master server |
//! | [`mod@detect`] | the kind of the first datagram from an unknown address |
//! | [`stranger`] | the mistake of a first datagram that opens no session |
//! | [`message`] | the id at the start of a chunk |
//! | [`def`] | the messages themselves: definitions, decoding, encoding |
//! | [`receiver`] | the reaction of each release of the game to a received datagram |
//! | [`snap`] | snapshots and the deltas between them |
//! | [`huffman`], [`varint`] | the compression and the integer encoding |
//! | [`proto`], [`token`], [`seq`], [`note`] | types that all modules share |
//!
//! The crate keeps no connection state, except for snapshots that may be the base of later deltas, and never decides
//! whether a datagram is forwarded.

#![warn(missing_docs)]

pub mod chunk;
pub mod connless;
pub mod control;
mod counted;
pub mod def;
pub mod detect;
pub mod huffman;
pub mod message;
pub mod note;
pub mod packet;
mod per;
mod printable;
pub mod proto;
pub mod receiver;
pub mod seq;
pub mod snap;
pub mod stranger;
#[cfg(test)]
mod testing;
pub mod token;
pub mod varint;

pub use chunk::{Chunk, ChunkHeader, ChunkTooLarge, Chunks, write_chunk};
pub use connless::{Connless, is_connless, write_v7};
pub use control::{Control, accept, close, connect, connect_accept, token_reply, token_request};
pub use counted::counted;
pub use detect::{First, detect};
pub use huffman::{HuffmanError, Inflated, StreamEnd, Trailing, compress, decompress};
pub use message::{Layer, MessageId, identify};
pub use note::{Code, Note, Notes, Property, RangeOf, Severity};
pub use packet::{
    Flags, Header, HeaderBits, HeaderField, HeaderView, MAX_CHUNKS, MAX_COMPOSED_PAYLOAD, MAX_DATAGRAM,
    Packet, PacketError, Rewrite, Scratch, rewrite, write, written_form,
};
pub use per::{PerDir, PerSide};
pub use printable::{is_deceptive, is_invisible, is_safe, printable, printable_json, printable_path};
pub use proto::{ConnectForm, Dir, Layout, ParseProtoError, Proto, Side, TokenPlace};
pub use seq::Seq;
pub use stranger::OpensNothing;
pub use token::Token;
pub use varint::Int;
