//! Packets: the datagrams of a connection.
//!
//! Law: parsing never changes a packet, and adds a note for everything that some receivers would reject. [`rewrite`]
//! changes the token, the ack and the resend flag, and keeps all other bits if possible. [`write`](write()) produces
//! the same bytes as a reference sender. None of these functions allocates memory, except to grow an output buffer.
//!
//! Out of scope: checks of tokens and acks, which need the state of a connection.

mod header;
mod inflate;
#[cfg(test)]
mod properties;
#[cfg(test)]
mod same;
#[cfg(test)]
mod tests;
mod write;

pub use header::{Flags, Header, HeaderBits, HeaderField, HeaderView};
pub use write::{Rewrite, rewrite, write};

use crate::connless::is_connless;
use crate::control::{self, Control};
use crate::huffman::{HuffmanError, Inflated, StreamEnd};
use crate::note::{Code, Note, Notes};
use crate::proto::{Layout, TokenPlace};
use crate::{Chunks, Proto, Seq, Token};
use header::BASE;
use inflate::{Clear, Depth, LazyPayload, inflate};

/// The maximum number of bytes of a datagram that receivers read. Longer datagrams are truncated by `recvfrom`.
pub const MAX_DATAGRAM: usize = 1400;
/// The maximum payload in bytes of a packet composed by teetap. Every receiver of every variant accepts it, with a
/// token of four bytes added.
pub const MAX_COMPOSED_PAYLOAD: usize = 1386;
/// The maximum number of chunks in a packet: the header counts them in one byte.
pub const MAX_CHUNKS: usize = 255;

/// The largest [`Layout::max_inflated`].
const MAX_INFLATED: usize = 1397;

/// A packet and its parsed header.
#[derive(Debug, Clone)]
pub struct Packet<'a> {
    /// The variant it was read as.
    pub proto: Proto,
    /// The header.
    pub header: Header,
    /// The clear payload, without a payload-tail token; its start if `is_cut`.
    pub payload: &'a [u8],
    /// True if [`Packet::skim`] inflated no further than the start of the last chunk, which is not vital.
    pub is_cut: bool,
    /// The result of decompression; `None` if the payload was not compressed, or `is_cut`. Its `len` includes a
    /// payload-tail token.
    pub inflated: Option<Inflated>,
    /// The end of the compressed payload, if it has a payload-tail token and `is_cut`.
    pub end: Option<StreamEnd>,
    /// Notes about the packet itself. [`Packet::chunk_notes`] returns the notes about its chunks.
    pub notes: Notes,
}

/// A reusable buffer for inflating, as large as the largest payload buffer of a receiver.
#[derive(Debug, Clone)]
pub struct Scratch([u8; MAX_INFLATED]);

impl Scratch {
    /// Creates an empty buffer.
    #[must_use]
    pub const fn new() -> Self {
        Self([0; MAX_INFLATED])
    }

    /// Returns the bytes that the last [`Packet::parse`] inflated into this buffer, including a payload-tail token.
    #[must_use]
    pub fn inflated(&self, inflated: &Inflated) -> &[u8] {
        self.0.get(..inflated.len).unwrap_or(&self.0)
    }
}

impl Scratch {
    fn room(&mut self, layout: &Layout) -> Result<&mut [u8], HuffmanError> {
        let room = self.0.get_mut(..layout.max_inflated);
        room.ok_or(HuffmanError::OutputFull)
    }
}

impl Default for Scratch {
    fn default() -> Self {
        Self::new()
    }
}

/// The reason why a datagram is not a packet. Receivers drop such datagrams silently.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PacketError {
    /// The datagram is shorter than its header.
    #[error("{have} bytes, but a header needs {need}")]
    TooShort {
        /// The length of the header in bytes.
        need: usize,
        /// The length of the datagram in bytes.
        have: usize,
    },
    /// The datagram is outside a connection, see [`Connless`](crate::Connless).
    #[error("outside a connection")]
    Connless,
    /// The payload cannot be inflated.
    #[error(transparent)]
    Huffman(#[from] HuffmanError),
}

