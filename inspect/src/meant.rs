//! Recognizes invalid bytes that would be valid under another message id, or with the chunk headers of the other
//! version.
//!
//! Law: another interpretation is reported only if it fits completely: every byte belongs to a field, and no field has
//! a note. A message without fields would fit many ids, so it is reported only if the join waits for the other message.

use std::fmt::{self, Write};

use teetap_wire::{
    ChunkHeader, Chunks, Code, Dir, Flags, Layer, MessageId, Note, Packet, Proto, Scratch, Token,
    def::{Class, Decoded, Def, Id, Len, Registry, Type},
    varint,
};

use crate::{Values, encoding::OtherEncoding, field_order::FieldOrder, header_length::HeaderLength};

/// Minimum number of bytes after the id by which a message is recognized from its fields.
const ENOUGH: usize = 6;

/// The same for a message of a server with the id of the other version: a tick and another number.
const ENOUGH_OF_SERVER: usize = 3;

/// The id of all messages with a UUID. Any bytes would fit a message with an unknown UUID.
const ENVELOPE: i32 = 0;

/// A message sent under the id of another message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OtherId {
    /// Name of the message that the bytes really are.
    pub name: &'static str,
    /// The number at the start of the bytes.
    pub got: i32,
    /// The number that the message should have.
    pub expected: i32,
    /// The probable mistake.
    pub mistake: Mistake,
    /// Name of the message with the number at the start of the bytes; `None` if there is none.
    pub here: Option<&'static str>,
}

/// How a number differs from the right number of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mistake {
    /// The id itself, without the class bit.
    NoClass,
    /// The id with the bit of this class, which is wrong.
    Class(Layer),
    /// The id in this version, with the class bit.
    Version(Proto),
}

/// A message with the fields of another version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OtherFields {
    /// The version whose fields the bytes have.
    pub got: Proto,
    /// The version of the session.
    pub expected: Proto,
}

/// A message of a session with its context, to be examined.
#[derive(Clone, Copy)]
pub(crate) struct Suspect<'a> {
    pub(crate) registry: &'static Registry,
    pub(crate) proto: Proto,
    pub(crate) dir: Dir,
    /// True if the receiver is known to be DDNet.
    pub(crate) to_ddnet: bool,
    /// The message that the join, or a login to the console, awaits from the sender.
    pub(crate) awaited: Option<&'static str>,
    pub(crate) vital: bool,
    pub(crate) data: &'a [u8],
}

