//! The model of definitions: messages, objects, fields, enums.
//!
//! Law: a [`Def`] is complete for one dialect. Structs are inlined, and names of enums and constants are replaced with
//! their values in the dialect, so that decoding needs no lookups.

mod field;
mod gist;
mod path;

pub(in crate::def) use field::Place;
pub use field::{Bounds, Clean, Default, Field, Label, Len, Repeat, Secrecy, Set, Type, Words};
pub use gist::Gist;
pub(super) use gist::{Compare, GistPart, Section, Test, ValueFormat, When};
pub use path::Path;
pub(super) use path::PathPart;

use std::fmt;
use std::sync::Arc;

use crate::note::Code;
use crate::{Dir, Layer, Proto};

/// A group of protocol variants with the same messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Dialect {
    /// 0.6, up to and including 0.6.5.
    V6,
    /// DDNet's 0.6.
    Ddnet,
    /// 0.7.
    V7,
}

impl Dialect {
    /// All dialects.
    pub const ALL: [Self; 3] = [Self::V6, Self::Ddnet, Self::V7];

    /// Returns the name in definition files.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::V6 => "0.6",
            Self::Ddnet => "ddnet",
            Self::V7 => "0.7",
        }
    }

    pub(super) const fn bit(self) -> u8 {
        1 << self as u8
    }
}

impl From<Proto> for Dialect {
    fn from(proto: Proto) -> Self {
        match proto {
            Proto::V6 | Proto::V65 => Self::V6,
            Proto::Ddnet => Self::Ddnet,
            Proto::V7 => Self::V7,
        }
    }
}

impl fmt::Display for Dialect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// The class of a message or object. Each class has its own ids and names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Class {
    /// The payload of a control packet.
    Control,
    /// A chunk of the engine.
    System,
    /// A chunk of the game.
    Game,
    /// A datagram outside a connection.
    Connless,
    /// An item of a snapshot.
    Object,
}

impl Class {
    /// All classes.
    pub const ALL: [Self; 5] = [
        Self::Control,
        Self::System,
        Self::Game,
        Self::Connless,
        Self::Object,
    ];

    /// Returns the name in definition files and in JSON.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Control => "control",
            Self::System => "system",
            Self::Game => "game",
            Self::Connless => "connless",
            Self::Object => "object",
        }
    }
}

impl From<Layer> for Class {
    fn from(layer: Layer) -> Self {
        match layer {
            Layer::System => Self::System,
            Layer::Game => Self::Game,
        }
    }
}

/// The id of a message or object on the wire.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Id {
    /// A number.
    Number(i32),
    /// A UUID: DDNet's extended messages and objects (protocol_ex.h).
    Uuid {
        /// The UUID.
        uuid: [u8; 16],
        /// The text whose MD5 is the UUID, if known.
        name: Option<Arc<str>>,
    },
    /// The four bytes after `ffffffff` of a connless message.
    Tag([u8; 4]),
}

/// The sender and the receiver of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Endpoints {
    /// Client to server.
    C2s,
    /// Server to client.
    S2c,
    /// Client to server and server to client.
    Both,
    /// Client to master server.
    C2m,
    /// Master server to client.
    M2c,
    /// Server to master server.
    S2m,
    /// Master server to server.
    M2s,
    /// Client to version server.
    C2v,
    /// Version server to client.
    V2c,
    /// Only in demo files.
    Demo,
}

impl Endpoints {
    pub(super) const NAMES: [(&'static str, Self); 10] = [
        ("c2s", Self::C2s),
        ("s2c", Self::S2c),
        ("both", Self::Both),
        ("c2m", Self::C2m),
        ("m2c", Self::M2c),
        ("s2m", Self::S2m),
        ("m2s", Self::M2s),
        ("c2v", Self::C2v),
        ("v2c", Self::V2c),
        ("demo", Self::Demo),
    ];

    /// Returns the name in definition files.
    #[must_use]
    pub fn name(self) -> &'static str {
        let found = Self::NAMES.iter().find(|(_, way)| *way == self);
        found.map_or("both", |(name, _)| name)
    }