impl PacketError {
    /// Returns the note code for the same fault.
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
    /// Reads a datagram of a connection that speaks `proto`. Only the first 1400 bytes are read.
    ///
    /// # Errors
    /// Returns a [`PacketError`] if the datagram cannot be read. The checks run in the same order as in the games'
    /// receivers.
    pub fn parse(proto: Proto, datagram: &'a [u8], scratch: &'a mut Scratch) -> Result<Self, PacketError> {
        Self::parse_with(proto, datagram, |layout, _, rest| inflate(layout, rest, scratch))
    }

    /// Parses a datagram like [`Packet::parse`], but leaves the end of the payload compressed if possible: if the last
    /// chunk is not vital, such as a snapshot or an input, inflation stops after the first byte of its message.
    ///
    /// The whole payload is inflated if a message can have a UUID, or if `is_enough` returns false for the sequence
    /// number and the start of a message. It is also inflated if the token at the end of the payload differs from
    /// `token`, which is compared in compressed form. A payload of 0.6 without DDNet is always inflated, because
    /// callers have to know its length: 0.6 receivers copy a payload that is too long beyond the end of their buffer.
    ///
    /// Damage in the part that stays compressed is not detected.
    ///
    /// # Errors
    /// As [`Packet::parse`].
    pub fn skim(
        proto: Proto,
        datagram: &'a [u8],
        token: Option<Token>,
        scratch: &'a mut Scratch,
        is_enough: impl FnMut(Option<Seq>, &[u8]) -> bool,
    ) -> Result<Self, PacketError> {
        Self::parse_with(proto, datagram, |layout, (flags, num_chunks), rest| {
            let skim = LazyPayload {
                proto,
                num_chunks,
                token,
            };
            if matches!(proto, Proto::Ddnet | Proto::V7) && !flags.contains(Flags::CONTROL) {
                skim.inflate(layout, rest, scratch, is_enough)
            } else {
                inflate(layout, rest, scratch)
            }
        })
    }

    /// Reads a datagram whose payload was already inflated. `clear` is the inflated payload ([`Scratch::inflated`]),
    /// `inflated` the result of the decompression.
    ///
    /// # Errors
    /// As [`Packet::parse`].
    pub fn parse_inflated(
        proto: Proto,
        datagram: &'a [u8],
        clear: &'a [u8],
        inflated: Inflated,
    ) -> Result<Self, PacketError> {
        Self::parse_with(proto, datagram, |_, _, _| Ok((clear, Depth::Whole(inflated))))
    }

