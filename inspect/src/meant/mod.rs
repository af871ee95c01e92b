//! Recognizes invalid bytes that would be valid under another message id, with the fields of the other version, or in
//! chunks of another form.
//!
//! Law: another interpretation is reported only if it fits completely: every byte belongs to a field, and no field has
//! a note. A message without fields would fit many ids, so it is reported only if the join waits for the other message.

mod chunks;
mod uuid;

use std::fmt::{self, Write};

use teetap_wire::{
    Code, Dir, Layer, MessageId, Note, Proto,
    def::{Class, Decoded, Def, Id, Len, Registry, Type},
    varint,
};

use crate::{Values, encoding::OtherEncoding, field_order::FieldOrder};

pub(crate) use chunks::{
    WrongSize, is_about_chunks, marked, other_chunks, unannounced, unmarked, wrong_size,
};
pub(crate) use uuid::{OtherUuid, has_text_as_uuid, other_uuid};

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
mod tests;