impl Suspect<'_> {
    /// Returns the message whose contents match the bytes, with its correct id; `None` if no message matches. `notes`
    /// are the notes on the message under the received id.
    pub(crate) fn other_id(&self, notes: &[Note]) -> Option<OtherId> {
        let is_dead = self.is_dead();
        let is_odd = is_dead || notes.iter().any(|note| is_about_fields(note.code));
        let has_surplus = notes.iter().any(|note| note.code == Code::SurplusBytes);
        if !is_odd && !has_surplus {
            return None;
        }
        let int = varint::decode(self.data)?;
        let body = self.data.get(int.len..)?;
        let mut fits = self.candidates(int.value);
        fits.retain(|(_, fields)| self.fits(fields, body));
        let is_surplus_of_server = self.dir == Dir::S2c && !is_odd;
        if is_surplus_of_server {
            // Servers of DDNet append fields to messages of the games.
            fits.retain(|(other, fields)| {
                matches!(other.mistake, Mistake::Version(_))
                    && (has_stated_length(fields) || self.has_no_fields() && ends_with_text(body))
            });
        }
        let mut fits: Vec<_> = fits.into_iter().map(|(other, _)| other).collect();
        fits.dedup();
        let is_long = body.len() >= ENOUGH;
        let awaited = fits.iter().position(|other| self.awaited == Some(other.name));
        let awaited = awaited.filter(|_| is_odd || is_long);
        // If a message has all of its fields and only a value is odd, its id is right.
        let is_clear = is_dead
            || is_surplus_of_server
            || notes.iter().any(|note| is_about_form(note.code))
            || self.has_more(notes) && (is_odd || ends_with_text(body));
        let is_of_server = |other: &OtherId| {
            let is_version = matches!(other.mistake, Mistake::Version(_));
            self.dir == Dir::S2c && is_version && body.len() >= ENOUGH_OF_SERVER
        };
        let is_proven = is_long || fits.first().is_some_and(is_of_server);
        let only = (fits.len() == 1 && is_clear && is_proven).then_some(0);
        Some(fits.swap_remove(awaited.or(only)?))
    }

    /// Returns the version whose field format matches the bytes; `None` if no other version matches. `notes` are the
    /// notes on the message in the format of its own version.
    pub(crate) fn other_fields(&self, notes: &[Note]) -> Option<OtherFields> {
        let is_odd = notes.iter().any(|note| is_about_fields(note.code));
        if !is_odd && !self.has_more(notes) {
            return None;
        }
        let found = self.registry.known_message(self.proto, self.dir, self.data)?;
        let (got, expected) = (other_version(self.proto), self.proto);
        let class = Some(found.def.class);
        let mut theirs = self.registry.named(got, class, &found.def.name);
        let body = self.data.get(found.body..).filter(|body| body.len() > 2)?;
        // If a message has all of its fields and only a value is odd, its layout is right, unless the value is a
        // character of a text.
        let is_clear = notes.iter().any(|note| is_about_form(note.code))
            || self.has_more(notes)
            || has_text_as_number(found.def, body);
        if !is_clear {
            return None;
        }
        let is_right =
            |def: &'static Def| def.way.allows(self.dir) && !fits_anything(def) && self.fits(def, body);
        theirs.any(is_right).then_some(OtherFields { got, expected })
    }

    /// Returns the encoding of the ints or texts of the message, if it is not that of the games and everything fits.
    /// `notes` are the notes on the message in the encoding of the games.
    pub(crate) fn other_encoding(&self, notes: &[Note]) -> Option<OtherEncoding> {
        let found = self.registry.known_message(self.proto, self.dir, self.data)?;
        let body = self.data.get(found.body..)?;
        let is_right = found.def.way.allows(self.dir) && found.def.odd_vitality(self.vital).is_none();
        // A sender of fixed ints may also write the id in four bytes.
        let bodies = [Some(body), body.strip_prefix(&[0, 0, 0])];
        let mut bodies = bodies.into_iter().flatten().filter(|_| is_right);
        bodies.find_map(|body| OtherEncoding::find(found.def, body, notes, self.to_ddnet))
    }

    /// Returns the order of the fields of the message, if it is not that of the games and everything fits. `notes` are the
    /// notes on the message in the order of the games.
    pub(crate) fn other_order(&self, notes: &[Note]) -> Option<FieldOrder> {
        let found = self.registry.known_message(self.proto, self.dir, self.data)?;
        let body = self.data.get(found.body..)?;
        let is_odd = |note: &Note| is_about_form(note.code) || note.code == Code::InvalidUtf8;
        let is_clear = notes.iter().any(is_odd) || has_text_as_number(found.def, body);
        let is_right = found.def.way.allows(self.dir) && found.def.odd_vitality(self.vital).is_none();
        (is_clear && is_right).then(|| FieldOrder::find(found.def, body, self.to_ddnet))?
    }

    /// Returns true if a client sends more bytes than the server reads, which is harmless by itself.
    fn has_more(&self, notes: &[Note]) -> bool {
        self.dir == Dir::C2s && notes.iter().any(|note| note.code == Code::SurplusBytes)
    }

    /// Returns true if the message of the received id has no fields.
    fn has_no_fields(&self) -> bool {
        let found = self.registry.known_message(self.proto, self.dir, self.data);
        found.is_some_and(|found| found.def.fields.is_empty())
    }

    /// Returns the name of the message with the received id; `None` if there is none in this direction.
    fn here(&self) -> Option<&'static str> {
        let found = self.registry.known_message(self.proto, self.dir, self.data);
        let def = found.filter(|found| !found.unknown)?.def;
        (!def.dead && def.way.allows(self.dir)).then_some(&*def.name)
    }

    /// Returns true if the message has an id that the games no longer use.
    fn is_dead(&self) -> bool {
        let found = self.registry.known_message(self.proto, self.dir, self.data);
        found.is_some_and(|found| found.def.dead)
    }

    /// Returns the messages that the sender may have meant, each with the fields it would then have.
    fn candidates(&self, got: i32) -> Vec<(OtherId, &'static Def)> {
        let here = self.here();
        let of = |def: &'static Def, mistake, fields| {
            let name = &*def.name;
            let other = |expected| OtherId {
                name,
                got,
                expected,
                mistake,
                here,
            };
            number(def)
                .filter(|expected| *expected != got)
                .map(|expected| (other(expected), fields))
        };
        let [layer, other] = match got & 1 {
            0 => [Layer::Game, Layer::System],
            _ => [Layer::System, Layer::Game],
        };
        let bare = [Layer::System, Layer::Game].into_iter();
        let bare = bare.filter_map(|layer| self.def(self.proto, layer, got));
        let of_bare = bare.filter_map(|def| of(def, Mistake::NoClass, def));
        let flipped = self.def(self.proto, other, got >> 1).into_iter();
        let of_flipped = flipped.filter_map(|def| of(def, Mistake::Class(layer), def));
        let version = other_version(self.proto);
        let theirs = self.def(version, layer, got >> 1).into_iter();
        let of_theirs = theirs.flat_map(|theirs| {
            let name = self.own_name(theirs);
            let own = self.registry.named(self.proto, Some(theirs.class), name);
            let own = own.filter(|def| def.way.allows(self.dir));
            own.flat_map(move |def| [def, theirs].map(|fields| of(def, Mistake::Version(version), fields)))
        });
        of_bare.chain(of_flipped).chain(of_theirs.flatten()).collect()
    }

    /// Returns the name in this version of a message of the other version. A login to the console has another answer.
    fn own_name(&self, theirs: &'static Def) -> &'static str {
        let is_login = varint::decode(self.data)
            .and_then(|id| varint::decode(self.data.get(id.len..)?))
            .is_some_and(|level| level.value != 0);
        match &*theirs.name {
            "rcon_auth_status" if is_login => "rcon_auth_on",
            "rcon_auth_status" => "rcon_auth_off",
            "rcon_auth_on" | "rcon_auth_off" => "rcon_auth_status",
            name => name,
        }
    }

    /// Returns the message with this id, if it may be sent in this direction.
    fn def(&self, proto: Proto, layer: Layer, id: i32) -> Option<&'static Def> {
        if id == ENVELOPE {
            return None;
        }
        let uuid = None;
        let id = MessageId { layer, id, uuid };
        let def = self.registry.identify(proto, self.dir, id)?;
        (def.way.allows(self.dir) && !def.dead).then_some(def)
    }

    /// Returns true if the bytes after the id are exactly the fields of a message, without a note.
    fn fits(&self, def: &Def, body: &[u8]) -> bool {
        let mut decoded = Decoded::new();
        decoded.set_for_ddnet(self.to_ddnet);
        decoded.read(def, body, 0);
        decoded.notes().is_empty() && def.odd_vitality(self.vital).is_none()
    }
}

