//! Packets: the datagrams of a connection.
//!
//! Law: parse never alters, and says as notes what some receivers would object to; [`rewrite`] changes the token, the
//! ack and the resend flag and keeps every other bit that can be kept; [`write`](write()) makes what a reference sender
//! would make. None of them allocates, apart from the growth of an output buffer.
//!
//! What it is not: a check of tokens or acks, which need the state of a connection.

mod header;
#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;
mod write;

pub use header::{Flags, Header, HeaderBits, HeaderField, HeaderView};
pub use write::{Rewrite, rewrite, write};

use crate::connless::is_connless;
use crate::control::{self, Control};
use crate::huffman::{self, HuffmanError, Inflated};
use crate::note::{Code, Note, Notes};
use crate::proto::{Layout, TokenPlace};
use crate::{Chunks, Proto, Token};
use header::BASE;

/// Longest datagram a receiver reads, in bytes; of a longer one it sees the start (`recvfrom` truncates).
pub const MAX_DATAGRAM: usize = 1400;
/// Most payload, in bytes, that every receiver takes in a packet of our own making, whatever the variant, a token of
/// four bytes beside it.
pub const MAX_COMPOSED_PAYLOAD: usize = 1386;
/// Most chunks in a packet: the header counts them in one byte.
pub const MAX_CHUNKS: usize = 255;

/// Largest [`Layout::max_inflated`].
const MAX_INFLATED: usize = 1397;

/// A packet as read.
#[derive(Debug, Clone)]
pub struct Packet<'a> {
    /// The variant it was read as.
    pub proto: Proto,
    /// Its header.
    pub header: Header,
    /// The clear payload, without a payload-tail token.
    pub payload: &'a [u8],
    /// How the payload was compressed, if it was. Its `len` counts a payload-tail token.
    pub inflated: Option<Inflated>,
    /// What is odd about the packet itself; [`Chunks::notes`] has more.
    pub notes: Notes,
}

/// A reusable buffer for inflating, as large as the largest payload buffer of a receiver.
#[derive(Debug, Clone)]
pub struct Scratch([u8; MAX_INFLATED]);

impl Scratch {
    /// An empty buffer.
    #[must_use]
    pub const fn new() -> Self {
        Self([0; MAX_INFLATED])
    }

    /// What [`Packet::parse`] has inflated into it last, a payload-tail token included.
    #[must_use]
    pub fn inflated(&self, inflated: &Inflated) -> &[u8] {
        self.0.get(..inflated.len).unwrap_or(&self.0)
    }
}

impl Default for Scratch {
    fn default() -> Self {
        Self::new()
    }
}

/// Why a datagram is no packet. Receivers drop such datagrams silently.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PacketError {
    /// Shorter than its header.
    #[error("{have} bytes, but a header needs {need}")]
    TooShort {
        /// Bytes of the header.
        need: usize,
        /// Bytes of the datagram.
        have: usize,
    },
    /// Outside a connection, see [`Connless`](crate::Connless).
    #[error("outside a connection")]
    Connless,
    /// The payload cannot be inflated.
    #[error(transparent)]
    Huffman(#[from] HuffmanError),
}

impl PacketError {
    /// The note that says the same.
    #[must_use]
    pub const fn code(self) -> Code {
        match self {
            Self::TooShort { .. } => Code::TooShort,
            Self::Connless => Code::NotConnected,
            Self::Huffman(_) => Code::BadHuffman,
        }
    }
}

impl<'a> Packet<'a> {
    /// Reads a datagram of a connection that speaks `proto`. Of more than 1400 bytes only the first 1400 are read.
    ///
    /// # Errors
    /// [`PacketError`] when nothing can be read, in the order in which receivers check.
    pub fn parse(proto: Proto, datagram: &'a [u8], scratch: &'a mut Scratch) -> Result<Self, PacketError> {
        Self::parse_with(proto, datagram, |layout, rest| inflate(layout, rest, scratch))
    }

    /// As [`Packet::parse`], where it was done before: `inflated` is what that gave, `clear` what it inflated the payload to
    /// ([`Scratch::inflated`]).
    ///
    /// # Errors
    /// As there.
    pub fn parse_inflated(
        proto: Proto,
        datagram: &'a [u8],
        clear: &'a [u8],
        inflated: Inflated,
    ) -> Result<Self, PacketError> {
        Self::parse_with(proto, datagram, |_, _| Ok((clear, inflated)))
    }