    /// Returns true if a message of this way may be sent between a client and a server in direction `dir`.
    #[must_use]
    pub const fn allows(self, dir: Dir) -> bool {
        match self {
            Self::C2s => matches!(dir, Dir::C2s),
            Self::S2c => matches!(dir, Dir::S2c),
            Self::Demo => false,
            _ => true,
        }
    }
}

/// The vitality with which the reference sends a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Vitality {
    /// Always vital.
    Vital,
    /// Never vital.
    NonVital,
    /// As vital as the request that it answers (newest DDNet).
    Mirror,
    /// Vital or not: usually not vital, but vital in some handshakes.
    Either,
    /// Undefined: not a chunk, or never sent.
    None,
}

impl Vitality {
    pub(super) const NAMES: [(&'static str, Self); 4] = [
        ("vital", Self::Vital),
        ("nonvital", Self::NonVital),
        ("mirror", Self::Mirror),
        ("either", Self::Either),
    ];
}

/// How often a peer sends a message during a game.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Frequency {
    /// When something happens.
    Event,
    /// At times that depend on a timer of the sender, or in reply to such a message.
    Periodic,
    /// Many times a second.
    Continuous,
}

impl Frequency {
    pub(super) const NAMES: [(&'static str, Self); 2] =
        [("periodic", Self::Periodic), ("continuous", Self::Continuous)];
}

/// The size of an object in ints.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size {
    /// The size with all fields.
    pub full: u16,
    /// The size without optional fields.
    pub least: u16,
    /// The size that both sides agreed on beforehand, so that a snapshot delta omits it.
    pub agreed: Option<u16>,
}

/// A message or snapshot object of one dialect.
#[derive(Debug, Clone, PartialEq)]
pub struct Def {
    /// The name, in the snake case of the definition files.
    pub name: Arc<str>,
    /// The class.
    pub class: Class,
    /// The id.
    pub id: Id,
    /// The sender and the receiver.
    pub way: Endpoints,
    /// The vitality.
    pub vitality: Vitality,
    /// How often it is sent.
    pub frequency: Frequency,
    /// True if the id is taken but the message is never sent.
    pub dead: bool,
    /// The first release that has the message, if that matters.
    pub since: Option<Arc<str>>,
    /// Other names.
    pub aliases: Vec<Arc<str>>,
    /// A description of a few lines.
    pub doc: Option<Arc<str>>,
    /// All fields; the parts of a group follow it.
    pub fields: Vec<Field>,
    /// The size of an object; `None` for messages.
    pub size: Option<Size>,
    /// The template of its gist.
    pub gist: Option<Gist>,
    /// The definition with the same id for the other direction.
    pub(super) twin: Option<u16>,
}

impl Def {
    /// Returns the note code for a message with the wrong vitality.
    #[must_use]
    pub const fn odd_vitality(&self, vital: bool) -> Option<Code> {
        match (self.vitality, vital) {
            (Vitality::Vital, false) => Some(Code::NotVital),
            (Vitality::NonVital, true) => Some(Code::UnexpectedVital),
            _ => None,
        }
    }

    /// Returns a field by its number in [`Record::field`](super::Record::field).
    #[must_use]
    pub fn field(&self, at: u16) -> Option<&Field> {
        self.fields.get(usize::from(at))
    }

    /// Returns the fields that are parts of `parent`, or of the message itself, with their numbers.
    pub fn parts(&self, parent: Option<u16>) -> impl Iterator<Item = (u16, &Field)> + Clone {
        let end = parent.map_or(u16::MAX, |at| self.field(at).map_or(0, |field| field.place.end));
        let mut next = parent.map_or(0, |at| at.saturating_add(1));
        std::iter::from_fn(move || {
            let at = next;
            let field = self.field(at).filter(|_| at < end)?;
            next = field.place.end;
            Some((at, field))
        })
    }
}