/// Returns the note about a packet whose chunks have headers of the other version or of the wrong length, sizes that
/// include the chunk header, or a number higher than the announced one: read that way, the chunks fill the payload, and each is a message without
/// a note. `notes` are the notes on the packet as it is.
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
                    name: &*def.name,
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

/// Returns the name of the message that surplus bytes after a message are; `None` if they are no whole message.
pub(crate) fn second_message(proto: Proto, dir: Dir, surplus: &[u8]) -> Option<&'static str> {
    let registry = Registry::builtin();
    let mut decoded = Decoded::new();
    let def = decoded.message(registry, proto, dir, surplus)?;
    let is_whole = decoded.notes().is_empty() && def.way.allows(dir);
    // The ids of the messages of the game that a client sends are large, unlike the fields that releases have appended.
    let is_of_game = dir == Dir::C2s && def.class == Class::Game && !def.fields.is_empty();
    let is_clear =
        surplus.len() > ENOUGH || is_of_game && matches!(def.id, Id::Number(_)) && surplus.len() > 1;
    (is_whole && is_clear).then_some(&*def.name)
}

/// A known message with a UUID that its receiver does not know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OtherUuid {
    /// The UUID has the bytes of its first three groups in reverse order.
    Groups,
    /// The UUID is that of a message of the other class, `Class`.
    Class(Class),
}

