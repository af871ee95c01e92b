//! Explains chunks: headers down to bits, and bytes that receivers ignore.

use teetap_wire::{ChunkHeader, Chunks, Code, Note, Proto, counted};

use super::{
    Space, Span,
    message::Container,
    packet::{Payload, Walk},
};

const RESEND: u8 = 0x80;
const VITAL: u8 = 0x40;
const SIZE_HIGH: u8 = 0x3f;

/// A chunk, or as much of it as the payload contains.
struct ChunkBytes<'a> {
    /// The bytes, including the header.
    bytes: &'a [u8],
    space: Space,
    at: usize,
    number: usize,
    of: u8,
}

impl Walk {
    pub(super) fn chunks(&mut self, payload: &Payload<'_>, num_chunks: u8) {
        let (space, base) = (payload.space, payload.base);
        let mut chunks = Chunks::new(self.proto, payload.bytes, num_chunks);
        let mut names = Vec::new();
        let mut number = 0;
        for chunk in chunks.by_ref() {
            number += 1;
            let piece = ChunkBytes {
                bytes: payload.bytes.get(chunk.at..chunk.end()).unwrap_or_default(),
                space,
                at: base + chunk.at,
                number,
                of: num_chunks,
            };
            names.push(self.chunk(&piece));
        }
        let rest = chunks.rest();
        let at = base + payload.bytes.len() - rest.len();
        let missing = usize::from(chunks.missing());
        let first = self.tree.rows.len();
        if !rest.is_empty() && missing > 0 {
            self.chunk(&ChunkBytes {
                bytes: rest,
                space,
                at,
                number: number + 1,
                of: num_chunks,
            });
        } else if !rest.is_empty() {
            let text = counted(rest.len(), "byte").to_string();
            self.tree
                .bytes(0, Span::new(space, at, rest.len()), "after the last chunk", text);
        }
        for note in chunks.notes().iter() {
            // This note belongs to the packet header, which announces the number of chunks.
            if note.code == Code::ChunkCountTooHigh {
                self.tree.attach(0, Space::Datagram, note);
            } else if let Some(at) = base.checked_add(note.at) {
                let row = first.min(self.tree.rows.len().saturating_sub(1));
                self.tree.note(row, Note { at, ..note });
            }
        }
        self.facts.push(match num_chunks {
            0 => "no chunks: requests a resend".to_owned(),
            _ => format!("{}: {}", counted(num_chunks, "chunk"), names.join(", ")),
        });
    }

    /// Adds the rows of a chunk. Returns the name of its message.
    fn chunk(&mut self, piece: &ChunkBytes<'_>) -> String {
        let &ChunkBytes { bytes, space, at, .. } = piece;
        let label = format!("chunk {} of {}", piece.number, piece.of);
        let group = self.tree.group(0, Span::new(space, at, bytes.len()), label, "");
        let vital = bytes.first().is_some_and(|first| first & VITAL != 0);
        let header_len = ChunkHeader::header_len(vital);
        let header = ChunkHeader::decode(self.proto, bytes).map(|(header, _)| header);
        self.chunk_header(piece, header, header_len.min(bytes.len()));
        let Some(header) = header else {
            self.tree.set_value(
                group,
                format!("{} of {header_len} bytes of its header", bytes.len()),
            );
            return "a chunk cut off".to_owned();
        };
        let data = bytes.get(header_len..).unwrap_or_default();
        let at = at + header_len;
        let name = self.message(
            1,
            Span::new(space, at, data.len()),
            data,
            Container::Chunk { vital },
        );
        let seq = header
            .vital
            .map_or("not vital".to_owned(), |seq| format!("vital {}", seq.get()));
        let resend = if header.resend { ", sent again" } else { "" };
        let (size, have) = (usize::from(header.size), data.len());
        let size = if size == have {
            counted(size, "byte").to_string()
        } else {
            format!("{} announced, {have} there", counted(size, "byte"))
        };
        self.tree
            .set_value(group, format!("{name}, {seq}{resend}, {size}"));
        name
    }

    /// Adds the rows for the first `len` bytes of a chunk header.
    fn chunk_header(&mut self, piece: &ChunkBytes<'_>, header: Option<ChunkHeader>, len: usize) {
        let split = self.proto.layout().chunk_split;
        let low_mask = (1u8 << split) - 1;
        let byte = |at: usize| piece.bytes.get(at).copied().filter(|_| at < len);
        let span = |at: usize| Span::new(piece.space, piece.at + at, 1);
        let size = header.map_or(String::new(), |header| format!("{} in all", header.size));
        let seq = header.and_then(|header| header.vital);
        let seq = seq.map_or(String::new(), |seq| format!("{} in all", seq.get()));
        let yes = |set: bool| if set { "yes" } else { "no" };
        let Some(first) = byte(0) else { return };
        let vital = first & VITAL != 0;
        let tree = &mut self.tree;
        tree.bytes(1, span(0), "flags and size", "");
        tree.bits(2, span(0), RESEND, "resend", yes(first & RESEND != 0));
        tree.bits(2, span(0), VITAL, "vital", yes(vital));
        let high = format!("size, bits {} to {split}", split + 5);
        tree.bits(2, span(0), SIZE_HIGH, high, size.clone());
        let Some(second) = byte(1) else { return };
        let label = if vital { "sequence and size" } else { "size" };
        tree.bytes(1, span(1), label, "");
        let low_size = format!("size, bits {} to 0", split - 1);
        let upper = second & !low_mask;
        if !vital {
            let value = if upper == 0 { "" } else { "set, never read" };
            tree.bits(2, span(1), !low_mask, "unused", value);
        } else if self.proto == Proto::V7 {
            tree.bits(2, span(1), !low_mask, "sequence, bits 9 and 8", seq.clone());
        } else {
            tree.bits(2, span(1), 0xc0, "sequence, bits 9 and 8", seq.clone());
            tree.bits(2, span(1), 0x30, "sequence, bits 7 and 6", "");
        }
        tree.bits(2, span(1), low_mask, low_size, size);
        let Some(third) = byte(2) else { return };
        tree.bytes(1, span(2), "sequence", "");
        if self.proto == Proto::V7 {
            tree.bits(2, span(2), 0xff, "sequence, bits 7 to 0", seq);
            return;
        }
        let twice = if second & 0x30 == third >> 2 & 0x30 {
            "equal to the other copy"
        } else {
            "differs from the other copy: receivers or both"
        };
        tree.bits(2, span(2), 0xc0, "sequence, bits 7 and 6", twice);
        tree.bits(2, span(2), 0x3f, "sequence, bits 5 to 0", seq);
    }
}
