//! Recognizes payloads whose chunks fit in another form: other headers, another number or size of chunks, or another flag.

use std::fmt::{self, Write};

use teetap_wire::{
    ChunkHeader, Chunks, Code, Dir, Flags, Note, Packet, Proto, Scratch, Token,
    def::{Decoded, Registry},
};

use super::{ENOUGH, other_version};
use crate::{Values, header_length::HeaderLength};

/// Returns the note about a packet whose chunks have headers of the other version or of the wrong length, sizes that
/// include the chunk header, or a number higher than the announced one: read that way, the chunks fill the payload, and
/// each is a message without a note. `notes` are the notes on the packet as it is.
pub(crate) fn other_chunks(
    packet: &Packet<'_>,
    notes: &[Note],
    registry: &'static Registry,
    dir: Dir,
) -> Option<Note> {
    if !notes.iter().any(|note| is_about_chunks(note.code)) {
        return None;
    }
    let mut decoded = Decoded::new();
    let mut are_messages = |chunks: &[&[u8]]| {
        let count = usize::from(packet.header.num_chunks);
        let is_message = |data: &&[u8]| {
            let def = decoded.message(registry, packet.proto, dir, data);
            def.is_some() && decoded.notes().is_empty()
        };
        count > 0 && chunks.len() == count && chunks.iter().all(is_message)
    };
    let proto = other_version(packet.proto);
    let mut others = Chunks::new(proto, packet.payload, packet.header.num_chunks);
    let theirs: Vec<&[u8]> = others.by_ref().map(|chunk| chunk.data).collect();
    let code = if others.rest().is_empty() && are_messages(&theirs) {
        Code::ChunkOfOtherVersion
    } else if with_headers(packet).is_some_and(|chunks| are_messages(&chunks)) {
        Code::ChunkSizeWithHeader
    } else if HeaderLength::find(packet.proto, dir, (packet.payload, packet.header.num_chunks)).is_some() {
        Code::ChunkHeaderLength
    } else {
        let (proto, token) = (packet.proto, packet.header.token);
        unannounced(proto, dir, token, (packet.payload, packet.header.num_chunks))?;
        Code::ChunkCountTooLow
    };
    Some(Note { code, at: 0, len: 0 })
}

/// Returns the names of the messages after the announced chunks of a payload; `None` if the bytes there are not whole
/// chunks with messages without a note. `token` is the token of the packet, which some senders append.
pub(crate) fn unannounced(
    proto: Proto,
    dir: Dir,
    token: Option<Token>,
    (payload, num_chunks): (&[u8], u8),
) -> Option<Vec<&'static str>> {
    let mut announced = Chunks::new(proto, payload, num_chunks);
    let last = announced.by_ref().filter_map(|chunk| chunk.header.vital).last();
    let rest = announced.rest();
    let is_token = token.is_some_and(|token| token.0 == *rest);
    if announced.missing() > 0 || rest.is_empty() || is_token {
        return None;
    }
    let (registry, mut decoded) = (Registry::builtin(), Decoded::new());
    let mut chunks = Chunks::new(proto, rest, u8::MAX);
    let mut names = Vec::new();
    let mut proofs = rest.len();
    for chunk in chunks.by_ref() {
        let def = decoded.message(registry, proto, dir, chunk.data)?;
        if !decoded.notes().is_empty() || !def.way.allows(dir) {
            return None;
        }
        // A few random bytes may be a chunk, but rarely the one with the next number.
        let is_next = chunk
            .header
            .vital
            .is_some_and(|seq| last.is_none_or(|last| seq == last.next()));
        proofs += if is_next { ENOUGH } else { 0 };
        names.push(&*def.name);
    }
    (chunks.rest().is_empty() && proofs > ENOUGH + 2).then_some(names)
}

/// Returns the messages of a packet whose chunk sizes include the chunk headers; `None` if the chunks do not fill the
/// payload.
fn with_headers<'a>(packet: &Packet<'a>) -> Option<Vec<&'a [u8]>> {
    let (mut rest, mut messages) = (packet.payload, Vec::new());
    while !rest.is_empty() {
        let (header, len) = ChunkHeader::decode(packet.proto, rest)?;
        let (chunk, after) = rest.split_at_checked(header.size.into())?;
        messages.push(chunk.get(len..)?);
        rest = after;
    }
    Some(messages)
}

/// Returns the first byte of a datagram with the compression flag set, and true if the byte has that flag of 0.6 in 0.7.
pub(crate) fn marked(proto: Proto, first: u8) -> (u8, bool) {
    let other = Proto::V6.layout().compression;
    let is_other = proto == Proto::V7 && first & other != 0;
    let rest = if is_other { first & !other } else { first };
    (rest | proto.layout().compression, is_other)
}