/// Returns the message that an unknown UUID stands for, if all fields of the message fit.
pub(crate) fn other_uuid(proto: Proto, dir: Dir, data: &[u8]) -> Option<(&'static Def, OtherUuid)> {
    let (registry, mut decoded) = (Registry::builtin(), Decoded::new());
    let mut fits = |data: &[u8]| {
        registry.known_message(proto, dir, data)?;
        let def = decoded.message(registry, proto, dir, data)?;
        (decoded.notes().is_empty() && def.way.allows(dir)).then_some(def)
    };
    let mut class = data.to_vec();
    *class.first_mut()? ^= 1;
    if let Some(def) = fits(&class) {
        return Some((def, OtherUuid::Class(def.class)));
    }
    let mut groups = data.to_vec();
    let uuid = groups.get_mut(1..17)?;
    for range in [0..4, 4..6, 6..8] {
        uuid.get_mut(range)?.reverse();
    }
    fits(&groups).map(|def| (def, OtherUuid::Groups))
}

/// Returns true if a message with an unknown id has text in place of the 16 bytes of a UUID.
pub(crate) fn has_text_as_uuid(data: &[u8]) -> bool {
    let (Some(id), true) = (varint::decode(data), data.len() > 16) else {
        return false;
    };
    let uuid = data.get(id.len..id.len + 16).unwrap_or_default();
    id.value >> 1 == ENVELOPE && uuid.len() == 16 && uuid.iter().all(|byte| (0x20..0x7f).contains(byte))
}

/// Returns true if a number of a message is outside of its range and is a printable character, as if a text began there.
fn has_text_as_number(def: &Def, body: &[u8]) -> bool {
    let mut decoded = Decoded::new();
    decoded.read(def, body, 0);
    let mut odd = decoded
        .notes()
        .iter()
        .filter(|note| note.code == Code::OutOfRange);
    odd.any(|note| body.get(note.at).is_some_and(|byte| (b' '..=b'~').contains(byte)))
}

/// Returns true if any bytes fit the fields of a message, so that a fit proves nothing.
fn fits_anything(def: &Def) -> bool {
    let mut decoded = Decoded::new();
    [&[0xff; 7][..], &[0x80; 11]].iter().all(|bytes| {
        decoded.read(def, bytes, 0);
        decoded.notes().is_empty()
    })
}

const fn other_version(proto: Proto) -> Proto {
    match proto {
        Proto::V7 => Proto::V6,
        Proto::V6 | Proto::V65 | Proto::Ddnet => Proto::V7,
    }
}

/// Returns the number at the start of a message, which combines id and class.
fn number(def: &Def) -> Option<i32> {
    let Id::Number(id) = def.id else { return None };
    let class = match def.class {
        Class::System => 1,
        Class::Game => 0,
        Class::Control | Class::Connless | Class::Object => return None,
    };
    Some(id.checked_mul(2)? | class)
}

