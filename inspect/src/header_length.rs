//! Recognizes chunk headers of the wrong length: with a sequence number in chunks that are not vital, or without one in
//! vital chunks.
//!
//! Law: the length is called wrong only if exactly the announced number of chunks with such headers fills the payload,
//! and each is a message without a note.

use teetap_wire::{
    ChunkHeader, Dir, Proto, Seq,
    def::{Decoded, Registry},
};

/// Minimum number of bytes in all messages together that prove the length of their headers.
const ENOUGH: usize = 6;

/// The vital flag in the first byte of a chunk header.
const VITAL: u8 = 0x40;

/// Chunk headers of the wrong length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HeaderLength {
    /// Chunks that are not vital have a header of three bytes. The number is that of the first of them.
    Numbered(Seq),
    /// Vital chunks have a header of two bytes.
    Unnumbered,
}

impl HeaderLength {
    /// Returns the wrong length of the chunk headers in a payload with its announced number of chunks; `None` if other
    /// headers fit.
    pub(crate) fn find(proto: Proto, dir: Dir, (payload, count): (&[u8], u8)) -> Option<Self> {
        [true, false].into_iter().find_map(|is_numbered| {
            let split = Split::new(proto, payload, is_numbered)?;
            let is_right = split.messages.len() == usize::from(count) && split.are_messages(proto, dir);
            let wrong = if is_numbered {
                Self::Numbered(split.number?)
            } else {
                split.has_vital.then_some(Self::Unnumbered)?
            };
            is_right.then_some(wrong)
        })
    }
}

/// A payload that was split into chunks whose headers all have the same length.
struct Split<'a> {
    messages: Vec<&'a [u8]>,
    has_vital: bool,
    /// The number in the first chunk that is not vital; `None` if there is none.
    number: Option<Seq>,
}

impl<'a> Split<'a> {
    /// Splits a payload. Returns `None` if the chunks do not fill it. `is_numbered` is true if every header has a number.
    fn new(proto: Proto, payload: &'a [u8], is_numbered: bool) -> Option<Self> {
        let mut split = Self {
            messages: Vec::new(),
            has_vital: false,
            number: None,
        };
        let mut rest = payload;
        while !rest.is_empty() {
            let (header, _) = ChunkHeader::decode(proto, rest)?;
            split.has_vital |= header.vital.is_some();
            let len = ChunkHeader::header_len(is_numbered);
            if is_numbered && header.vital.is_none() {
                split.number = split.number.or(number(proto, rest));
            }
            let (chunk, after) = rest.split_at_checked(len + usize::from(header.size))?;
            split.messages.push(chunk.get(len..)?);
            rest = after;
        }
        Some(split)
    }

    /// Returns true if every chunk is a message of this direction without a note.
    fn are_messages(&self, proto: Proto, dir: Dir) -> bool {
        let (registry, mut decoded) = (Registry::builtin(), Decoded::new());
        let is_message = |data: &&[u8]| {
            let def = decoded.message(registry, proto, dir, data);
            def.is_some_and(|def| def.way.allows(dir)) && decoded.notes().is_empty()
        };
        let len: usize = self.messages.iter().map(|data| data.len()).sum();
        len >= ENOUGH && self.messages.iter().all(is_message)
    }
}

/// Returns the number in a header of three bytes without the vital flag.
fn number(proto: Proto, header: &[u8]) -> Option<Seq> {
    let mut vital: [u8; 3] = *header.first_chunk()?;
    if let Some(first) = vital.first_mut() {
        *first |= VITAL;
    }
    ChunkHeader::decode(proto, &vital)?.0.vital
}
