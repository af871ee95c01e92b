//! What a definition says: messages, objects, fields, enums.
//!
//! Law: a [`Def`] is complete for one dialect. Structs are laid out in place, names of enums and constants are
//! replaced by what they mean there, so that an interpreter looks nothing up.

use std::fmt;
use std::sync::Arc;

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
    pub const ALL: [Self; 5] = [Self::Control, Self::System, Self::Game, Self::Connless, Self::Object];

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

/// How a reader cleans a string (CUnpacker::GetString).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Clean {
    /// Not at all: `cstr`.
    Raw,
    /// Bytes below 32 except CR, LF and TAB become spaces: `str`.
    Text,
    /// All bytes below 32 become spaces: `str_cc`.
    Line,
    /// As `Line`, and leading whitespace is skipped: `str_strict`.
    Strict,
}

/// How many raw bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Len {
    /// Always as many.
    Fixed(u16),
    /// As a field before it says.
    Field(u16),
    /// All that are left.
    Rest,
}

/// The wire form of one value.
#[derive(Debug, Clone, PartialEq)]
pub enum Type {
    /// A packed int; in an object one int. So are the next five.
    Int,
    /// 0 or 1.
    Bool,
    /// A game tick, 50 per second.
    Tick,
    /// A tuning: the value times 100.
    Tune,
    /// One of the labels.
    Enum(Arc<Set>),
    /// A sum of labels.
    Flags(Arc<Set>),
    /// Bytes up to a NUL.
    Text(Clean),
    /// An ASCII decimal number up to a NUL.
    Decimal,
    /// Bytes; with the ones that are expected there, if it is always the same.
    Raw(Len, Option<Arc<str>>),
    /// 16 bytes; in an object four ints, big-endian.
    Uuid,
    /// 32 bytes.
    Sha256,
    /// One byte.
    U8,
    /// Two bytes, big-endian.
    Be16,
    /// Four bytes, big-endian.
    Be32,
    /// 16 bytes of IPv6 address, two of port, big-endian.
    Addr,
    /// 4 bytes of IPv4 address, two of port, big-endian.
    AddrLegacy,
    /// Text in so many ints, four bytes in each, every byte plus 128, the last one NUL.
    Packed(u16),
    /// Fields of its own, which follow it in [`Def::fields`].
    Group {
        /// The name of the struct or object.
        name: Arc<str>,
        /// The field that tells the size of an object in a message, in bytes, four for each int.
        bytes: Option<u16>,
    },
}

/// How often a field is repeated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Repeat {
    /// It is not a list.
    One,
    /// Always as often.
    Fixed(u16),
    /// As a field before it says.
    Field(u16),
    /// As the label of an enum field before it says.
    Params(u16),
    /// Until the end.
    Rest,
}

/// What must not be shown of a field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Secrecy {
    /// Nothing to hide.
    Open,
    /// All of it.
    Secret,
    /// What follows one of the words in the text, in any case: `hide_after`.
    After(Arc<Words>),
    /// What follows one of the words as a chat command, alone or in a `;` list: `hide_command`.
    Command(Arc<Words>),
    /// All of it when another field is one of the words: `hide_with`.
    With(u16, Arc<Words>),
}

/// Words that secrets are known by.
#[derive(Debug, PartialEq, Eq)]
pub struct Words {
    /// What the list is called.
    pub name: Arc<str>,
    /// In lower case.
    pub words: Vec<Arc<str>>,
}

/// The value of a missing field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Default {
    /// A number.
    Int(i64),
    /// Text.
    Text(Arc<str>),
}

/// One field of a message, object or struct.
#[derive(Debug, Clone, PartialEq)]
pub struct Field {
    /// Its name.
    pub name: Arc<str>,
    /// Its wire form.
    pub ty: Type,
    /// How often it is repeated.
    pub repeat: Repeat,
    /// It may be missing at the end.
    pub optional: bool,
    /// Smallest legal value of an int.
    pub min: i64,
    /// Largest legal value of an int.
    pub max: i64,
    /// Value of a missing field, if it is not the legal one nearest 0.
    pub default: Option<Default>,
    /// Bytes of the buffer into which the reader copies a string, its NUL included.
    pub limit: Option<u16>,
    /// Most elements of a list, or most ints of an object in a message.
    pub count_max: Option<u16>,
    /// What must not be shown.
    pub secrecy: Secrecy,
    /// The last release that does not send the field.
    pub after: Option<Arc<str>>,
    /// One line about it.
    pub doc: Option<Arc<str>>,
    /// The field it is part of.
    pub(super) parent: Option<u16>,
    /// The first field after it and its parts.
    pub(super) end: u16,
}

impl Field {
    /// Whether its value is a number.
    #[must_use]
    pub const fn is_number(&self) -> bool {
        matches!(
            self.ty,
            Type::Int
                | Type::Bool
                | Type::Tick
                | Type::Tune
                | Type::Enum(_)
                | Type::Flags(_)
                | Type::Decimal
                | Type::U8
                | Type::Be16
                | Type::Be32
        )
    }

    /// Whether its value is text.
    #[must_use]
    pub const fn is_text(&self) -> bool {
        matches!(self.ty, Type::Text(_) | Type::Packed(_))
    }

    /// Whether it is a list.
    #[must_use]
    pub const fn is_list(&self) -> bool {
        !matches!(self.repeat, Repeat::One)
    }

    /// The labels of its enum or flags.
    #[must_use]
    pub const fn set(&self) -> Option<&Arc<Set>> {
        match &self.ty {
            Type::Enum(set) | Type::Flags(set) => Some(set),
            _ => None,
        }
    }
}

/// A name for a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Label {
    /// The value, or the bits of a flag.
    pub value: i64,
    /// Its name.
    pub name: Arc<str>,
    /// Elements of a list whose length depends on the value.
    pub params: Option<u16>,
    /// One line about it.
    pub doc: Option<Arc<str>>,
}

/// An enum or a set of flags.
#[derive(Debug, PartialEq, Eq)]
pub struct Set {
    /// Its name.
    pub name: Arc<str>,
    /// Whether values are sums of labels.
    pub flags: bool,
    /// The labels in the order of the text.
    pub labels: Vec<Label>,
    /// One line about it.
    pub doc: Option<Arc<str>>,
    /// Flags: every bit that has a name.
    pub(super) mask: u32,
}

impl Set {
    /// The label of a value.
    #[must_use]
    pub fn label(&self, value: i64) -> Option<&Label> {
        // Most enums count up from their first label.
        let guess = self.labels.first().map(|first| value.wrapping_sub(first.value));
        let guess = guess.and_then(|at| usize::try_from(at).ok()).and_then(|at| self.labels.get(at));
        match guess {
            Some(label) if label.value == value => Some(label),
            _ => self.labels.iter().find(|label| label.value == value),
        }
    }

    /// The value of a label, by its name in any case.
    #[must_use]
    pub fn value(&self, name: &str) -> Option<i64> {
        let found = self.labels.iter().find(|label| label.name.eq_ignore_ascii_case(name));
        found.map(|label| label.value)
    }
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
    /// The definition with the same id for the other direction.
    pub(super) twin: Option<u16>,
}

impl Def {
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