    fn parse_with(
        proto: Proto,
        datagram: &'a [u8],
        inflate: impl FnOnce(&Layout, (Flags, u8), &[u8]) -> Result<Clear<'a>, HuffmanError>,
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
        let (clear, depth) = if flags.contains(Flags::COMPRESSION) {
            inflate(layout, (flags, num_chunks), rest)?
        } else {
            (rest, Depth::Plain)
        };
        let (mut inflated, mut end, mut is_cut) = (None, None, false);
        match depth {
            Depth::Plain => {}
            Depth::Whole(whole) => {
                note_surplus(&whole, datagram.len(), &mut notes);
                inflated = Some(whole);
            }
            Depth::Start(tail) => {
                is_cut = true;
                if let Some((found, stream_end)) = tail {
                    (token, end) = (Some(found), Some(stream_end));
                }
            }
        }
        if clear.len() > layout.max_payload {
            let len = clear.len() - layout.max_payload;
            notes.push(Note {
                code: Code::PayloadOversized,
                at: layout.max_payload,
                len,
            });
        }
        let payload = if layout.token == TokenPlace::PayloadTail && !is_cut {
            take_tail(clear, flags, &mut token, &mut notes)
        } else {
            clear
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
            is_cut,
            inflated,
            end,
            notes,
        })
    }

    /// Returns the chunks of the payload. A control packet has none, even if its header announces some. If the packet
    /// `is_cut`, its last chunk has only the start of its message.
    #[must_use]
    pub fn chunks(&self) -> Chunks<'a> {
        let control = self.header.flags.contains(Flags::CONTROL);
        if control {
            return Chunks::new(self.proto, &[], 0);
        }
        let chunks = Chunks::new(self.proto, self.payload, self.header.num_chunks);
        if self.is_cut { chunks.cut() } else { chunks }
    }

    /// Returns the chunks that releases before DDNet 19.4 read from a control packet whose header announces some.
    /// They read none from a compressed packet or a CLOSE. Later releases drop the packet.
    #[must_use]
    pub fn chunks_of_control(&self) -> Chunks<'a> {
        let reads = self.header.flags.contains(Flags::CONTROL)
            && !self.header.flags.contains(Flags::COMPRESSION)
            && !matches!(self.control(), Some(Control::Close { .. }));
        let (payload, count) = if reads {
            (self.payload, self.header.num_chunks)
        } else {
            (&[][..], 0)
        };
        Chunks::new(self.proto, payload, count)
    }

    /// Returns notes about the chunks: a wrong number of chunks, or bytes after the last chunk. Both are unknown for a
    /// packet that `is_cut`.
    #[must_use]
    pub fn chunk_notes(&self) -> Notes {
        let mut chunks = self.chunks();
        chunks.by_ref().for_each(drop);
        chunks.notes()
    }

    /// Returns the control message of a control packet; `None` for other packets, or if the payload is empty.
    #[must_use]
    pub fn control(&self) -> Option<Control<'a>> {
        let control = self.header.flags.contains(Flags::CONTROL);
        control
            .then(|| Control::parse(self.proto, self.payload))
            .flatten()
    }
}

/// Returns the variant in which a datagram was written: `proto`, or [`Proto::V6`] for a CLOSE that a DDNet peer sent
/// without a token. `known` is the token of the sender; `None` if no token was seen yet. It is needed because a reason
/// of three letters with its NUL has the same length as a token.
#[must_use]
pub fn written_form(proto: Proto, datagram: &[u8], known: Option<Token>) -> Proto {
    let (Proto::Ddnet, &[flags, _, _, id, a, b, c, 0]) = (proto, datagram) else {
        return proto;
    };
    let layout = proto.layout();
    let is_clear = flags & (layout.control | layout.compression) == layout.control;
    let shown = Token([a, b, c, 0]);
    let is_text = std::str::from_utf8(&[a, b, c]).is_ok_and(|text| !text.contains(char::is_control));
    let is_close = is_clear && id == control::CLOSE;
    if is_close && is_text && known != Some(shown) {
        Proto::V6
    } else {
        proto
    }
}

/// Returns the part of a datagram that receivers see.
fn seen(datagram: &[u8]) -> &[u8] {
    datagram.get(..MAX_DATAGRAM).unwrap_or(datagram)
}

/// Notes bytes after the compressed payload, in a datagram of `end` bytes.
fn note_surplus(inflated: &Inflated, end: usize, notes: &mut Notes) {
    if inflated.surplus > 0 {
        notes.push(Note {
            code: Code::HuffmanSurplus,
            at: end.saturating_sub(inflated.surplus),
            len: inflated.surplus,
        });
    }
}

fn take_tail<'a>(clear: &'a [u8], flags: Flags, token: &mut Option<Token>, notes: &mut Notes) -> &'a [u8] {
    if flags.contains(Flags::CONTROL) && Control::is_close_without_token(clear) {
        return clear;
    }
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

/// Notes packets that DDNet drops and other receivers read in different ways (DDNet 20 network.cpp,
/// `IsValidConnectionOrientedPacket`).
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