/// Returns the note about a datagram with a compressed payload but no compression flag: with the flag, its form is
/// right and each chunk is a message without a note. `notes` are the notes on the packet as it is.
pub(crate) fn unmarked(
    packet: &Packet<'_>,
    datagram: &[u8],
    notes: &[Note],
    registry: &'static Registry,
    dir: Dir,
) -> Option<Note> {
    let is_odd = |code| is_about_chunks(code) || matches!(code, Code::WrongToken | Code::MissingToken);
    let is_clear = !packet
        .header
        .flags
        .intersects(Flags::COMPRESSION | Flags::CONTROL);
    if !is_clear || !notes.iter().any(|note| is_odd(note.code)) {
        return None;
    }
    let (first, rest) = datagram.split_first()?;
    let marked = [&[marked(packet.proto, *first).0], rest].concat();
    let mut scratch = Scratch::new();
    let packet = Packet::parse(packet.proto, &marked, &mut scratch).ok()?;
    let mut decoded = Decoded::new();
    let mut is_message = |data: &[u8]| {
        let def = decoded.message(registry, packet.proto, dir, data);
        // Servers of DDNet append fields.
        let mut notes = decoded.notes().iter();
        def.is_some() && notes.all(|note| note.code == Code::SurplusBytes)
    };
    let mut chunks = packet.chunks();
    let is_right = chunks.by_ref().all(|chunk| is_message(chunk.data));
    let is_whole = chunks.rest().is_empty() && chunks.missing() == 0 && packet.notes.is_empty();
    let (code, at, len) = (Code::CompressionUnmarked, 0, 1);
    (is_right && is_whole && packet.header.num_chunks > 0).then_some(Note { code, at, len })
}

/// A chunk whose size is wrong by a few bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WrongSize {
    /// Number of the chunk in the packet, from 1.
    pub chunk: usize,
    /// Name of its message.
    pub name: &'static str,
    /// The size in its header, in bytes.
    pub got: usize,
    /// The size with which all chunks fit, in bytes.
    pub expected: usize,
    /// True if the sizes of all chunks are wrong by as much.
    pub is_each: bool,
}

/// Maximum number of bytes by which a size may be wrong.
const OFF: usize = 4;

/// Returns the chunk whose size is wrong: with another size of it, or with as much in each chunk, the chunks fill the
/// payload, and each is a message without a note. `notes` are the notes on the packet as it is.
pub(crate) fn wrong_size(
    packet: &Packet<'_>,
    notes: &[Note],
    registry: &'static Registry,
    dir: Dir,
) -> Option<WrongSize> {
    let count = usize::from(packet.header.num_chunks);
    // With one chunk, any size up to the end of the payload fits.
    if count < 2 || !notes.iter().any(|note| is_about_chunks(note.code)) {
        return None;
    }
    let mut decoded = Decoded::new();
    let mut look = |which: Option<usize>, delta: isize| {
        let (mut rest, mut found) = (packet.payload, None);
        for index in 0..count {
            let (header, len) = ChunkHeader::decode(packet.proto, rest)?;
            let is_wrong = which.is_none_or(|which| which == index);
            let (got, delta) = (usize::from(header.size), if is_wrong { delta } else { 0 });
            let size = got.checked_add_signed(delta)?;
            let (data, after) = rest.get(len..)?.split_at_checked(size)?;
            let def = decoded.message(registry, packet.proto, dir, data)?;
            if !decoded.notes().is_empty() || !def.way.allows(dir) {
                return None;
            }
            if is_wrong && found.is_none() {
                found = Some(WrongSize {
                    chunk: index + 1,
                    name: &def.name,
                    got,
                    expected: size,
                    is_each: which.is_none(),
                });
            }
            rest = after;
        }
        found.filter(|_| rest.is_empty())
    };
    let places = (0..count - 1).map(Some).chain([None]);
    places.into_iter().find_map(|which| {
        let mut deltas = (1..=OFF).filter_map(|off| isize::try_from(off).ok());
        deltas.find_map(|off| look(which, -off).or_else(|| look(which, off)))
    })
}

impl WrongSize {
    pub(crate) fn write(self, f: &mut Values) -> fmt::Result {
        let Self {
            chunk,
            name,
            got,
            expected,
            is_each,
        } = self;
        f.add_got(format_args!("a size of {got} in chunk {chunk}, {name}"))?;
        f.add_expected(expected)?;
        match is_each {
            true => {
                let off = got.abs_diff(expected);
                let than = if got > expected { "larger" } else { "smaller" };
                write!(f, ": the size of each chunk is {off} {than} than its message")
            }
            false => f.write_str(
                ": with this size all chunks fit; the receiver reads the next chunk at the wrong place",
            ),
        }
    }
}

/// Returns true for notes on a payload that may have to be split differently.
pub(crate) const fn is_about_chunks(code: Code) -> bool {
    matches!(
        code,
        Code::ChunkTruncated | Code::ChunkCountTooHigh | Code::TrailingBytes
    )
}