/// Returns true for a message that states the length of its data, so that few other bytes fit it.
fn has_stated_length(def: &Def) -> bool {
    let mut fields = def.fields.iter();
    fields.any(|field| matches!(field.ty, Type::Raw(Len::Field(_), _)))
}

/// Returns true for bytes that end with a text of at least three printable characters.
fn ends_with_text(bytes: &[u8]) -> bool {
    let text = bytes.strip_suffix(&[0]).and_then(<[u8]>::last_chunk::<3>);
    text.is_some_and(|text| text.iter().all(|byte| (b' '..=b'~').contains(byte)))
}

/// Returns true for notes on a message whose fields, direction or vitality do not match its id.
const fn is_about_form(code: Code) -> bool {
    is_about_fields(code) && !matches!(code, Code::OutOfRange | Code::InvalidUtf8)
}

/// Returns true for notes that suggest that a message is actually a different message.
const fn is_about_fields(code: Code) -> bool {
    matches!(
        code,
        Code::UnknownMessage
            | Code::WrongDirection
            | Code::NotVital
            | Code::UnexpectedVital
            | Code::MissingField
            | Code::UnterminatedText
            | Code::OutOfRange
            | Code::InvalidUtf8
            | Code::ObjectShort
    )
}

/// Returns true for notes on a payload that may have to be split differently.
pub(crate) const fn is_about_chunks(code: Code) -> bool {
    matches!(
        code,
        Code::ChunkTruncated | Code::ChunkCountTooHigh | Code::TrailingBytes
    )
}

/// Describes the number at the start of a message, such as `system message 18`.
pub(crate) fn words(number: i32) -> impl fmt::Display {
    let class = if number & 1 == 0 {
        Class::Game
    } else {
        Class::System
    };
    fmt::from_fn(move |f| write!(f, "{} message {}", class.name(), number >> 1))
}

impl OtherFields {
    pub(crate) fn write(self, f: &mut Values) -> fmt::Result {
        let Self { got, expected } = self;
        f.add_got(format_args!("the fields of {got}"))?;
        f.add_expected(format_args!("those of {expected}"))
    }
}

