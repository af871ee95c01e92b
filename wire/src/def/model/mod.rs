//! What a definition says: messages, objects, fields, enums.
//!
//! Law: a [`Def`] is complete for one dialect. Structs are laid out in place, names of enums and constants are
//! replaced by what they mean there, so that an interpreter looks nothing up.

mod field;
mod gist;
mod path;

pub use field::{Clean, Default, Field, Label, Len, Repeat, Secrecy, Set, Type, Words};
pub use gist::Gist;
pub(super) use gist::{Compare, Form, Part, Section, Test, When};
pub use path::Path;
pub(super) use path::Step;

use std::fmt;
use std::sync::Arc;

use crate::note::Code;
use crate::{Dir, Layer, Proto};

/// Variants of the protocol whose messages are the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Dialect {
    /// 0.6, up to and with 0.6.5.
    V6,
    /// DDNet's 0.6.
    Ddnet,
    /// 0.7.
    V7,
}

impl Dialect {
    /// Every dialect.
    pub const ALL: [Self; 3] = [Self::V6, Self::Ddnet, Self::V7];

    /// Its name in definition files.
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

/// What a definition is of. Each class has its own ids and names.
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
    /// Every class.
    pub const ALL: [Self; 5] = [
        Self::Control,
        Self::System,
        Self::Game,
        Self::Connless,
        Self::Object,
    ];

    /// Its name in definition files and in JSON.
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

/// What identifies a message or object on the wire.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Id {
    /// A number.
    Number(i32),
    /// A UUID: DDNet's extended messages and objects (protocol_ex.h).
    Uuid {
        /// The UUID.
        uuid: [u8; 16],
        /// The text it is the MD5 of, if that is known.
        name: Option<Arc<str>>,
    },
    /// The four bytes after `ffffffff` of a connless message.
    Tag([u8; 4]),
}

/// Who sends a message to whom.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// Client to server.
    C2s,
    /// Server to client.
    S2c,
    /// Both of them.
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
    /// In demo files only.
    Demo,
}

impl Way {
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

    /// Its name in definition files.
    #[must_use]
    pub fn name(self) -> &'static str {
        let found = Self::NAMES.iter().find(|(_, way)| *way == self);
        found.map_or("both", |(name, _)| name)
    }

    /// Whether a message that goes this way may be seen between a client and a server in direction `dir`.
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

/// Whether the reference sends a message vital.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Vitality {
    /// Always.
    Vital,
    /// Never.
    NonVital,
    /// An answer that copies it from its request (newest DDNet).
    Mirror,
    /// Says nothing: not a chunk, or never sent.
    None,
}

impl Vitality {
    pub(super) const NAMES: [(&'static str, Self); 3] = [
        ("vital", Self::Vital),
        ("nonvital", Self::NonVital),
        ("mirror", Self::Mirror),
    ];
}

/// How many ints an object has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size {
    /// With every field.
    pub full: u16,
    /// Without the fields that may be missing.
    pub least: u16,
    /// The size both sides agreed on beforehand, so that a snapshot delta does not tell it.
    pub agreed: Option<u16>,
}

/// A message or snapshot object of one dialect.
#[derive(Debug, Clone, PartialEq)]
pub struct Def {
    /// Its name, in the snake case of the definition files.
    pub name: Arc<str>,
    /// What it is.
    pub class: Class,
    /// What identifies it.
    pub id: Id,
    /// Who sends it.
    pub way: Way,
    /// Whether it is sent vital.
    pub vitality: Vitality,
    /// The id is taken, but nobody ever sends it.
    pub dead: bool,
    /// The first release that has it, where that matters.
    pub since: Option<Arc<str>>,
    /// Other names.
    pub aliases: Vec<Arc<str>>,
    /// A few lines about it.
    pub doc: Option<Arc<str>>,
    /// All fields; the parts of a group follow it.
    pub fields: Vec<Field>,
    /// Objects: ints.
    pub size: Option<Size>,
    /// What it says in one line.
    pub gist: Option<Gist>,
    /// The definition with the same id for the other direction.
    pub(super) twin: Option<u16>,
}

impl Def {
    /// What is odd about a message that is sent vital, or not.
    #[must_use]
    pub const fn odd_vitality(&self, vital: bool) -> Option<Code> {
        match (self.vitality, vital) {
            (Vitality::Vital, false) => Some(Code::NotVital),
            (Vitality::NonVital, true) => Some(Code::UnexpectedVital),
            _ => None,
        }
    }

    /// A field by its number in [`Record::field`](super::Record::field).
    #[must_use]
    pub fn field(&self, at: u16) -> Option<&Field> {
        self.fields.get(usize::from(at))
    }

    /// The fields that are parts of `parent`, or of the message itself, with their numbers.
    pub fn parts(&self, parent: Option<u16>) -> impl Iterator<Item = (u16, &Field)> + Clone {
        let end = parent.map_or(u16::MAX, |at| self.field(at).map_or(0, |field| field.end));
        let mut next = parent.map_or(0, |at| at.saturating_add(1));
        std::iter::from_fn(move || {
            let at = next;
            let field = self.field(at).filter(|_| at < end)?;
            next = field.end;
            Some((at, field))
        })
    }
}