    fn parse_with(
        proto: Proto,
        datagram: &'a [u8],
        inflate: impl FnOnce(&Layout, &[u8]) -> Result<(&'a [u8], Inflated), HuffmanError>,
    ) -> Result<Self, PacketError> {
        let layout = proto.layout();
        let mut notes = Notes::new();
        let have = datagram.len();
        let datagram = seen(datagram);
        if have > datagram.len() {
            notes.push(Note {
                code: Code::Oversized,
                at: MAX_DATAGRAM,
                len: have - MAX_DATAGRAM,
            });
        }
        let view = HeaderView::new(proto, datagram);
        let too_short = |need| PacketError::TooShort { need, have };
        let (Some(ack), Some(num_chunks)) = (view.ack(), view.num_chunks()) else {
            return Err(too_short(BASE));
        };
        if is_connless(datagram) {
            return Err(PacketError::Connless);
        }
        let (flags, mut token) = (view.flags(), view.token());
        let rest = datagram.get(view.len()..).ok_or(too_short(view.len()))?;
        if view.has_unused_bits() {
            notes.push(Note {
                code: Code::UnknownFlags,
                at: 0,
                len: 1,
            });
        }
        let (clear, inflated) = if flags.contains(Flags::COMPRESSION) {
            let (clear, inflated) = inflate(layout, rest)?;
            note_surplus(&inflated, datagram.len(), &mut notes);
            (clear, Some(inflated))
        } else {
            (rest, None)
        };
        if clear.len() > layout.max_payload {
            let len = clear.len() - layout.max_payload;
            notes.push(Note {
                code: Code::PayloadOversized,
                at: layout.max_payload,
                len,
            });
        }
        let payload = match layout.token {
            TokenPlace::PayloadTail => take_tail(clear, &mut token, &mut notes),
            _ => clear,
        };
        let header = Header {
            flags,
            ack,
            num_chunks,
            token,
        };
        note_rules(proto, &header, payload, &mut notes);
        Ok(Self {
            proto,
            header,
            payload,
            inflated,
            notes,
        })
    }

    /// The chunks of the payload. A control packet has none, even if it announces some.
    #[must_use]
    pub fn chunks(&self) -> Chunks<'a> {
        let control = self.header.flags.contains(Flags::CONTROL);
        if control {
            return Chunks::new(self.proto, &[], 0);
        }
        Chunks::new(self.proto, self.payload, self.header.num_chunks)
    }

    /// What is odd about the chunks together: how many there are, and what stands behind them.
    #[must_use]
    pub fn chunk_notes(&self) -> Notes {
        let mut chunks = self.chunks();
        chunks.by_ref().for_each(drop);
        chunks.notes()
    }

    /// The control message of a control packet; `None` for other packets, and if the payload is empty.
    #[must_use]
    pub fn control(&self) -> Option<Control<'a>> {
        let control = self.header.flags.contains(Flags::CONTROL);
        control
            .then(|| Control::parse(self.proto, self.payload))
            .flatten()
    }
}

/// The part of a datagram that receivers see.
fn seen(datagram: &[u8]) -> &[u8] {
    datagram.get(..MAX_DATAGRAM).unwrap_or(datagram)
}

fn inflate<'a>(
    layout: &Layout,
    rest: &[u8],
    scratch: &'a mut Scratch,
) -> Result<(&'a [u8], Inflated), HuffmanError> {
    let room = scratch
        .0
        .get_mut(..layout.max_inflated)
        .ok_or(HuffmanError::OutputFull)?;
    let inflated = huffman::decompress(rest, room)?;
    Ok((scratch.inflated(&inflated), inflated))
}

/// What is behind the compressed payload, in a datagram of `end` bytes.
fn note_surplus(inflated: &Inflated, end: usize, notes: &mut Notes) {
    if inflated.surplus > 0 {
        notes.push(Note {
            code: Code::HuffmanSurplus,
            at: end.saturating_sub(inflated.surplus),
            len: inflated.surplus,
        });
    }
}

fn take_tail<'a>(clear: &'a [u8], token: &mut Option<Token>, notes: &mut Notes) -> &'a [u8] {
    let Some((payload, tail)) = clear.split_last_chunk() else {
        notes.push(Note {
            code: Code::MissingToken,
            at: clear.len(),
            len: 0,
        });
        return clear;
    };
    *token = Some(Token(*tail));
    payload
}

/// What DDNet drops, and others read in their own way (DDNet 20 network.cpp, `IsValidConnectionOrientedPacket`).
fn note_rules(proto: Proto, header: &Header, payload: &[u8], notes: &mut Notes) {
    let mut push = |code, at, len| notes.push(Note { code, at, len });
    if !header.flags.contains(Flags::CONTROL) {
        if header.num_chunks == 0 && !header.flags.contains(Flags::RESEND) {
            push(Code::EmptyNoResend, 0, BASE);
        }
        return;
    }
    if header.flags.contains(Flags::COMPRESSION) {
        push(Code::ControlCompressed, 0, 1);
    }
    if header.num_chunks != 0 {
        push(Code::ControlWithChunks, 2, 1);
    }
    match payload.first() {
        None => push(Code::ControlEmpty, 0, 0),
        Some(&id) if !control::is_known(proto, id) => push(Code::UnknownControl, 0, 1),
        Some(_) => {}
    }
}