impl OtherId {
    pub(crate) fn write(&self, f: &mut Values) -> fmt::Result {
        let Self {
            name,
            got,
            expected,
            mistake,
            here,
        } = self;
        let (read, meant) = (words(*got), words(*expected));
        match mistake {
            Mistake::NoClass => {
                f.add_got(got)?;
                write!(f, ", the id of {name} without the bit of its class")?;
            }
            Mistake::Class(layer) => {
                let class = Class::from(*layer).name();
                f.add_got(got)?;
                write!(f, ", the id of {name} with the bit of a {class} message")?;
            }
            Mistake::Version(version) => {
                f.add_got(format_args!("{got} ({read})"))?;
                // A login to the console has other answers in each version.
                let there = match *name {
                    "rcon_auth_on" | "rcon_auth_off" => "rcon_auth_status",
                    "rcon_auth_status" => "rcon_auth_on",
                    name => name,
                };
                write!(f, ", which is {there} in {version}")?;
            }
        }
        f.add_expected(format_args!("{expected} ({meant})"))?;
        if let Some(here) = here {
            write!(f, "; here {got} is {here}")?;
        }
        match (*name, *here) {
            ("rcon_auth_on" | "rcon_auth_status", _) => {
                f.write_str(": the client does not learn that it is logged in")
            }
            ("snap" | "snap_single", Some("snap_empty")) => {
                f.write_str(": the client takes its base for the new snapshot")
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the number and the name that the bytes of a message of the server should have.
    fn meant_by_server(
        (proto, vital): (Proto, bool),
        awaited: Option<&'static str>,
        data: &[u8],
    ) -> Option<(i32, &'static str)> {
        let registry = Registry::builtin();
        let mut decoded = Decoded::new();
        let def = decoded.message(registry, proto, Dir::S2c, data);
        let mut notes: Vec<Note> = decoded.notes().iter().collect();
        notes.extend(
            def.and_then(|def| def.odd_vitality(vital))
                .map(|code| Note { code, at: 0, len: 0 }),
        );
        let suspect = Suspect {
            registry,
            proto,
            dir: Dir::S2c,
            to_ddnet: false,
            awaited,
            vital,
            data,
        };
        suspect.other_id(&notes).map(|other| (other.expected, other.name))
    }

    /// A server that uses the ids of the other version, also for messages of a few bytes.
    #[test]
    fn ids_of_the_other_version_are_recognized_in_messages_of_a_server() {
        let (login, line) = (&b"\x15\x01\x01"[..], &b"\x17hello\0"[..]);
        for (case, data, expected) in [
            // snap_single, snap_empty, snap and input_timing of 0.6.
            (
                (Proto::V7, false, None),
                &b"\x0f\xa4\x32\x02\x05\x03abc"[..],
                Some((17, "snap_single")),
            ),
            (
                (Proto::V7, false, None),
                b"\x0d\xa4\x32\x02",
                Some((15, "snap_empty")),
            ),
            (
                (Proto::V7, false, None),
                b"\x0b\xa4\x32\x02\x01\x00\x05\x03abc",
                Some((13, "snap")),
            ),
            (
                (Proto::V7, false, None),
                b"\x13\xa4\x32\x02",
                Some((21, "input_timing")),
            ),
            // A length that does not fit, and bytes after a message of another kind.
            ((Proto::V7, false, None), b"\x0f\xa4\x32\x02\x05\x03abcd", None),
            ((Proto::V7, false, None), b"\x15\xa4\x32\x02\x05\x03abc", None),
            // The answers to a login.
            (
                (Proto::V7, true, Some("rcon_auth_on")),
                login,
                Some((23, "rcon_auth_on")),
            ),
            ((Proto::V7, true, None), login, None),
            ((Proto::V7, true, None), line, Some((27, "rcon_line"))),
            (
                (Proto::V6, true, Some("rcon_auth_status")),
                b"\x17",
                Some((21, "rcon_auth_status")),
            ),
            // snap_single and snap_empty of 0.7.
            (
                (Proto::V6, false, None),
                b"\x11\xa4\x32\x02\x05\x03abc",
                Some((15, "snap_single")),
            ),
            (
                (Proto::V6, false, None),
                b"\x0f\xa4\x32\x02",
                Some((13, "snap_empty")),
            ),
        ] {
            let (proto, vital, awaited) = case;
            let got = meant_by_server((proto, vital), awaited, data);
            assert_eq!(got, expected, "{proto} {data:02x?}");
        }
    }

    /// Returns true if a vital message of the server is said to have the fields of the other version.
    fn has_other_fields(proto: Proto, name: &str, body: &[u8]) -> bool {
        let registry = Registry::builtin();
        let mut defs = registry.named(proto, None, name);
        let def = defs.find(|def| number(def).is_some()).unwrap();
        let mut data = Vec::new();
        varint::encode(number(def).unwrap(), &mut data);
        data.extend_from_slice(body);
        let mut decoded = Decoded::new();
        decoded.message(registry, proto, Dir::S2c, &data);
        let notes: Vec<Note> = decoded.notes().iter().collect();
        let suspect = Suspect {
            registry,
            proto,
            dir: Dir::S2c,
            to_ddnet: false,
            awaited: None,
            vital: true,
            data: &data,
        };
        suspect.other_fields(&notes).is_some()
    }

    /// Returns the payload of a packet of 0.7 with two `input_timing`. `off` is added to the size of each.
    fn payload(off: [isize; 2]) -> Vec<u8> {
        let messages = [&b"\x15\xa4\x32\x02"[..], b"\x15\xa6\x32\x02"];
        let mut payload = Vec::new();
        for (data, off) in messages.into_iter().zip(off) {
            let header = payload.len();
            teetap_wire::write_chunk(Proto::V7, None, false, data, &mut payload).unwrap();
            let size = &mut payload[header + 1];
            *size = size.checked_add_signed(i8::try_from(off).unwrap()).unwrap();
        }
        payload
    }

    fn packet(flags: Flags, payload: &[u8], packing: Option<teetap_wire::huffman::Trailing>) -> Vec<u8> {
        let header = teetap_wire::Header {
            flags,
            ack: teetap_wire::Seq::ZERO,
            num_chunks: 2,
            token: Some(Token(*b"tokn")),
        };
        let mut out = Vec::new();
        teetap_wire::packet::write(Proto::V7, &header, payload, packing, &mut out);
        out
    }

    #[test]
    fn a_size_that_is_wrong_by_a_few_bytes_is_found() {
        let name = "input_timing";
        for (off, expected) in [
            ([0, 0], None),
            ([1, 0], Some((1, 5, 4, false))),
            ([-1, 0], Some((1, 3, 4, false))),
            ([2, 2], Some((1, 6, 4, true))),
            // With the last chunk alone, any size up to the end fits.
            ([0, 1], None),
            ([9, 9], None),
        ] {
            let bytes = packet(Flags::empty(), &payload(off), None);
            let mut scratch = Scratch::new();
            let packet = Packet::parse(Proto::V7, &bytes, &mut scratch).unwrap();
            let notes: Vec<Note> = packet.chunk_notes().iter().collect();
            let expected = expected.map(|(chunk, got, expected, is_each)| WrongSize {
                chunk,
                name,
                got,
                expected,
                is_each,
            });
            let found = wrong_size(&packet, &notes, Registry::builtin(), Dir::S2c);
            assert_eq!(found, expected, "{off:?}");
        }
    }

    /// A DDNet server appends a byte to messages of 0.7, which is no reason to doubt that the bytes are compressed.
    #[test]
    fn a_compressed_payload_without_the_flag_may_have_surplus_bytes() {
        let mut payload = Vec::new();
        for surplus in [0, 40] {
            let data = [&b"\x15\0\0"[..], &[0; 40][..surplus]].concat();
            teetap_wire::write_chunk(Proto::V7, None, false, &data, &mut payload).unwrap();
        }
        let trailing = teetap_wire::huffman::Trailing::Always;
        let mut bytes = packet(Flags::empty(), &payload, Some(trailing));
        let flag = Proto::V7.layout().compression;
        assert_eq!(bytes[0] & flag, flag);
        bytes[0] ^= flag | Proto::V6.layout().compression;
        let mut scratch = Scratch::new();
        let packet = Packet::parse(Proto::V7, &bytes, &mut scratch).unwrap();
        let notes: Vec<Note> = packet.chunk_notes().iter().collect();
        let note = unmarked(&packet, &bytes, &notes, Registry::builtin(), Dir::S2c);
        assert_eq!(
            note.map(|note| note.code),
            Some(Code::CompressionUnmarked),
            "{notes:?}"
        );
    }

    /// A message that has all of its fields has its own layout, even if it fits another one: a team out of range before
    /// the text, or data that any layout of raw bytes fits.
    #[test]
    fn an_odd_value_is_not_the_layout_of_the_other_version() {
        for (proto, name, body, expected) in [
            (Proto::V6, "sv_chat", &b"\x03\x00hello\0"[..], false),
            (Proto::V6, "map_data", b"\x00\x00\x01\x3fabcdefgh", false),
            // Without its target, the text of a chat message is read as a target that is out of range.
            (Proto::V7, "sv_chat", b"\x01\x00hello\0", true),
        ] {
            assert_eq!(has_other_fields(proto, name, body), expected, "{proto} {name}");
        }
    }
}
